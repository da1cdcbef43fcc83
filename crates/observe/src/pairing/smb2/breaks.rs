//! Opens that wait until another client has answered the break of its lease or oplock.
//!
//! Spec: MS-SMB2 2.2.23, 2.2.24, 3.3.4.6, 3.3.4.7.

mod kinds;
mod outstanding;
mod rights;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use plimsoll_model::{Breaks, LeaseBreaks, Symbol};
use plimsoll_wire::smb2::compound::Member;
use plimsoll_wire::smb2::oplock_break::{Captured, OPLOCK_END};
use plimsoll_wire::smb2::{Command, close};
use serde::{Deserialize, Serialize};

use self::kinds::{Acknowledged, Kinds};
use self::rights::{Place, Right, Rights};
use super::Pending;
use crate::message::Message;
use crate::pairing::ConnectionContext;
use crate::pairing::held::held_until;
use crate::recent::Recent;

/// Servers of which breaks are remembered.
const SERVERS_MAX: usize = 1024;
/// Breaks that are remembered of a server: more are seldom under way at once.
const BREAKS_MAX: usize = 32;
/// An open that takes less time did not wait for another client, ns.
const WAITED_NS: i64 = 5_000_000;
/// An open that waits longer than this, ns, and is answered without an acknowledgement of the break, was answered because the server gave up.
/// A client that works acknowledges after a round trip and the time to write its cached data.
const UNANSWERED_NS: i64 = 1_000_000_000;

/// A notification of a server.
#[derive(Debug, Serialize, Deserialize)]
struct Break {
    at_ns: i64,
    /// The client that is to give up its lease or oplock.
    holder: IpAddr,
    /// The connection of the notification.
    connection: u32,
    /// The file, known from the first open that waited for it, and when that was answered.
    file: Option<(Symbol, Symbol, i64)>,
    /// The file id of an oplock, or the key of a lease.
    key: Option<[u8; 16]>,
    is_oplock: bool,
    /// The server waits for an acknowledgement.
    is_demanded: bool,
    /// The client acknowledged it, or closed the file, or may have done so in a message that cannot be read.
    is_answered: bool,
    /// What the open of the holder tells of it.
    right: Option<Right>,
    /// Its kind, if it is counted by kind.
    kind: Option<usize>,
}

impl Break {
    /// Whether an open of that file, asked for at that time, came while another waited for this break.
    fn delays(&self, file: (Symbol, Symbol), asked_ns: i64) -> bool {
        self.file.is_some_and(|(share, path, until_ns)| (share, path) == file && asked_ns < until_ns)
    }

    /// Whether it is known to be of that file.
    fn is_of(&self, (share, path): (Symbol, Symbol)) -> bool {
        path.is_some() && self.right.is_some_and(|right| (right.share, right.path) == (share, path))
    }

    /// Whether an open of a file may wait for it, unless it is known to be of another file. A change in a directory breaks the lease of
    /// the directory, and does not wait.
    fn may_delay(&self, file: (Symbol, Symbol)) -> bool {
        let differ = |one: Symbol, other: Symbol| one.is_some() && other.is_some() && one != other;
        let is_other = |right: Right| differ(right.share, file.0) || differ(right.path, file.1);
        self.is_of(file) || self.right.is_none_or(|right| right.is_directory != Some(true) && !is_other(right))
    }
}

/// When servers last broke leases or oplocks, and what opens waited for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct BreakTimes {
    /// The last ones of each server, in the order of the capture.
    recent: HashMap<IpAddr, VecDeque<Break>>,
    counts: Breaks,
    /// The counts by kind.
    kinds: Kinds,
    /// What clients hold.
    rights: Rights,
    /// When clients last sent a message that cannot be read, ns.
    unread: Recent<IpAddr, i64, SERVERS_MAX>,
}

impl BreakTimes {
    /// The counts, and those by kind.
    pub(crate) fn finish(self) -> (Breaks, Vec<LeaseBreaks>) {
        let Self { counts, kinds, unread, .. } = self;
        (counts, kinds.finish(|client| unread.get(&client)))
    }

    /// The server told the holder that its lease or oplock is broken.
    #[cold]
    pub(super) fn notified(&mut self, place: Place, connection: u32, at_ns: i64, member: &[u8]) {
        self.counts.notified += 1;
        let (server, holder) = place;
        let broken = captured(member);
        let id = broken.key.map(|key| ((broken.is_oplock, key), place));
        let right = id.and_then(|id| self.rights.of(&id));
        let kind = self.kinds.notified((id, right), holder, at_ns, &broken);
        let (from, to) = kinds::states(&broken, right);
        let is_demanded = kinds::demands(&broken, from, to) == Some(true);
        if let (Some(id), Some(state)) = (id, to) {
            self.rights.set_state(&id, state);
        }
        if self.recent.len() >= SERVERS_MAX && !self.recent.contains_key(&server) {
            return;
        }
        let recent = self.recent.entry(server).or_default();
        if recent.len() >= BREAKS_MAX {
            recent.pop_front();
        }
        let Captured { key, is_oplock, .. } = broken;
        let file = None;
        recent.push_back(Break {
            at_ns,
            holder,
            connection,
            file,
            key,
            is_oplock,
            is_demanded,
            is_answered: false,
            right,
            kind,
        });
    }

    /// A client asks for something: perhaps it answers a break.
    #[inline]
    pub(super) fn requested(&mut self, member: &Member<'_>, ends: Place, at_ns: i64) {
        match member.header.command() {
            // A shorter one acknowledges nothing.
            Command::OplockBreak if member.len >= OPLOCK_END => self.acknowledged(ends, at_ns, member.bytes),
            Command::Close if !self.recent.is_empty() => self.closed(ends, member.bytes),
            _ => {}
        }
    }

    /// A client sends a message that cannot be read: perhaps it answers a break.
    #[inline]
    pub(super) fn unread(&mut self, (server, client): Place, at_ns: i64) {
        if self.counts.notified > 0 {
            self.unread.insert(client, at_ns);
            self.answered(server, |one| one.holder == client);
        }
    }

    /// A client acknowledges a break; over another channel of its session too.
    #[cold]
    fn acknowledged(&mut self, (server, client): Place, at_ns: i64, member: &[u8]) {
        let Captured { key, is_oplock, .. } = captured(member);
        let id = key.map(|key| ((is_oplock, key), (server, client)));
        let found = id.map_or(Acknowledged::Unknown, |id| self.kinds.acknowledged(&id, at_ns));
        self.counts.unsolicited += u64::from(found == Acknowledged::Unsolicited);
        self.counts.unmatched += u64::from(found == Acknowledged::Unknown);
        let is_it = |one: &Break| match one.key.zip(key) {
            Some((theirs, own)) => (theirs, one.is_oplock) == (own, is_oplock),
            None => one.holder == client,
        };
        match found {
            Acknowledged::Of((other, _)) if other != server => self.answered(other, is_it),
            // It may be of a break of another server: that one is not to be called unanswered.
            Acknowledged::Unknown => {
                let all = self.recent.values_mut().flatten();
                all.filter(|one| is_it(one)).for_each(|one| one.is_answered = true);
            }
            _ => self.answered(server, is_it),
        }
    }

    /// A client closes a file, which gives up its oplock, and perhaps the last one with a lease.
    #[cold]
    fn closed(&mut self, (server, client): Place, member: &[u8]) {
        let file = close::Request::new(member).and_then(|request| request.file_id());
        let file = file.filter(|file| !file.is_previous()).map(|file| file.0);
        let lease = file.and_then(|file| self.rights.lease_of(server, file));
        for (is_oplock, key) in [(true, file), (false, lease)] {
            if let Some(key) = key {
                self.kinds.closed(&((is_oplock, key), (server, client)));
            }
        }
        self.answered(server, |one| match (one.key, if one.is_oplock { file } else { lease }) {
            (Some(theirs), Some(own)) => theirs == own,
            _ => one.holder == client,
        });
    }

    /// Until when a request may wait for a client that is to give up a lease or oplock of its file, ns: another client, or the same one.
    pub(crate) fn held_until(&self, context: &ConnectionContext, request: &Pending) -> Option<i64> {
        let recent = self.recent.get(&context.ends[usize::from(1 - request.direction)].ip)?;
        let of_file = recent.iter().filter(|one| one.is_of((request.share, request.path)));
        let under_way = of_file.filter(|one| one.is_demanded && !one.is_answered);
        under_way.filter_map(|one| held_until(asked_ns(request), one.at_ns)).max()
    }

    fn answered(&mut self, server: IpAddr, is_it: impl Fn(&Break) -> bool) {
        let recent = self.recent.get_mut(&server).into_iter().flatten();
        recent.filter(|one| is_it(one)).for_each(|one| one.is_answered = true);
    }

    /// A request was answered that may wait for a break.
    #[inline]
    pub(super) fn responded(
        &mut self,
        context: &ConnectionContext,
        request: &Pending,
        answer: &Message<'_>,
        member: &Member<'_>,
    ) {
        let client = usize::from(request.direction);
        let place = (context.ends[1 - client].ip, context.ends[client].ip);
        let asker = (place.0, context.connection);
        match member.header.command() {
            Command::Create => {
                if !self.recent.is_empty() {
                    self.opened(asker, request, answer);
                }
                self.rights.opened(place, (request.share, request.path), member);
            }
            Command::SetInfo if !self.recent.is_empty() => self.changed(asker, request, answer),
            _ => {}
        }
    }

    /// An open was answered, of another connection than the holder's. It waited if the server sent a notification after the open came, or if it asked for the same file while
    /// another open waited. It caused the first of several notifications, of its file if there is one; the later ones belong to later
    /// opens.
    #[cold]
    fn opened(&mut self, (server, connection): (IpAddr, u32), request: &Pending, answer: &Message<'_>) {
        let Some(recent) = self.recent.get_mut(&server) else { return };
        let asked_ns = asked_ns(request);
        let answered_ns = answer.first.time_ns;
        let file = (request.share, request.path);
        let is_known = request.path.is_some();
        let is_others = |one: &Break| one.connection != connection;
        let behind = recent.iter().position(|one| is_known && is_others(one) && one.delays(file, asked_ns));
        let since = |one: &Break| is_others(one) && one.at_ns >= asked_ns && one.may_delay(file);
        let own = || recent.iter().position(|one| since(one) && one.is_of(file));
        let Some(at) = behind.or_else(own).or_else(|| recent.iter().position(since)) else { return };
        let Some(cause) = recent.get_mut(at) else { return };
        let waited_ns = answered_ns.saturating_sub(cause.at_ns.max(asked_ns));
        if waited_ns < WAITED_NS {
            return;
        }
        if behind.is_none() && is_known {
            cause.file = Some((file.0, file.1, answered_ns));
        }
        let (holder, kind) = (cause.holder, cause.kind);
        let is_unanswered = !cause.is_answered && waited_ns >= UNANSWERED_NS;
        let waited_ns = waited_ns.unsigned_abs();
        if let Some(kind) = kind {
            self.kinds.waited(kind, waited_ns);
        }
        let counts = &mut self.counts;
        counts.unanswered += u64::from(is_unanswered);
        counts.opens += 1;
        counts.wait_ns = counts.wait_ns.saturating_add(waited_ns);
        if waited_ns > counts.longest_ns {
            (counts.longest_ns, counts.holder, counts.path) = (waited_ns, Some(holder), request.path);
            counts.is_longest_unanswered = is_unanswered;
        }
    }

    /// A rename or another change of a file was answered: it waited if the server broke another client's lease of this file meanwhile.
    #[cold]
    fn changed(&mut self, (server, connection): (IpAddr, u32), request: &Pending, answer: &Message<'_>) {
        let asked_ns = asked_ns(request);
        let recent = self.recent.get(&server).into_iter().flatten();
        let recent = recent.filter(|one| one.connection != connection);
        let mut causes = recent.filter(|one| one.at_ns >= asked_ns && one.is_of((request.share, request.path)));
        let Some((kind, at_ns)) = causes.next().and_then(|cause| Some((cause.kind?, cause.at_ns))) else { return };
        let waited_ns = answer.first.time_ns.saturating_sub(at_ns);
        if waited_ns >= WAITED_NS {
            self.kinds.waited(kind, waited_ns.unsigned_abs());
        }
    }
}

/// The break. Captures that were anonymised once have no keys.
fn captured(member: &[u8]) -> Captured {
    let broken = Captured::new(member).unwrap_or_default();
    Captured { key: broken.key.filter(|key| *key != [0; 16]), ..broken }
}

/// When all of the request was seen.
fn asked_ns(request: &Pending) -> i64 {
    request.last.map_or(request.first.time_ns, |last| last.time_ns)
}

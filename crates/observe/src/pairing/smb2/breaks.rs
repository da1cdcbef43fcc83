//! Opens that wait until another client has answered the break of its lease or oplock.
//!
//! Spec: MS-SMB2 2.2.23, 2.2.24, 3.3.4.6, 3.3.4.7.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use plimsoll_model::{Breaks, Symbol};
use plimsoll_wire::smb2::compound::Member;
use plimsoll_wire::smb2::oplock_break::{FILE_ID, OPLOCK_SIZE};
use plimsoll_wire::smb2::{Command, close, header};
use serde::{Deserialize, Serialize};

use super::Pending;
use crate::message::Message;

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
    /// The file, known from the first open that waited for it, and when that was answered.
    file: Option<(Symbol, Symbol, i64)>,
    /// The file id of an oplock, or the key of a lease.
    key: Option<[u8; 16]>,
    is_oplock: bool,
    /// The client acknowledged it, or closed the file.
    is_answered: bool,
}

/// The file id of the oplock form, or the key of the lease form, which is at the same place; and whether it is an oplock.
fn key_of(member: &[u8]) -> (Option<[u8; 16]>, bool) {
    let key = member.get(FILE_ID..FILE_ID + 16).and_then(|key| key.try_into().ok());
    (key, member.get(header::LEN..header::LEN + 2) == Some(&OPLOCK_SIZE.to_le_bytes()))
}

impl Break {
    /// Whether an open of that file, asked for at that time, came while another waited for this break.
    fn delays(&self, file: (Symbol, Symbol), asked_ns: i64) -> bool {
        self.file.is_some_and(|(share, path, until_ns)| (share, path) == file && asked_ns < until_ns)
    }
}

/// When servers last broke leases or oplocks, and what opens waited for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct BreakTimes {
    /// The last ones of each server, in the order of the capture.
    recent: HashMap<IpAddr, VecDeque<Break>>,
    /// The counts.
    pub(crate) counts: Breaks,
}

impl BreakTimes {
    pub(super) fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// The server told the holder that its lease or oplock is broken.
    #[cold]
    pub(super) fn notified(&mut self, server: IpAddr, holder: IpAddr, at_ns: i64, member: &[u8]) {
        self.counts.notified += 1;
        if self.recent.len() >= SERVERS_MAX && !self.recent.contains_key(&server) {
            return;
        }
        let recent = self.recent.entry(server).or_default();
        if recent.len() >= BREAKS_MAX {
            recent.pop_front();
        }
        let (key, is_oplock) = key_of(member);
        recent.push_back(Break { at_ns, holder, file: None, key, is_oplock, is_answered: false });
    }

    /// A client asks for something: perhaps it answers a break.
    #[inline]
    pub(super) fn requested(&mut self, member: &Member<'_>, server: IpAddr, client: IpAddr) {
        match member.header.command() {
            Command::OplockBreak => self.acknowledged(server, client, member.bytes),
            Command::Close => self.closed(server, client, member.bytes),
            _ => {}
        }
    }

    /// A client acknowledges a break; over another channel of its session too.
    #[cold]
    fn acknowledged(&mut self, server: IpAddr, client: IpAddr, member: &[u8]) {
        let key = key_of(member);
        self.answered(server, |one| match one.key.zip(key.0) {
            Some((theirs, own)) => (theirs, one.is_oplock) == (own, key.1),
            None => one.holder == client,
        });
    }

    /// A client closes a file, which gives up its oplock, and perhaps the last one with a lease.
    #[cold]
    fn closed(&mut self, server: IpAddr, client: IpAddr, member: &[u8]) {
        let file = close::Request::new(member).and_then(|request| request.file_id());
        self.answered(server, |one| match (one.is_oplock, one.key, file) {
            (true, Some(theirs), Some(own)) if !own.is_previous() => theirs == own.0,
            _ => one.holder == client,
        });
    }

    fn answered(&mut self, server: IpAddr, is_it: impl Fn(&Break) -> bool) {
        let recent = self.recent.get_mut(&server).into_iter().flatten();
        recent.filter(|one| is_it(one)).for_each(|one| one.is_answered = true);
    }

    /// An open was answered. It waited if the server sent a notification after the open came, or if it asked for the same file while
    /// another open waited. It caused the first of several notifications; the later ones belong to later opens.
    #[cold]
    pub(super) fn opened(&mut self, server: IpAddr, request: &Pending, answer: &Message<'_>) {
        let Some(recent) = self.recent.get_mut(&server) else { return };
        let asked_ns = request.last.map_or(request.first.time_ns, |last| last.time_ns);
        let answered_ns = answer.first.time_ns;
        let file = (request.share, request.path);
        let is_known = request.path.is_some();
        let behind = recent.iter().position(|one| is_known && one.delays(file, asked_ns));
        let Some(at) = behind.or_else(|| recent.iter().position(|one| one.at_ns >= asked_ns)) else { return };
        let Some(cause) = recent.get_mut(at) else { return };
        let waited_ns = answered_ns.saturating_sub(cause.at_ns.max(asked_ns));
        if waited_ns < WAITED_NS {
            return;
        }
        if behind.is_none() && is_known {
            cause.file = Some((file.0, file.1, answered_ns));
        }
        let holder = cause.holder;
        let is_unanswered = !cause.is_answered && waited_ns >= UNANSWERED_NS;
        let waited_ns = waited_ns.unsigned_abs();
        let counts = &mut self.counts;
        counts.unanswered += u64::from(is_unanswered);
        counts.opens += 1;
        counts.wait_ns = counts.wait_ns.saturating_add(waited_ns);
        if waited_ns > counts.longest_ns {
            (counts.longest_ns, counts.holder, counts.path) = (waited_ns, Some(holder), request.path);
            counts.is_longest_unanswered = is_unanswered;
        }
    }
}

//! Locks that a server refused because another client had a lock on the same bytes, by file, with the holder.
//!
//! A client holds a lock from the answer that grants it until its request that releases it. If the lock was granted before the capture,
//! the release shows the holder as well.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Outcome, Protocol, StatusFamily, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::{File, MAX_FILES, MAX_LOCKED, MAX_RECENT, cell};

/// A client that retries after a longer time has done other work meanwhile, ns: Linux retries at an NLM server every 30 s.
const TRIES_NS: i64 = 35_000_000_000;

/// Requests refused for a lock of another client.
const REFUSED: [(StatusFamily, u32); 8] = [
    (StatusFamily::Nt, 0xC000_0054),  // FILE_LOCK_CONFLICT
    (StatusFamily::Nt, 0xC000_0055),  // LOCK_NOT_GRANTED
    (StatusFamily::Dos, 0x0021_0001), // ERRDOS, ERRlock
    (StatusFamily::Nfs, 10_012),      // LOCKED
    (StatusFamily::Nfs, 10_010),      // DENIED
    (StatusFamily::Nlm, 1),           // DENIED
    (StatusFamily::Nlm, 3),           // BLOCKED: the server calls back when the lock is free
    (StatusFamily::Errno, 11),        // EAGAIN
];

/// Refusals for locks on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRefusals {
    /// The server.
    pub server: IpAddr,
    /// The share.
    pub share: Symbol,
    /// The path, if known.
    pub path: Symbol,
    /// The protocol that numbers the status.
    pub protocol: Protocol,
    /// The status of the first refusal.
    pub status: u32,
    /// Refused requests.
    pub requests: u64,
    /// When the first was answered, ns.
    pub first_ns: i64,
    /// Sum of the times from a client's first refused request to the granted one, or to its last refusal, ns.
    pub tried_ns: u64,
    /// The longest of these times, ns.
    pub longest_ns: u64,
    /// The clients that were refused.
    pub clients: Vec<IpAddr>,
    /// Clients that had a lock.
    pub holders: Vec<LockHolder>,
}

/// A client that had a lock while others were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// The client.
    pub client: IpAddr,
    /// Its user, if known.
    pub user: Symbol,
    /// Refused requests that met its lock.
    pub requests: u64,
}

/// Bytes of a file: from the first, and how many.
type Range = (u64, u64);

/// A lock that a client has.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Hold {
    client: IpAddr,
    connection: u32,
    user: Symbol,
    range: Option<Range>,
}

/// A client that tries to get a lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Try {
    client: IpAddr,
    range: Option<Range>,
    from_ns: i64,
    to_ns: i64,
    /// Refusals without a known holder so far.
    unexplained: u64,
}

/// State of a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Known {
    holds: Vec<Hold>,
    tries: Vec<Try>,
}

/// All files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Refused {
    files: Vec<LockRefusals>,
    known: HashMap<File, Known>,
}

/// The effect of a request on locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Act {
    Lock,
    Unlock,
    Close,
}

fn act(t: &Transaction) -> Option<Act> {
    let row = t.procedure.row();
    match (row.protocol, row.code) {
        (Protocol::Smb2, 0x0A) => Some(if t.asked.unlock? { Act::Unlock } else { Act::Lock }),
        (Protocol::Smb2, 0x06) => Some(Act::Close),
        (Protocol::Nlm, 2 | 22) | (Protocol::Nfs4, 12) => Some(Act::Lock),
        (Protocol::Nlm, 4) | (Protocol::Nfs4, 14) => Some(Act::Unlock),
        _ => None,
    }
}

/// The bytes that a request is for.
fn range(t: &Transaction) -> Option<Range> {
    let (offset, bytes) = t.asked.offset.zip(t.asked.bytes)?;
    let to_the_end = t.procedure.row().protocol == Protocol::Nlm && bytes == 0;
    Some((offset, if to_the_end { u64::MAX } else { bytes }))
}

/// Whether two ranges may have a byte in common.
fn may_meet(one: Option<Range>, other: Option<Range>) -> bool {
    let Some(((a, a_bytes), (b, b_bytes))) = one.zip(other) else { return true };
    a < b.saturating_add(b_bytes) && b < a.saturating_add(a_bytes)
}

impl Refused {
    /// Takes a request that locks, unlocks or closes, or was refused.
    #[cold]
    pub(super) fn record(&mut self, t: &Transaction) {
        let file = File { server: t.server.ip, share: t.share, path: t.path };
        if is_refused(t) {
            self.refused(file, t);
        } else if t.outcome == Outcome::Succeeded {
            match act(t) {
                Some(Act::Lock) => self.granted(file, t),
                Some(Act::Unlock) => self.released(file, t, range(t)),
                Some(Act::Close) => self.closed(file, t),
                None => {}
            }
        }
    }

    fn known(&mut self, file: File) -> Option<&mut Known> {
        let is_room = self.known.len() < MAX_LOCKED;
        if !file.path.is_some() || !is_room && !self.known.contains_key(&file) {
            return None;
        }
        Some(self.known.entry(file).or_default())
    }

    fn granted(&mut self, file: File, t: &Transaction) {
        let (client, range) = (t.client.ip, range(t));
        let Some(known) = self.known(file) else { return };
        if known.holds.len() < MAX_RECENT {
            known.holds.push(Hold { client, connection: t.connection, user: t.user, range });
        }
        let place = known.tries.iter().position(|one| one.client == client && may_meet(one.range, range));
        let Some(tried) = place.map(|place| known.tries.swap_remove(place)) else { return };
        let is_again = |at_ns: i64| at_ns.saturating_sub(tried.to_ns) <= TRIES_NS;
        let to_ns = t.timeline.response_last.filter(|_| t.timeline.request_first.is_some_and(is_again));
        self.tried(file, tried.from_ns, to_ns.unwrap_or(tried.to_ns));
    }

    fn released(&mut self, file: File, t: &Transaction, range: Option<Range>) {
        let client = t.client.ip;
        let Some(known) = self.known.get_mut(&file) else { return };
        known.holds.retain(|hold| hold.client != client || !may_meet(hold.range, range));
        let is_met = |one: &&mut Try| one.client != client && one.unexplained > 0 && may_meet(one.range, range);
        let met: u64 = known.tries.iter_mut().filter(is_met).map(|one| std::mem::take(&mut one.unexplained)).sum();
        self.met(file, client, t.user, met);
    }

    fn closed(&mut self, file: File, t: &Transaction) {
        let Some(known) = self.known.get_mut(&file) else { return };
        known.holds.retain(|hold| (hold.client, hold.connection) != (t.client.ip, t.connection));
    }

    fn refused(&mut self, file: File, t: &Transaction) {
        let (Some(status), Some(from_ns), Some(to_ns)) = (t.status, t.timeline.request_first, t.timeline.response_last)
        else {
            return;
        };
        let (client, range) = (t.client.ip, range(t));
        self.add(&LockRefusals {
            protocol: t.procedure.row().protocol,
            status,
            requests: 1,
            first_ns: to_ns,
            clients: vec![client],
            ..file.without_refusals()
        });
        let Some(known) = self.known(file) else { return };
        let holder = known.holds.iter().find(|hold| hold.client != client && may_meet(hold.range, range)).copied();
        let unexplained = u64::from(holder.is_none());
        let mut ended = None;
        let is_room = known.tries.len() < MAX_RECENT;
        match known.tries.iter_mut().find(|one| one.client == client && may_meet(one.range, range)) {
            Some(one) if from_ns.saturating_sub(one.to_ns) <= TRIES_NS => {
                (one.to_ns, one.unexplained) = (to_ns.max(one.to_ns), one.unexplained + unexplained);
            }
            Some(one) => ended = Some(std::mem::replace(one, Try { client, range, from_ns, to_ns, unexplained })),
            None if is_room => known.tries.push(Try { client, range, from_ns, to_ns, unexplained }),
            None => {}
        }
        if let Some(ended) = ended {
            self.tried(file, ended.from_ns, ended.to_ns);
        }
        if let Some(holder) = holder {
            self.met(file, holder.client, holder.user, 1);
        }
    }

    fn tried(&mut self, file: File, from_ns: i64, to_ns: i64) {
        let ns = u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0);
        let Some(one) = self.files.iter_mut().find(|one| one.file() == file) else { return };
        (one.tried_ns, one.longest_ns) = (cell::sum(one.tried_ns, ns), one.longest_ns.max(ns));
    }

    fn met(&mut self, file: File, holder: IpAddr, user: Symbol, requests: u64) {
        let Some(one) = self.files.iter_mut().find(|one| one.file() == file && requests > 0) else { return };
        let is_room = one.holders.len() < MAX_RECENT;
        match one.holders.iter_mut().find(|one| (one.client, one.user) == (holder, user)) {
            Some(one) => one.requests = one.requests.saturating_add(requests),
            None if is_room => one.holders.push(LockHolder { client: holder, user, requests }),
            None => {}
        }
    }

    fn add(&mut self, more: &LockRefusals) {
        let file = more.file();
        let is_room = self.files.len() < MAX_FILES;
        match self.files.iter_mut().find(|one| one.file() == file) {
            Some(one) => {
                one.requests = one.requests.saturating_add(more.requests);
                one.tried_ns = cell::sum(one.tried_ns, more.tried_ns);
                one.longest_ns = one.longest_ns.max(more.longest_ns);
                one.first_ns = one.first_ns.min(more.first_ns);
                let new = more.clients.iter().filter(|client| !one.clients.contains(client)).copied();
                let new: Vec<IpAddr> = new.take(MAX_RECENT - one.clients.len()).collect();
                one.clients.extend(new);
            }
            None if is_room => self.files.push(LockRefusals { holders: Vec::new(), ..more.clone() }),
            None => return,
        }
        more.holders.iter().for_each(|one| self.met(file, one.client, one.user, one.requests));
    }

    pub(super) fn merge(&mut self, other: &Refused) {
        other.refusals().iter().for_each(|theirs| self.add(theirs));
    }

    /// The files, in the order in which they came; clients that still try have tried until their last refusal.
    pub(super) fn refusals(&self) -> Vec<LockRefusals> {
        let mut all = Refused { files: self.files.clone(), known: HashMap::new() };
        for (&file, known) in &self.known {
            known.tries.iter().for_each(|one| all.tried(file, one.from_ns, one.to_ns));
        }
        let order = |one: &LockHolder| (std::cmp::Reverse(one.requests), one.client, one.user);
        all.files.iter_mut().for_each(|one| one.holders.sort_by_key(order));
        all.files
    }

    pub(super) fn of(files: Vec<LockRefusals>) -> Option<Self> {
        let is_bounded = |one: &LockRefusals| one.holders.len() <= MAX_RECENT && one.clients.len() <= MAX_RECENT;
        let is_sound = files.len() <= MAX_FILES && files.iter().all(is_bounded);
        is_sound.then(|| Self { files, known: HashMap::new() })
    }
}

/// Whether another client's lock kept a request from being carried out.
pub(super) fn is_refused(t: &Transaction) -> bool {
    let family = t.status.and_then(|status| Some((StatusFamily::of(t.procedure.row().protocol, status)?, status)));
    family.is_some_and(|status| REFUSED.contains(&status))
}

impl File {
    fn without_refusals(self) -> LockRefusals {
        let Self { server, share, path } = self;
        LockRefusals {
            server,
            share,
            path,
            protocol: Protocol::Smb2,
            status: 0,
            requests: 0,
            first_ns: i64::MAX,
            tried_ns: 0,
            longest_ns: 0,
            clients: Vec::new(),
            holders: Vec::new(),
        }
    }
}

impl LockRefusals {
    fn file(&self) -> File {
        File { server: self.server, share: self.share, path: self.path }
    }
}

crate::state::fields!("client with a lock"; LockHolder { client, user, requests });
crate::state::fields!("refused locks"; LockRefusals {
    server, share, path, protocol, status, requests, first_ns, tried_ns, longest_ns, clients, holders
});

#[cfg(test)]
mod tests {
    use plimsoll_model::{Endpoint, Names, Procedure};
    use plimsoll_testkit::transaction;

    use super::*;

    const MS: i64 = 1_000_000;
    const DENIED: u32 = 1;

    /// An NLM request of a client at an instant, ms: LOCK (2) or UNLOCK (4) of bytes 0 to 9, and how it ended.
    fn refusals(requests: &[(u16, u8, i64, u32)]) -> Vec<LockRefusals> {
        let ranged: Vec<_> = requests.iter().map(|&(code, client, at, status)| (code, client, at, status, 0)).collect();
        ranged_refusals(&ranged)
    }

    fn ranged_refusals(requests: &[(u16, u8, i64, u32, u64)]) -> Vec<LockRefusals> {
        let (mut names, mut refused) = (Names::default(), Refused::default());
        for &(code, client, at_ms, status, offset) in requests {
            let procedure = Procedure::of(Protocol::Nlm, code);
            let mut t = transaction(procedure, at_ms * MS, MS);
            t.client = Endpoint { ip: ip(client), port: 800 };
            (t.share, t.path, t.user) = (names.intern("/export"), names.intern("job"), names.intern("1007"));
            (t.status, t.outcome) = (Some(status), Outcome::of_status(procedure, status));
            (t.asked.offset, t.asked.bytes) = (Some(offset), Some(10));
            refused.record(&t);
        }
        refused.refusals()
    }

    fn ip(client: u8) -> IpAddr {
        [10, 0, 0, client].into()
    }

    fn holders(found: &[LockRefusals]) -> Vec<(IpAddr, u64)> {
        found[0].holders.iter().map(|one| (one.client, one.requests)).collect()
    }

    #[test]
    fn the_client_that_got_the_lock_is_the_one_that_others_meet() {
        let found =
            refusals(&[(2, 1, 0, 0), (2, 2, 100, DENIED), (2, 2, 600, DENIED), (4, 1, 900, 0), (2, 2, 1_100, 0)]);
        assert_eq!(holders(&found), [(ip(1), 2)]);
        // From the first refused request to the answer that grants it.
        assert_eq!((found[0].requests, found[0].tried_ns, found[0].longest_ns), (2, 1_001_000_000, 1_001_000_000));
        assert_eq!((found[0].clients.as_slice(), found[0].first_ns), ([ip(2)].as_slice(), 100 * MS));
    }

    #[test]
    fn who_gives_back_a_lock_from_before_the_capture_had_it() {
        let found = refusals(&[(2, 2, 100, DENIED), (2, 3, 150, 3), (4, 1, 900, 0), (2, 2, 950, 0)]);
        assert_eq!(holders(&found), [(ip(1), 2)], "a lock that waits is refused for now");
        assert_eq!(found[0].tried_ns, 851_000_000 + MS as u64, "the other one had one answer");
        assert_eq!(holders(&refusals(&[(2, 2, 100, DENIED), (2, 2, 900, 0)])), [], "nobody was seen to");
        assert_eq!(holders(&refusals(&[(2, 2, 100, DENIED), (4, 2, 900, 0)])), [], "its own");
    }

    #[test]
    fn locks_on_other_bytes_and_locks_given_back_are_not_met() {
        let other = ranged_refusals(&[(2, 1, 0, 0, 10), (2, 2, 100, DENIED, 0)]);
        assert_eq!(holders(&other), [], "bytes 10 to 19");
        assert_eq!(
            holders(&ranged_refusals(&[(2, 1, 0, 0, 9), (2, 2, 100, DENIED, 0)])),
            [(ip(1), 1)],
            "bytes 9 to 18"
        );
        let given_back = refusals(&[(2, 1, 0, 0), (4, 1, 50, 0), (2, 2, 100, DENIED)]);
        assert_eq!(holders(&given_back), []);
    }

    #[test]
    fn a_client_that_comes_back_later_has_not_tried_meanwhile() {
        let found = refusals(&[(2, 1, 0, 0), (2, 2, 100, DENIED), (2, 2, 60_000, DENIED), (2, 2, 61_000, DENIED)]);
        assert_eq!((found[0].requests, found[0].tried_ns), (3, 1_002 * MS as u64));
    }
}

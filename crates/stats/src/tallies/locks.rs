//! Requests that waited for a byte-range lock, by file, and the clients that had a lock on the file meanwhile.
//!
//! SMB's LOCK and UNLOCK are one procedure. A client is taken to have held a lock from an answer until its next request for the file, if
//! the waiting request of another client was granted as soon as that request came: it must have been an unlock.

mod refused;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use plimsoll_model::{Operation, Outcome, Protocol, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::cell;
pub use refused::{LockHolder, LockRefusals};

/// Maximum number of files with sums; waits for further files are not counted.
const MAX_FILES: usize = 256;
/// Files that are locked and followed: 1 MiB.
const MAX_LOCKED: usize = 1024;
/// Events of a file that are remembered, of each kind, and clients.
const MAX_RECENT: usize = 16;
/// A server grants a lock so soon after another client's request that released it, ns: 0.5 to 1 ms with Samba.
const GRANTED_NS: i64 = 10_000_000;

/// A file of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct File {
    server: IpAddr,
    share: Symbol,
    path: Symbol,
}

/// Requests that waited for locks on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockWaits {
    /// The server.
    pub server: IpAddr,
    /// The share.
    pub share: Symbol,
    /// The path, if known.
    pub path: Symbol,
    /// Requests.
    pub requests: u64,
    /// How long they waited, ns.
    pub waited_ns: u64,
    /// The longest wait, ns.
    pub longest_ns: u64,
    /// Clients that had a lock on the file, and for how much of that waiting, ns.
    pub holders: Vec<(IpAddr, u64)>,
}

/// From an instant to another one, of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    client: IpAddr,
    from_ns: i64,
    to_ns: i64,
}

/// The last events of a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Recent {
    /// The last answer to each client's LOCK, ns.
    granted: Vec<(IpAddr, i64)>,
    /// From such an answer to the client's next request: it may have had a lock.
    candidates: VecDeque<Span>,
    /// It had one.
    holds: VecDeque<Span>,
    waits: VecDeque<Span>,
}

/// All files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Locks {
    files: Vec<LockWaits>,
    recent: HashMap<File, Recent>,
    refused: refused::Refused,
}

/// Whether it locks or unlocks a range of bytes.
fn is_lock(t: &Transaction) -> bool {
    let row = t.procedure.row();
    match row.protocol {
        Protocol::Smb2 => row.code == 0x0A,
        Protocol::Smb1 => row.operation == Operation::Lock,
        _ => false,
    }
}

impl Locks {
    /// Takes a request that is counted; `waited_ns` is how long it waited.
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction, waited_ns: Option<u64>) {
        match t.procedure.row().operation {
            Operation::Lock => {
                self.lock(t, waited_ns);
                self.refused.record(t);
            }
            Operation::Close if !self.recent.is_empty() => {
                self.close(t);
                self.refused.record(t);
            }
            _ if t.outcome.is_error() && refused::is_refused(t) => self.refused.record(t),
            _ => {}
        }
    }

    #[cold]
    fn lock(&mut self, t: &Transaction, waited_ns: Option<u64>) {
        if !is_lock(t) {
            return;
        }
        let file = File { server: t.server.ip, share: t.share, path: t.path };
        let waited_ns = waited_ns.filter(|_| t.long_lived);
        if let Some(ns) = waited_ns {
            let one = LockWaits { requests: 1, waited_ns: ns, longest_ns: ns, ..file.without_waits() };
            self.add(&one);
        }
        let span = t.timeline.request_first.zip(t.timeline.response_last);
        let Some((asked_ns, answered_ns)) = span.filter(|_| t.path.is_some() && t.outcome == Outcome::Succeeded) else {
            return;
        };
        if self.recent.len() >= MAX_LOCKED && !self.recent.contains_key(&file) {
            return;
        }
        let recent = self.recent.entry(file).or_default();
        let client = t.client.ip;
        if waited_ns.is_some() {
            let left = recent.granted_after(Span { client, from_ns: asked_ns, to_ns: answered_ns });
            recent.granted(client, answered_ns);
            left.into_iter().for_each(|(holder, ns)| self.held(file, holder, ns));
        } else {
            recent.released(client, asked_ns);
            recent.granted(client, answered_ns);
        }
    }

    #[cold]
    fn close(&mut self, t: &Transaction) {
        let file = File { server: t.server.ip, share: t.share, path: t.path };
        let Some(recent) = self.recent.get_mut(&file) else { return };
        if let Some(asked_ns) = t.timeline.request_first {
            recent.released(t.client.ip, asked_ns);
        }
    }

    fn find(&mut self, file: File) -> Option<&mut LockWaits> {
        self.files.iter_mut().find(|one| one.file() == file)
    }

    fn add(&mut self, more: &LockWaits) {
        let file = more.file();
        let is_room = self.files.len() < MAX_FILES;
        match self.find(file) {
            Some(one) => {
                one.requests = one.requests.saturating_add(more.requests);
                one.waited_ns = cell::sum(one.waited_ns, more.waited_ns);
                one.longest_ns = one.longest_ns.max(more.longest_ns);
            }
            None if is_room => {
                self.files.push(LockWaits { holders: Vec::new(), ..more.clone() });
            }
            None => return,
        }
        more.holders.iter().for_each(|&(holder, ns)| self.held(file, holder, ns));
    }

    fn held(&mut self, file: File, holder: IpAddr, ns: u64) {
        let Some(one) = self.find(file) else { return };
        let is_room = one.holders.len() < MAX_RECENT;
        match one.holders.iter_mut().find(|(ip, _)| *ip == holder) {
            Some((_, sum)) => *sum = cell::sum(*sum, ns),
            None if is_room => one.holders.push((holder, ns)),
            None => {}
        }
    }

    pub(super) fn merge(&mut self, other: &Locks) {
        other.waits().iter().for_each(|theirs| self.add(theirs));
        self.refused.merge(&other.refused);
    }

    /// The files, in the order in which they came.
    pub(super) fn waits(&self) -> Vec<LockWaits> {
        let mut all = Locks { files: self.files.clone(), ..Locks::default() };
        for (&file, recent) in &self.recent {
            let spans = recent.waits.iter().flat_map(|wait| recent.holders(wait));
            spans.for_each(|(holder, ns)| all.held(file, holder, ns));
        }
        all.files.iter_mut().for_each(|one| one.holders.sort_by_key(|&(ip, ns)| (std::cmp::Reverse(ns), ip)));
        all.files
    }

    /// Refusals, by file.
    pub(super) fn refusals(&self) -> Vec<LockRefusals> {
        self.refused.refusals()
    }

    pub(super) fn of(files: Vec<LockWaits>, refusals: Vec<LockRefusals>) -> Option<Self> {
        let is_sound = files.len() <= MAX_FILES && files.iter().all(|one| one.holders.len() <= MAX_RECENT);
        let refused = refused::Refused::of(refusals)?;
        is_sound.then(|| Self { files, refused, ..Self::default() })
    }
}

impl File {
    fn without_waits(self) -> LockWaits {
        let Self { server, share, path } = self;
        LockWaits { server, share, path, requests: 0, waited_ns: 0, longest_ns: 0, holders: Vec::new() }
    }
}

impl LockWaits {
    fn file(&self) -> File {
        File { server: self.server, share: self.share, path: self.path }
    }
}

impl Recent {
    fn granted(&mut self, client: IpAddr, at_ns: i64) {
        self.granted.retain(|(ip, _)| *ip != client);
        if self.granted.len() >= MAX_RECENT {
            self.granted.remove(0);
        }
        self.granted.push((client, at_ns));
    }

    /// A client sent a request that may have released its lock.
    fn released(&mut self, client: IpAddr, at_ns: i64) {
        let Some(place) = self.granted.iter().position(|(ip, _)| *ip == client) else { return };
        let (_, from_ns) = self.granted.swap_remove(place);
        let span = Span { client, from_ns, to_ns: at_ns };
        // Its answer may come after that of the waiting request.
        if self.waits.iter().any(|wait| span.was_waited_for(wait)) {
            push(&mut self.holds, span);
        } else {
            push(&mut self.candidates, span);
        }
    }

    /// A request was granted that had waited. Gives what holders of the wait that is forgotten now had.
    fn granted_after(&mut self, wait: Span) -> Vec<(IpAddr, u64)> {
        let (held, others) = self.candidates.iter().partition::<VecDeque<Span>, _>(|span| span.was_waited_for(&wait));
        self.candidates = others;
        held.into_iter().for_each(|span| {
            push(&mut self.holds, span);
        });
        let oldest = if self.waits.len() >= MAX_RECENT { self.waits.pop_front() } else { None };
        self.waits.push_back(wait);
        oldest.map(|oldest| self.holders(&oldest)).unwrap_or_default()
    }

    /// Clients that had a lock during a wait, and how long.
    fn holders(&self, wait: &Span) -> Vec<(IpAddr, u64)> {
        let others = self.holds.iter().filter(|hold| hold.client != wait.client);
        let overlap = |hold: &Span| hold.to_ns.min(wait.to_ns).saturating_sub(hold.from_ns.max(wait.from_ns));
        others.map(|hold| (hold.client, u64::try_from(overlap(hold)).unwrap_or(0))).filter(|(_, ns)| *ns > 0).collect()
    }
}

impl Span {
    /// Whether another client's wait began before the end of this, and ended with it.
    fn was_waited_for(&self, wait: &Span) -> bool {
        let is_end = (0..=GRANTED_NS).contains(&wait.to_ns.saturating_sub(self.to_ns));
        self.client != wait.client && wait.from_ns <= self.to_ns && is_end
    }
}

fn push(spans: &mut VecDeque<Span>, span: Span) {
    if spans.len() >= MAX_RECENT {
        spans.pop_front();
    }
    spans.push_back(span);
}

crate::state::fields!("waits for locks"; LockWaits { server, share, path, requests, waited_ns, longest_ns, holders });

#[cfg(test)]
mod tests {
    use plimsoll_model::{Endpoint, Names, Procedure};
    use plimsoll_testkit::transaction;

    use super::*;

    const MS: i64 = 1_000_000;

    /// LOCK, UNLOCK or CLOSE of a client, from an instant to another one, ms.
    fn request(names: &mut Names, code: u16, client: u8, from_ms: i64, to_ms: i64) -> Transaction {
        let mut t = transaction(Procedure::of(Protocol::Smb2, code), to_ms * MS, (to_ms - from_ms) * MS);
        t.client = Endpoint { ip: [10, 0, 0, client].into(), port: 40_000 };
        (t.share, t.path) = (names.intern("share"), names.intern("file"));
        t.long_lived = code == LOCK && to_ms - from_ms > 10;
        t
    }

    const LOCK: u16 = 10;
    const CLOSE: u16 = 6;

    fn waits(requests: &[(u16, u8, i64, i64)]) -> LockWaits {
        let (mut names, mut locks) = (Names::default(), Locks::default());
        for &(code, client, from_ms, to_ms) in requests {
            let t = request(&mut names, code, client, from_ms, to_ms);
            let waited = t.timeline.response_last.zip(t.timeline.request_first).map(|(end, start)| end.abs_diff(start));
            locks.record(&t, waited);
        }
        locks.waits().remove(0)
    }

    fn ip(client: u8) -> IpAddr {
        [10, 0, 0, client].into()
    }

    #[test]
    fn the_client_is_known_whose_unlock_ends_a_wait() {
        // The unlock is answered behind the request that waited for it.
        let one = waits(&[(LOCK, 1, 0, 1), (LOCK, 2, 100, 1_001), (LOCK, 1, 1_000, 1_002)]);
        assert_eq!((one.requests, one.waited_ns, one.longest_ns), (1, 901_000_000, 901_000_000));
        assert_eq!(one.holders, [(ip(1), 900_000_000)]);
        // Before it, and with a close.
        let closed = waits(&[(LOCK, 1, 0, 1), (CLOSE, 1, 1_000, 1_001), (LOCK, 2, 100, 1_002)]);
        assert_eq!(closed.holders, [(ip(1), 900_000_000)]);
    }

    #[test]
    fn nobody_is_named_whose_requests_ended_no_wait() {
        let later = waits(&[(LOCK, 1, 0, 1), (LOCK, 2, 100, 1_001), (LOCK, 1, 1_005, 1_006)]);
        assert_eq!(later.holders, [], "it was granted before");
        let sooner = waits(&[(LOCK, 1, 0, 1), (LOCK, 1, 900, 901), (LOCK, 2, 100, 1_001)]);
        assert_eq!(sooner.holders, [], "100 ms passed");
        let own = waits(&[(LOCK, 2, 0, 1), (LOCK, 2, 100, 1_001), (LOCK, 2, 1_000, 1_002)]);
        assert_eq!(own.holders, [], "of the same client");
        let unseen = waits(&[(LOCK, 2, 100, 1_001), (LOCK, 1, 1_000, 1_002)]);
        assert_eq!(unseen.holders, [], "nobody saw it get a lock");
    }

    #[test]
    fn a_wait_for_one_after_the_other_has_both() {
        let both = waits(&[
            (LOCK, 1, 0, 1),
            (LOCK, 2, 100, 1_001),
            (LOCK, 1, 1_000, 1_002),
            (LOCK, 2, 1_050, 1_052),
            (LOCK, 3, 200, 1_051),
        ]);
        assert_eq!(both.holders, [(ip(1), 1_700_000_000), (ip(2), 49_000_000)]);
    }
}

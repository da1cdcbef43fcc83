//! Requests that clients send again after an error, and the pauses before: no response time has them.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Operation, Procedure, StatusFamily, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use StatusFamily::{Dos, Errno, Nfs, Nlm, Nt};

/// Maximum number of errors that may be repeated: 128 KiB. Further ones are not tracked.
const MAX_WAITING: usize = 1024;
/// A request that comes later is another one, ns. NFS clients wait for 15 s at most, SMB clients for less.
const LATEST_NS: u64 = 16_000_000_000;

/// Errors after which clients try again.
const AGAIN: [(StatusFamily, u32); 17] = [
    (Nfs, 10_008),     // JUKEBOX or DELAY
    (Nfs, 10_013),     // GRACE
    (Nlm, 4),          // DENIED_GRACE_PERIOD
    (Nfs, 28),         // NOSPC
    (Nfs, 69),         // DQUOT
    (Nt, 0xC000_007F), // DISK_FULL
    (Nt, 0xC000_0044), // QUOTA_EXCEEDED
    (Errno, 28),
    (Errno, 122),
    (Nt, 0xC000_0043),  // SHARING_VIOLATION
    (Nt, 0xC000_0054),  // FILE_LOCK_CONFLICT
    (Nt, 0xC000_0055),  // LOCK_NOT_GRANTED
    (Dos, 0x0020_0001), // ERRbadshare
    (Dos, 0x0021_0001), // ERRlock
    (Nfs, 10_015),      // SHARE_DENIED
    (Nfs, 10_012),      // LOCKED
    (Nfs, 10_010),      // DENIED
];

/// Errors because a name exists already. A program that waits for the removal of a lock file asks again; others do not, so only
/// [`MAX_TAKEN`] of them wait at a time.
const TAKEN: [(StatusFamily, u32); 4] = [
    (Nfs, 17),          // EXIST
    (Nt, 0xC000_0035),  // OBJECT_NAME_COLLISION
    (Dos, 0x0050_0001), // ERRfilexists
    (Errno, 17),
];

/// Maximum number of errors that wait when another one of [`TAKEN`] is added.
const MAX_TAKEN: usize = MAX_WAITING / 2;

/// The same request: the same client asks the same server for the same.
type Same = (IpAddr, IpAddr, Procedure, Symbol, Symbol);

/// Errors that were not followed by the same request yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Repeats(HashMap<Same, (u32, i64), foldhash::fast::RandomState>);

impl Repeats {
    /// Takes a request, and gives the status of the same one before it, and the pause between, ns.
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction) -> Option<(u32, u64)> {
        if self.0.is_empty() && !t.outcome.is_error() { None } else { self.find(t) }
    }

    #[inline(never)]
    fn find(&mut self, t: &Transaction) -> Option<(u32, u64)> {
        if !t.path.is_some() {
            return None;
        }
        let same = (t.client.ip, t.server.ip, t.procedure, t.share, t.path);
        let before = self.0.remove(&same).and_then(|(status, end_ns)| {
            let pause_ns = u64::try_from(t.timeline.request_first?.saturating_sub(end_ns)).ok()?;
            (pause_ns <= LATEST_NS).then_some((status, pause_ns))
        });
        if let Some((status, end_ns)) = t.status.zip(t.timeline.response_last)
            && self.0.len() < most_waiting(t, status)
        {
            self.0.insert(same, (status, end_ns));
        }
        before
    }
}

/// How many errors may wait for this one to be added.
fn most_waiting(t: &Transaction, status: u32) -> usize {
    let row = t.procedure.row();
    match StatusFamily::of(row.protocol, status).map(|family| (family, status)) {
        Some(one) if AGAIN.contains(&one) => MAX_WAITING,
        // Programs make a directory again without need, and do not wait.
        Some(one) if TAKEN.contains(&one) && row.operation != Operation::MakeDirectory => MAX_TAKEN,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Names, Outcome, Protocol};
    use plimsoll_testkit::transaction;

    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_name_that_exists_is_waited_for_and_a_directory_is_not() {
        let (mut names, create, make_directory) =
            (Names::default(), Procedure::of(Protocol::Nfs3, 8), Procedure::of(Protocol::Nfs3, 9));
        let path = names.intern("it.lock");
        for (procedure, expected) in [(create, Some((17, 99 * MS as u64))), (make_directory, None)] {
            let mut repeats = Repeats::default();
            let mut ask = |at_ms: i64| {
                let mut t = transaction(procedure, at_ms * MS, MS);
                (t.path, t.status, t.outcome) = (path, Some(17), Outcome::of_status(procedure, 17));
                repeats.record(&t)
            };
            assert_eq!((ask(100), ask(200)), (None, expected));
        }
    }

    #[test]
    fn the_pause_before_the_same_request_counts() {
        let (mut names, mut repeats) = (Names::default(), Repeats::default());
        let read = Procedure::of(Protocol::Nfs3, 6);
        let mut ask = |path: &str, at_ms: i64, status: u32| {
            let mut t = transaction(read, (at_ms + 1) * MS, MS);
            (t.share, t.path) = (names.intern("share"), names.intern(path));
            (t.status, t.outcome) = (Some(status), Outcome::of_status(read, status));
            repeats.record(&t)
        };
        assert_eq!(ask("a", 0, 10_008), None);
        assert_eq!(ask("b", 100, 0), None, "another file");
        assert_eq!(ask("a", 5_001, 10_008), Some((10_008, 5_000_000_000)));
        assert_eq!(ask("a", 10_002, 0), Some((10_008, 5_000_000_000)));
        assert_eq!(ask("a", 15_003, 0), None, "it was answered");
        assert_eq!(ask("a", 16_000, 70), None);
        assert_eq!(ask("a", 17_000, 0), None, "nobody tries again for that");
        assert_eq!(ask("a", 18_000, 10_008), None);
        assert_eq!(ask("a", 34_002, 0), None, "more than 16 s later");
    }
}

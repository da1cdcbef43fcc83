//! The most frequent error status of a level, and its remedy.

use plimsoll_client::status_name;
use plimsoll_model::{Procedure, StatusFamily};
use plimsoll_stats::Statistics;
use plimsoll_stats::tallies::FULL;

use StatusFamily::{Dos, Errno, Nfs, Nt};

/// Statuses that deny access.
const DENIED: [(StatusFamily, u32); 6] = [
    (Nt, 0xC000_0022),  // ACCESS_DENIED
    (Dos, 0x0005_0001), // ERRDOS, ERRnoaccess
    (Nfs, 1),           // PERM
    (Nfs, 13),          // ACCES
    (Errno, 1),
    (Errno, 13),
];

/// The most frequent error status with its operation, count and remedy, in words; `None` if there is none.
pub(crate) fn most_frequent(statistics: &Statistics) -> Option<String> {
    let all = statistics.operations().flat_map(|(procedure, sums)| {
        let errors = sums.statuses().into_iter().filter(|status| status.outcome.is_error());
        errors.map(move |status| (status.count, procedure, status.status))
    });
    // Of equally frequent ones, the first in the order of procedures.
    let most = all.reduce(|most, other| if other.0 > most.0 { other } else { most });
    most.map(|(count, procedure, status)| shown(count, procedure, status))
}

fn shown(count: u64, procedure: Procedure, status: u32) -> String {
    let protocol = procedure.row().protocol;
    let name = status_name(protocol, status).map_or_else(|| format!("{status:#010x}"), str::to_owned);
    let family = StatusFamily::of(protocol, status).map(|family| (family, status));
    let is_one_of = |statuses: &[(StatusFamily, u32)]| family.is_some_and(|known| statuses.contains(&known));
    let remedy = if is_one_of(&FULL) {
        ": free space on the server or raise the quota, or use smaller files"
    } else if is_one_of(&DENIED) {
        ": check the rights of the account on the directory and on the files of the file set"
    } else {
        ""
    };
    format!("{name}, {} ({count}){remedy}", procedure.name())
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Protocol};
    use plimsoll_stats::Options;
    use plimsoll_testkit::transaction;

    use super::*;

    #[test]
    fn the_most_frequent_status_is_named_with_its_operation_and_remedy() {
        let mut statistics = Statistics::new(Options::default());
        let mut record = |count: i64, procedure, status, outcome| {
            for at in 0..count {
                let mut one = transaction(Procedure::of(Protocol::Smb2, procedure), at, 1_000);
                (one.status, one.outcome) = (Some(status), outcome);
                statistics.record(&one);
            }
        };
        record(900, 9, 0, Outcome::Succeeded);
        record(500, 5, 0xC000_0034, Outcome::Expected);
        record(3, 5, 0xC000_0022, Outcome::Refused);
        assert_eq!(
            most_frequent(&statistics).unwrap(),
            "STATUS_ACCESS_DENIED, CREATE (3): check the rights of the account on the directory and on the files of the file set"
        );
        (0..133).for_each(|at| {
            let mut one = transaction(Procedure::of(Protocol::Smb2, 9), at, 1_000);
            (one.status, one.outcome) = (Some(0xC000_007F), Outcome::Refused);
            statistics.record(&one);
        });
        assert_eq!(
            most_frequent(&statistics).unwrap(),
            "STATUS_DISK_FULL, WRITE (133): free space on the server or raise the quota, or use smaller files"
        );
        assert_eq!(most_frequent(&Statistics::new(Options::default())), None);
    }
}

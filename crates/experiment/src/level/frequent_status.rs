//! The most frequent error status of a level, and its remedy.

use std::collections::BTreeMap;

use plimsoll_client::operation::Cause;
use plimsoll_client::status_name;
use plimsoll_drive::engine::ClientTally;
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

/// The most frequent error status with its operation, count and remedy, in words; `None` if there is none. If all requests with an error
/// status were due after the phase, the tables have no status: the result is then the most frequent status of `failures`, each with its
/// cause in words and its count.
pub(crate) fn most_frequent<'a>(
    statistics: &Statistics,
    failures: impl IntoIterator<Item = (&'a str, u64)>,
) -> Option<String> {
    in_tables(statistics).or_else(|| in_words(failures))
}

/// The same, with the failures of these clients.
pub(super) fn most_frequent_of_clients(statistics: &Statistics, clients: &[ClientTally]) -> Option<String> {
    let failures = clients.iter().flat_map(|client| &client.error_statuses);
    most_frequent(statistics, failures.map(|error| (error.words.as_str(), error.count)))
}

fn in_tables(statistics: &Statistics) -> Option<String> {
    let all = statistics.operations().flat_map(|(procedure, sums)| {
        let errors = sums.statuses().into_iter().filter(|status| status.outcome.is_error());
        errors.map(move |status| (status.count, procedure, status.status))
    });
    // Of equally frequent ones, the first in the order of procedures.
    let most = all.reduce(|most, other| if other.0 > most.0 { other } else { most });
    most.map(|(count, procedure, status)| shown(count, procedure, status))
}

/// The words of a failure name the status and the operation, and may have a remedy.
fn in_words<'a>(failures: impl IntoIterator<Item = (&'a str, u64)>) -> Option<String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (words, count) in failures {
        if let Some(status) = words.strip_prefix(Cause::Status.label()) {
            *counts.entry(status).or_default() += count;
        }
    }
    // Failures that name no status may have different ones: if there are more of them than of each named status, the most frequent status
    // is unknown.
    let (status, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    let status = status.strip_prefix(": ")?;
    let (status, remedy) = status.split_at(status.find("; ").unwrap_or(status.len()));
    Some(format!("{status} ({count}){remedy}"))
}

fn shown(count: u64, procedure: Procedure, status: u32) -> String {
    let protocol = procedure.row().protocol;
    let name = status_name(protocol, status).map_or_else(|| format!("status {status:#010x}"), str::to_owned);
    let family = StatusFamily::of(protocol, status).map(|family| (family, status));
    let is_one_of = |statuses: &[(StatusFamily, u32)]| family.is_some_and(|known| statuses.contains(&known));
    let remedy = if is_one_of(&FULL) {
        "; free space on the server or raise the quota, or use smaller files"
    } else if is_one_of(&DENIED) {
        "; check the rights of the account on the directory and on the files of the file set"
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
            most_frequent(&statistics, []).unwrap(),
            "STATUS_ACCESS_DENIED, CREATE (3); check the rights of the account on the directory and on the files of the file set"
        );
        (0..133).for_each(|at| {
            let mut one = transaction(Procedure::of(Protocol::Smb2, 9), at, 1_000);
            (one.status, one.outcome) = (Some(0xC000_007F), Outcome::Refused);
            statistics.record(&one);
        });
        assert_eq!(
            most_frequent(&statistics, [("error status: NFS3ERR_IO, READ", 999)]).unwrap(),
            "STATUS_DISK_FULL, WRITE (133); free space on the server or raise the quota, or use smaller files"
        );
    }

    /// Each request that got an error status was due after the phase, so the tables have none.
    #[test]
    fn a_status_that_no_table_has_is_named_in_the_same_form() {
        let named = |failures: &[(&'static str, u64)]| {
            most_frequent(&Statistics::new(Options::default()), failures.iter().copied())
        };
        let full = "error status: NFS3ERR_NOSPC, WRITE";
        let failures = [(full, 2), ("error status: NFS3ERR_IO, READ", 3), (full, 2), ("timed out", 9)];
        assert_eq!(named(&failures).unwrap(), "NFS3ERR_NOSPC, WRITE (4)");
        let link = "error status: STATUS_PATH_NOT_COVERED, CREATE; the path is a DFS link";
        assert_eq!(named(&[(link, 1)]).unwrap(), "STATUS_PATH_NOT_COVERED, CREATE (1); the path is a DFS link");
        assert_eq!(named(&[(full, 2), ("error status", 3)]), None, "those three may be of one status or of three");
        assert_eq!(named(&[("timed out", 9)]), None);
    }
}

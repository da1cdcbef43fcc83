//! The gate for wrong data.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::ClientTally;

use super::validity::Level;

/// That the server returned wrong data.
pub(super) fn wrong(level: &Level<'_>) -> Option<String> {
    let sum = |of: fn(&ClientTally) -> u64| level.clients.iter().map(of).sum::<u64>();
    let count = sum(|client| client.count_of(Cause::WrongData));
    let (wrong, verified) = (sum(|client| client.wrong_reads), sum(|client| client.verified_reads));
    // A workload verifies only some of its reads: a small number may be all of them.
    let reads = match (wrong, verified) {
        (0, _) => String::new(),
        (wrong, 1) => format!(
            "; {wrong} of 1 verified read was wrong (the workload's \"verify\" sets how many reads are verified)"
        ),
        (wrong, _) => {
            format!(
                "; {wrong} of {verified} verified reads were wrong (the workload's \"verify\" sets how many reads are verified)"
            )
        }
    };
    // Reads are verified in the whole run, operations counted in its measured phase.
    let all = count.max(wrong);
    let outside = match all - count {
        0 => String::new(),
        outside => format!(", {outside} of them outside the measured phase"),
    };
    let s = if all == 1 { "" } else { "s" };
    (all > 0).then(|| format!("the server returned wrong data {all} time{s}{outside}{reads}"))
}

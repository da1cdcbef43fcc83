//! What statuses mean in this capture, where other requests tell more than the statuses alone.

use plimsoll_model::StatusFamily::{self, Nt};
use plimsoll_stats::tallies::Forgotten;

use super::meanings::{ENDED, LOCKED, Meaning, SHARED};
use super::{Evidence, Sum, only_client};
use crate::findings::OperationRow;

/// The status for a wrong signature, among other reasons; minimum number of such refusals of requests that need no permission.
const ACCESS_DENIED: &str = "STATUS_ACCESS_DENIED";
const UNSIGNED: u64 = 2;
const ALWAYS_ALLOWED: [&str; 3] = ["LOGOFF", "TREE_DISCONNECT", "ECHO"];

/// The meaning.
pub(super) fn of(evidence: &Evidence<'_>, meaning: &Meaning, sum: &Sum<'_>) -> &'static str {
    let is_about_permission = meaning.statuses.contains(&(Nt, 0xC000_0022));
    if is_about_permission && refuses_even_the_end(evidence) {
        "the server probably cannot verify the signatures of requests (it even refuses LOGOFF, TREE_DISCONNECT or ECHO, which need \
         no permission). Check whether something between client and server changes packets (a WAN optimizer, a proxy)"
    } else if meaning.statuses == ENDED && ended_by_clients(evidence, sum) {
        "the client itself had ended the session (LOGOFF) or the use of the share (TREE_DISCONNECT) before"
    } else if meaning.statuses == SHARED && is_alone(evidence, sum) {
        "the files are open, or locked. No other client is in the capture: the client itself may have opened them, or a program on \
         the server"
    } else if meaning.statuses == LOCKED && is_alone(evidence, sum) {
        "the files are locked. No other client is in the capture: the client itself may hold the locks, or a program on the server"
    } else {
        meaning.text
    }
}

/// Whether the server also refuses to end a session or the use of a share, which need no permission: then it could not verify the
/// signatures of these requests (MS-SMB2 3.3.5.2.4).
fn refuses_even_the_end(evidence: &Evidence<'_>) -> bool {
    let is_refused = |row: &OperationRow| {
        let mut statuses = row.statuses.iter();
        ALWAYS_ALLOWED.contains(&row.procedure.as_str())
            && statuses.any(|status| status.name == ACCESS_DENIED && status.count >= UNSIGNED)
    };
    evidence.findings.operations.iter().any(is_refused)
}

/// Whether all these requests came after their client's own LOGOFF or TREE_DISCONNECT.
fn ended_by_clients(evidence: &Evidence<'_>, sum: &Sum<'_>) -> bool {
    let is_of = |row: &&Forgotten| {
        StatusFamily::of(row.protocol, row.status).is_some_and(|family| ENDED.contains(&(family, row.status)))
    };
    let rows = evidence.tallies.map(|tallies| tallies.forgotten()).unwrap_or_default();
    let by_client = rows.iter().filter(is_of).filter(|row| row.is_by_client).map(|row| row.count).sum::<u64>();
    by_client >= sum.count
}

/// Whether these requests are of one client, and the whole capture has no other.
fn is_alone(evidence: &Evidence<'_>, sum: &Sum<'_>) -> bool {
    let places = evidence.tallies.map(|tallies| tallies.places()).unwrap_or_default();
    let is_whole = evidence.findings.source.filters.is_empty();
    is_whole && only_client(sum).is_some_and(|client| places.iter().all(|place| place.key.client == client))
}

//! What statuses mean in this capture, where other requests tell more than the statuses alone.

use plimsoll_model::Operation;
use plimsoll_model::StatusFamily::{self, Nt};
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{Forgotten, Place, PlaceKey, Refusal};

use super::super::clients;
use super::meanings::{ENDED, LOCKED, Meaning, SHARED};
use super::{Evidence, Sum, only_client};
use crate::findings::OperationRow;

/// The status for a wrong signature, among other reasons; minimum number of such refusals of requests that need no permission.
const ACCESS_DENIED: &str = "STATUS_ACCESS_DENIED";
const UNSIGNED: u64 = 2;
const ALWAYS_ALLOWED: [&str; 3] = ["LOGOFF", "TREE_DISCONNECT", "ECHO"];

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
    } else if meaning.statuses == SHARED && is_alone_at_shares(evidence, sum) {
        "the files are open, or locked. No other client in the capture uses the same share: the client itself may have opened them, \
         or a program on the server"
    } else if meaning.statuses == LOCKED && is_alone_at_shares(evidence, sum) {
        "the files are locked. No other client in the capture uses the same share: the client itself may hold the locks, or a program \
         on the server"
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
    let Some(tallies) = of_whole_capture(evidence) else { return false };
    only_client(sum).is_some_and(|client| tallies.places().iter().all(|place| place.key.client == client))
}

/// Whether each of these requests is of the only client of its share. (Another share may have the same files.)
fn is_alone_at_shares(evidence: &Evidence<'_>, sum: &Sum<'_>) -> bool {
    let (encrypted, rpc_tls) = (&evidence.coverage.encrypted, &evidence.coverage.rpc_tls);
    // The share of encrypted requests is not known.
    let is_readable = encrypted.messages == [0, 0] && rpc_tls.connections == 0;
    let Some(tallies) = of_whole_capture(evidence).filter(|_| is_readable) else { return false };
    let is_of = |row: &&Refusal| {
        let key = (row.protocol, row.status, row.operation);
        sum.rows.iter().any(|one| (one.protocol, one.status, one.operation) == key)
    };
    let is_of_another = |key: &PlaceKey, place: &Place| {
        let is_there = place.key.share == key.share || may_be_any_share(place);
        is_there && key.server.ip == place.key.server.ip && key.client != place.key.client
    };
    let is_shared = |key: &PlaceKey| tallies.places().iter().any(|place| is_of_another(key, place));
    let refusals = tallies.refusals();
    let known: u64 = refusals.iter().filter(is_of).map(|row| row.count).sum();
    known == sum.count && refusals.iter().filter(is_of).all(|row| row.place.share.is_some() && !is_shared(&row.place))
}

/// Whether these are requests for files of a share that is not known, because the client connected before the capture began.
fn may_be_any_share(place: &Place) -> bool {
    let is_for_files = |operation: Operation| ![Operation::Session, Operation::Null].contains(&operation);
    let mut operations = place.operations.iter();
    !place.key.share.is_some() && operations.any(|(operation, cell)| cell.count > 0 && is_for_files(operation))
}

/// The sums, if they are of all clients.
fn of_whole_capture<'e>(evidence: &Evidence<'e>) -> Option<&'e Tallies> {
    let is_whole = evidence.findings.source.filters.is_empty() && !clients::has_unread(evidence);
    evidence.tallies.filter(|tallies| is_whole && tallies.has_all_places())
}

//! Connections of one client that are reset again and again, and SMB versions that a server refuses.

use plimsoll_model::{Operation, Outcome, Protocol, Resets};
use plimsoll_stats::tallies::ErrorRow;

use super::super::counts::plural;
use super::{Evidence, Found, Kind};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum number of connections that were reset.
const RESET_LEAST: u64 = 3;
/// Minimum number of refused negotiations.
const REFUSED_LEAST: u64 = 3;

/// The client with most resets, if other clients of its server have none.
pub(super) fn resets(evidence: &Evidence<'_>) -> Option<Found> {
    let is_one = |one: &&Resets| one.count >= RESET_LEAST && one.others > 0 && one.others_reset == 0;
    let most = evidence.coverage.resets.iter().find(is_one).filter(|_| evidence.findings.source.filters.is_empty())?;
    let Resets { client, server, count, from_client, span_ns, back_after_ns, others, .. } = *most;
    let source = match (from_client, count - from_client) {
        (0, _) => "The captured resets have the server's address as source",
        (_, 0) => "The captured resets have the client's address as source",
        _ => "Some captured resets have the client's address as source, the others the server's",
    };
    let text = format!(
        "{connections} of client {client} to server {server} ended with a TCP reset while they were in use, from {first} to {last}. The \
        client connected again each time, at most {after} later. The server has {others}, without such resets. {source}. But a device \
        between client and server, e.g. a firewall, can also send resets with such an address: check the devices on the path and the \
        programs on the client.",
        connections = plural(count, "connection"),
        first = instant::second(span_ns.0),
        last = instant::second(span_ns.1),
        after = duration(back_after_ns as f64 / 1e9),
        others = plural(others, "other client"),
    );
    let of_client = evidence.coverage.client_paths.iter().find(|path| path.client == client);
    let part = of_client.map_or(0.0, |path| count as f64 / path.connections.max(1) as f64);
    let found = Found::new(Kind::Trouble, Rule::Reconnects, None, text).explaining(part.min(1.0));
    Some(found.look(Operation::Session.label(), "connection").only("--client", client.to_string()).inferred())
}

/// SMB1 negotiations without a dialect in their responses.
pub(super) fn refused_versions(evidence: &Evidence<'_>) -> Option<Found> {
    let is_one = |row: &&ErrorRow| {
        (row.protocol, row.operation, row.outcome) == (Protocol::Smb1, Operation::Session, Outcome::Refused)
            && row.status == 0
    };
    let row = evidence.tallies?.errors().rows().iter().find(is_one).filter(|row| row.count >= REFUSED_LEAST)?;
    let who = match row.client {
        Some(client) => format!("client {client} offers"),
        None => "several clients offer".to_owned(),
    };
    let text = format!(
        "The server refused {requests}, because it accepts no SMB version that {who}. The first: {first}. Such a client probably knows only \
        SMB 1, e.g. an old scanner or copier: use another protocol for it, or update it.",
        requests = plural(row.count, "SMB1 NEGOTIATE request"),
        first = instant::second(row.first_ns),
    );
    let all: u64 = evidence.findings.operations.iter().filter(|row| row.parent.is_none()).map(|row| row.count).sum();
    let found = Found::new(Kind::Trouble, Rule::ErrorStatuses, None, text);
    Some(found.explaining(row.count as f64 / all.max(1) as f64).look(Operation::Session.label(), "client").inferred())
}

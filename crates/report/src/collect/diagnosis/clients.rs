//! Clients in sentences.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use plimsoll_model::ClientPath;

use super::super::counts::plural;
use super::{Evidence, NAMED};

/// All clients of the capture.
pub(super) fn all(evidence: &Evidence<'_>) -> BTreeSet<IpAddr> {
    let places = evidence.tallies.map(|tallies| tallies.places()).unwrap_or_default();
    places.iter().map(|place| place.key.client).collect()
}

/// Whether the capture has clients of file servers of which no request is known, e.g. because all are encrypted. (A server that calls its
/// clients back is not such a client.)
pub(super) fn has_unread(evidence: &Evidence<'_>) -> bool {
    may_be_left_out(evidence) || unread(evidence).next().is_some()
}

/// About how many requests in the capture are not known, if anything shows it: the segments with data from these clients, and encrypted
/// messages. A client that only waits for notifications has a few segments.
pub(super) fn unread_requests(evidence: &Evidence<'_>) -> Option<u64> {
    let coverage = evidence.coverage;
    let is_known = !may_be_left_out(evidence) && coverage.rpc_tls.connections == 0;
    let add = |sum: u64, path: &ClientPath| sum.saturating_add(path.data_segments[0]);
    is_known.then(|| unread(evidence).fold(coverage.encrypted.messages[0], add))
}

fn unread<'e>(evidence: &Evidence<'e>) -> impl Iterator<Item = &'e ClientPath> {
    let places = evidence.tallies.map(|tallies| tallies.places()).unwrap_or_default();
    let known: HashSet<IpAddr> = places.iter().flat_map(|place| [place.key.client, place.key.server.ip]).collect();
    evidence.coverage.client_paths.iter().filter(move |path| !known.contains(&path.client))
}

/// Whether there are more clients than Plimsoll lists.
fn may_be_left_out(evidence: &Evidence<'_>) -> bool {
    evidence.tallies.is_some_and(|tallies| !tallies.has_all_places()) || evidence.coverage.without_path > 0
}

/// `all 4 clients`, if it is all of several.
pub(super) fn all_of(evidence: &Evidence<'_>, clients: &BTreeSet<IpAddr>) -> Option<String> {
    let is_all = || *clients == all(evidence) && !has_unread(evidence);
    let all = || is_all().then(|| format!("all {}", plural(clients.len() as u64, "client")));
    match clients.len() {
        0 | 1 => None,
        2 => all().map(|_| "both clients".to_owned()),
        _ => all(),
    }
}

/// `client 10.0.0.1`, `3 clients (10.0.0.1, 10.0.0.2, 10.0.0.3)`, `all 4 clients`.
pub(super) fn named(evidence: &Evidence<'_>, clients: &BTreeSet<IpAddr>) -> String {
    let names: Vec<String> = clients.iter().take(NAMED).map(IpAddr::to_string).collect();
    let names = names.join(", ");
    match (clients.len(), clients.len().saturating_sub(NAMED), all_of(evidence, clients)) {
        (1, ..) => format!("client {names}"),
        (_, 0, Some(all)) => format!("{all} ({names})"),
        (_, _, Some(all)) => all,
        (count, 0, None) => format!("{count} clients ({names})"),
        (count, more, None) => format!("{count} clients ({names} and {more} more)"),
    }
}

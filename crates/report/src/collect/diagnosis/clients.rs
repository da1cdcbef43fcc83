//! Clients in sentences.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::super::counts::plural;
use super::{Evidence, NAMED};

/// All clients of the capture.
pub(super) fn all(evidence: &Evidence<'_>) -> BTreeSet<IpAddr> {
    let places = evidence.tallies.map(|tallies| tallies.places()).unwrap_or_default();
    places.iter().map(|place| place.key.client).collect()
}

/// `all 4 clients`, if it is all of several.
pub(super) fn all_of(evidence: &Evidence<'_>, clients: &BTreeSet<IpAddr>) -> Option<String> {
    let all = || (*clients == all(evidence)).then(|| format!("all {}", plural(clients.len() as u64, "client")));
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

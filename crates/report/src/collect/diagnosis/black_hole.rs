//! A path that drops large packets and passes small ones.

use plimsoll_model::ClientPath;

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind};
use crate::findings::Rule;
use crate::text::{duration, size};

/// Minimum size of a large segment, bytes: each path takes packets of 576 bytes (RFC 791), and random losses affect any size.
pub(super) const LARGE: u32 = 577;

/// The client whose segments were stuck longest.
pub(super) fn black_hole(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    if !evidence.findings.source.filters.is_empty() {
        return None;
    }
    let paths = evidence.coverage.client_paths.iter().flat_map(|path| [(path, 0), (path, 1)]);
    let too_large = paths.filter_map(|(path, at)| Some((path, at, passing(path, at)?)));
    let (path, at, passing) = too_large.max_by_key(|(path, at, _)| path.stuck[*at].ns)?;
    let began = if passing < path.largest_acknowledged[at] { " from then on" } else { "" };
    let (stuck, stuck_s) = (&path.stuck[at], path.stuck[at].ns as f64 / 1e9);
    let share = stuck_s / (stuck_s + waited_s);
    if share < CAUSE_SHARE || (stuck.ns as f64) < evidence.least_ns() {
        return None;
    }
    let (way, receiver) = if at == 0 { ("from", "The server") } else { ("to", "The client") };
    let text = format!(
        "The path {way} client {client} drops large packets: TCP sent {segments} ({size} or larger) up to {times} times, but \
        received no acknowledgement for them. {receiver} acknowledged only segments of up to {passing}{began}. TCP retransmitted for {lasted} \
        in all. Response times do not include this time. Check the MTU of the path, and whether a firewall drops ICMP messages \
        (\"fragmentation needed\", \"packet too big\").",
        client = path.client,
        segments = plural(stuck.segments, "segment"),
        size = size(u64::from(stuck.bytes)),
        times = stuck.copies,
        passing = size(u64::from(passing)),
        lasted = duration(stuck_s),
    );
    Some(Found::new(Kind::Trouble, Rule::BlackHole, None, text).explaining(share).inferred())
}

/// The largest segment that was acknowledged, if only larger ones were stuck: of all, or where the path became too narrow while the
/// capture ran, of those that were acknowledged since.
fn passing(path: &ClientPath, at: usize) -> Option<u32> {
    let stuck = &path.stuck[at];
    let largest = [path.largest_acknowledged[at], path.largest_since_stuck[at]];
    let passing = largest.into_iter().find(|largest| (1..stuck.bytes).contains(largest))?;
    (stuck.segments > 0 && stuck.bytes >= LARGE).then_some(passing)
}

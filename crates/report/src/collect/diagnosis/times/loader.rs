//! The client that makes most of a load, and where.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::Symbol;

use super::super::{Evidence, clients, percent};
use super::CROWD;
use crate::instant;

/// A directory with this part of the client's waiting is named.
const DIRECTORY: f64 = 0.75;
/// It began later than the capture if the first of its responses came after this part of the time.
const LATER: f64 = 0.05;

/// The client with most of the waiting, when and where, if there are others.
pub(super) fn of(evidence: &Evidence<'_>) -> Option<String> {
    let (tallies, clients) = (evidence.tallies.filter(|all| all.has_all_places())?, clients::all(evidence));
    let all = tallies.sum(|_| true).total();
    let sums = clients.iter().map(|&ip| (ip, tallies.sum(|key| key.client == ip).total()));
    let (ip, sum) = sums.max_by_key(|(_, sum)| sum.waited_ns).filter(|_| clients.len() > 1)?;
    if (sum.waited_ns as f64) < CROWD * all.waited_ns as f64 {
        return None;
    }
    Some(format!(
        " On average, {waited} of the outstanding requests belong to client {ip}. It sent {requests} of all requests{when}.{directory}",
        waited = percent(sum.waited_ns as f64 / all.waited_ns as f64),
        requests = percent(sum.count as f64 / all.count.max(1) as f64),
        when = when(evidence, ip).unwrap_or_default(),
        directory = directory(evidence, ip).unwrap_or_default(),
    ))
}

/// When it was active, if not in the whole capture.
fn when(evidence: &Evidence<'_>, ip: IpAddr) -> Option<String> {
    let places = evidence.tallies?.places().iter().filter(|place| place.key.client == ip);
    let spans = places.map(|place| place.span_ns);
    let (first, last) = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
    let (begin, end) = evidence.coverage.first_ns.zip(evidence.coverage.last_ns)?;
    let later_ns = LATER * evidence.elapsed_ns()?;
    let (is_later, is_earlier) =
        (first.saturating_sub(begin) as f64 >= later_ns, end.saturating_sub(last) as f64 >= later_ns);
    match (is_later, is_earlier) {
        (true, true) => Some(format!(", between {} and {}", instant::second(first), instant::second(last))),
        (true, false) => Some(format!(", from {} on", instant::second(first))),
        (false, true) => Some(format!(", until {}", instant::second(last))),
        (false, false) => None,
    }
}

/// The lowest directory, or file, that has most of the waiting of this client alone.
fn directory(evidence: &Evidence<'_>, ip: IpAddr) -> Option<String> {
    let mut sums: HashMap<(Symbol, &str), u64> = HashMap::new();
    let mut all = 0;
    for row in evidence.tallies?.paths().rows().iter().filter(|row| row.client == Some(ip)) {
        let path = evidence.names.text(row.path).unwrap_or_default();
        all += row.cell.waited_ns;
        let separators = path.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'/' | b'\\')).map(|(at, _)| at);
        for end in separators.chain([path.len()]).filter(|&end| end > 0) {
            *sums.entry((row.share, &path[..end])).or_default() += row.cell.waited_ns;
        }
    }
    let most = sums.iter().filter(|(_, waited_ns)| **waited_ns as f64 >= DIRECTORY * all as f64);
    let ((share, path), waited_ns) = most.max_by_key(|((_, path), _)| (path.len(), *path))?;
    let on = evidence.names.text(*share).map_or_else(String::new, |name| format!(" on share {name}"));
    let part = percent(*waited_ns as f64 / all.max(1) as f64);
    Some(format!(" About {part} of its time waited was for {path} and its contents{on}."))
}

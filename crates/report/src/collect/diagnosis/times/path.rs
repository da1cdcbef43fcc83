//! The network path on which requests may wait, rather than in the server.

use std::net::IpAddr;

use plimsoll_model::{ClientPath, Operation};
use plimsoll_stats::tallies::ByOperation;

use super::super::client_paths::is_narrow;
use super::super::{Evidence, network};
use super::{BUSY_OUTSTANDING, CROWD, share_from};
use crate::text::duration;

/// The beginning of a sentence about a queue that may be on the path.
pub(super) const OR_SERVER: &str = "Requests queue in the server or on the network path";
/// Minimum part of the time with a queue during which data moved at the rate of the path.
const OCCUPIED: f64 = 0.75;
/// From this part of a response time on, the time to an acknowledgement does not show where the request waited.
const LATE: f64 = 0.5;
/// Minimum number of timed acknowledgements.
const TIMED_LEAST: u64 = 20;
/// A shorter round trip to the server has no network path in it, ns: such a capture was taken at the server, which delays acknowledgements.
const AT_SERVER_NS: u64 = 50_000;

/// Why requests may wait on the path.
pub(super) struct PathWait {
    pub(super) text: String,
    /// Data show it, so the rule about narrow paths may explain the queue.
    pub(super) is_narrow: bool,
}

/// The reason of the client that waited longest, if such clients have most of the waiting for the operation. Its mean response time is
/// `mean_s`.
pub(super) fn of(evidence: &Evidence<'_>, operation: Operation, mean_s: f64) -> Option<PathWait> {
    let tallies = evidence.tallies?;
    let waited_ns = |sum: &ByOperation| sum.only(|one| one == operation).total().waited_ns;
    let all_ns = waited_ns(&tallies.sum(|_| true));
    let queued_ns = share_from(evidence, BUSY_OUTSTANDING as u64) * evidence.elapsed_ns()?;
    let of_client = |ip: IpAddr| waited_ns(&tallies.sum(|key| key.client == ip));
    let reasons = evidence.coverage.client_paths.iter().filter_map(|path| {
        let reason = narrow(path, queued_ns).or_else(|| late(path, mean_s))?;
        Some((of_client(path.client), reason))
    });
    let reasons: Vec<(u64, PathWait)> = reasons.collect();
    let sum_ns: f64 = reasons.iter().map(|(waited_ns, _)| *waited_ns as f64).sum();
    let (_, most) = reasons.into_iter().max_by_key(|(waited_ns, _)| *waited_ns)?;
    (sum_ns >= CROWD * all_ns as f64).then_some(most)
}

/// The client's data moved at an even, low rate for most of the time with a queue.
fn narrow(path: &ClientPath, queued_ns: f64) -> Option<PathWait> {
    let is_occupied = |at: &usize| is_narrow(path, *at) && path.paces[*at].ns as f64 >= OCCUPIED * queued_ns;
    let at = [0, 1].into_iter().filter(is_occupied).max_by_key(|at| path.paces[*at].ns)?;
    let pace = &path.paces[at];
    let text = format!(
        " Data {way} client {client} moved at an even, low rate ({rate:.1} Mbit/s) for {time} in all.",
        way = if at == 0 { "from" } else { "to" },
        client = path.client,
        rate = pace.bytes_per_s()? * 8.0 / 1e6,
        time = duration(pace.ns as f64 / 1e9),
    );
    Some(PathWait { text, is_narrow: true })
}

/// The acknowledgements of the client's requests came late, so that the requests may have waited before they reached the server.
fn late(path: &ClientPath, mean_s: f64) -> Option<PathWait> {
    let trip = &path.round_trips[0];
    let (least_ns, median_ns) = trip.least_ns.zip(trip.median_ns)?;
    let median_s = median_ns as f64 / 1e9;
    if trip.count < TIMED_LEAST || least_ns < AT_SERVER_NS || median_s < LATE * mean_s {
        return None;
    }
    let text = format!(
        " The server took {median} (median) to acknowledge requests of client {client}; its shortest time was {least}.",
        median = duration(median_s),
        client = path.client,
        least = duration(least_ns as f64 / 1e9),
    );
    Some(PathWait { text, is_narrow: false })
}

/// Whether most of the waiting is that of a client that reads slowly: then its requests queue because of it.
pub(super) fn is_of_slow_reader(evidence: &Evidence<'_>) -> bool {
    network::reader_of_all(evidence).is_some_and(|(_, share)| share >= CROWD)
}

//! Requests that are slow after a pause, or at regular intervals.

use std::collections::HashSet;

use plimsoll_stats::tallies::{AfterPause, MIN_COMPARED, Periodic};

use super::super::counts::plural;
use super::operations::SLOW_NS;
use super::places::times;
use super::{CAUSE_SHARE, Evidence, Found, Kind, percent};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum number of requests after a pause.
const AFTER_LEAST: u64 = 5;
/// Minimum number of pauses: many requests that come at once are slow for another reason, too.
const PAUSES_LEAST: u64 = 3;
/// Minimum mean and typical time of these requests, as a multiple of the others'.
const AFTER_TIMES: f64 = 10.0;

/// Minimum fraction of service time in these requests: otherwise they waited for the network.
const AFTER_SERVICE: f64 = 0.75;

/// Slow requests at regular intervals are at most this part of the requests for their operations: otherwise it is the operation.
const STALLED_AMONG: f64 = 0.2;
/// Minimum interval, ns: shorter ones are the rhythm of requests.
const INTERVAL_NS: u64 = 500_000_000;
/// Minimum number of requests per stall.
const REQUESTS_PER_STALL: u64 = 10;

/// The first requests after a pause take much longer than those that follow.
pub(super) fn after_pause(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies.filter(|_| evidence.findings.source.filters.is_empty())?;
    let rows = tallies.after_pauses();
    let slow = rows.iter().filter(|one| is_slow(evidence, one));
    let one = slow.max_by(|a, b| excess_ns(a).total_cmp(&excess_ns(b)))?;
    let label = one.operation.label();
    let (word, name) = match evidence.names.text(one.share) {
        Some(share) => ("share", share.to_owned()),
        None => ("server", one.server.to_string()),
    };
    let share = one.after.waited_ns as f64 / evidence.waited_ns();
    let text = format!(
        "The first {label} after a pause is slow: {requests} to {word} {name} took {mean} on average, {times} as long as {others} \
        ({others_mean}). Clients sent these requests at the ends of {pauses} of at least {pause}, in which the server answered no {label} \
        request to this {word}. The slow requests account for {share} of all time waited. Possible causes: a disk that spins down \
        when it is idle, or data that the server must read from disk again.",
        requests = plural(one.after.count, &format!("{label} request")),
        pauses = plural(one.pauses, "pause"),
        pause = duration(one.least_ns as f64 / 1e9),
        mean = duration(one.after.mean_ns() / 1e9),
        times = times(one.after.mean_ns() / one.others.mean_ns()),
        others = plural(one.others.count, &format!("other {label} request")),
        others_mean = duration(one.others.mean_ns() / 1e9),
        share = percent(share),
    );
    let found = Found::new(Kind::Mechanism, Rule::AfterPause, Some(share), text);
    Some(found.explaining(excess_ns(one) / evidence.waited_ns()).look(label, "second").inferred())
}

/// Additional time compared with the others, ns.
fn excess_ns(one: &AfterPause) -> f64 {
    one.after.waited_ns as f64 - one.after.count as f64 * one.others.mean_ns()
}

fn is_slow(evidence: &Evidence<'_>, one: &AfterPause) -> bool {
    let (after, others) = (&one.after, &one.others);
    let size = |cell: &plimsoll_stats::tallies::Cell| cell.payload as f64 / cell.count.max(1) as f64;
    let larger = if others.payload == 0 { 1.0 } else { (size(after) / size(others)).max(1.0) };
    let is_longer = after.mean_ns() >= AFTER_TIMES * larger * others.mean_ns()
        && after.typical_ns() >= AFTER_TIMES * larger * others.typical_ns();
    after.count >= AFTER_LEAST
        && one.pauses >= PAUSES_LEAST
        && after.mean_ns() >= evidence.measured_ns()
        && after.service_share().is_some_and(|share| share >= AFTER_SERVICE)
        && others.count >= MIN_COMPARED
        && is_longer
        && after.mean_ns() - others.mean_ns() >= SLOW_NS
        && excess_ns(one) >= evidence.least_ns().max(CAUSE_SHARE * evidence.waited_ns())
}

/// Requests are slow every few seconds.
pub(super) fn periodic(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies.filter(|_| evidence.findings.source.filters.is_empty())?;
    let found = tallies.long().periodic()?;
    let all = tallies.sum(|_| true);
    let operations: HashSet<_> = found.requests.iter().map(|one| one.operation).collect();
    let asked: u64 = all.iter().filter(|(one, _)| operations.contains(one)).map(|(_, cell)| cell.count).sum();
    let requests = found.requests.len() as u64;
    let waited_ns = found.requests.iter().map(|one| one.waited_ns as f64).sum::<f64>();
    let share = waited_ns / evidence.waited_ns();
    let is_cause = share >= CAUSE_SHARE && waited_ns >= evidence.least_ns() && share <= 1.0;
    let are_few = requests as f64 <= STALLED_AMONG * asked as f64 && asked >= REQUESTS_PER_STALL * found.stalls;
    let is_measured = found.requests.iter().all(|one| one.waited_ns as f64 >= evidence.measured_ns());
    if !is_cause || !are_few || !is_measured || !are_for_several(&found) || found.interval_ns < INTERVAL_NS {
        return None;
    }
    let text = format!(
        "Requests are slow at regular intervals: every {interval}, {times} since {first}. {requests} took {least} or longer, \
        together {share} of all time waited. Look for something that runs at this interval, e.g. a flush of the server's cache, a \
        snapshot or a scheduled job.",
        interval = duration(found.interval_ns as f64 / 1e9),
        times = plural(found.stalls, "time"),
        first = instant::second(found.first_ns),
        requests = plural(requests, "request"),
        least = duration(found.least_ns as f64 / 1e9),
        share = percent(share),
    );
    Some(Found::new(Kind::Mechanism, Rule::Periodic, Some(share), text).inferred())
}

/// Whether the requests are for several paths, or for several operations if paths are unknown. A client that repeats one slow request has
/// its own interval.
fn are_for_several(found: &Periodic) -> bool {
    let paths: HashSet<_> = found.requests.iter().map(|one| (one.share, one.path)).collect();
    let operations: HashSet<_> = found.requests.iter().map(|one| one.operation).collect();
    let is_unknown = paths.iter().all(|(_, path)| !path.is_some());
    if is_unknown { operations.len() > 1 } else { paths.len() > 1 }
}

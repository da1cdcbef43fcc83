//! Periods in which the server answered no client.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::{Coverage, Symbol};
use plimsoll_stats::tallies::Long;

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, percent};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum length of a silence, s.
const SILENT_S: f64 = 0.2;
/// Minimum length of a silence, in bins of the series: fewer are the interval between two answers.
const SILENT_BINS: usize = 4;
/// Fraction of the silence that a request must have waited, and maximum time before it at which the request was sent, as a fraction.
const WAITED_PART: f64 = 0.5;
/// Minimum number of clients that waited, and of files or directories: fewer may wait for an object that only they use.
const SILENT_LEAST: usize = 2;
/// Minimum length of further silences, as a fraction of the longest.
const ALIKE: f64 = 0.5;
/// From this number of silences on, their interval is said if all intervals differ from the median by this fraction at most.
const REGULAR_LEAST: usize = 3;
const REGULAR: f64 = 0.2;

struct Silence<'l> {
    from_ns: i64,
    to_ns: i64,
    held: Vec<&'l Long>,
    clients: BTreeSet<IpAddr>,
    waited_ns: f64,
}

impl Silence<'_> {
    fn lasted_ns(&self) -> u64 {
        self.to_ns.abs_diff(self.from_ns)
    }
}

/// Times without an answer while several clients waited for several things. Requests that wait for another client, as opens do for a
/// lease, do not show that the server was silent: `is_explained` says which.
pub(super) fn silence(evidence: &Evidence<'_>, is_explained: impl Fn(&Long) -> bool) -> Option<Found> {
    // With a filter, other requests may have been answered.
    let tallies = evidence.tallies.filter(|_| evidence.findings.source.filters.is_empty())?;
    let long: Vec<&Long> = tallies.long().noted().iter().filter(|one| !is_explained(one)).collect();
    let gaps = gaps(&evidence.findings.series.operations);
    let mut all: Vec<Silence<'_>> = gaps.into_iter().filter_map(|gap| of_gap(evidence, gap, &long)).collect();
    let longest = all.iter().map(Silence::lasted_ns).max()?;
    all.retain(|one| one.lasted_ns() as f64 >= ALIKE * longest as f64);
    let share = all.iter().map(|one| one.waited_ns).sum::<f64>() / evidence.waited_ns();
    if !(CAUSE_SHARE..=1.0).contains(&share) {
        return None;
    }
    let servers: BTreeSet<IpAddr> = all.iter().flat_map(|one| &one.held).map(|one| one.server).collect();
    let subject = match servers.first() {
        Some(server) if servers.len() == 1 => format!("Server {server} sent no response"),
        _ => "No server sent a response".to_owned(),
    };
    let held: usize = all.iter().map(|one| one.held.len()).sum();
    let clients: BTreeSet<IpAddr> = all.iter().flat_map(|one| one.clients.iter().copied()).collect();
    let text = format!(
        "{subject} {when}. {during}, at least {requests} of {clients} waited: {share} of all time waited.",
        during = if all.len() == 1 { "During this time" } else { "During these periods" },
        when = when(&all, longest),
        // Those that came later waited as well, and the list of long requests may be too short.
        requests = plural(held as u64, "request"),
        clients = plural(clients.len() as u64, "client"),
        share = percent(share),
    );
    // Of responses without a request in the capture, and of those to requests that wait for an event, the times are not known.
    Some(Found::new(Kind::Explanation, Rule::Burst, Some(share), text).inferred())
}

/// Whether servers may have sent responses in this time that cannot be read, or were not captured.
fn may_have_responded(coverage: &Coverage, (from_ns, to_ns): (i64, i64)) -> bool {
    let encrypted = &coverage.encrypted;
    let are_encrypted = coverage.unseen.encrypted > 0 || encrypted.messages.iter().any(|&count| count > 0);
    let is_during = encrypted.first_ns.is_none_or(|ns| ns <= to_ns) && encrypted.last_ns.is_none_or(|ns| ns >= from_ns);
    let is_unread = coverage.unseen.compressed > 0 || coverage.rpc_tls.connections > 0 || are_encrypted && is_during;
    is_unread || coverage.one_sided > 0 || coverage.may_be_blind((from_ns, to_ns))
}

/// How often, how long, and when.
fn when(all: &[Silence<'_>], longest_ns: u64) -> String {
    let Some(first) = all.first() else { return String::new() };
    let longest = duration(longest_ns as f64 / 1e9);
    if all.len() == 1 {
        return format!("for {longest} from {} on", instant::end_of(first.from_ns, longest_ns));
    }
    let shortest = duration(all.iter().map(Silence::lasted_ns).min().unwrap_or(0) as f64 / 1e9);
    let mut intervals: Vec<u64> = all.windows(2).map(|pair| pair[1].from_ns.abs_diff(pair[0].from_ns)).collect();
    intervals.sort_unstable();
    let median = intervals.get(intervals.len() / 2).copied().unwrap_or(0) as f64;
    let are_even = intervals.iter().all(|one| (*one as f64 - median).abs() <= REGULAR * median);
    let every = match all.len() >= REGULAR_LEAST && are_even {
        true => format!(", about every {}", duration(median / 1e9)),
        false => String::new(),
    };
    let lasted = if shortest == longest { longest } else { format!("{shortest} to {longest}") };
    let last = all.last().map_or(first.from_ns, |one| one.from_ns);
    format!(
        "in {periods} of {lasted}{every}, from {first} to {last}",
        periods = plural(all.len() as u64, "period"),
        first = instant::end_of(first.from_ns, longest_ns),
        last = instant::end_of(last, longest_ns)
    )
}

/// The silence in bins without an answer, if clients waited for its end.
fn of_gap<'l>(evidence: &Evidence<'_>, (first, behind): (usize, usize), long: &[&'l Long]) -> Option<Silence<'l>> {
    let series = &evidence.findings.series;
    let lasted_s = (behind - first) as f64 * series.bin_s;
    // All requests that end between two steps of a coarse clock seem to end at the second one.
    if behind - first < SILENT_BINS || lasted_s < SILENT_S || lasted_s * 1e9 < evidence.measured_ns() {
        return None;
    }
    let at = |bin: usize| series.start_ns.checked_add((bin as f64 * series.bin_s * 1e9) as i64);
    let (from_ns, to_ns) = (at(first)?, at(behind)?);
    if may_have_responded(evidence.coverage, (from_ns, to_ns)) {
        return None;
    }
    let part_ns = (WAITED_PART * lasted_s * 1e9) as i64;
    // A request sent long before may be slow itself, because others were answered meanwhile.
    let (earliest, latest) = (from_ns.saturating_sub(part_ns), to_ns.saturating_sub(part_ns));
    let is_held = |one: &&Long| (earliest..=latest).contains(&one.span_ns.0) && one.span_ns.1 >= to_ns;
    let held: Vec<&Long> = long.iter().copied().filter(is_held).collect();
    let clients: BTreeSet<IpAddr> = held.iter().map(|one| one.client).collect();
    let paths: BTreeSet<Symbol> = held.iter().map(|one| one.path).filter(|path| path.is_some()).collect();
    // The part of their waiting within that time.
    let within_ns = |one: &&Long| to_ns.abs_diff(one.span_ns.0.max(from_ns)).min(one.waited_ns) as f64;
    let waited_ns = held.iter().map(within_ns).sum();
    let is_silence = clients.len() >= SILENT_LEAST && paths.len() >= SILENT_LEAST;
    is_silence.then_some(Silence { from_ns, to_ns, held, clients, waited_ns })
}

/// The runs of bins without an answer, between two with one.
fn gaps(operations: &[u64]) -> Vec<(usize, usize)> {
    let answered: Vec<usize> = (0..operations.len()).filter(|&bin| operations[bin] > 0).collect();
    answered.windows(2).map(|pair| (pair[0] + 1, pair[1])).filter(|(first, behind)| first < behind).collect()
}

//! A period in which the server answered no client.

use std::collections::{BTreeSet, HashSet};

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, percent};
use crate::findings::{Rule, Slow};
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

/// The longest time without an answer while several clients waited for several things. Requests that wait for another client, as
/// opens do for a lease, do not show that the server was silent: `is_explained` says which.
pub(super) fn silence(evidence: &Evidence<'_>, waited_s: f64, is_explained: impl Fn(&Slow) -> bool) -> Option<Found> {
    let (findings, series) = (evidence.findings, &evidence.findings.series);
    // With a filter, other requests may have been answered.
    if !findings.source.filters.is_empty() {
        return None;
    }
    let (first, behind) = longest_gap(&series.operations)?;
    let lasted_s = (behind - first) as f64 * series.bin_s;
    if behind - first < SILENT_BINS || lasted_s < SILENT_S {
        return None;
    }
    let at = |bin: usize| series.start_ns.checked_add((bin as f64 * series.bin_s * 1e9) as i64);
    let (from, to) = (at(first)?, at(behind)?);
    let latest = to.saturating_sub((WAITED_PART * lasted_s * 1e9) as i64);
    // The members of a compound are waited for together.
    let mut messages = HashSet::new();
    // A request sent long before may be slow itself, because others were answered meanwhile.
    let earliest = from.saturating_sub((WAITED_PART * lasted_s * 1e9) as i64);
    let held: Vec<&Slow> = findings
        .slowest
        .iter()
        .filter(|one| {
            (earliest..=latest).contains(&one.at_ns)
                && one.at_ns.saturating_add((one.response_time_s * 1e9) as i64) >= to
        })
        .filter(|one| !is_explained(one))
        .filter(|one| messages.insert((&one.client, one.at_ns, one.response_time_s.to_bits())))
        .collect();
    let clients: BTreeSet<&str> = held.iter().filter_map(|one| one.client.rsplit_once(':').map(|(ip, _)| ip)).collect();
    let paths: BTreeSet<&str> = held.iter().filter_map(|one| one.path.as_deref()).collect();
    // The part of their waiting within that time.
    let within_s =
        |one: &&Slow| (to.saturating_sub(one.at_ns.max(from)) as f64 / 1e9).min(one.headline_s(findings.headline));
    let held_s: f64 = held.iter().map(within_s).sum();
    let share = held_s / waited_s;
    if clients.len() < SILENT_LEAST || paths.len() < SILENT_LEAST || !(CAUSE_SHARE..=1.0).contains(&share) {
        return None;
    }
    let text = format!(
        "The server sent no response for {} from {} on, while at least {} of {} waited, {} of all waiting.",
        duration(lasted_s),
        instant::second(from),
        // Those that came later waited as well, and the list of the slowest may be too short.
        plural(held.len() as u64, "request"),
        plural(clients.len() as u64, "client"),
        percent(share),
    );
    Some(Found::new(Kind::Explanation, Rule::Burst, Some(share), text))
}

/// The longest run of bins without an answer, between two with one.
fn longest_gap(operations: &[u64]) -> Option<(usize, usize)> {
    let mut longest: Option<(usize, usize)> = None;
    let mut last = None;
    for (bin, _) in operations.iter().enumerate().filter(|(_, count)| **count > 0) {
        let gap = last.map(|last: usize| (last + 1, bin));
        longest = longest.into_iter().chain(gap).max_by_key(|(first, behind)| behind - first);
        last = Some(bin);
    }
    longest
}

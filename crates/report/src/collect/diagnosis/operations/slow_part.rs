//! An operation of which a part is slow and the rest is not, for any client: for example opens that read a file's data compared with
//! opens for its attributes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol};
use plimsoll_stats::tallies::{Cell, Long, MIN_COMPARED};

use super::super::super::counts::{plural, thousands};
use super::super::{NOTICEABLE_NS, clients};
use super::{
    Evidence, Found, Kind, OPERATION_SHARE, SLOW_NS, SLOW_NS_PER_BYTE, SLOW_SERVICE, SLOW_TIMES, percent, rest,
};
use crate::findings::Rule;
use crate::text::duration;

/// Minimum fraction of slow requests among those for the operation; fewer are a few slow requests.
const PART: f64 = 0.2;
/// Minimum fraction of the slow requests in the waiting for the operation.
const MOST: f64 = 0.8;
/// Minimum fraction of the time over which half of the slow requests are spread; less indicates a temporary cause.
const SPREAD: f64 = 0.25;

/// The requests.
pub(in super::super) fn slow_part(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies?;
    let all = tallies.sum(|_| true);
    let (operation, cell) = all.iter().max_by_key(|(_, cell)| cell.waited_ns)?;
    let least = SLOW_NS + SLOW_NS_PER_BYTE * cell.payload as f64 / cell.count.max(1) as f64;
    let slow: Vec<&Long> = tallies
        .long()
        .noted()
        .iter()
        .filter(|one| one.operation == operation && one.waited_ns as f64 >= least)
        .collect();
    let slow_ns: f64 = slow.iter().map(|one| one.waited_ns as f64).sum();
    let (count, mean_ns) = (slow.len() as u64, slow_ns / slow.len().max(1) as f64);
    let quick = Cell {
        count: cell.count.saturating_sub(count),
        waited_ns: (cell.waited_ns as f64 - slow_ns).max(0.0) as u64,
        ..Cell::default()
    };
    let mut others = rest(&all, operation);
    others.add(&quick);
    let part = count as f64 / cell.count.max(1) as f64;
    let is_part = count >= MIN_COMPARED && others.count >= MIN_COMPARED && (PART..1.0).contains(&part);
    let is_most = slow_ns >= MOST * cell.waited_ns as f64 && slow_ns >= OPERATION_SHARE * evidence.waited_ns();
    let is_service = cell.service_share().is_some_and(|share| share >= SLOW_SERVICE);
    let excess_ns = slow_ns - count as f64 * others.mean_ns();
    let is_slow = mean_ns >= SLOW_TIMES * others.mean_ns() && mean_ns - others.mean_ns() >= NOTICEABLE_NS;
    let is_cause = is_part && is_most && is_slow && excess_ns >= evidence.least_ns();
    if !is_cause || !is_service || !are_spread(evidence, &slow) {
        return None;
    }
    let whose: BTreeSet<IpAddr> = slow.iter().map(|one| one.client).collect();
    let share = slow_ns / evidence.waited_ns();
    let text = format!(
        "Many requests for the operation {operation} are slow for {whose}{shares}: {slow} of {all} took {slow_mean} on average. \
        All other requests, for any operation, took only {other_mean} on average. Most of the time of this operation is service \
        time. The slow requests account for {share} of all time waited.{hint}",
        operation = operation.label(),
        whose = clients::named(evidence, &whose),
        shares = on_shares(&slow),
        slow = thousands(count),
        all = plural(cell.count, "request"),
        slow_mean = duration(mean_ns / 1e9),
        other_mean = duration(others.mean_ns() / 1e9),
        share = percent(share),
        hint = hint(operation),
    );
    let found = Found::new(Kind::Place, Rule::SlowOperation, Some(share), text);
    Some(found.explaining(excess_ns / evidence.waited_ns()).look(operation.label(), "path"))
}

/// Whether they come all the time.
fn are_spread(evidence: &Evidence<'_>, slow: &[&Long]) -> bool {
    let mut begins: Vec<i64> = slow.iter().map(|one| one.span_ns.0).collect();
    begins.sort_unstable();
    let quarter = begins.len() / 4;
    let half = begins.get(quarter).zip(begins.get(begins.len().saturating_sub(1 + quarter)));
    let elapsed_ns = evidence.elapsed_ns();
    half.zip(elapsed_ns).is_some_and(|((from, to), all_ns)| to.abs_diff(*from) as f64 >= SPREAD * all_ns)
}

/// ` on 2 shares`, where it is several.
fn on_shares(slow: &[&Long]) -> String {
    let shares: BTreeSet<Symbol> = slow.iter().map(|one| one.share).filter(|share| share.is_some()).collect();
    if shares.len() > 1 { format!(" on {}", plural(shares.len() as u64, "share")) } else { String::new() }
}

/// Work that a server does only for such requests.
fn hint(operation: Operation) -> &'static str {
    match operation {
        Operation::Open => " Possible causes: a virus scanner on the server, or slow storage.",
        _ => "",
    }
}

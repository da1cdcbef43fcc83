//! Which operation clients waited for.

mod nothing;
mod slow_part;

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::Operation as Kinds;
use plimsoll_stats::tallies::{ByOperation, Cell, MIN_COMPARED, PathRow};

use super::super::counts::{plural, thousands};
use super::paths::by_one;
use super::places::times;
use super::{Evidence, Found, Kind, clients, percent};
use crate::findings::{Findings, OperationRow, Rule};
use crate::text::duration;
pub(super) use nothing::nothing;
pub(super) use slow_part::slow_part;

/// An operation that leads alone has this part of all time waited.
const OPERATION_SHARE: f64 = 0.5;

/// Minimum mean and typical (geometric mean) time of a slow operation, ns: two accesses of a disk at 7,200 rpm (a seek of 8.5 ms and half
/// a revolution each are 25 ms).
pub(super) const SLOW_NS: f64 = 30_000_000.0;
/// Minimum time of a slow operation per byte of data, ns: 10 MB/s.
const SLOW_NS_PER_BYTE: f64 = 100.0;
/// Minimum typical time of a slow operation, as a multiple of the mean of all other operations.
const SLOW_TIMES: f64 = 10.0;
/// Minimum fraction of service time in the time of a slow operation.
const SLOW_SERVICE: f64 = 0.75;

/// The waiting that one operation caused.
pub(super) struct Operation<'f> {
    pub(super) label: &'f str,
    pub(super) count: u64,
    waited_s: f64,
    /// Response times: how many, and their sum, s. Of the members of a compound each has one, though clients wait only once.
    timed: (u64, f64),
    /// The longest response time, s; 0 if it may be a subcommand's.
    longest_s: f64,
}

impl Operation<'_> {
    /// The mean response time, s.
    fn mean_s(&self) -> Option<f64> {
        (self.timed.0 > 0).then(|| self.timed.1 / self.timed.0 as f64)
    }
}

/// Operations by total waiting. A command with subcommands counts as its subcommands; its requests without a subcommand count as itself.
pub(super) fn by_operation(rows: &[OperationRow]) -> Vec<Operation<'_>> {
    let mut all: Vec<Operation<'_>> = Vec::new();
    for row in rows {
        let children = || rows.iter().filter(|child| is_child(child, row));
        let waited_s = (row.waited_s - children().map(|child| child.waited_s).sum::<f64>()).max(0.0);
        let count = row.count.saturating_sub(children().map(|child| child.count).sum());
        let ((times, sum_s), of_children) = (timed(row), children().map(timed));
        let timed =
            of_children.fold((times, sum_s), |all, one| (all.0.saturating_sub(one.0), (all.1 - one.1).max(0.0)));
        let longest_s = row.headline_time().filter(|_| children().next().is_none()).map_or(0.0, |times| times.max_s);
        match all.iter_mut().find(|one| one.label == row.operation) {
            Some(one) => {
                (one.count, one.waited_s) = (one.count + count, one.waited_s + waited_s);
                one.timed = (one.timed.0 + timed.0, one.timed.1 + timed.1);
                one.longest_s = one.longest_s.max(longest_s);
            }
            None => all.push(Operation { label: &row.operation, count, waited_s, timed, longest_s }),
        }
    }
    all.sort_by(|a, b| b.waited_s.total_cmp(&a.waited_s));
    all
}

/// How many response times a row has, and their sum, s.
fn timed(row: &OperationRow) -> (u64, f64) {
    row.headline_time().map_or((0, 0.0), |times| (times.count, times.count as f64 * times.mean_s))
}

fn is_child(child: &OperationRow, row: &OperationRow) -> bool {
    child.protocol == row.protocol && child.parent.as_ref().is_some_and(|parent| *parent == row.procedure)
}

/// Whether it is more than half of all time waited.
pub(super) fn leads_alone(first: &Operation<'_>, waited_s: f64) -> bool {
    first.waited_s / waited_s >= OPERATION_SHARE
}

/// The part of the time in which no request was outstanding.
pub(super) fn idle_share(findings: &Findings) -> Option<f64> {
    let ranges = &findings.queue_depth.over_time;
    (!ranges.is_empty()).then(|| ranges.iter().filter(|range| range.to == 0).map(|range| range.share).sum())
}

/// The operation that clients waited for longest.
pub(super) fn operation(findings: &Findings, waited_s: f64, first: &Operation<'_>) -> Found {
    let lead = first.waited_s / waited_s;
    let sum = |of: fn(&OperationRow) -> u64| -> u64 {
        findings.operations.iter().filter(|row| row.parent.is_none()).map(of).sum()
    };
    let (all, unanswered) = (sum(|row| row.count), sum(|row| row.unanswered));
    // How long clients waited for a response that was not seen is not known.
    let requests = match unanswered {
        0 => plural(all, "request"),
        _ => format!(
            "the responses to {answered} of {requests}",
            answered = thousands(all.saturating_sub(unanswered)),
            requests = plural(all, "request")
        ),
    };
    let each = match first.mean_s() {
        // No request took about as long as the mean.
        Some(_) if first.count > 1 && first.longest_s > OPERATION_SHARE * first.waited_s => {
            format!("; the longest took {}", duration(first.longest_s))
        }
        // A mean over some of the requests must not be multiplied by all of them.
        Some(mean_s) if first.timed.0 != first.count => {
            format!(
                "; mean of the {timed} with a known response time: {mean}",
                timed = thousands(first.timed.0),
                mean = duration(mean_s)
            )
        }
        Some(mean_s) if first.count > 1 => format!(", {} each on average", duration(mean_s)),
        _ => String::new(),
    };
    let text = format!(
        "Clients waited {time} for {requests}: {share} of this time for the operation {operation} ({part}{requests_of_it}{each}).",
        time = duration(waited_s),
        share = percent(lead),
        operation = first.label,
        part = part_of_group(findings, first),
        requests_of_it = plural(first.count, "request"),
    );
    Found::new(Kind::Remark, Rule::Operation, Some(lead), text)
}

/// That an operation is not the whole group with its name.
fn part_of_group(findings: &Findings, operation: &Operation<'_>) -> String {
    let is_it = |row: &&OperationRow| row.group.eq_ignore_ascii_case(operation.label) && row.count != operation.count;
    let group = findings.groups.iter().find(is_it);
    group.map_or_else(String::new, |row| format!("a part of the group {}; ", row.group))
}

/// An operation that takes long for all clients and objects, while others are fast.
pub(super) fn slow(evidence: &Evidence<'_>) -> Option<Found> {
    let all = evidence.tallies?.sum(|_| true);
    let (operation, cell) = all.iter().max_by_key(|(_, cell)| cell.waited_ns)?;
    let others = rest(&all, operation);
    let (mean, usual) = (cell.mean_ns(), others.mean_ns());
    let least = SLOW_NS + SLOW_NS_PER_BYTE * cell.payload as f64 / cell.count.max(1) as f64;
    let typical = cell.typical_ns().min(mean);
    let is_slow = typical >= least && typical >= SLOW_TIMES * usual;
    let is_known = cell.count >= MIN_COMPARED && others.count >= MIN_COMPARED;
    let is_service = cell.service_share().is_some_and(|share| share >= SLOW_SERVICE);
    let excess_ns = cell.waited_ns as f64 - cell.count as f64 * usual;
    let share = cell.waited_ns as f64 / evidence.waited_ns();
    if !is_slow || !is_known || !is_service || share < OPERATION_SHARE || excess_ns < evidence.least_ns() {
        return None;
    }
    let clients = clients::all(evidence);
    let rows = evidence.tallies?.paths().rows().iter().filter(|row| row.operation == operation);
    let rows: Vec<&PathRow> = rows.collect();
    let only = if clients.len() > 1 && !clients::has_unread(evidence) { by_one(&rows) } else { None };
    let text = format!(
        "The operation {operation} is slow {whose}: it took {mean} on average ({requests}), {times} as long as the mean of all other \
        operations ({others}). Most of this time is service time. The requests account for {share} of all time waited.{directory}",
        operation = operation.label(),
        whose = match only {
            Some(client) => format!("(only client {client} uses it)"),
            None => for_whom(evidence, operation, mean),
        },
        mean = duration(mean / 1e9),
        requests = plural(cell.count, "request"),
        times = times(mean / usual),
        others = duration(usual / 1e9),
        share = percent(share),
        directory = directory(evidence, &rows),
    );
    let found = Found::new(Kind::Place, Rule::SlowOperation, Some(share), text);
    Some(found.explaining(excess_ns / evidence.waited_ns()).look(operation.label(), "path"))
}

/// The clients of an operation, if it takes each of them about as long as their mean.
fn for_whom(evidence: &Evidence<'_>, operation: Kinds, mean_ns: f64) -> String {
    let Some(tallies) = evidence.tallies else { return String::new() };
    let cells = clients::all(evidence).into_iter().filter_map(|client| {
        let sum = tallies.sum(|key| key.client == client);
        sum.iter().find(|(one, cell)| *one == operation && cell.count > 0).map(|(_, cell)| (client, cell.mean_ns()))
    });
    let cells: Vec<(IpAddr, f64)> = cells.collect();
    let asking: BTreeSet<IpAddr> = cells.iter().map(|&(client, _)| client).collect();
    let is_each = cells.iter().all(|&(_, own_ns)| own_ns >= mean_ns / 2.0);
    match clients::all_of(evidence, &asking).filter(|_| is_each) {
        Some(all) => format!("for {all}"),
        None if asking.len() == 1 => format!("for {}", clients::named(evidence, &asking)),
        None if is_each => format!("for all {} clients that use it", asking.len()),
        None => format!("for some of the {} clients that use it", asking.len()),
    }
}

fn directory(evidence: &Evidence<'_>, rows: &[&PathRow]) -> String {
    let known = || rows.iter().filter_map(|row| Some((row.share, evidence.names.text(row.path)?)));
    let Some((share, first)) = known().next().filter(|_| rows.len() > 1 && known().count() == rows.len()) else {
        return String::new();
    };
    let common = |end: usize, path: &str| first[..end].bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
    let end = known().fold(first.len(), |end, (_, path)| common(end, path));
    // The bytes before a separator are whole letters.
    let directory =
        first.as_bytes()[..end].iter().rposition(|byte| matches!(byte, b'/' | b'\\')).map(|at| &first[..at]);
    match directory.filter(|path| !path.is_empty() && known().all(|(other, _)| other == share)) {
        Some(path) => format!(" All these requests are for paths in the directory {path}."),
        None => String::new(),
    }
}

/// The sum of all other operations.
fn rest(all: &ByOperation, without: Kinds) -> Cell {
    let mut rest = Cell::default();
    all.iter().filter(|(operation, _)| *operation != without).for_each(|(_, cell)| rest.add(cell));
    rest
}

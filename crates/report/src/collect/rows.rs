//! Rows of the tables.

use super::{SECOND, StatusName};
use crate::findings::{Bucket, Headline, Octave, OperationRow, PercentilePoint, StatusCount, Times};
use plimsoll_model::{Group, Procedure, Protocol};
use plimsoll_stats::{Accumulator, KeyStats, Statistics, Waiting};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One row a procedure in table order; a command that has subcommands with traffic has a row that sums them and its
/// own, and they follow it with `parent` set.
pub(super) fn operations(statistics: &Statistics, status_name: StatusName) -> Vec<OperationRow> {
    let total = statistics.total();
    let scale = (total, statistics.headline().into());
    nested(statistics.operations().collect(), |command| statistics.with_subcommands(command), scale, status_name)
}

/// Long-lived requests, likewise; their shares are of one another.
pub(super) fn long_lived(statistics: &Statistics, status_name: StatusName) -> Vec<OperationRow> {
    let total = statistics.long_lived().map(|(_, sums)| sums.count()).sum();
    let combined = |command: Procedure| {
        let rows = statistics.long_lived().filter(|(procedure, _)| procedure.command() == command);
        Accumulator::sum(rows.map(|(_, row)| row))
    };
    nested(statistics.long_lived().collect(), combined, (total, statistics.headline().into()), status_name)
}

/// Rows outside of all sums: NFSv4 compounds as wholes, and members besides the main operation. Shares are fractions of the compounds.
pub(super) fn members(statistics: &Statistics, status_name: StatusName) -> Vec<OperationRow> {
    let wholes = statistics.members().chain(statistics.operations());
    let total =
        wholes.filter(|(procedure, _)| procedure.row().group == Group::Compound).map(|(_, sums)| sums.count()).sum();
    let combined = |command: Procedure| {
        statistics.members().find(|(procedure, _)| *procedure == command).map(|(_, sums)| Cow::Borrowed(sums))
    };
    nested(statistics.members().collect(), combined, (total, statistics.headline().into()), status_name)
}

/// The number of requests that rows are fractions of, and the headline time.
type Whole = (u64, Headline);

fn nested<'a>(
    seen: Vec<(Procedure, &'a Accumulator)>,
    combined: impl Fn(Procedure) -> Option<Cow<'a, Accumulator>>,
    of: Whole,
    status_name: StatusName,
) -> Vec<OperationRow> {
    let mut by_command: BTreeMap<Procedure, Vec<(Procedure, &Accumulator)>> = BTreeMap::new();
    for (procedure, sums) in seen {
        by_command.entry(procedure.command()).or_default().push((procedure, sums));
    }
    let mut rows = Vec::new();
    for (command, members) in by_command {
        if let Some(sum) = combined(command).filter(|sum| sum.count() > 0) {
            rows.push(of_procedure(command, &sum, of, status_name));
        }
        let subcommands = members.iter().filter(|(procedure, sums)| *procedure != command && sums.count() > 0);
        rows.extend(subcommands.map(|&(procedure, sums)| of_procedure(procedure, sums, of, status_name)));
    }
    rows
}

/// The sums with traffic, "Other" before its parts.
pub(super) fn groups(statistics: &Statistics) -> Vec<OperationRow> {
    let (total, headline) = (statistics.total(), statistics.headline().into());
    let row = |(key, sums): (plimsoll_stats::GroupKey, Accumulator)| OperationRow {
        group: key.label().to_owned(),
        ..of_sums(&sums, (total, headline))
    };
    statistics.groups().map(row).collect()
}

fn of_procedure(procedure: Procedure, sums: &Accumulator, of: Whole, status_name: StatusName) -> OperationRow {
    let row = procedure.row();
    let parent = (procedure.command() != procedure).then(|| procedure.command().name());
    OperationRow {
        protocol: row.protocol.label().to_owned(),
        procedure: procedure.name(),
        netbench_name: row.netbench_name.map(str::to_owned),
        parent,
        operation: row.operation.label().to_owned(),
        group: row.group.label().to_owned(),
        service_octaves: octaves(sums),
        statuses: statuses(row.protocol, sums, status_name),
        ..of_sums(sums, of)
    }
}

/// The numbers; the words are for the caller to add. Statuses mean different things in different protocols, so a sum
/// over several has none.
fn of_sums(sums: &Accumulator, (total, headline): Whole) -> OperationRow {
    let seconds = |ns: u64| ns as f64 / SECOND;
    let response = sums.response();
    let curve = sums.from_intended().filter(|_| headline.is_from_intended()).unwrap_or(&response).curve();
    let point = |(percentile, ns)| PercentilePoint { percentile, value_s: seconds(ns) };
    OperationRow {
        count: sums.count(),
        share: share(sums.count(), total),
        answered: sums.answered(),
        unanswered: sums.unanswered(),
        expected: sums.expected(),
        errors: sums.errors(),
        refused: sums.refused(),
        failed: sums.failed(),
        status_unknown: sums.status_unknown(),
        packets_mean: sums.packets_mean(),
        payload_bytes: sums.payload().at_least(),
        payload_unknown: sums.payload().unknown(),
        wire_bytes: sums.wire().at_least(),
        wire_unknown: sums.wire().unknown(),
        waited_s: seconds_of(sums.waiting()),
        response_time: times_of(&response),
        service_time: times_of(&sums.service()),
        response_time_from_intended: sums.from_intended().and_then(times_of),
        headline,
        distribution: sums
            .decades()
            .in_use()
            .into_iter()
            .map(|(below, count)| Bucket { below_s: seconds(below), count })
            .collect(),
        percentiles: curve.into_iter().map(point).collect(),
        ..OperationRow::default()
    }
}

fn octaves(sums: &Accumulator) -> Vec<Octave> {
    let shown = |octave: plimsoll_stats::Octave| Octave {
        below_s: octave.below_ns as f64 / SECOND,
        count: octave.count,
        total_s: octave.sum_ns as f64 / SECOND,
    };
    sums.service().octaves().into_iter().map(shown).collect()
}

/// A key of a breakdown.
pub(super) fn of_key(stats: &KeyStats, total: u64) -> OperationRow {
    OperationRow {
        count: stats.count,
        share: share(stats.count, total),
        answered: stats.answered,
        unanswered: stats.unanswered,
        expected: stats.expected,
        errors: stats.refused + stats.failed,
        refused: stats.refused,
        failed: stats.failed,
        status_unknown: stats.status_unknown,
        payload_bytes: stats.payload.at_least(),
        payload_unknown: stats.payload.unknown(),
        wire_bytes: stats.wire.at_least(),
        wire_unknown: stats.wire.unknown(),
        waited_s: seconds_of(stats.waiting),
        response_time: times(&stats.response, |p| stats.percentile_ns(p)),
        ..OperationRow::default()
    }
}

fn seconds_of(waiting: Waiting) -> f64 {
    waiting.ns() as f64 / SECOND
}

/// A distribution's summary in seconds; `None` where nothing was measured.
pub fn times_of(of: &plimsoll_stats::Times) -> Option<Times> {
    times(of.moments(), |p| of.percentile_ns(p))
}

fn times(moments: &plimsoll_stats::Moments, percentile: impl Fn(f64) -> Option<u64>) -> Option<Times> {
    let at = |p| percentile(p).map(|ns| ns as f64 / SECOND);
    Some(Times {
        count: moments.count(),
        min_s: moments.min_ns()? as f64 / SECOND,
        max_s: moments.max_ns()? as f64 / SECOND,
        mean_s: moments.mean_ns()? / SECOND,
        stddev_s: moments.stddev_ns().map(|ns| ns / SECOND),
        p50_s: at(50.0)?,
        p90_s: at(90.0)?,
        p95_s: at(95.0)?,
        p99_s: at(99.0)?,
        p999_s: at(99.9)?,
    })
}

fn share(count: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { count as f64 / total as f64 }
}

fn statuses(protocol: Protocol, sums: &Accumulator, status_name: StatusName) -> Vec<StatusCount> {
    let named = |s: plimsoll_stats::StatusCount| StatusCount {
        status: s.status,
        name: name_of(protocol, s.status, status_name),
        count: s.count,
        error: s.outcome.is_error(),
        outcome: s.outcome.label().to_owned(),
    };
    sums.statuses().into_iter().map(named).collect()
}

/// The standard's name, or hexadecimal.
pub(super) fn name_of(protocol: Protocol, status: u32, status_name: StatusName) -> String {
    status_name(protocol, status).map_or_else(|| format!("{status:#010x}"), str::to_owned)
}

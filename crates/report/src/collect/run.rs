//! Findings of a run: every load level by itself, and all together.

use plimsoll_model::{ClockGranularity, Coverage, Group, Names, Reason};
use plimsoll_stats::{Accumulator, GroupKey, Options, Statistics};

pub use super::level::{Answered, MeasuredLevel, RecordedFacts};
use super::{SECOND, StatusName, answers, channels, curves, depth, interference, repeats, rows, sizes, span};
use crate::findings::{
    FailureCount, Findings, Kind, LevelFacts, LoadLevel, Overhead, QueueDepth, Run, Source, Users, Validity,
};

impl Findings {
    /// Everything a report shows of one run. `names` must be the set that the transactions' symbols are from.
    pub fn collect_run(
        run: Run,
        levels: &[&MeasuredLevel],
        names: &Names,
        source: Source,
        status_name: StatusName,
    ) -> Findings {
        let headline = headline(levels);
        let mut all = Statistics::new(Options { headline, ..Options::default() });
        // Calls in a local directory are not the server's work: only their own levels show them.
        let is_local = |number| run.calls.as_ref().is_some_and(|calls| calls.is_local(number));
        // Of several workloads the whole is what all did at the same time.
        let is_whole =
            |level: &MeasuredLevel| level.about.facts.share.as_ref().is_none_or(|share| !share.beside.is_empty());
        let remote = (0..).zip(levels).filter(|(number, level)| !is_local(*number) && is_whole(level));
        let remote = remote.map(|(_, level)| level);
        remote.for_each(|level| all.merge(&level.statistics));
        let mut findings = Findings::collect(&all, &coverage(levels), names, source, status_name);
        // Connections of different levels have the same numbers.
        findings.channels = None;
        findings.levels =
            (0..).zip(levels).map(|(number, level)| load_level(number, level, names, status_name)).collect::<Vec<_>>();
        findings.set_rates();
        if let Some(capacity) = &run.capacity {
            // Loads that break the objective are expected: they do not invalidate the result, and no curve includes them. A search
            // repeats loads to confirm them, and its short runs are not repeats of the full ones.
            findings.validity = capacity.validity();
        } else {
            findings.curves = curves::curves(&findings.levels);
            findings.sizes = sizes::sizes(&findings.levels);
            findings.repeats = repeats::repeats(&findings.levels);
            findings.interference = interference::interference(&findings.levels);
            findings.validity = together(&findings.levels, findings.validity);
        }
        if !findings.interference.is_empty() {
            // Levels that ran at the same time do not share their counts of outstanding requests: each has its own.
            findings.queue_depth = QueueDepth::default();
        }
        findings.kind = match &run {
            Run { capacity: Some(_), .. } => Kind::Capacity,
            Run { calls: Some(_), .. } => Kind::Breakdown,
            _ => Kind::Run,
        };
        findings.run = Some(run);
        let waiting = std::mem::take(&mut findings.diagnosis);
        findings.diagnosis = answers::of_run(&findings, waiting);
        findings
    }
}

impl Findings {
    /// Findings of captures that are the points of one load curve: one level each, with a load that Plimsoll did not generate. Their
    /// statistics must not contain names, because each has a different set.
    pub fn collect_points(levels: &[&MeasuredLevel], source: Source, status_name: StatusName) -> Findings {
        let headline = levels.first().map(|level| level.statistics.headline()).unwrap_or_default();
        let mut all = Statistics::new(Options { headline, slowest: 0, ..Options::default() });
        levels.iter().for_each(|level| all.merge(&level.statistics));
        let mut findings = Findings::collect(&all, &coverage(levels), &Names::default(), source, status_name);
        findings.channels = None;
        findings.levels = (0..)
            .zip(levels)
            .map(|(number, level)| load_level(number, level, &Names::default(), status_name))
            .collect();
        findings.curves = curves::curves(&findings.levels);
        findings.validity = together(&findings.levels, findings.validity);
        findings
    }
}

/// The response time that leads. All levels of a workload are loaded in the same way; where one of several has a schedule and another has
/// none, it is the one that both have.
fn headline(levels: &[&MeasuredLevel]) -> plimsoll_stats::Headline {
    let mut all = levels.iter().map(|level| level.statistics.headline());
    let first = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first } else { plimsoll_stats::Headline::Response }
}

fn coverage(levels: &[&MeasuredLevel]) -> Coverage {
    // A level that could not be run has none.
    let spans = || levels.iter().map(|level| level.span_ns).filter(|(first, last)| first < last);
    let granularity = levels.iter().find_map(|level| level.about.facts.generator.clock_granularity_s);
    Coverage {
        first_ns: spans().map(|(first, _)| first).min(),
        last_ns: spans().map(|(_, last)| last).max(),
        connections: connections(levels),
        clock: ClockGranularity {
            estimate_ns: granularity.map(|s| (s * SECOND).round() as u64),
            ..ClockGranularity::default()
        },
        ..Coverage::default()
    }
}

/// The most connections at a time.
fn connections(levels: &[&MeasuredLevel]) -> u64 {
    let is_shared =
        |about: &&LevelFacts| about.share.as_ref().is_some_and(|share| share.round == 0 && !share.beside.is_empty());
    let facts = || levels.iter().map(|level| &level.about.facts);
    let at_once = facts().filter(is_shared).map(|about| about.connections).sum();
    facts().map(|about| about.connections).max().unwrap_or(0).max(at_once)
}

/// The verdict of the whole is that of its worst level; each reason keeps its own.
fn together(levels: &[LoadLevel], own: Validity) -> Validity {
    let of_level = |level: &LoadLevel| {
        let at_level = |(verdict, reason)| Reason { verdict, text: format!("At {}: {reason}", level.words()) };
        level.facts.validity.each_reason().map(at_level).collect::<Vec<_>>()
    };
    // The worst first: no client could connect, or the server was away.
    let mut sorted: Vec<&LoadLevel> = levels.iter().collect();
    sorted.sort_by_key(|level| (level.was_measured(), level.facts.silence.outages == 0));
    let mut reasons: Vec<Reason> = sorted.into_iter().flat_map(of_level).collect();
    if !own.valid {
        let stopped = "The run was stopped before its first load level ended, for example while its files were prepared. No operation was measured.";
        reasons.push(Reason::invalid(if levels.is_empty() { stopped } else { "No operation was measured." }));
    }
    Validity::of(reasons)
}

fn load_level(number: u32, level: &MeasuredLevel, names: &Names, status_name: StatusName) -> LoadLevel {
    let (first, last) = level.span_ns;
    let span = span(&Coverage { first_ns: Some(first), last_ns: Some(last), ..Coverage::default() });
    let seconds = span.elapsed_s.filter(|&s| s > 0.0);
    let rate = |amount: u64| seconds.map_or(0.0, |s| amount as f64 / s);
    let sum = operations_together(&level.statistics);
    let RecordedFacts { mut facts, answered, mut failures, users, overtime_s, .. } = level.about.clone();
    let answered = answered.unwrap_or_else(|| meant(&level.statistics, &sum));
    let duration_s = span.elapsed_s.zip(overtime_s).map(|(phase, more)| phase + more);
    failures.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), cause.clone()));
    let operations = rows::operations(&level.statistics, status_name);
    let moved_per_s = rate(answered.read_bytes) + rate(answered.written_bytes);
    let users = users.map(|users| {
        let users = Users::of(users, facts.generator.never_sent, &facts.iterations, duration_s);
        users.with_data(seconds.map(|_| moved_per_s))
    });
    let overhead = Overhead::of(&operations).map(|own| own.with_server(facts.server.as_ref(), moved_per_s));
    let cpu_s = facts.generator.cpu_s;
    facts.generator.cpu_per_operation_s = (answered.requests > 0).then(|| cpu_s / answered.requests as f64);
    LoadLevel {
        number,
        outstanding: facts.clients.saturating_mul(facts.depth.into()),
        facts,
        iterations_per_s: rate(level.iterations),
        span,
        count: sum.count(),
        expected: sum.expected(),
        errors: sum.errors(),
        refused: sum.refused(),
        failed: sum.failed(),
        unanswered: sum.unanswered(),
        operations_per_s: rate(answered.requests),
        read_bytes_per_s: rate(answered.read_bytes),
        write_bytes_per_s: rate(answered.written_bytes),
        headline: level.statistics.headline().into(),
        response_time: rows::times_of(&sum.response()),
        response_time_from_intended: sum.from_intended().and_then(rows::times_of),
        overhead,
        operations,
        groups: rows::groups(&level.statistics),
        queue_depth: depth::queue_depth(&level.statistics),
        failures: failures.into_iter().map(|(cause, count)| FailureCount { cause, count }).collect(),
        users,
        channels: channels::channels(&level.statistics, names, Some(level.span_ns)),
    }
}

/// Operations that were due in the phase and were answered: the only number in older recordings.
fn meant(statistics: &Statistics, sum: &Accumulator) -> Answered {
    let payload = |group| statistics.group(GroupKey::One(group)).map_or(0, |sum| sum.payload().at_least().unwrap_or(0));
    Answered { requests: sum.answered(), read_bytes: payload(Group::Read), written_bytes: payload(Group::Write) }
}

/// Everything that users asked for.
pub fn operations_together(statistics: &Statistics) -> Accumulator {
    let mut sum = Accumulator::default();
    let asked_for = statistics.operations().filter(|(procedure, _)| procedure.row().is_asked_for());
    asked_for.for_each(|(_, row)| sum.merge(row));
    sum
}

#[cfg(test)]
mod tests {
    use crate::findings::{LevelFacts, Span};

    use super::*;

    #[test]
    fn a_level_at_which_no_client_could_connect_stands_first() {
        let level = |load_name: &str, reason: &str, elapsed_s| {
            let span = Span { elapsed_s, ..Span::default() };
            let validity = Validity::invalid(reason);
            let facts = LevelFacts { load_name: load_name.to_owned(), validity, ..LevelFacts::default() };
            LoadLevel { facts, span, ..LoadLevel::default() }
        };
        let late = level("1 client", "the load generator was late", Some(2.0));
        let away = level("4 clients", "no client could connect", None);
        let said = together(&[late, away], Validity::default()).reasons;
        assert_eq!(said, ["At 4 clients: no client could connect", "At 1 client: the load generator was late"]);
        // The files may have been there: the recording of a run that was killed has only ended levels.
        let stopped = together(&[], Validity::invalid("no operation")).reasons;
        assert!(stopped[0].starts_with("The run was stopped before its first load level ended"), "{stopped:?}");
    }
}

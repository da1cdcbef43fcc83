//! Findings of a run: every load level by itself, and all together.

use plimsoll_model::{ClockGranularity, Coverage, Group, Guarantees, Names, Reason};
use plimsoll_stats::{Accumulator, GroupKey, Options, Statistics};
use serde::{Deserialize, Serialize};

use super::{SECOND, StatusName, answers, channels, curves, depth, interference, repeats, rows, sizes, span};
use crate::findings::{
    ClientSpread, Fairness, Findings, Generator, Interruption, Interval, IterationKind, Kind, Overhead, Parameter,
    QueueDepth, Run, ServerCounters, ServerSide, SessionRequests, ShortReads, Silence, Source, Stage, Users, Validity,
    WorkloadShare,
};

/// One load level as it was measured.
pub struct Level<'a> {
    /// The transactions of its measured phase.
    pub statistics: &'a Statistics,
    /// First and last instant of the measured phase, ns since the Unix epoch.
    pub span_ns: (i64, i64),
    /// Iterations that ended in it.
    pub iterations: u64,
    /// The other facts: identity of the stage, generator, fairness, failures and the reason if it is not valid. Its numbers are computed
    /// here.
    pub about: About,
}

/// Requests that users ask for, and that were answered in the measured phase, whenever they were meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// How many.
    pub requests: u64,
    /// File data read, bytes.
    pub read_bytes: u64,
    /// File data written, bytes.
    pub written_bytes: u64,
}

/// Facts about a load level besides its transactions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct About {
    /// The load in words.
    pub level: String,
    /// The load curve that it is a point of, where there are several.
    pub curve: Option<String>,
    /// The parameter that was varied, and its value here.
    #[serde(default)]
    pub varied: Option<Parameter>,
    /// Whose load it is, and beside whose; `None` in a run of one workload.
    #[serde(default)]
    pub share: Option<WorkloadShare>,
    /// Clients.
    pub clients: u64,
    /// Actions that a client keeps outstanding at most.
    pub depth: u32,
    /// Where the server was to take the data that clients read from, `cache` or `disk`; `None` where the workload does not say.
    #[serde(default)]
    pub claimed_source: Option<String>,
    /// Iterations asked for, 1/s.
    pub asked_per_s: Option<f64>,
    /// Other parameters of the load, in words.
    #[serde(default)]
    pub pace: Vec<String>,
    /// Operations answered in the phase, whenever they were due; `None` in recordings from before this was counted.
    #[serde(default)]
    pub answered: Option<Answered>,
    /// Statistics of the operations per second; `None` if unknown, or if the data for it was not kept.
    #[serde(default)]
    pub operations_per_s_interval: Option<Interval>,
    /// Of the mean response time, s; likewise.
    #[serde(default)]
    pub response_mean_interval: Option<Interval>,
    /// Whether the generator kept up.
    pub generator: Generator,
    /// How the server shared itself.
    pub fairness: Fairness,
    /// Comparison of the clients.
    #[serde(default)]
    pub spread: ClientSpread,
    /// Failed actions: cause and number.
    pub failures: Vec<(String, u64)>,
    /// The server's own metrics, if requested.
    #[serde(default)]
    pub server: Option<ServerSide>,
    /// The server's own counters, if requested.
    #[serde(default)]
    pub counters: Option<ServerCounters>,
    /// The server's guarantees; `None` in recordings from before they were recorded.
    #[serde(default)]
    pub guarantees: Option<Guarantees>,
    /// Connections made.
    pub connections: u64,
    /// Times without any answer.
    #[serde(default)]
    pub silence: Silence,
    /// Reads that returned fewer bytes than asked for.
    #[serde(default)]
    pub short_reads: ShortReads,
    /// That it was stopped before its end.
    #[serde(default)]
    pub interruption: Option<Interruption>,
    /// Whether the numbers may be used.
    pub validity: Validity,
    /// Users with schedules; `None` if there are none.
    #[serde(default)]
    pub users: Option<u64>,
    /// Time from the end of the phase until the last iteration that was due in it had ended or was given up, s; `None` without a
    /// schedule, and in recordings from before this was counted.
    #[serde(default)]
    pub overtime_s: Option<f64>,
    /// Iterations by kind.
    #[serde(default)]
    pub iterations: Vec<IterationKind>,
    /// Session requests outside of the measured phase.
    #[serde(default)]
    pub session_requests: Vec<SessionRequests>,
}

impl Findings {
    /// Everything a report shows of one run. `names` must be the set that the transactions' symbols are from.
    pub fn collect_run(
        run: Run,
        levels: &[Level<'_>],
        names: &Names,
        source: Source,
        status_name: StatusName,
    ) -> Findings {
        let headline = headline(levels);
        let mut all = Statistics::new(Options { headline, ..Options::default() });
        // Calls in a local directory are not the server's work: only their own levels show them.
        let is_local = |number| run.calls.as_ref().is_some_and(|calls| calls.is_local(number));
        // Of several workloads the whole is what all did at the same time.
        let is_whole = |level: &Level<'_>| level.about.share.as_ref().is_none_or(|share| !share.beside.is_empty());
        let remote = (0..).zip(levels).filter(|(number, level)| !is_local(*number) && is_whole(level));
        let remote = remote.map(|(_, level)| level);
        remote.for_each(|level| all.merge(level.statistics));
        let mut findings = Findings::collect(&all, &coverage(levels), names, source, status_name);
        // Connections of different levels have the same numbers.
        findings.channels = None;
        findings.stages =
            (0..).zip(levels).map(|(number, level)| stage(number, level, names, status_name)).collect::<Vec<_>>();
        findings.set_rates();
        if let Some(capacity) = &run.capacity {
            // Loads that break the objective are expected: they do not invalidate the result, and no curve includes them. A search
            // repeats loads to confirm them, and its short runs are not repeats of the full ones.
            findings.validity = capacity.validity();
        } else {
            findings.curves = curves::curves(&findings.stages);
            findings.sizes = sizes::sizes(&findings.stages);
            findings.repeats = repeats::repeats(&findings.stages);
            findings.interference = interference::interference(&findings.stages);
            findings.validity = together(&findings.stages, findings.validity);
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
    pub fn collect_points(levels: &[Level<'_>], source: Source, status_name: StatusName) -> Findings {
        let headline = levels.first().map(|level| level.statistics.headline()).unwrap_or_default();
        let mut all = Statistics::new(Options { headline, slowest: 0, ..Options::default() });
        levels.iter().for_each(|level| all.merge(level.statistics));
        let mut findings = Findings::collect(&all, &coverage(levels), &Names::default(), source, status_name);
        findings.channels = None;
        findings.stages =
            (0..).zip(levels).map(|(number, level)| stage(number, level, &Names::default(), status_name)).collect();
        findings.curves = curves::curves(&findings.stages);
        findings.validity = together(&findings.stages, findings.validity);
        findings
    }
}

/// The response time that leads. All levels of a workload are loaded in the same way; where one of several has a schedule and another has
/// none, it is the one that both have.
fn headline(levels: &[Level<'_>]) -> plimsoll_stats::Headline {
    let mut all = levels.iter().map(|level| level.statistics.headline());
    let first = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first } else { plimsoll_stats::Headline::Response }
}

fn coverage(levels: &[Level<'_>]) -> Coverage {
    // A level that could not be run has none.
    let spans = || levels.iter().map(|level| level.span_ns).filter(|(first, last)| first < last);
    let granularity = levels.iter().find_map(|level| level.about.generator.clock_granularity_s);
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
fn connections(levels: &[Level<'_>]) -> u64 {
    let shared = |level: &&Level<'_>| {
        level.about.share.as_ref().is_some_and(|share| share.round == 0 && !share.beside.is_empty())
    };
    let at_once = levels.iter().filter(shared).map(|level| level.about.connections).sum();
    levels.iter().map(|level| level.about.connections).max().unwrap_or(0).max(at_once)
}

/// The verdict of the whole is that of its worst level; each reason keeps its own.
fn together(stages: &[Stage], own: Validity) -> Validity {
    let of_level = |stage: &Stage| {
        let at_level = |(verdict, reason)| Reason { verdict, text: format!("At {}: {reason}", stage.words()) };
        stage.validity.each_reason().map(at_level).collect::<Vec<_>>()
    };
    let mut reasons: Vec<Reason> = stages.iter().flat_map(of_level).collect();
    if !own.valid {
        reasons.push(Reason::invalid("No operation was measured."));
    }
    Validity::of(reasons)
}

fn stage(number: u32, level: &Level<'_>, names: &Names, status_name: StatusName) -> Stage {
    let (first, last) = level.span_ns;
    let span = span(&Coverage { first_ns: Some(first), last_ns: Some(last), ..Coverage::default() });
    let seconds = span.elapsed_s.filter(|&s| s > 0.0);
    let rate = |amount: u64| seconds.map_or(0.0, |s| amount as f64 / s);
    let sum = operations_together(level.statistics);
    let about = level.about.clone();
    let answered = about.answered.unwrap_or_else(|| meant(level.statistics, &sum));
    let duration_s = span.elapsed_s.zip(about.overtime_s).map(|(phase, more)| phase + more);
    let mut failures = about.failures;
    failures.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), cause.clone()));
    let operations = rows::operations(level.statistics, status_name);
    let moved_per_s = rate(answered.read_bytes) + rate(answered.written_bytes);
    let users = about.users.map(|users| {
        let users = Users::of(users, about.generator.never_sent, &about.iterations, duration_s);
        users.with_data(seconds.map(|_| moved_per_s))
    });
    let overhead = Overhead::of(&operations).map(|own| own.with_server(about.server.as_ref(), moved_per_s));
    Stage {
        number,
        level: about.level,
        curve: about.curve,
        varied: about.varied,
        share: about.share,
        clients: about.clients,
        depth: about.depth,
        outstanding: about.clients.saturating_mul(about.depth.into()),
        connections: about.connections,
        asked_per_s: about.asked_per_s,
        pace: about.pace,
        iterations_per_s: rate(level.iterations),
        span,
        validity: about.validity,
        count: sum.count(),
        expected: sum.expected(),
        errors: sum.errors(),
        refused: sum.refused(),
        failed: sum.failed(),
        unanswered: sum.unanswered(),
        operations_per_s: rate(answered.requests),
        operations_per_s_interval: about.operations_per_s_interval,
        read_bytes_per_s: rate(answered.read_bytes),
        write_bytes_per_s: rate(answered.written_bytes),
        headline: level.statistics.headline().into(),
        response_time: rows::times_of(&sum.response()),
        response_mean_interval: about.response_mean_interval,
        response_time_from_intended: sum.from_intended().and_then(rows::times_of),
        overhead,
        operations,
        groups: rows::groups(level.statistics),
        queue_depth: depth::queue_depth(level.statistics),
        generator: Generator {
            cpu_per_operation_s: (answered.requests > 0).then(|| about.generator.cpu_s / answered.requests as f64),
            ..about.generator
        },
        fairness: about.fairness,
        spread: about.spread,
        server: about.server,
        counters: about.counters,
        channels: channels::channels(level.statistics, names, Some(level.span_ns)),
        guarantees: about.guarantees,
        silence: about.silence,
        short_reads: about.short_reads,
        interruption: about.interruption,
        failures: failures.into_iter().map(|(cause, count)| crate::findings::FailureCount { cause, count }).collect(),
        users,
        iterations: about.iterations,
        session_requests: about.session_requests,
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

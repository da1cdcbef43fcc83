//! One load level: runs it, and converts its results for a report.

use plimsoll_drive::engine::{self, ClientTally, EngineError, EngineResult, Plan, Setup, Watch};
use plimsoll_model::{Guarantees, Names, Reason, Validity};
use plimsoll_report::collect::clients::spread;
use plimsoll_report::collect::comparison::MeasuredRun;
use plimsoll_report::collect::run::{About, Answered, operations_together};
use plimsoll_report::collect::times_of;
use plimsoll_report::findings::{
    Interruption, IterationKind, MovedNumber, OUTSIDE_THE_PHASE, ServerCounters, ServerSide, Times,
};
use plimsoll_results::RecordedLevel;
use plimsoll_stats::{Headline, IntervalWidth, Intervals, Options, SharedDepth, Statistics};
use plimsoll_workload::{DataSource, Load, Workload};

use super::confidence::ConfidenceIntervals;
use super::disruption;
use super::level_spec::LevelSpec;
use super::pace::pace;
use super::parameters;
use super::part_result::PartResult;
use super::sink::{MeasuringSink, SinkOptions};
use super::tallies::{alike, answered_in_it, failures, fairness, keeping_up, session_requests, share, turn_kind};
use super::validity;
use crate::server_side::ServerSideWatch;

/// A load level that was measured.
pub struct LevelResult {
    /// The data for a recording.
    pub(super) recorded: RecordedLevel,
    /// Where they were wanted.
    intervals: Option<Intervals>,
    /// The data for merging with other parts of the same plan, if this is one.
    pub(super) part: Option<Box<PartResult>>,
    /// Further data for a search.
    judgement: Judgement,
}

/// Reasons against a level's numbers, and their causes. It is not recorded.
#[derive(Default)]
struct Judgement {
    reasons: Vec<Reason>,
    /// Turns that were begun and had not ended when their user's next one was due, or at all: with those never begun, overload.
    late_turns: u64,
    /// Its numbers if the generator had been on time, provided that lateness is its only fault.
    on_time: Option<Vec<MovedNumber>>,
    /// The reason about a client that was too busy.
    busy: Option<String>,
    /// The reason about a rate that was not achieved.
    behind: Option<String>,
}

impl LevelResult {
    /// One that was measured earlier, and recorded.
    pub(super) fn of_recording(recorded: RecordedLevel) -> LevelResult {
        Self { recorded, intervals: None, part: None, judgement: Judgement::default() }
    }

    /// The data for merging with other parts of the same plan; `None` if it is not a part.
    pub(super) fn part(&self) -> Option<&PartResult> {
        self.part.as_deref()
    }

    /// The data for a recording.
    pub fn recorded(&self) -> &RecordedLevel {
        &self.recorded
    }

    /// The same as a point of a load curve of several.
    pub fn on(mut self, level_spec: &LevelSpec) -> LevelResult {
        self.recorded.about.curve.clone_from(&level_spec.curve);
        self.recorded.about.varied = level_spec.parameter.as_ref().map(parameters::shown);
        self.recorded.about.share.clone_from(&level_spec.share);
        self
    }

    /// The same of a workload that says where the server takes its data from.
    pub(super) fn claiming(mut self, source: DataSource) -> LevelResult {
        self.recorded.about.claimed_source = (source != DataSource::Any).then(|| source.to_string());
        self
    }

    /// Adds the server's own metrics, if there are any.
    pub(super) fn beside(mut self, watch: Option<&ServerSideWatch>) -> LevelResult {
        let answered = self.answered().requests;
        self.recorded.about.server = watch.map(|watch| watch.during(self.recorded.span_ns, answered));
        self
    }

    /// Adds the server's own counters, if there are any.
    pub(super) fn counted(mut self, counters: Option<ServerCounters>) -> LevelResult {
        self.recorded.about.counters = counters;
        self
    }

    /// Adds the server's guarantees.
    pub(super) fn guaranteed(mut self, guarantees: Guarantees) -> LevelResult {
        self.recorded.about.guarantees = Some(guarantees);
        self
    }

    /// The load curve that it is a point of, where there are several.
    pub fn curve(&self) -> Option<&str> {
        self.recorded.about.curve.as_deref()
    }

    /// The same with one thing more that speaks against it, where there is one.
    pub(super) fn against(mut self, reason: Option<Reason>) -> LevelResult {
        if let Some(reason) = reason {
            if let Some(part) = &mut self.part {
                part.besides.push(reason.text.clone());
            }
            self.judgement.reasons.push(reason);
            self.recorded.about.validity = Validity::of(self.judgement.reasons.clone());
        }
        self
    }

    /// The same without its numbers by time: of many levels they are much.
    pub(super) fn without_intervals(self) -> LevelResult {
        Self { intervals: None, ..self }
    }

    /// The same, no matter how busy the client was.
    pub(super) fn without_busy_client(mut self) -> LevelResult {
        let busy = self.judgement.busy.take();
        self.judgement.reasons.retain(|reason| Some(&reason.text) != busy.as_ref());
        self.recorded.about.validity = Validity::of(self.judgement.reasons.clone());
        self
    }

    /// The same with the workload's names of its iterations; kinds of which none was begun are left out.
    pub(super) fn named(self, workload: &Workload) -> LevelResult {
        self.named_as(workload.iterations().map(|(name, _)| name.to_owned()))
    }

    /// The same with these names.
    pub(super) fn named_as(mut self, names: impl Iterator<Item = String>) -> LevelResult {
        let kinds = std::mem::take(&mut self.recorded.about.iterations).into_iter().zip(names);
        let named = kinds.map(|(kind, name)| IterationKind { name, ..kind });
        self.recorded.about.iterations = named.filter(|kind| kind.ended + kind.unended > 0).collect();
        self
    }

    /// A level that could not be run at all: nothing, and why.
    pub fn not_run(plan: &Plan, words: String, error: &impl std::fmt::Display) -> Self {
        let (clients, depth) = (u64::from(plan.clients()), plan.depth);
        let asked_per_s = plan.asked_rate();
        let reasons = vec![Reason::invalid(error.to_string())];
        let validity = Validity::of(reasons.clone());
        let about = About { level: words, clients, depth, asked_per_s, pace: pace(plan), validity, ..About::default() };
        let statistics = no_statistics(plan);
        let judgement = Judgement { reasons, ..Judgement::default() };
        let (span_ns, iterations, threads, complete) = ((0, 0), 0, 0, false);
        let generators_fault = None;
        let recorded = RecordedLevel { statistics, span_ns, iterations, about, threads, complete, generators_fault };
        Self { recorded, intervals: None, part: None, judgement }
    }

    /// As a comparison wants it; `None` where it was not run, or its numbers by time were not kept.
    pub fn measured(&self) -> Option<MeasuredRun> {
        let intervals = self.intervals.clone()?;
        Some(MeasuredRun { span_ns: self.recorded.span_ns, intervals })
    }

    /// The server's work in the phase.
    pub fn answered(&self) -> Answered {
        self.recorded.about.answered.unwrap_or_default()
    }

    /// The reason that a rate was not achieved, whatever the cause.
    pub fn behind(&self) -> Option<&str> {
        self.judgement.behind.as_deref()
    }

    /// The leading response times of all operations together.
    pub fn leading_times(&self) -> Option<Times> {
        let sum = operations_together(&self.recorded.statistics);
        times_of(&sum.leading(self.recorded.statistics.headline()))
    }

    /// Mean of the leading response times of all operations together, s.
    pub(super) fn mean_response_s(&self) -> Option<f64> {
        self.leading_times().map(|times| times.mean_s)
    }

    /// Its load in words.
    pub fn words(&self) -> &str {
        &self.recorded.about.level
    }

    /// Adds the server's own metrics.
    pub fn serve_with(&mut self, server: ServerSide) {
        self.recorded.about.server = Some(server);
    }

    /// All facts besides its transactions.
    pub fn about(&self) -> &About {
        &self.recorded.about
    }

    /// Whether its numbers may be used.
    pub fn validity(&self) -> &Validity {
        &self.recorded.about.validity
    }

    /// The transactions of its measured phase.
    pub fn statistics(&self) -> &Statistics {
        &self.recorded.statistics
    }

    /// It ran to its end.
    pub fn complete(&self) -> bool {
        self.recorded.complete
    }

    /// When its measured phase began, ns since the Unix epoch.
    pub fn first_ns(&self) -> i64 {
        self.recorded.span_ns.0
    }

    /// Length of its measured phase, s.
    pub fn seconds(&self) -> f64 {
        let (first, last) = self.recorded.span_ns;
        last.saturating_sub(first) as f64 / 1e9
    }

    /// Turns that were begun and had not ended when their user's next one was due, or at all.
    pub fn late_turns(&self) -> u64 {
        self.judgement.late_turns
    }

    /// Planned iterations that were never started.
    pub fn never_sent(&self) -> u64 {
        self.recorded.about.generator.never_sent
    }

    /// Failed actions: cause and number.
    pub fn failures(&self) -> impl Iterator<Item = &(String, u64)> {
        self.recorded.about.failures.iter().filter(|(cause, _)| !cause.ends_with(OUTSIDE_THE_PHASE))
    }

    /// Why the load generator, and not the server, is to blame for bad numbers; `None` where it kept up.
    pub fn generators_fault(&self) -> Option<&str> {
        self.recorded.generators_fault.as_deref()
    }

    /// Its numbers if the generator had been on time, provided that lateness is the only reason against them.
    pub fn on_time(&self) -> Option<&[MovedNumber]> {
        self.judgement.on_time.as_deref()
    }
}

/// Runs a plan; `words` says its load.
pub fn run(
    plan: &Plan,
    words: &str,
    setup: &dyn Setup,
    options: SinkOptions<'_>,
    watch: &Watch,
) -> Result<LevelResult, EngineError> {
    let depth = options.depth(plan);
    let sink = |_| MeasuringSink::new(options, &depth, plan);
    let ran = match options.recording.is_some() || options.live.is_some() {
        true => engine::run_with_checkpoints(plan, setup, sink, watch, &MeasuringSink::checkpoint),
        false => engine::run(plan, setup, sink, watch),
    }?;
    Ok(added_up((ran, depth), plan, words, setup.names(), options.with_intervals))
}

/// The headline time: under a schedule the one from the intended start. (A client's pause is not a schedule: if it is longer than
/// planned, no request waits.)
pub(super) fn headline(plan: &Plan) -> Headline {
    match plan.load {
        Load::Closed { .. } => Headline::Response,
        Load::Open { .. } | Load::Partly { .. } => Headline::FromIntended,
    }
}

/// Of a plan, nothing counted yet.
pub(super) fn no_statistics(plan: &Plan) -> Statistics {
    Statistics::new(Options { headline: headline(plan), ..Options::default() })
}

/// Numbers by time of a plan's measured phase, none yet.
pub(super) fn empty(plan: &Plan) -> Intervals {
    match plan.phases.measured_ns {
        Some(length) => Intervals::new(IntervalWidth::of_phase(length)),
        None => Intervals::growing(),
    }
}

/// Combines the workers' results and their common queue depth.
pub(super) fn added_up(
    (ran, depth): (EngineResult<MeasuringSink>, SharedDepth),
    plan: &Plan,
    words: &str,
    names: &Names,
    with_intervals: bool,
) -> LevelResult {
    let (sinks, ran) = ran.split();
    let mut statistics = no_statistics(plan);
    let mut intervals = with_intervals.then(|| empty(plan));
    for sink in sinks {
        let (part, its_intervals) = sink.finish(names);
        statistics.merge(&part);
        if let Some((whole, part)) = intervals.as_mut().zip(its_intervals) {
            whole.merge(&part);
        }
    }
    let statistics = statistics.with_queue_depth(depth.finish());
    ended(statistics, intervals, ran, plan, words)
}

/// Ends a level: judges it, and, if it is a part, stores the data for merging.
pub(super) fn ended(
    statistics: Statistics,
    intervals: Option<Intervals>,
    ran: EngineResult<()>,
    plan: &Plan,
    words: &str,
) -> LevelResult {
    let end = if ran.stopped { End::Stopped } else { End::Planned };
    let part = plan.part.map(|_| Box::new(PartResult::of(ran.clone())));
    LevelResult { part, ..judged(statistics, intervals, ran, plan, words, end) }
}

/// The data so far of a level that may not end.
pub(super) fn unfinished(
    (statistics, intervals): (Statistics, Option<Intervals>),
    ran: EngineResult<()>,
    plan: &Plan,
    words: &str,
) -> LevelResult {
    judged(statistics, intervals, ran, plan, words, End::Unknown)
}

/// How a level ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Planned,
    Stopped,
    /// These are its last numbers; why there are no later ones is unknown.
    Unknown,
}

/// The input of the checks, from the workers' counts.
pub(super) fn judged_of<'a>(
    plan: &Plan,
    (generator, clients): (&'a engine::Generator, &'a [ClientTally]),
    measured: (i64, i64),
    response: Option<Times>,
) -> validity::Level<'a> {
    validity::Level {
        generator,
        clients,
        users: users_of(plan).is_some(),
        response,
        seconds: (measured.1 - measured.0) as f64 / 1e9,
        lanes: plan.outstanding(),
        processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    }
}

fn judged(
    statistics: Statistics,
    intervals: Option<Intervals>,
    ran: EngineResult<()>,
    plan: &Plan,
    words: &str,
    end: End,
) -> LevelResult {
    let EngineResult { clients, iterations: kinds, generator, measured, silences, .. } = ran;
    let response = response(&statistics);
    let users = users_of(plan);
    let scheduled = users.is_some();
    let seen = judged_of(plan, (&generator, &clients), measured, response);
    let seconds = seen.seconds;
    let (mut reasons, generators_fault) = (validity::reasons(&seen), validity::generators_fault(&seen));
    let (busy, behind) = (validity::busy(&seen), validity::behind(&seen));
    let on_time = validity::on_time(&seen);
    let silence = disruption::silence(&silences, &generator.unanswered, &statistics);
    let short_reads = disruption::short_reads(&clients);
    let planned_s = plan.phases.measured_ns.map(|ns| ns as f64 / 1e9);
    let interruption = (end != End::Planned).then_some(Interruption { after_s: seconds, planned_s });
    let words = match plan.part {
        Some(part) => format!("{words}, part {part}"),
        None => words.to_owned(),
    };
    let (words, stopped, ends) = match end {
        End::Planned => (words, None, None),
        End::Stopped => (format!("{words} (stopped early)"), interruption, None),
        End::Unknown => (format!("{words} (not finished)"), None, interruption),
    };
    reasons.extend(disruption::reasons(&silence, short_reads, generator.unanswered.count, stopped, seconds));
    reasons.extend(ends.map(|at| disruption::not_finished(at, measured.1)));
    let confidence =
        intervals.as_ref().map_or_else(ConfidenceIntervals::default, |whole| ConfidenceIntervals::of(whole, measured));
    let answered = answered_in_it(&generator);
    let about = About {
        level: words,
        curve: None,
        varied: None,
        share: None,
        claimed_source: None,
        clients: clients.len() as u64,
        depth: plan.depth,
        asked_per_s: generator.asked_rate,
        pace: pace(plan),
        answered: Some(answered),
        operations_per_s_interval: confidence
            .throughput(answered.requests, operations_together(&statistics).answered()),
        response_mean_interval: confidence.response_mean,
        generator: keeping_up(&seen),
        fairness: fairness(&clients, alike(&generator, response)),
        spread: spread(&clients.iter().map(share).collect::<Vec<_>>(), alike(&generator, response)),
        failures: failures(&clients),
        server: None,
        counters: None,
        guarantees: None,
        connections: plan.connections_in_all(),
        validity: Validity::of(reasons.clone()),
        silence,
        short_reads,
        interruption,
        users,
        overtime_s: scheduled.then_some(generator.overtime_ns as f64 / 1e9),
        iterations: kinds.iter().map(turn_kind).collect(),
        session_requests: session_requests(&generator.session_requests),
    };
    let iterations = clients.iter().map(|client| client.iterations).sum();
    let threads = u32::try_from(generator.workers.len()).unwrap_or(u32::MAX);
    let late_turns = if scheduled { kinds.iter().map(|kind| kind.late + kind.unended).sum() } else { 0 };
    let (complete, span_ns) = (end == End::Planned, measured);
    let judgement = Judgement { reasons, late_turns, on_time, busy, behind };
    let recorded = RecordedLevel { statistics, span_ns, iterations, about, threads, complete, generators_fault };
    LevelResult { recorded, intervals, part: None, judgement }
}

/// Number of users with schedules; `None` if there are none.
fn users_of(plan: &Plan) -> Option<u64> {
    matches!(plan.load, Load::Partly { .. }).then(|| plan.clients().into())
}

/// Response times of all operations together.
pub(super) fn response(statistics: &Statistics) -> Option<Times> {
    times_of(&operations_together(statistics).response())
}

//! The result of a load level, and what a report, a recording and a search take from it.

use plimsoll_drive::engine::Plan;
use plimsoll_model::{Guarantees, Reason, Validity, Verdict};
use plimsoll_report::collect::comparison::MeasuredRun;
use plimsoll_report::collect::run::{Answered, MeasuredLevel, RecordedFacts, operations_together};
use plimsoll_report::collect::times_of;
use plimsoll_report::findings::{
    IterationKind, KEPT_OPERATIONS, LevelFacts, MovedNumber, OUTSIDE_THE_PHASE, ServerCounters, Times,
};
use plimsoll_stats::{Intervals, Statistics};
use plimsoll_workload::{DataSource, Workload};

use super::empty_statistics::no_statistics;
use super::judgement::Judgement;
use super::pace::pace;
use crate::level_spec::LevelSpec;
use crate::parameters;
use crate::parts::part_result::PartResult;
use crate::server_side::ServerSideWatch;

/// A load level that was measured.
pub struct LevelResult {
    /// The data for a recording.
    pub(crate) recorded: MeasuredLevel,
    /// Where they were wanted.
    pub(super) intervals: Option<Intervals>,
    /// The data for merging with other parts of the same plan, if this is one.
    pub(crate) part: Option<Box<PartResult>>,
    /// Further data for a search.
    pub(super) judgement: Judgement,
}

impl LevelResult {
    /// One that was measured earlier, and recorded.
    pub(crate) fn of_recording(recorded: MeasuredLevel) -> LevelResult {
        Self { recorded, intervals: None, part: None, judgement: Judgement::default() }
    }

    /// The data for merging with other parts of the same plan; `None` if it is not a part.
    pub(crate) fn part(&self) -> Option<&PartResult> {
        self.part.as_deref()
    }

    /// The data for a recording.
    pub fn recorded(&self) -> &MeasuredLevel {
        &self.recorded
    }

    /// The same as a point of a load curve of several.
    pub fn on(mut self, level_spec: &LevelSpec) -> LevelResult {
        self.recorded.about.facts.curve.clone_from(&level_spec.curve);
        self.recorded.about.facts.varied = level_spec.parameter.as_ref().map(parameters::shown);
        self.recorded.about.facts.share.clone_from(&level_spec.share);
        self
    }

    /// The same of a workload that says where the server takes its data from.
    pub(crate) fn claiming(mut self, source: DataSource) -> LevelResult {
        self.recorded.about.claimed_source = (source != DataSource::Any).then(|| source.to_string());
        self
    }

    /// Adds the server's own metrics, if there are any.
    pub(crate) fn beside(mut self, watch: Option<&ServerSideWatch>) -> LevelResult {
        let answered = self.answered().requests;
        self.recorded.about.facts.server = watch.map(|watch| watch.during(self.recorded.span_ns, answered));
        self
    }

    /// Adds the server's own counters, if there are any.
    pub(crate) fn counted(mut self, counters: Option<ServerCounters>) -> LevelResult {
        self.recorded.about.facts.counters = counters;
        self
    }

    /// Adds the server's guarantees.
    pub(crate) fn guaranteed(mut self, guarantees: Guarantees) -> LevelResult {
        self.recorded.about.facts.guarantees = Some(guarantees);
        self
    }

    /// The load curve that it is a point of, where there are several.
    pub fn curve(&self) -> Option<&str> {
        self.recorded.about.facts.curve.as_deref()
    }

    /// The same with one thing more that speaks against it, where there is one.
    pub(crate) fn against(mut self, reason: Option<Reason>) -> LevelResult {
        if let Some(reason) = reason {
            if let Some(part) = &mut self.part {
                part.besides.push(reason.clone());
            }
            if reason.verdict == Verdict::Invalid {
                self.judgement.unusable.get_or_insert_with(|| reason.text.clone());
            }
            self.judgement.reasons.push(reason);
            self.judge();
        }
        self
    }

    /// The same with one thing more that speaks against the load generator of a part.
    pub(crate) fn against_generator(mut self, reason: Reason) -> LevelResult {
        self.judgement.of_the_generator.push(reason.clone());
        self.judgement.reasons.push(reason);
        self.judge();
        self
    }

    /// The verdict, after the reasons have changed.
    fn judge(&mut self) {
        self.recorded.about.facts.validity = self.judgement.validity();
        self.recorded.invalid_by_generator = self.judgement.is_invalid_by_generator();
    }

    /// The same without its numbers by time: of many levels they are much.
    pub(crate) fn without_intervals(self) -> LevelResult {
        Self { intervals: None, ..self }
    }

    /// The same, no matter how busy the client was.
    pub(crate) fn without_busy_client(mut self) -> LevelResult {
        let busy = self.judgement.busy.take();
        self.judgement.reasons.retain(|reason| Some(&reason.text) != busy.as_ref());
        self.judge();
        self
    }

    /// The same with the workload's names of its iterations; kinds of which none was begun are left out.
    pub(crate) fn named(self, workload: &Workload) -> LevelResult {
        self.named_as(workload.iterations().map(|(name, _)| name.to_owned()))
    }

    /// The same with these names.
    pub(crate) fn named_as(mut self, names: impl Iterator<Item = String>) -> LevelResult {
        let kinds = std::mem::take(&mut self.recorded.about.facts.iterations).into_iter().zip(names);
        let named = kinds.map(|(kind, name)| IterationKind { name, ..kind });
        self.recorded.about.facts.iterations = named.filter(|kind| kind.ended + kind.unended > 0).collect();
        self
    }

    /// A level that could not be run at all: nothing, and why.
    pub fn not_run(plan: &Plan, load_name: String, error: &impl std::fmt::Display) -> Self {
        let (clients, depth) = (u64::from(plan.clients()), plan.depth);
        let asked_per_s = plan.asked_rate();
        let reasons = vec![Reason::invalid(error.to_string())];
        let validity = Validity::of(reasons.clone());
        let pace = pace(plan);
        let facts = LevelFacts { load_name, clients, depth, asked_per_s, pace, validity, ..LevelFacts::default() };
        let about = RecordedFacts { facts, ..RecordedFacts::default() };
        let statistics = no_statistics(plan);
        // The usual cause is that no client could connect.
        let judgement = Judgement { reasons, may_hang: true, ..Judgement::default() };
        let recorded = MeasuredLevel { statistics, about, ..MeasuredLevel::default() };
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

    /// The reason that fewer iterations ended in the phase than were due in it, although they began on time.
    pub(crate) fn ended_later(&self) -> Option<&str> {
        self.judgement.ended_later.as_deref()
    }

    /// The reason that iterations may be too long for the run, and the share of those due that ended in the phase.
    pub(crate) fn long_iterations(&self) -> Option<(&str, f64)> {
        self.judgement.long_iterations.as_ref().map(|(why, share)| (why.as_str(), *share))
    }

    /// The leading response times of all operations together.
    pub fn leading_times(&self) -> Option<Times> {
        let sum = operations_together(&self.recorded.statistics);
        times_of(&sum.leading(self.recorded.statistics.headline()))
    }

    /// Mean of the leading response times of all operations together, s.
    pub(crate) fn mean_response_s(&self) -> Option<f64> {
        self.leading_times().map(|times| times.mean_s)
    }

    /// Its load in words.
    pub fn load_name(&self) -> &str {
        &self.recorded.about.facts.load_name
    }

    /// Adds the server's own metrics.
    #[cfg(test)]
    pub(crate) fn serve_with(&mut self, server: plimsoll_report::findings::ServerSide) {
        self.recorded.about.facts.server = Some(server);
    }

    /// What is known of the level, without its transactions.
    pub fn facts(&self) -> &LevelFacts {
        &self.recorded.about.facts
    }

    /// Whether its numbers may be used.
    pub fn validity(&self) -> &Validity {
        &self.recorded.about.facts.validity
    }

    /// The transactions of its measured phase.
    pub fn statistics(&self) -> &Statistics {
        &self.recorded.statistics
    }

    /// It ran to its end.
    pub fn complete(&self) -> bool {
        self.recorded.complete
    }

    /// Whether it ended early because all clients had given up. Unlike one that the user stopped, it says something about its load.
    pub(crate) fn gave_up(&self) -> bool {
        self.judgement.gave_up
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

    /// Iterations that were begun and had not ended when their user's next one was due, or at all.
    pub fn late_iterations(&self) -> u64 {
        self.judgement.late_iterations
    }

    /// What it did, if it requested nothing that says anything of its load; `None` if it did.
    pub(crate) fn nothing(&self) -> Option<String> {
        let seconds = plimsoll_report::duration(self.seconds());
        // An idle client renews its lease: that is no request of the workload. A logon may be an action of the workload.
        let mut rows = self.recorded.statistics.operations().filter(|(procedure, _)| procedure.row().is_asked_for());
        if rows.all(|(_, row)| row.count() == 0) && self.judgement.asked.is_none_or(|asked| asked == 0) {
            return Some(format!("made no request of the workload in {seconds}"));
        }
        (self.judgement.due == Some(0)).then(|| format!("had no iteration due in {seconds}"))
    }

    /// Planned iterations that were never started.
    pub fn never_sent(&self) -> u64 {
        self.recorded.about.facts.generator.never_sent
    }

    /// Failed actions and connections of the measured phase: cause and number. A lost connection is no failure if its operations continued.
    pub fn failures(&self) -> impl Iterator<Item = &(String, u64)> {
        let counts = |cause: &str| !cause.ends_with(OUTSIDE_THE_PHASE) && !cause.ends_with(KEPT_OPERATIONS);
        self.recorded.about.failures.iter().filter(move |(cause, _)| counts(cause))
    }

    /// Why the load generator, and not the server, is to blame for bad numbers; `None` where it kept up.
    pub fn generators_fault(&self) -> Option<&str> {
        self.recorded.generators_fault.as_deref()
    }

    /// Whether the load generator alone makes its numbers INVALID.
    pub(crate) fn is_invalid_by_generator(&self) -> bool {
        self.recorded.invalid_by_generator
    }

    /// The reason that clients failed because of this machine, and not of the server.
    pub(crate) fn machines_fault(&self) -> Option<&str> {
        self.judgement.machines_fault.as_deref()
    }

    /// Whether the server may not answer any more.
    pub(crate) fn server_may_hang(&self) -> bool {
        self.judgement.may_hang
    }

    /// Faults of the server with which the level misses any objective. Its failures are counted apart.
    pub(crate) fn unserved(&self) -> &[String] {
        &self.judgement.unserved
    }

    /// Why it must not be used, and no other load would help; `None` where nothing of that kind happened.
    pub(crate) fn unusable(&self) -> Option<&str> {
        self.judgement.unusable.as_deref()
    }

    /// The metrics of comparisons and conditions that the load generator's lateness moved.
    pub(crate) fn moved_metrics(&self) -> Vec<String> {
        self.recorded.moved_metrics()
    }

    /// Whether there were failures that the lateness of a load generator cannot cause, such as an error status, a closed connection or
    /// wrong data.
    pub fn server_failed(&self) -> bool {
        self.judgement.server_failed
    }

    /// Its numbers if the generator had been on time, provided that lateness is the only reason against them.
    pub fn on_time(&self) -> Option<&[MovedNumber]> {
        self.judgement.on_time.as_deref()
    }
}

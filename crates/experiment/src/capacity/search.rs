//! The search itself: its next load, from the levels so far.

use plimsoll_report::findings::Interruption;
use plimsoll_report::findings::capacity::{Capacity, CapacityOutcome, Trial};
use plimsoll_results::Usage;
use plimsoll_stats::capacity::{Next, Search};

use super::objectives::{Objectives, Outcome};
use super::spec::{SearchSpec, short_run_ns};
use super::trials::Trials;
use crate::level::LevelResult;
use crate::level_spec::LevelSpec;

/// Runs in a row at one load in which the load generator may be the bottleneck, before the search gives that load up.
const MAX_INVALID_TRIALS: u32 = 3;
/// Runs in a row, at lower and lower loads, of which each missed the objective only because iterations ended after it, or after the drain.
const MAX_LONG_RUNS: u32 = 3;
/// Maximum growth of the share of iterations that ended in the phase, from one load to its half, if it does not depend on the load. A
/// server that falls behind doubles it.
const SAME_SHARE: f64 = 1.5;
/// Minimum mean response time at half a load, as a share of that at the load, if requests do not wait for each other. With a server that
/// serves all iterations side by side, too slowly for any to end, it halves.
const SAME_SPEED: f64 = 2.0 / 3.0;
/// Times that the search goes on below a load that the generator could not make.
const MAX_CAPS: u32 = 3;

/// Notes the measured time of a run that the user interrupted, and which is not judged.
fn note_interruption(last: &LevelResult, trial: Option<&mut Trial>) {
    let interruption = last.facts().interruption.filter(|_| !last.gave_up());
    if let (Some(Interruption { after_s, planned_s }), Some(trial)) = (interruption, trial) {
        let of = planned_s.map_or_else(String::new, |planned_s| format!(" of {planned_s:.1} s"));
        trial.seconds = after_s;
        trial.because = vec![format!("not judged, because the run was interrupted after {after_s:.1} s{of}")];
    }
}

/// The last reason of a run in doubt that moved the lower end of the interval.
const MOVED: &str =
    "the search moved the lower end of the interval, because the runs that confirm it must be consecutive";

/// Why this machine, and not the server, may be the cause of bad numbers.
fn generators_fault(level: &LevelResult) -> Option<&str> {
    level.generators_fault().or_else(|| level.machines_fault())
}

/// A run whose iterations may be too long for it.
#[derive(Clone, Copy, Debug)]
struct LongRun {
    /// The share of iterations that ended in the phase.
    share: f64,
    /// Mean response time, s.
    mean_s: Option<f64>,
}

impl LongRun {
    /// Whether the length of the iterations explains this run and one at twice the load, and no overload does.
    fn is_like(&self, before: LongRun) -> bool {
        // Where no iteration ends, the shares say nothing.
        let has_share = self.share > 0.0 || before.share > 0.0;
        let is_as_slow = || self.mean_s.zip(before.mean_s).is_some_and(|(mean, before)| mean >= SAME_SPEED * before);
        self.share <= SAME_SHARE * before.share && (has_share || is_as_slow())
    }
}

/// A search for the highest load that meets its objectives.
pub(crate) struct CapacitySearch<'a> {
    spec: &'a SearchSpec,
    objectives: Objectives,
    search: Search,
    trials: Trials,
    /// Runs in a row that do not count, because the load generator was the bottleneck.
    invalid_trials: u32,
    /// Runs in a row that missed the objective only because iterations ended after the phase or the drain, whatever the load.
    long_runs: u32,
    /// The last of these runs.
    last_long: Option<LongRun>,
    /// Number of times that the search was limited to lower loads.
    caps: u32,
    /// Why it could not go on.
    ended: Option<String>,
    /// The last level that was planned has not been judged.
    is_running: bool,
}

impl<'a> CapacitySearch<'a> {
    /// A search that has seen no run yet.
    ///
    /// # Errors
    /// An objective is not valid.
    pub(crate) fn new(spec: &'a SearchSpec) -> Result<Self, Usage> {
        let objectives = Objectives::parse(&spec.objectives)?;
        let (search, trials) = (Search::new(spec.bounds()), Trials::new(spec.most.plan.load));
        let (invalid_trials, long_runs, last_long, caps, ended, is_running) = (0, 0, None, 0, None, false);
        Ok(Self { spec, objectives, search, trials, invalid_trials, long_runs, last_long, caps, ended, is_running })
    }

    /// Judges the last run, if there is one, and plans the next.
    ///
    /// # Errors
    /// The next load cannot be generated.
    pub(crate) fn next(&mut self, ran: &[LevelResult]) -> anyhow::Result<Option<LevelSpec>> {
        if self.ended.is_some() {
            return Ok(None);
        }
        // A level that the user stopped says nothing about its load.
        if let Some(last) = ran.last().filter(|last| last.complete() || last.gave_up()) {
            self.judge(last);
            self.is_running = false;
        }
        if self.ended.is_some() {
            return Ok(None);
        }
        if self.invalid_trials >= MAX_INVALID_TRIALS {
            // This machine cannot generate more. The loads that held below are still useful.
            if self.caps >= MAX_CAPS || !self.search.could_not() {
                return Ok(None);
            }
            (self.invalid_trials, self.caps) = (0, self.caps + 1);
        }
        let Next::Run { load, brief } = self.search.next() else { return Ok(None) };
        let number = u32::try_from(ran.len()).unwrap_or(u32::MAX);
        let mut level = self.spec.level_at(load, number)?;
        if let (true, Some(whole)) = (brief, &mut level.plan.phases.measured_ns) {
            *whole = short_run_ns(*whole);
        }
        // Runs of the same load are not the same run.
        level.plan.seed = level.plan.seed.wrapping_add(u64::from(number));
        self.trials.begin(load, brief);
        self.is_running = true;
        Ok(Some(level))
    }

    /// The last level that was planned could not be run, or not be recorded. Errors after the last level do not change the result.
    pub(crate) fn fail(&mut self, why: &str) {
        if self.is_running {
            self.end(format!("a run could not be made or recorded: {why}"));
        }
    }

    /// The search cannot go on.
    pub(crate) fn end(&mut self, why: String) {
        self.ended = Some(why);
    }

    /// The result after these runs.
    pub(crate) fn summary(self, ran: &[LevelResult]) -> Capacity {
        let mut found = self.trials.summary(&self.search, &self.objectives, ran.len());
        if let Some(last) = ran.last()
            && found.trials.len() == ran.len()
        {
            note_interruption(last, found.trials.last_mut());
        }
        match self.ended {
            // Loads that all confirming runs carried are known in any case.
            Some(why) => Capacity { outcome: CapacityOutcome::Unfinished, why: Some(why), high: None, ..found },
            None => found,
        }
    }

    /// A run that says nothing of its load. Higher loads have more requests: only a load that is to be confirmed must be judged.
    fn pass(&mut self, last: &LevelResult, why: Vec<String>, remedy: &str) {
        if self.search.is_confirming() {
            self.end(format!("{}; use a longer --duration, or {remedy}", why.join("; ")));
        } else {
            self.search.saw(true);
        }
        self.trials.end_unjudged(last, why);
        self.invalid_trials = 0;
    }

    fn judge(&mut self, last: &LevelResult) {
        if let Some(why) = last.unusable() {
            self.end(format!("a run must not be used: {why}"));
            return self.trials.end(last, None, vec![why.to_owned()]);
        }
        match self.objectives.judge(last, self.trials.scheduled()) {
            Outcome::Met => {
                self.search.saw(true);
                self.trials.end(last, Some(true), Vec::new());
                self.invalid_trials = 0;
            }
            // Another load would have no number either, or only by chance.
            Outcome::Unknown(why) => {
                self.end(format!(
                    "{}; --hold needs operations that the workload makes in every run: correct the condition, or use a longer --duration",
                    why.join("; ")
                ));
                self.trials.end(last, None, why);
            }
            Outcome::Nothing(why) => self.pass(last, vec![why], "a higher load (--start)"),
            Outcome::TooFew(why) => self.pass(last, why, "a lower percentile"),
            // The cause is not the server, or unknown.
            Outcome::Missed(why)
                if generators_fault(last).is_some()
                    && !last.server_failed()
                    // On time, the clients would still have been fewer than the load says.
                    && (last.machines_fault().is_some()
                        || !self.objectives.missed_on_time(last, self.trials.scheduled())) =>
            {
                self.doubt(last, why);
            }
            Outcome::Missed(why) => {
                self.search.saw(false);
                self.note_long_iterations(last, &why);
                self.trials.end(last, Some(false), why);
                self.invalid_trials = 0;
            }
        }
    }

    /// The last run missed the objective, but it is unknown whether the load or the load generator is the cause.
    fn doubt(&mut self, last: &LevelResult, mut why: Vec<String>) {
        if let Some(fault) = generators_fault(last)
            && !why.iter().any(|one| one == fault)
        {
            why.push(fault.to_owned());
        }
        let moves = self.search.doubt();
        self.invalid_trials = if moves { 0 } else { self.invalid_trials + 1 };
        if moves {
            why.push(MOVED.to_owned());
        }
        self.trials.end(last, None, why);
    }

    /// Ends the search if iterations last longer than its runs allow. Then the same share of them ends in the phase at each load. A server
    /// that falls behind does better at a lower one.
    fn note_long_iterations(&mut self, last: &LevelResult, why: &[String]) {
        let only = last.long_iterations().filter(|(long, _)| why == [*long]);
        let run = only.map(|(_, share)| LongRun { share, mean_s: last.mean_response_s() });
        let before = std::mem::replace(&mut self.last_long, run);
        let alike = run.zip(before).is_some_and(|(run, before)| run.is_like(before));
        self.long_runs = match only {
            Some(_) if alike => self.long_runs + 1,
            Some(_) => 1,
            None => 0,
        };
        if let Some((why, _)) = only.filter(|_| self.long_runs >= MAX_LONG_RUNS && !self.trials.any_met()) {
            self.end(why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;

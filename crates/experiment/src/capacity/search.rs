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
/// Runs in a row, at lower and lower loads, of which each missed the objective only because iterations ended after it.
const MAX_LONG_RUNS: u32 = 3;
/// Relative change of the share of iterations that ended in the phase, from load to load, if it does not depend on the load.
const SAME_SHARE: f64 = 0.2;
/// Times that the search goes on below a load that the generator could not make.
const MAX_CAPS: u32 = 3;

/// Notes the measured time of a run that the user interrupted, and which is not judged.
fn note_interruption(last: &LevelResult, trial: Option<&mut Trial>) {
    if let (Some(Interruption { after_s, planned_s }), Some(trial)) = (last.facts().interruption, trial) {
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

/// A search for the highest load that meets its objectives.
pub(crate) struct CapacitySearch<'a> {
    spec: &'a SearchSpec,
    objectives: Objectives,
    search: Search,
    trials: Trials,
    /// Runs in a row that do not count, because the load generator was the bottleneck.
    invalid_trials: u32,
    /// Runs in a row that missed the objective only because iterations ended after the phase, whatever the load.
    long_runs: u32,
    /// The share of iterations that ended in the phase, of the last of these runs.
    long_share: Option<f64>,
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
        let (invalid_trials, long_runs, long_share, caps, ended, is_running) = (0, 0, None, 0, None, false);
        Ok(Self { spec, objectives, search, trials, invalid_trials, long_runs, long_share, caps, ended, is_running })
    }

    /// Judges the last run, if there is one, and plans the next.
    ///
    /// # Errors
    /// The next load cannot be generated.
    pub(crate) fn next(&mut self, ran: &[LevelResult]) -> anyhow::Result<Option<LevelSpec>> {
        if self.ended.is_some() {
            return Ok(None);
        }
        // One that was cut short says nothing of its load.
        if let Some(last) = ran.last().filter(|last| last.complete()) {
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
                    && !self.objectives.missed_on_time(last, self.trials.scheduled()) =>
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
        let only = last.ended_later().filter(|later| why == [*later]);
        let share = last.ended_share().filter(|_| only.is_some());
        let before = std::mem::replace(&mut self.long_share, share);
        let alike = share.zip(before).is_some_and(|(share, before)| (share - before).abs() <= SAME_SHARE * before);
        self.long_runs = match only {
            Some(_) if alike => self.long_runs + 1,
            Some(_) => 1,
            None => 0,
        };
        if let Some(why) = only.filter(|_| self.long_runs >= MAX_LONG_RUNS && !self.trials.any_met()) {
            self.end(why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_client::operation::Cause;
    use plimsoll_drive::engine::{ClientTally, ConnectionFailure, EngineResult, Generator, Plan, WorkerCpu};
    use plimsoll_model::{Procedure, Protocol};
    use plimsoll_stats::{Options, Statistics};
    use plimsoll_testkit::transaction;
    use plimsoll_workload::{Arrivals, Load, Pause, Phases};

    use super::*;

    const MS: i64 = 1_000_000;

    /// A run of 1 s whose requests take `took_ms`. The server serves the first `served` clients, and refuses the logons of the others.
    fn level(plan: &Plan, served: u32, took_ms: i64, generator: Generator) -> LevelResult {
        level_of(plan, (served, Cause::LogonRefused), took_ms, generator)
    }

    /// The same with the cause for which the other clients could not connect.
    fn level_of(plan: &Plan, (served, cause): (u32, Cause), took_ms: i64, generator: Generator) -> LevelResult {
        let mut statistics = Statistics::new(Options::default());
        let read = Procedure::of(Protocol::Nfs3, 6);
        (1..=100).for_each(|at| statistics.record(&transaction(read, at * took_ms * MS, took_ms * MS)));
        let refused = ConnectionFailure { cause, was_up: false, measured: false, kept: false, count: 1 };
        let client = |client_index| {
            let mut tally = ClientTally { client_index, ..ClientTally::default() };
            if client_index < served {
                (tally.actions, tally.iterations, tally.connected) = (100, 100, true);
                if generator.asked_rate.is_some() {
                    tally.iterations = if client_index == 0 { generator.achieved_rate as u64 } else { 0 };
                }
                (0..100).for_each(|_| tally.responses.record(1_000_000));
            } else {
                tally.connection_failures.push(refused);
            }
            tally
        };
        let clients = (0..plan.clients()).map(client).collect();
        let ran = EngineResult {
            sinks: Vec::new(),
            clients,
            iterations: Vec::new(),
            generator,
            measured: (0, 1_000 * MS),
            gaps: Vec::new(),
            silences: Vec::new(),
            targets: Vec::new(),
            stopped: false,
        };
        crate::level::ended(statistics, None, ran, plan, "some load")
    }

    fn closed(clients: u32) -> Load {
        Load::Closed { clients, think: Pause::None }
    }

    /// A search for the highest load with a median below 5 ms.
    fn spec(most: Load, (start, runs): (f64, u32)) -> SearchSpec {
        let phases = Phases { measured_ns: Some(1_000_000_000), ..Phases::default() };
        let plan = Plan { phases, ..Plan::new(most) };
        let most = LevelSpec { plan, words: most.to_string(), curve: None, parameter: None, share: None };
        let least = most.least_load();
        SearchSpec { most, least, start, resolution: 0.02, runs, objectives: vec!["p50 < 5ms".to_owned()] }
    }

    fn searched(spec: &SearchSpec, run: impl Fn(&Plan, usize) -> LevelResult) -> Capacity {
        let mut search = CapacitySearch::new(spec).unwrap();
        let mut ran: Vec<LevelResult> = Vec::new();
        while let Some(next) = search.next(&ran).unwrap() {
            assert!(ran.len() < 400, "it does not end");
            ran.push(run(&next.plan, ran.len()));
        }
        search.summary(&ran)
    }

    /// Clients that were refused before the phase have no failure in it, and no request that could be too slow.
    #[test]
    fn a_load_whose_clients_cannot_connect_is_not_met() {
        let capacity = searched(&spec(closed(100), (4.0, 100)), |plan, _| level(plan, 10, 1, Generator::default()));
        let found = (capacity.outcome, capacity.low, capacity.high);
        assert_eq!(found, (CapacityOutcome::Found, Some(10.0), Some(11.0)), "{capacity:?}");
        let missed = capacity.trials.iter().find(|trial| trial.met == Some(false)).unwrap();
        assert!(missed.because[0].starts_with("6 of 16 clients completed no action; 6 of the"), "{missed:?}");
    }

    /// At the highest load every second run misses, and the load generator is busy: nobody knows the cause.
    #[test]
    fn runs_in_doubt_do_not_confirm_a_load() {
        let capacity = searched(&spec(closed(8), (8.0, 40)), |plan, number| {
            let workers = vec![WorkerCpu { user_ns: 95, elapsed_ns: 100, ..WorkerCpu::default() }];
            let slow = plan.clients() == 8 && number % 2 == 1;
            level(plan, 8, if slow { 9 } else { 1 }, Generator { workers, ..Generator::default() })
        });
        // Each attempt at 8 clients needs more runs than the one before, until none are left.
        assert_eq!((capacity.outcome, capacity.low), (CapacityOutcome::Undecided, None), "{capacity:?}");
        let moved = capacity.trials.iter().find(|trial| trial.because.iter().any(|why| why == MOVED));
        assert_eq!(moved.map(|trial| (trial.load, trial.met)), Some((8.0, None)), "{capacity:?}");
    }

    /// The run at 16 clients finds no ports for six of them. It says nothing of a server that serves all who come.
    #[test]
    fn ports_that_run_out_are_neither_met_nor_missed() {
        let none_left = (10, Cause::OutOfResources);
        let run = |plan: &Plan, _| level_of(plan, none_left, 1, Generator::default());
        let capacity = searched(&spec(closed(100), (4.0, 100)), run);
        let found = (capacity.outcome, capacity.low, capacity.high);
        assert_eq!(found, (CapacityOutcome::AtLeast, Some(8.0), None), "{capacity:?}");
        assert!(capacity.why.unwrap().contains("this machine ran out of ports"));
        assert!(capacity.trials.iter().all(|trial| trial.met != Some(false)));
    }

    /// Each run has the same clients, so each would miss, however low the rate.
    #[test]
    fn clients_of_a_rate_that_cannot_connect_end_the_search() {
        let most = Load::Open { clients: 8, rate: 100.0, arrivals: Arrivals::Constant };
        let capacity = searched(&spec(most, (64.0, 100)), |plan, _| level(plan, 7, 1, on_time(plan, f64::INFINITY)));
        assert_eq!((capacity.outcome, capacity.trials.len()), (CapacityOutcome::Unfinished, 1), "{capacity:?}");
        assert!(capacity.why.unwrap().starts_with("a run must not be used: 1 of 8 clients completed no action; 1 of"));
    }

    /// A generator that begins each iteration on time, of a server that ends as many per second as `most`.
    fn on_time(plan: &Plan, most: f64) -> Generator {
        let rate = plan.asked_rate().unwrap();
        let (asked_rate, planned) = (Some(rate), rate as u64);
        Generator { asked_rate, planned, achieved_rate: rate.min(most), ..Generator::default() }
    }

    /// The backlog of each run ends in the drain. Half the rate is served twice as well, and 10 per second entirely.
    #[test]
    fn a_server_that_falls_behind_has_a_capacity_far_below_the_first_load() {
        let most = Load::Open { clients: 8, rate: 200.0, arrivals: Arrivals::Constant };
        let capacity = searched(&spec(most, (100.0, 100)), |plan, _| level(plan, 8, 1, on_time(plan, 10.0)));
        assert_eq!(capacity.outcome, CapacityOutcome::Found, "{capacity:?}");
        assert!(capacity.low.is_some_and(|low| (9.5..11.5).contains(&low)), "{capacity:?}");
    }

    /// Every iteration begins on time and ends after the phase, at any rate.
    #[test]
    fn iterations_that_are_longer_than_the_runs_are_no_answer() {
        let most = Load::Open { clients: 8, rate: 100.0, arrivals: Arrivals::Constant };
        let capacity = searched(&spec(most, (64.0, 100)), |plan, _| {
            level(plan, 8, 1, on_time(plan, plan.asked_rate().unwrap() / 2.0))
        });
        assert_eq!((capacity.outcome, capacity.low), (CapacityOutcome::Unfinished, None), "{capacity:?}");
        assert!(capacity.why.unwrap().contains("(use a longer --warmup)") && capacity.trials.len() == 3);
    }

    #[test]
    fn a_run_without_its_files_ends_the_search() {
        let lost = plimsoll_model::Reason::invalid("another run took the file set");
        let run = |plan: &Plan, _| level(plan, 8, 1, Generator::default()).against(Some(lost.clone()));
        let capacity = searched(&spec(closed(8), (8.0, 40)), run);
        assert_eq!((capacity.outcome, capacity.trials.len()), (CapacityOutcome::Unfinished, 1), "{capacity:?}");
        assert_eq!(capacity.why.as_deref(), Some("a run must not be used: another run took the file set"));
    }
}

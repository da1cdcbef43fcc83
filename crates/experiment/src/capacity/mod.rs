//! The search for the highest load that meets its objectives.

mod objectives;
mod trials;

use plimsoll_report::findings::capacity::Capacity;
use plimsoll_stats::capacity::{Bounds, Next, Search};
use plimsoll_workload::Load;

use crate::level::LevelResult;
use crate::level_spec::LevelSpec;
use objectives::Outcome;
pub use objectives::{Objectives, parse as parse_objective};
use trials::Trials;

/// Runs in a row at one load in which the load generator may be the bottleneck, before the search gives that load up.
const MAX_INVALID_TRIALS: u32 = 3;
/// Times that the search goes on below a load that the generator could not make.
const MAX_CAPS: u32 = 3;
/// Length of a brief run, as a divisor of the full length.
const BRIEF_FRACTION: u64 = 4;
/// A brief run's least length, ns.
const BRIEF_MIN_NS: u64 = 1_000_000_000;

/// A search for the highest load that meets its objectives.
pub struct CapacitySearch<'a> {
    objectives: &'a Objectives,
    search: Search,
    trials: Trials,
    /// Runs in a row that do not count, because the load generator was the bottleneck.
    invalid_trials: u32,
    /// Number of times that the search was limited to lower loads.
    caps: u32,
}

impl<'a> CapacitySearch<'a> {
    /// A search that has seen no run yet, of loads like `load`.
    pub fn new(bounds: Bounds, load: Load, objectives: &'a Objectives) -> Self {
        Self { objectives, search: Search::new(bounds), trials: Trials::new(load), invalid_trials: 0, caps: 0 }
    }

    /// Judges the last run, if there is one, and plans the next: `level_at` makes the level of a load and a number.
    ///
    /// # Errors
    /// Those of `level_at`.
    pub fn next(
        &mut self,
        ran: &[LevelResult],
        level_at: impl Fn(f64, u32) -> anyhow::Result<LevelSpec>,
    ) -> anyhow::Result<Option<LevelSpec>> {
        // One that was cut short says nothing of its load.
        if let Some(last) = ran.last().filter(|last| last.complete()) {
            self.judge(last);
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
        let mut level = level_at(load, number)?;
        if let (true, Some(whole)) = (brief, &mut level.plan.phases.measured_ns) {
            *whole = (*whole / BRIEF_FRACTION).max(BRIEF_MIN_NS).min(*whole);
        }
        // Runs of the same load are not the same run.
        level.plan.seed = level.plan.seed.wrapping_add(u64::from(number));
        self.trials.begin(load, brief);
        Ok(Some(level))
    }

    /// The result after `ran` runs.
    pub fn summary(self, ran: usize) -> Capacity {
        self.trials.summary(&self.search, self.objectives, ran)
    }

    fn judge(&mut self, last: &LevelResult) {
        match self.objectives.judge(last, self.trials.scheduled()) {
            Outcome::Met => {
                self.search.saw(true);
                self.trials.end(last, Some(true), Vec::new());
                self.invalid_trials = 0;
            }
            // The cause is not the server, or unknown.
            Outcome::Missed(why)
                if last.generators_fault().is_some()
                    && !self.objectives.missed_on_time(last, self.trials.scheduled()) =>
            {
                self.invalid_trials += 1;
                let fault = last.generators_fault().unwrap_or_default().to_owned();
                self.trials.end(last, None, [why, vec![fault]].concat());
            }
            Outcome::Missed(why) => {
                self.search.saw(false);
                self.trials.end(last, Some(false), why);
                self.invalid_trials = 0;
            }
        }
    }
}

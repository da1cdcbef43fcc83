//! What a user asks for of a search for a capacity.

use plimsoll_results::Usage;
use plimsoll_results::comparison::Condition;
use plimsoll_workload::{Defaults, Load};

use crate::capacity::spec::SearchSpec;
use crate::load_options::LoadOptions;
use crate::parts::options::PartOptions;

/// What a user asks for of a search. The options of `plimsoll capacity` with these names have the meaning of each.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the help texts of the options")]
pub struct SearchOptions {
    pub start: Option<f64>,
    pub most: Option<f64>,
    /// In percent of the lower end.
    pub resolution: f64,
    pub runs: u32,
}

impl SearchOptions {
    /// The search that these options ask for, with these objectives.
    ///
    /// # Errors
    /// The options contradict each other, or the load.
    pub fn search(
        &self,
        (load, defaults): (&LoadOptions, &Defaults),
        objectives: &[Condition],
        part: &PartOptions,
    ) -> anyhow::Result<SearchSpec> {
        if load.levels.is_some() {
            let why = "--levels does not apply to capacity, which chooses the load levels itself: remove --levels, and \
            limit the search with --start and --most";
            return Err(Usage(why.to_owned()).into());
        }
        let kind = load.load(defaults)?;
        if objectives.is_empty() && !matches!(kind, Load::Partly { .. }) {
            // More load would always be fine.
            return Err(Usage("capacity needs an objective, e.g. --hold \"p99 < 20ms\"".to_owned()).into());
        }
        let (highest, first) = if matches!(kind, Load::Open { .. }) { (1e6, 100.0) } else { (1e3, 1.0) };
        let highest = self.most.unwrap_or(highest);
        let mut most = load.level_at(defaults, ("--most", highest), 0)?;
        part.put_level(&mut most)?;
        let least = most.least_load();
        let start = self.start(f64::from(least), (first, highest))?;
        if !(0.1..=50.0).contains(&self.resolution) {
            return Err(Usage(format!("--resolution {}: expected 0.1 to 50 (percent)", self.resolution)).into());
        }
        let objectives = objectives.iter().map(|condition| condition.text.clone()).collect();
        let (resolution, runs) = (self.resolution / 100.0, self.runs);
        Ok(SearchSpec { most, least, start, resolution, runs, objectives })
    }

    /// The load of the first run.
    fn start(&self, least: f64, (first, highest): (f64, f64)) -> Result<f64, Usage> {
        let start = self.start.unwrap_or(first.max(least));
        if start >= least && start > 0.0 && start <= highest {
            return Ok(start);
        }
        let expected =
            if least > 1.0 { format!("at least {least} (one client per part)") } else { "a number above 0".to_owned() };
        Err(Usage(format!("--start {start}: expected {expected} and at most {highest} (--most)")))
    }
}

//! What a user asks for of a search for a capacity.

use std::time::Duration;

use plimsoll_results::Usage;
use plimsoll_results::comparison::Condition;
use plimsoll_workload::{Defaults, Load};

use crate::capacity::spec::{SearchSpec, full_run_ns, short_run_ns};
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
        check_interval(&kind, most.plan.phases.measured_ns)?;
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

/// Each user must start at least one iteration in each run: a user who starts none is never late.
fn check_interval(load: &Load, measured_ns: Option<u64>) -> Result<(), Usage> {
    let (&Load::Partly { every_ns, .. }, Some(full_ns)) = (load, measured_ns) else { return Ok(()) };
    let short_ns = short_run_ns(full_ns);
    if every_ns <= short_ns {
        return Ok(());
    }
    let (every, enough) = (flag_time(every_ns), flag_time(full_run_ns(every_ns)));
    let short = plimsoll_report::duration(short_ns as f64 / 1e9);
    Err(Usage(format!(
        "--every {every}: longer than a short run of the search ({short}), in which each user must start at least one iteration; use \
         --duration {enough} or longer"
    )))
}

/// A time as an option takes it.
fn flag_time(ns: u64) -> String {
    humantime::format_duration(Duration::from_nanos(ns)).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::{Arrivals, Pause};

    use super::*;

    fn refusal(every: Duration, duration: Duration) -> Option<String> {
        let [every_ns, full_ns] = [every, duration].map(|time| u64::try_from(time.as_nanos()).unwrap());
        let load = Load::Partly { users: 1, every_ns, arrivals: Arrivals::Constant };
        check_interval(&load, Some(full_ns)).err().map(|error| error.to_string())
    }

    #[test]
    fn each_user_starts_in_each_run() {
        let [ms, s] = [Duration::from_millis, Duration::from_secs];
        let why = refusal(s(11), s(10)).unwrap();
        assert!(why.starts_with("--every 11s: longer than a short run of the search (2.50 s)"), "{why}");
        assert!(why.ends_with("use --duration 44s or longer"), "{why}");
        assert!(refusal(s(11), ms(43_999)).is_some() && refusal(s(11), s(44)).is_none());
        // A short run takes at least 1 s, and at most the full length.
        assert!(refusal(s(1), s(1)).is_none() && refusal(ms(500), ms(500)).is_none());
        assert!(refusal(ms(600), ms(500)).unwrap().ends_with("use --duration 600ms or longer"));
        assert!(refusal(s(3600), s(1)).unwrap().contains("--every 1h") && refusal(ms(1001), s(4)).is_some());
        let closed = Load::Closed { clients: 1, think: Pause::Constant(u64::MAX) };
        assert!(check_interval(&closed, Some(1)).is_ok());
    }
}

//! The runs of a search, and their evaluation.

use plimsoll_report::findings::capacity::{Capacity, CapacityOutcome, Trial};
use plimsoll_report::text::load_name;
use plimsoll_stats::capacity::{Answer, CONFIRMATIONS, Limit, Next, Search, sustained_load};
use plimsoll_workload::Load;

use super::objectives::Objectives;
use crate::level::LevelResult;

/// The runs of a search so far.
pub(super) struct Trials {
    load: Load,
    trials: Vec<Trial>,
    /// The levels of runs without requests, or with too few for a percentile.
    too_few: Vec<u64>,
}

impl Trials {
    pub(super) fn new(load: Load) -> Self {
        Self { load, trials: Vec::new(), too_few: Vec::new() }
    }

    /// Whether starts follow a schedule.
    pub(super) fn scheduled(&self) -> bool {
        !matches!(self.load, Load::Closed { .. })
    }

    /// A run begins.
    pub(super) fn begin(&mut self, load: f64, brief: bool) {
        let number = self.trials.len() as u64;
        self.trials.push(Trial { level: number, load, brief, seconds: 0.0, met: None, because: Vec::new() });
    }

    /// It is over; `None` for `held` where it does not count.
    pub(super) fn end(&mut self, ran: &LevelResult, held: Option<bool>, because: Vec<String>) {
        if let Some(last) = self.trials.last_mut() {
            (last.seconds, last.met, last.because) = (ran.seconds(), held, because);
        }
    }

    /// It is over, and has no requests, or too few to be judged.
    pub(super) fn end_unjudged(&mut self, ran: &LevelResult, because: Vec<String>) {
        self.too_few.extend(self.trials.last().map(|last| last.level));
        self.end(ran, None, because);
    }

    /// Whether a run met the objective.
    pub(super) fn any_met(&self) -> bool {
        self.trials.iter().any(|one| one.met == Some(true))
    }

    /// The result after `ran` runs.
    pub(super) fn summary(mut self, search: &Search, objectives: &Objectives, ran: usize) -> Capacity {
        // One that was begun and could not be made is in no table.
        self.trials.truncate(ran);
        let unit = match self.load {
            Load::Closed { .. } => "clients",
            Load::Open { .. } => "iterations/s",
            Load::Partly { .. } => "users",
        };
        let (outcome, low, high, why) = self.outcome(search, unit);
        let slack = self.longest_wait_s(objectives).zip(self.longest_run()).map(|(wait, run)| wait / run);
        let low_tested = low;
        let lowered = |low: f64| sustained_load(low, slack.unwrap_or(0.0));
        // There are no parts of a user. The iterations of a single user cannot queue: one that overlaps with the next is late.
        let whole = |low: f64| if matches!(self.load, Load::Open { .. }) { low } else { low.floor().max(1.0) };
        let low = low.map(lowered).map(whole);
        Capacity {
            unit: unit.to_owned(),
            objectives: objectives.words(matches!(self.load, Load::Partly { .. })),
            outcome,
            why,
            low,
            low_tested,
            high,
            confirmations: CONFIRMATIONS,
            slack,
            trials: self.trials,
        }
    }

    /// The last run, of those that are `meant`, in which the load generator was the bottleneck, in words.
    fn bottleneck(&self, unit: &str, meant: impl Fn(&Trial) -> bool) -> Option<String> {
        let is_judged = |one: &Trial| one.met.is_some() || self.too_few.contains(&one.level);
        let invalid = |one: &&Trial| !is_judged(one) && !one.because.is_empty() && meant(one);
        let Trial { load, because, .. } = self.trials.iter().rev().find(invalid)?;
        Some(format!(
            "at {} the load generator may be the cause of the missed objective: {}",
            load_name(*load, unit),
            because.join("; ")
        ))
    }

    /// The longest wait at the end of a run that meets the objective although the load is too high, s; `None` if it is unknown, and for clients
    /// without a schedule, whose waits do not grow.
    fn longest_wait_s(&self, objectives: &Objectives) -> Option<f64> {
        let given = objectives.longest_wait_s();
        match self.load {
            Load::Closed { .. } => None,
            Load::Open { .. } => given,
            // After a longer wait a user is late.
            Load::Partly { every_ns, .. } => Some(given.unwrap_or(f64::INFINITY).min(every_ns as f64 / 1e9)),
        }
    }

    /// Length of the longest run, s: a queue that needs longer to miss an objective cannot be seen.
    fn longest_run(&self) -> Option<f64> {
        self.trials.iter().map(|one| one.seconds).reduce(f64::max).filter(|&seconds| seconds > 0.0)
    }

    /// Words for a search that the user stopped.
    fn interrupted(&self, search: &Search) -> String {
        let runs = self.trials.iter().filter(|one| one.seconds > 0.0).count();
        let result = if search.carried().is_none() { ": no result" } else { "" };
        format!("interrupted after {runs} run{}{result}", if runs == 1 { "" } else { "s" })
    }

    /// That the least load misses the objective. Single runs may have met it before.
    fn misses(&self, least: f64, unit: &str) -> String {
        let judged = || self.trials.iter().filter(|one| one.met.is_some() && one.load.total_cmp(&least).is_eq());
        let words = load_name(least, unit);
        match judged().filter(|one| one.met == Some(true)).count() {
            0 => format!("even {words} misses the objective"),
            met => format!("even {words} met the objective in only {met} of {} runs", judged().count()),
        }
    }

    /// The outcome, the interval's ends, and the reason without a result.
    fn outcome(&self, search: &Search, unit: &str) -> (CapacityOutcome, Option<f64>, Option<f64>, Option<String>) {
        let answer = match search.next() {
            Next::Over(answer) => answer,
            Next::Run { load, .. } => {
                let why = self.bottleneck(unit, |one| one.load.total_cmp(&load).is_eq());
                let why = why.unwrap_or_else(|| self.interrupted(search));
                // A load that every confirming run carried is known, however the search ended.
                return (CapacityOutcome::Unfinished, search.carried(), None, Some(why));
            }
        };
        match answer {
            Answer::Between { held, broken } => (CapacityOutcome::Found, Some(held), Some(broken), None),
            Answer::AtLeast(held, limit) => {
                let why = match limit {
                    Limit::Most => "the search tried no load above its upper limit (--most)".to_owned(),
                    Limit::Runs => {
                        "the search reached the limit of runs (--runs) before it could confirm that a higher load misses the objective"
                            .to_owned()
                    }
                    Limit::Generator => {
                        let why = self.bottleneck(unit, |_| true);
                        why.unwrap_or_else(|| "the load generator may be the cause of the missed objective".to_owned())
                    }
                };
                (CapacityOutcome::AtLeast, Some(held), None, Some(why))
            }
            Answer::Nothing(least) => (CapacityOutcome::NoLoad, None, Some(least), Some(self.misses(least, unit))),
            Answer::Undecided { .. } => {
                let found = unconfirmed(&self.trials, unit);
                let why = format!("the search reached the limit of runs (--runs): {found}");
                (CapacityOutcome::Undecided, None, None, Some(why))
            }
        }
    }
}

/// The results of the runs that count, of which there are too few. The presumed ends of the interval say less: an end that a run contradicts
/// is moved to a load that may not have been tried.
fn unconfirmed(trials: &[Trial], unit: &str) -> String {
    let loads = |met: bool| trials.iter().filter(move |one| one.met == Some(met)).map(|one| one.load);
    let words = |load: f64| load_name(load, unit);
    match (loads(true).reduce(f64::max), loads(false).reduce(f64::min)) {
        (Some(met), None) => {
            format!("{} met the objective in too few runs to confirm it; no run that counts missed it", words(met))
        }
        (None, Some(missed)) => {
            format!("{} missed the objective in too few runs to confirm it; no run that counts met it", words(missed))
        }
        (Some(met), Some(missed)) if met < missed => {
            let (met, missed) = (words(met), words(missed));
            format!("{met} met the objective and {missed} missed it, but in too few runs to confirm it")
        }
        (Some(met), Some(missed)) => format!(
            "the highest load that met the objective in a run is {}, and the lowest that missed it in a run is {}; these are too few \
            runs to confirm a result",
            words(met),
            words(missed)
        ),
        (None, None) => "no run could be judged".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_stats::capacity::{Bounds, Grain};
    use plimsoll_workload::{Arrivals, Pause};

    use super::*;

    /// The generator's limit is twenty clients. Returns the search and its trials.
    fn bottleneck() -> (Search, Trials) {
        let bounds = Bounds { start: 10.0, most: 1e3, grain: Grain::Whole(1), resolution: 0.02, runs: 100 };
        let mut search = Search::new(bounds);
        let mut trials = Trials::new(Load::Closed { clients: 1, think: Pause::None });
        while let Next::Run { load, brief } = search.next() {
            trials.begin(load, brief);
            let last = trials.trials.last_mut().unwrap();
            if load > 20.0 {
                last.because = vec!["one core was busy".to_owned()];
                assert!(search.could_not());
            } else {
                last.met = Some(true);
                search.saw(true);
            }
        }
        (search, trials)
    }

    #[test]
    fn what_held_below_the_generators_limit_is_said() {
        let (search, trials) = bottleneck();
        let (outcome, low, high, why) = trials.outcome(&search, "clients");
        assert_eq!((outcome, low, high), (CapacityOutcome::AtLeast, Some(20.0), None));
        assert_eq!(
            why.unwrap(),
            "at 40 clients the load generator may be the cause of the missed objective: one core was busy"
        );
    }

    #[test]
    fn a_search_without_an_end_says_what_was_confirmed() {
        let bounds = Bounds { start: 10.0, most: 1e3, grain: Grain::Whole(1), resolution: 0.02, runs: 100 };
        let mut search = Search::new(bounds);
        let trials = Trials::new(Load::Closed { clients: 1, think: Pause::None });
        assert_eq!(trials.outcome(&search, "clients").1, None);
        // Sixteen hold once in the confirming, so the lower end is sure before the upper one.
        let mut sixteen = 0;
        while search.carried().is_none() {
            let Next::Run { load, .. } = search.next() else { panic!("it was over before") };
            sixteen += u32::from(load.total_cmp(&16.0).is_eq());
            search.saw(load <= 15.0 || load <= 16.0 && sixteen == 4);
        }
        let (outcome, low, _, why) = trials.outcome(&search, "clients");
        assert_eq!((outcome, low), (CapacityOutcome::Unfinished, Some(15.0)));
        assert!(why.unwrap().starts_with("interrupted after 0 runs"));
    }

    /// With `p95 < 50ms`, one user met it in every run and two never: none at all is no answer.
    #[test]
    fn the_lower_end_is_at_least_one_user() {
        let bounds = Bounds { start: 1.0, most: 1e3, grain: Grain::Whole(1), resolution: 0.02, runs: 100 };
        let load = Load::Partly { users: 1, every_ns: 1_000_000_000, arrivals: Arrivals::Constant };
        let found = |carried: f64, hold: &[&str]| {
            let hold: Vec<String> = hold.iter().map(|&condition| condition.to_owned()).collect();
            let objectives = Objectives::parse(&hold).unwrap();
            let (mut search, mut trials) = (Search::new(bounds), Trials::new(load));
            while let Next::Run { load, brief } = search.next() {
                trials.begin(load, brief);
                let last = trials.trials.last_mut().unwrap();
                (last.seconds, last.met) = (10.0, Some(load <= carried));
                search.saw(load <= carried);
            }
            let runs = trials.trials.len();
            let found = trials.summary(&search, &objectives, runs);
            (found.low, found.low_tested, found.high)
        };
        assert_eq!(found(1.0, &["p95 < 50ms"]), (Some(1.0), Some(1.0), Some(2.0)));
        assert_eq!(found(8.0, &["p95 < 50ms"]), (Some(7.0), Some(8.0), Some(9.0)));
        // Users with one iteration per second: in 10 s, an overload of a tenth makes no user late, and holds long limits.
        assert_eq!(found(40.0, &["p95 < 50ms"]).0, Some(39.0));
        assert_eq!((found(40.0, &[]).0, found(40.0, &["p50 < 20s"]).0), (Some(36.0), Some(36.0)));
    }

    #[test]
    fn an_interrupted_search_says_after_how_many_runs() {
        let bounds = Bounds { start: 10.0, most: 1e3, grain: Grain::Whole(1), resolution: 0.02, runs: 100 };
        let (mut search, mut trials) =
            (Search::new(bounds), Trials::new(Load::Closed { clients: 1, think: Pause::None }));
        for _ in 0..2 {
            let Next::Run { load, brief } = search.next() else { panic!("it was over before") };
            trials.begin(load, brief);
            trials.trials.last_mut().unwrap().seconds = 1.0;
            search.saw(true);
        }
        trials.begin(40.0, true);
        assert_eq!(trials.outcome(&search, "clients").3.unwrap(), "interrupted after 2 runs: no result");
    }

    /// Two clients miss; one met the objective in two runs, and then never again.
    #[test]
    fn runs_that_met_it_are_not_denied() {
        let bounds = Bounds { start: 1.0, most: 8.0, grain: Grain::Whole(1), resolution: 0.02, runs: 100 };
        let (mut search, mut trials) =
            (Search::new(bounds), Trials::new(Load::Closed { clients: 1, think: Pause::None }));
        let mut ones = 0;
        while let Next::Run { load, brief } = search.next() {
            trials.begin(load, brief);
            ones += u32::from(load < 2.0);
            let met = load < 2.0 && ones <= 2;
            trials.trials.last_mut().unwrap().met = Some(met);
            search.saw(met);
        }
        let (outcome, low, high, why) = trials.outcome(&search, "clients");
        assert_eq!((outcome, low, high), (CapacityOutcome::NoLoad, None, Some(1.0)));
        assert_eq!(why.as_deref(), Some("even 1 client met the objective in only 2 of 10 runs"));
        trials.trials.iter_mut().for_each(|one| one.met = Some(false));
        assert_eq!(trials.misses(1.0, "clients"), "even 1 client misses the objective");
    }

    #[test]
    fn loads_in_too_few_runs_are_named() {
        let said = |runs: &[(f64, Option<bool>)]| {
            let trial = |&(load, met)| Trial { level: 0, load, brief: true, seconds: 1.0, met, because: Vec::new() };
            unconfirmed(&runs.iter().map(trial).collect::<Vec<_>>(), "clients")
        };
        let (met, missed) = (Some(true), Some(false));
        assert_eq!(
            said(&[(2.0, met), (4.0, met)]),
            "4 clients met the objective in too few runs to confirm it; no run that counts missed it"
        );
        assert!(said(&[(8.0, missed), (4.0, missed)]).starts_with("4 clients missed the objective in too few runs"));
        assert!(
            said(&[(4.0, met), (8.0, missed)]).contains("4 clients met the objective and 8 clients missed it, but")
        );
        assert_eq!(said(&[(1.0, None), (2.0, None)]), "no run could be judged");
    }

    /// All runs were at 100 iterations/s. The search presumes that 98.039 met the objective, because 100 missed it.
    #[test]
    fn a_search_out_of_runs_says_what_its_runs_showed() {
        let bounds = Bounds { start: 100.0, most: 100.0, grain: Grain::Any, resolution: 0.02, runs: 8 };
        let load = Load::Open { clients: 1, rate: 100.0, arrivals: Arrivals::Constant };
        let (mut search, mut trials) = (Search::new(bounds), Trials::new(load));
        for met in [true, true, false, true, true, true, false, false] {
            let Next::Run { load, brief } = search.next() else { panic!("it was over before") };
            assert_eq!(load.total_cmp(&100.0), std::cmp::Ordering::Equal);
            trials.begin(load, brief);
            trials.trials.last_mut().unwrap().met = Some(met);
            search.saw(met);
        }
        assert!(matches!(search.next(), Next::Over(Answer::Undecided { held: Some(..99.0), .. })));
        let (outcome, low, high, why) = trials.outcome(&search, "iterations/s");
        assert_eq!((outcome, low, high), (CapacityOutcome::Undecided, None, None));
        assert_eq!(
            why.as_deref(),
            Some(
                "the search reached the limit of runs (--runs): the highest load that met the objective in a run is 100 iterations/s, and \
                the lowest that missed it in a run is 100 iterations/s; these are too few runs to confirm a result"
            )
        );
    }
}

//! What a report tells of a search.

use plimsoll_drive::engine::Load;
use plimsoll_report::findings::capacity::{Capacity, Try};
use plimsoll_report::text::exact_load as exact;
use plimsoll_stats::capacity::{Answer, CONFIRMATIONS, Next, Search, for_ever};

use super::promise::Promises;
use crate::run::LevelRan;

/// What was tried.
pub(super) struct Tries {
    load: Load,
    tries: Vec<Try>,
}

impl Tries {
    pub(super) fn new(load: Load) -> Self {
        Self { load, tries: Vec::new() }
    }

    /// Whether starts follow a schedule.
    pub(super) fn scheduled(&self) -> bool {
        !matches!(self.load, Load::Closed { .. })
    }

    /// A run begins.
    pub(super) fn begin(&mut self, load: f64, brief: bool) {
        let stage = self.tries.len() as u64;
        self.tries.push(Try { stage, load, brief, seconds: 0.0, held: None, because: Vec::new() });
    }

    /// It is over; `None` for `held` where it does not count.
    pub(super) fn end(&mut self, ran: &LevelRan, held: Option<bool>, because: Vec<String>) {
        if let Some(last) = self.tries.last_mut() {
            (last.seconds, last.held, last.because) = (ran.seconds(), held, because);
        }
    }

    /// What was found. `ran` runs were made.
    pub(super) fn told(mut self, search: &Search, promises: &Promises, ran: usize) -> Capacity {
        // One that was begun and could not be made is in no table.
        self.tries.truncate(ran);
        let unit = match self.load {
            Load::Closed { .. } => "stations",
            Load::Open { .. } => "turns a second",
            Load::Partly { .. } => "users",
        };
        let (outcome, low, high, why) = self.outcome(search, unit);
        let slack =
            promises.longest_s().filter(|_| self.scheduled()).zip(self.longest_run()).map(|(time, run)| time / run);
        let lowered = |low: f64| for_ever(low, slack.unwrap_or(0.0));
        // There are no parts of a user.
        let low = low.map(lowered).map(|low| if matches!(self.load, Load::Open { .. }) { low } else { low.floor() });
        Capacity {
            unit: unit.to_owned(),
            promises: promises.words(matches!(self.load, Load::Partly { .. })),
            outcome: outcome.to_owned(),
            why,
            low,
            high,
            confirmations: CONFIRMATIONS,
            slack,
            tries: self.tries,
        }
    }

    /// Length of the longest run, s: a queue that needs longer to break a promise cannot be seen.
    fn longest_run(&self) -> Option<f64> {
        self.tries.iter().map(|one| one.seconds).reduce(f64::max).filter(|&seconds| seconds > 0.0)
    }

    /// What came of it: a word, the interval's ends, and what to say where it is not found.
    fn outcome(&self, search: &Search, unit: &str) -> (&'static str, Option<f64>, Option<f64>, Option<String>) {
        let answer = match search.next() {
            Next::Over(answer) => answer,
            Next::Run { .. } => {
                let why = match self.tries.last() {
                    Some(Try { held: None, because, .. }) if !because.is_empty() => {
                        format!("the load generator was the bottleneck: {}", because.join("; "))
                    }
                    _ => "it was stopped before it was over".to_owned(),
                };
                return ("unfinished", None, None, Some(why));
            }
        };
        let say =
            |load: Option<f64>| load.map_or_else(|| "nothing".to_owned(), |load| format!("{} {unit}", exact(load)));
        match answer {
            Answer::Between { held, broken } => ("found", Some(held), Some(broken), None),
            Answer::AtLeast(most) => {
                ("at least", Some(most), None, Some("the highest load that may be tried (--most) holds".to_owned()))
            }
            Answer::Nothing(least) => {
                ("none", None, Some(least), Some(format!("even the load of {} {unit} is too much", exact(least))))
            }
            Answer::Undecided { held, broken } => {
                let (held, broken) = (say(held), say(broken));
                let why = format!(
                    "the runs that were allowed (--runs) are used up: {held} seemed to hold, {broken} not, unconfirmed"
                );
                ("undecided", None, None, Some(why))
            }
        }
    }
}

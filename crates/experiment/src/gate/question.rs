//! A condition at a load level: what is known of it after each round.

use plimsoll_stats::comparison::{Interval, confidence_sequence};

use super::apart::Apart;
use super::observation::{Observation, grain};
use plimsoll_results::comparison::{Condition, Outcome, Threshold};

/// A condition at a load level, and what is known of it.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is to fail.
    pub condition: Condition,
    /// The load, in words.
    pub level: String,
    /// What is known.
    pub outcome: Outcome,
    /// What it was judged from.
    pub seen: Seen,
    /// The number with its interval, in the unit of the threshold, as of the last of these rounds.
    pub known: Option<Known>,
    /// The probability with which the interval is right after every round.
    pub confidence: f64,
    /// Why nothing more can become known; `None` where it was decided, or only takes longer.
    pub unanswerable: Option<String>,
    observations: Vec<Observation>,
}

/// What a condition was judged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// So many rounds.
    Rounds(usize),
    /// So many runs of the baseline and of the candidate, in no order.
    Apart([usize; 2], Unit),
}

/// What is one of several measurements that are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A run: each side has one recording.
    Run,
    /// A recording with all its runs, because a side has several.
    Recording,
}

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The mean over the rounds.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

impl Question {
    /// Nothing is known yet. `alpha` is the probability with which it may ever be decided wrongly.
    #[must_use]
    pub fn new(condition: Condition, level: String, alpha: f64) -> Self {
        let (seen, known, unanswerable, observations) = (Seen::Rounds(0), None, None, Vec::new());
        let (outcome, confidence) = (Outcome::Undecided, 1.0 - alpha);
        Self { condition, level, outcome, seen, known, confidence, unanswerable, observations }
    }

    /// Whether another round could change anything.
    pub(super) fn is_open(&self) -> bool {
        self.outcome == Outcome::Undecided && self.unanswerable.is_none()
    }

    /// A round more. What was decided stays: the interval was right at that time as it is at all others.
    pub(super) fn observe(&mut self, observed: Result<Observation, String>) {
        if !self.is_open() {
            return;
        }
        match observed {
            Ok(observation) => self.observations.push(observation),
            Err(why) => {
                self.unanswerable = Some(why);
                return;
            }
        }
        self.seen = Seen::Rounds(self.observations.len());
        let values: Vec<f64> = self.observations.iter().map(|one| one.value).collect();
        let grain = grain(self.condition.metric, &self.observations);
        if let Some(found) = confidence_sequence(&values, 1.0 - self.confidence) {
            self.know(found, grain);
        }
    }

    /// All there is, of sides that were not measured in turns: it is judged once.
    pub(super) fn judge_apart(&mut self, apart: Result<Apart, String>) {
        match apart {
            Ok(apart) => {
                self.seen = Seen::Apart(apart.counts(), apart.unit);
                if let Some(found) = apart.interval(&self.condition, 1.0 - self.confidence) {
                    self.know(found, apart.grain(self.condition.metric));
                }
            }
            Err(why) => self.unanswerable = Some(why),
        }
    }

    fn know(&mut self, (mean, interval): (f64, Interval), grain: f64) {
        let own = |value: f64| match self.condition.threshold {
            Threshold::Relative(_) => value.exp_m1(),
            Threshold::Change(_) | Threshold::Value(_) => value,
        };
        let known = Known { value: own(mean), low: own(interval.low - grain), high: own(interval.high + grain) };
        self.outcome = self.condition.outcome((known.low, known.high));
        self.known = Some(known);
    }
}

#[cfg(test)]
mod tests {
    use super::super::observation::RunNumber;
    use super::*;

    /// Rounds with these differences of logarithms, in per cent.
    fn after(condition: &str, differences: &[f64]) -> Question {
        let mut question = Question::new(Condition::parse(condition).unwrap(), "4 clients".to_owned(), 0.05);
        for difference in differences {
            let one = |value: f64| vec![RunNumber { value, grain: 0.0, operations: 1_000 }];
            let sides = [one(1.0), one((difference / 100.0).exp())];
            question.observe(Observation::of(&question.condition, [&sides[0], &sides[1]]));
        }
        question
    }

    #[test]
    fn a_condition_is_decided_as_soon_as_the_interval_leaves_the_limit_out() {
        let slower = after("mean > +3%", &[5.1, 4.9, 5.0, 5.2, 4.8, 5.0, 5.0]);
        assert_eq!((slower.outcome, slower.seen), (Outcome::Failed, Seen::Rounds(4)), "{slower:?}");
        let known = slower.known.unwrap();
        assert!(known.low > 0.03 && known.low < known.value && known.value < known.high, "{known:?}");
        let same = after("mean > +3%", &[0.3, -0.4, 0.1, 0.2, -0.3, 0.1]);
        assert_eq!((same.outcome, same.is_open()), (Outcome::Passed, false), "{same:?}");
        let near = after("mean > +3%", &[3.3, 2.6, 3.1, 2.9, 3.4, 2.7]);
        assert_eq!((near.outcome, near.seen, near.is_open()), (Outcome::Undecided, Seen::Rounds(6), true), "{near:?}");
        assert_eq!(after("mean < -3%", &[-5.0, -5.1, -4.9, -5.0, -5.1]).outcome, Outcome::Failed);
    }

    #[test]
    fn what_was_decided_stays_and_what_is_missing_ends_the_question() {
        let mut decided = after("mean > +3%", &[5.1, 4.9, 5.0, 5.2]);
        decided.observe(Err("no numbers".to_owned()));
        assert_eq!((decided.outcome, decided.unanswerable.clone()), (Outcome::Failed, None));
        let mut missing = after("mean > +3%", &[5.1]);
        missing.observe(Err("no numbers".to_owned()));
        assert_eq!((missing.outcome, missing.is_open()), (Outcome::Undecided, false));
    }
}

//! A condition at a load level: its state after each round.

use plimsoll_report::findings::Report;
use plimsoll_stats::comparison::{Interval, confidence_sequence};

use super::apart::{Apart, Unit};
use super::observation::{Observation, grain};
use plimsoll_results::comparison::{Condition, Outcome, PossibleNumber, Threshold, may_change};

/// Rounds that may not count because the load generator was the bottleneck, before the gate gives up; from then on, as many as count.
pub(super) const MAX_UNCOUNTED: usize = 3;

/// A condition at a load level, and its state.
#[derive(Clone, Debug)]
pub struct Question {
    /// The condition.
    pub condition: Condition,
    /// Name of the load level.
    pub level_name: String,
    /// The outcome so far.
    pub outcome: Outcome,
    /// The basis of the outcome.
    pub seen: Seen,
    /// The number with its interval, in the unit of the threshold, as of the last of these rounds.
    pub known: Option<Known>,
    /// The probability with which the interval is right after every round.
    pub confidence: f64,
    /// Why nothing more can become known; `None` where it was decided, or only takes longer.
    pub unanswerable: Option<String>,
    observations: Vec<Observation>,
    /// Rounds without a number, and the reason of the last one.
    without: usize,
    /// See `without`; or why missing operations, or time between capture files, may change the outcome.
    lacks: Option<String>,
    /// What the missing operations of captures, and the time between their files, may change; `None` if nothing.
    pub(super) possible: Option<[PossibleNumber; 2]>,
    /// Why it can fail, but not pass: too many of the candidate's actions failed, or it has too few requests.
    cannot_pass: Option<String>,
}

/// Why a round says nothing of a condition.
#[derive(Clone, Debug)]
pub(super) enum Nothing {
    /// Its runs have no such number; those of another round may, for example because caches have filled.
    Yet(String),
    /// No round's number could be used beside it.
    Ever(String),
}

/// The basis of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A number of rounds.
    Rounds(usize),
    /// Numbers of runs of the baseline and of the candidate, in no order.
    Apart([usize; 2], Unit),
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
    pub fn new(condition: Condition, level_name: String, alpha: f64) -> Self {
        let (seen, known, unanswerable, observations) = (Seen::Rounds(0), None, None, Vec::new());
        let (outcome, confidence, without, lacks) = (Outcome::Undecided, 1.0 - alpha, 0, None);
        let (cannot_pass, possible) = (None, None);
        Self {
            condition,
            level_name,
            outcome,
            seen,
            known,
            confidence,
            unanswerable,
            observations,
            without,
            lacks,
            possible,
            cannot_pass,
        }
    }

    /// The sides differ in more than their servers: a change against the baseline may come from that alone.
    pub(super) fn refuse(&mut self, why: String) {
        if !matches!(self.condition.threshold, Threshold::Value(_)) {
            self.unanswerable = Some(why);
        }
    }

    /// Whether another round could change anything.
    pub(super) fn is_open(&self) -> bool {
        self.outcome == Outcome::Undecided && self.unanswerable.is_none()
    }

    /// Whether the candidate's runs can decide it although they are INVALID because too many actions failed.
    pub(super) fn is_failed_by_actions(&self) -> bool {
        self.is_open() && self.condition.limits_errors()
    }

    /// The candidate's runs are INVALID only because too many actions failed (`why`): a limit of the errors can fail, and nothing can pass.
    pub(super) fn note_failed_actions(&mut self, why: &str) {
        if self.is_failed_by_actions() {
            self.cannot_pass = Some(why.to_owned());
        } else {
            self.observe(Err(Nothing::Ever(why.to_owned())));
        }
    }

    /// Notes that the runs of an observation have too few requests for a percentile. Such rounds are not left out: the slower side has the
    /// fewest requests, so this would help it. The mean of such percentiles over the runs is wrong: too low, or too high if a few requests
    /// stall. If only the candidate has too few, but hardly fewer than the baseline, chance moves both alike: an upper limit of a change can
    /// fail, and nothing can pass.
    fn note_too_few(&mut self, observed: &Observation) {
        let [baseline, candidate] = observed.too_few(self.condition.metric);
        let is_change = !matches!(self.condition.threshold, Threshold::Value(_));
        let baseline = baseline.filter(|_| is_change);
        let can_fail = is_change && self.condition.more && observed.has_similar_sides();
        let wrong = candidate.clone().filter(|_| !can_fail);
        match baseline.or(wrong) {
            Some(why) => self.unanswerable = Some(why),
            None => self.cannot_pass = self.cannot_pass.take().or(candidate),
        }
    }

    /// Adds a round. A decision stays: the interval is valid at all times.
    pub(super) fn observe(&mut self, observed: Result<Observation, Nothing>) {
        if !self.is_open() {
            return;
        }
        match observed {
            Ok(observation) => {
                self.note_too_few(&observation);
                if !self.is_open() {
                    return;
                }
                self.observations.push(observation);
            }
            Err(Nothing::Ever(why)) => {
                self.unanswerable = Some(why);
                return;
            }
            Err(Nothing::Yet(why)) => {
                self.without += 1;
                let rounds = if self.without == 1 { "round" } else { "rounds" };
                self.lacks = Some(format!("{why} in {} {rounds}", self.without));
                if self.without > MAX_UNCOUNTED.max(self.observations.len()) {
                    self.unanswerable.clone_from(&self.lacks);
                }
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

    /// Why the outcome is unknown, if more rounds would not help.
    pub(super) fn why_unknown(&self) -> Option<String> {
        let reason = self.unanswerable.as_ref().or(self.cannot_pass.as_ref()).or(self.lacks.as_ref());
        reason.filter(|_| self.outcome == Outcome::Undecided).cloned()
    }

    /// All there is, of sides that were not measured alternately: it is judged once.
    pub(super) fn judge_apart(&mut self, apart: Result<Apart, String>) {
        if !self.is_open() {
            return;
        }
        match apart {
            Ok(apart) => {
                self.note_too_few(&apart.all);
                if !self.is_open() {
                    return;
                }
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
        self.known = Some(known);
        let is_open = |sides: &[PossibleNumber; 2]| !self.condition.is_certain((known.low, known.high), Some(*sides));
        if let Some(sides) = self.possible.filter(is_open) {
            self.lacks = Some(may_change(&self.condition, &sides, ["the baseline", "the candidate"]));
            return;
        }
        match (self.condition.outcome((known.low, known.high)), &self.cannot_pass) {
            // Of the actions that failed, errors are only a part: requests without a response are not among them. A percentile of too few
            // requests may be too low.
            (Outcome::Passed, Some(why)) => self.unanswerable = Some(why.clone()),
            (outcome, _) => self.outcome = outcome,
        }
    }
}

/// Closes the questions about changes at the levels at which the comparison found different loads.
pub(super) fn refuse_other_loads(questions: &mut [Question], report: &Report) {
    for level in report.comparison.iter().flat_map(|comparison| &comparison.levels) {
        let Some(loads) = level.other_loads.iter().flatten().next() else { continue };
        questions.iter_mut().filter(|question| question.level_name == level.level_name).for_each(|question| {
            question.refuse(format!("{loads}; add --ignore-load to judge the difference nevertheless"));
        });
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_report::findings::comparison::{ComparedLevel, Comparison};

    use super::super::observation::RunNumber;
    use super::*;

    /// Rounds with these differences of logarithms, in per cent.
    fn after(condition: &str, differences: &[f64]) -> Question {
        let mut question = Question::new(Condition::parse(condition).unwrap(), "4 clients".to_owned(), 0.05);
        for difference in differences {
            let one = |value: f64| vec![RunNumber { value, grain: 0.0, operations: 1_000 }];
            let sides = [one(1.0), one((difference / 100.0).exp())];
            question.observe(Observation::of(&question.condition, [&sides[0], &sides[1]]).map_err(Nothing::Ever));
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

    /// Rounds with the number of requests per run of both sides, and the candidate's number as a multiple of the baseline's 1 ms.
    fn few(condition: &str, rounds: &[([u64; 2], f64)]) -> Question {
        let mut question = Question::new(Condition::parse(condition).unwrap(), "4 clients".to_owned(), 0.05);
        for (number, (requests, factor)) in (0_u32..).zip(rounds) {
            let noise = 1.0 + 0.001 * f64::from(number % 3);
            let side = |at: usize, value: f64| [RunNumber { value, grain: 1e-6, operations: requests[at] }; 2];
            let (baseline, candidate) = (side(0, 1e-3), side(1, 1e-3 * noise * factor));
            let observed = Observation::of(&question.condition, [&baseline, &candidate]);
            question.observe(observed.map_err(Nothing::Ever));
        }
        question
    }

    /// The candidate stalls in every second round, and has fewer requests there. Without these rounds the sides are alike.
    #[test]
    fn rounds_in_which_the_candidate_was_slow_are_not_left_out() {
        let (fast, slow) = (([1_050, 1_050], 1.0), ([1_050, 945], 1.5));
        let stalls = few("p99 > +3%", &[fast, slow].repeat(20));
        assert_ne!(stalls.outcome, Outcome::Passed, "{stalls:?}");
        let why = "too few requests for p99 (945 per run, at least 1000 are needed)";
        let alike = few("p99 > +3%", &[([1_050, 945], 1.0)].repeat(20));
        assert_eq!((alike.outcome, alike.why_unknown().as_deref()), (Outcome::Undecided, Some(why)), "{alike:?}");
        assert!(!alike.is_open());
        let slower = few("p99 > +3%", &[([1_050, 945], 1.5)].repeat(20));
        assert_eq!(slower.outcome, Outcome::Failed, "too few requests make it no slower: {slower:?}");
        assert_eq!(few("p99 > +3%", &[fast].repeat(20)).outcome, Outcome::Passed);
    }

    /// A baseline with too few requests seems faster than it is, so the candidate seems slower.
    #[test]
    fn a_baseline_with_too_few_requests_decides_nothing() {
        let rounds = [([945, 1_050], 1.5)].repeat(20);
        let change = few("p99 > +3%", &rounds);
        assert_eq!((change.outcome, change.seen, change.is_open()), (Outcome::Undecided, Seen::Rounds(0), false));
        assert_eq!(few("p99 > 1ms", &rounds).outcome, Outcome::Failed, "the limit says nothing of the baseline");
        let lower = few("p99 < 2ms", &[([1_050, 945], 1.5)].repeat(20));
        assert_eq!((lower.outcome, lower.is_open()), (Outcome::Undecided, false), "it seems lower than it is");
    }

    /// 0.3 % of the requests take 100 ms, all others 1 ms. The mean p99 of runs of 10,000 requests is 1 ms, and of 300 requests 2.3 ms.
    #[test]
    fn a_candidate_with_far_fewer_requests_does_not_fail_because_of_rare_stalls() {
        let rounds = [([10_000, 300], 2.3)].repeat(20);
        for condition in ["p99 > +50%", "p99 > +1ms", "p99 > 2ms"] {
            let stalls = few(condition, &rounds);
            assert_eq!((stalls.outcome, stalls.is_open()), (Outcome::Undecided, false), "{condition}: {stalls:?}");
            assert!(stalls.why_unknown().unwrap().starts_with("too few requests for p99 (300 per run"), "{stalls:?}");
        }
        let limit = few("p99 > 1ms", &[([1_050, 945], 1.5)].repeat(20));
        assert_eq!(limit.outcome, Outcome::Undecided, "there is no baseline that chance moves as much");
        assert_eq!(few("p99 > +3%", &[([1_150, 945], 1.5)].repeat(20)).outcome, Outcome::Undecided);
    }

    #[test]
    fn changes_between_different_loads_are_not_judged() {
        let level = ComparedLevel {
            level_name: "4 clients".to_owned(),
            other_loads: vec![Some("A had 4 clients, B had 8 clients: the loads differ".to_owned())],
            ..ComparedLevel::default()
        };
        let comparison = Some(Comparison { levels: vec![level], ..Comparison::default() });
        let report = Report { schema: String::new(), tool: String::new(), sides: Vec::new(), comparison };
        let mut questions = [after("mean > +3%", &[]), after("mean > +1ms", &[]), after("mean > 1ms", &[])];
        refuse_other_loads(&mut questions, &report);
        assert_eq!(questions.each_ref().map(Question::is_open), [false, false, true], "the number itself is judged");
        assert!(questions[0].why_unknown().unwrap().contains("the loads differ; add --ignore-load"));
        let mut same = [after("mean > +3%", &[])];
        same[0].level_name = "8 clients".to_owned();
        refuse_other_loads(&mut same, &report);
        assert!(same[0].is_open(), "another level");
    }

    #[test]
    fn what_was_decided_stays_and_what_is_missing_ends_the_question() {
        let mut decided = after("mean > +3%", &[5.1, 4.9, 5.0, 5.2]);
        decided.observe(Err(Nothing::Ever("zero".to_owned())));
        assert_eq!((decided.outcome, decided.unanswerable.clone()), (Outcome::Failed, None));
        let mut zero = after("mean > +3%", &[5.1]);
        zero.observe(Err(Nothing::Ever("zero".to_owned())));
        assert_eq!(
            (zero.outcome, zero.is_open(), zero.why_unknown()),
            (Outcome::Undecided, false, Some("zero".to_owned()))
        );
    }

    /// Found by a bisection: the first runs of a server had look-ups alone.
    #[test]
    fn a_round_without_the_operation_is_left_out_and_too_many_end_the_question() {
        let without = || Err(Nothing::Yet("no numbers for getattr".to_owned()));
        let mut late = after("mean > +3%", &[]);
        late.observe(without());
        assert_eq!(
            (late.is_open(), late.why_unknown().unwrap()),
            (true, "no numbers for getattr in 1 round".to_owned())
        );
        for difference in [0.051, 0.049, 0.05, 0.052] {
            let one = |value: f64| vec![RunNumber { value, grain: 0.0, operations: 1_000 }];
            late.observe(
                Observation::of(&late.condition, [&one(1.0), &one(f64::exp(difference))]).map_err(Nothing::Ever),
            );
        }
        assert_eq!((late.outcome, late.seen, late.why_unknown()), (Outcome::Failed, Seen::Rounds(4), None));
        let mut then_zero = after("mean > +3%", &[]);
        then_zero.observe(without());
        then_zero.observe(Err(Nothing::Ever("zero".to_owned())));
        assert_eq!(then_zero.why_unknown().unwrap(), "zero");
        let mut never = after("mean > +3%", &[]);
        (0..3).for_each(|_| never.observe(without()));
        assert!(never.is_open());
        never.observe(without());
        assert_eq!(
            (never.is_open(), never.why_unknown().unwrap()),
            (false, "no numbers for getattr in 4 rounds".to_owned())
        );
    }
}

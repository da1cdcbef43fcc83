//! A gate: conditions are judged after every round of a duel, until each is decided or the budget is spent. The interval allows for
//! the looking (`plimsoll_stats::comparison::confidence_sequence`).

mod apart;
mod clocks;
mod decisions;
mod earlier;
mod missing;
mod observation;
mod question;
mod recorded;
mod recordings;
mod result;
#[cfg(test)]
mod simulation;
mod summary;

use std::time::{Duration, Instant};

use plimsoll_model::Names;
use plimsoll_report::collect::comparison::{Contestant, Ignore, Order};
use plimsoll_report::findings::{Report, only_actions_failed};
use plimsoll_stats::comparison::CONFIDENCE;

pub use apart::Unit;
pub use decisions::note_decisions;
pub use earlier::{check_earlier, ended_by_error, was_interrupted};
pub use question::{Known, Question, Seen};
pub use recorded::{RecordedSide, judge_recordings};
pub use recordings::Recordings;
pub use result::{Basis, GateResult, GateRun, shown};
pub use summary::{GateSummary, judgement};

use crate::two_sides::rounds::{RUNS, TURNS};
use crate::{Arm, LevelResult};
use observation::{Observation, RunNumber, reliable};
use plimsoll_results::comparison::{Condition, compare};
use question::{MAX_UNCOUNTED, Nothing};

/// Conditions and limits of a gate.
#[derive(Clone, Debug)]
pub struct GateSpec {
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// No round begins that would probably end after this time; the first one always does.
    pub budget: Duration,
    /// Rounds at most.
    pub most_rounds: u32,
    /// Differences between the sides that are ignored.
    pub ignore: Ignore,
}

/// A gate while it runs.
pub struct Gate {
    spec: GateSpec,
    questions: Vec<Question>,
    /// Whether each round counts.
    counted: Vec<bool>,
    begun: Instant,
    /// When the last round ended.
    ended: Duration,
    why: String,
}

impl Gate {
    /// Begins now.
    #[must_use]
    pub fn new(spec: GateSpec) -> Self {
        let (questions, counted, why) = (Vec::new(), Vec::new(), "interrupted".to_owned());
        Self { spec, questions, counted, begun: Instant::now(), ended: Duration::ZERO, why }
    }

    /// Judges the last round; whether it is over.
    ///
    /// # Errors
    /// The sides have no load level in common.
    pub fn over(&mut self, arms: &[Arm<'_>], names: &Names) -> anyhow::Result<bool> {
        let [baseline, candidate] = arms else { anyhow::bail!("a gate has two sides") };
        if self.counted.is_empty() {
            self.ask(baseline);
            let report = first_comparison(&self.spec, arms, names)?;
            question::refuse_other_loads(&mut self.questions, &report);
            if let Some(refused) = report.comparison.and_then(|comparison| comparison.refused) {
                self.counted.push(true);
                self.ended = self.begun.elapsed();
                return Ok(self.end(&refused));
            }
        }
        let round = self.counted.len();
        Ok(self.judge([baseline, candidate].map(|arm| arm.runs(round * RUNS as usize, RUNS as usize))))
    }

    /// Judges the runs of a round; whether the gate is over.
    fn judge(&mut self, sides: [&[Vec<LevelResult>]; 2]) -> bool {
        let reasons =
            |fault: bool| sides.iter().flat_map(|runs| runs.iter().flatten()).find_map(|run| invalid(run, fault));
        let failed = reasons(false);
        let can_fail = || only_actions_of_the_candidate_failed(sides);
        if let Some(why) = &failed
            && !(can_fail() && self.questions.iter().any(Question::is_failed_by_actions))
        {
            self.counted.push(false);
            self.ended = self.begun.elapsed();
            return self.end(why);
        }
        let fault = reasons(true);
        self.counted.push(fault.is_none());
        if fault.is_none() {
            for (at, question) in (0..).zip(&mut self.questions) {
                let level = at / self.spec.conditions.len();
                // The actions of another level say nothing about this one.
                let mut runs = sides.iter().flat_map(|runs| runs.iter().filter_map(|run| run.get(level)));
                let failed = runs.find_map(|run| invalid(run, false));
                failed.iter().for_each(|why| question.note_failed_actions(why));
                question.observe(observe(&question.condition, level, sides));
            }
        }
        let now = self.begun.elapsed();
        let last = now.saturating_sub(std::mem::replace(&mut self.ended, now));
        self.is_decided() || self.is_spent(now, last, fault.as_deref())
    }

    /// A question for each condition at each level; together they may be wrong as often as one alone.
    fn ask(&mut self, baseline: &Arm<'_>) {
        let levels = baseline.levels();
        let alpha = (1.0 - CONFIDENCE) / (levels.len() * self.spec.conditions.len()).max(1) as f64;
        let of_level = |level: &String| {
            let ask = |condition: &Condition| Question::new(condition.clone(), level.clone(), alpha);
            self.spec.conditions.iter().map(ask).collect::<Vec<_>>()
        };
        self.questions = levels.iter().flat_map(of_level).collect();
    }

    fn is_decided(&mut self) -> bool {
        let over = !self.questions.iter().any(Question::is_open);
        if over {
            self.why = "no further round can change a result".to_owned();
        }
        over
    }

    fn is_spent(&mut self, now: Duration, last: Duration, fault: Option<&str>) -> bool {
        let rounds = u32::try_from(self.counted.len()).unwrap_or(u32::MAX);
        match fault {
            Some(why) if invalid_rounds_are_too_many(&self.counted) => self.end(why),
            _ if rounds >= self.spec.most_rounds => self.end(&format!("the limit of {rounds} rounds is reached")),
            _ if now >= self.spec.budget => {
                self.end(&format!("the time budget of {} is spent", shown(self.spec.budget)))
            }
            _ if now + last > self.spec.budget => self.end(&format!(
                "another round (about {}) would exceed the time budget of {}: give a larger --budget",
                shown(last),
                shown(self.spec.budget)
            )),
            _ => false,
        }
    }

    fn end(&mut self, why: &str) -> bool {
        why.clone_into(&mut self.why);
        true
    }

    /// The sides for a comparison: the rounds that count, or all if none does.
    #[must_use]
    pub fn contestants(&self, arms: &[Arm<'_>], names: &Names) -> Vec<Contestant> {
        let none = !self.counted.contains(&true);
        let counts = |run: usize| self.counted.get(run / RUNS as usize).is_some_and(|counted| none || *counted);
        arms.iter().map(|arm| arm.contestant_of(names, counts)).collect()
    }

    /// It is over. `ended` is what ended it: an error is no interruption by the user.
    #[must_use]
    pub fn finish(self, arms: &[Arm<'_>], ended: &anyhow::Result<()>) -> GateResult {
        let basis = Basis::Rounds { all: self.counted.len(), uncounted: uncounted(&self.counted) };
        let (runs, judged_again) = (self.runs(arms), false);
        let why = ended.as_ref().err().map_or(self.why, |error| format!("an error ended it: {error:#}"));
        GateResult { questions: self.questions, why, basis, took: self.ended, runs, judged_again }
    }

    fn runs(&self, arms: &[Arm<'_>]) -> Vec<GateRun> {
        let mut runs = Vec::new();
        for (round, counted) in (0_u32..).zip(&self.counted) {
            for (turn, side) in (0_u32..).zip(TURNS) {
                let at = (round * RUNS + turn / RUNS) as usize;
                let levels = arms.get(side).map(|arm| arm.runs(at, 1)).into_iter().flatten().flatten();
                let run = |level: &LevelResult| GateRun {
                    round: Some(round + 1),
                    turn: turn + 1,
                    side,
                    level_name: level.load_name().to_owned(),
                    first_ns: level.first_ns(),
                    seconds: level.seconds(),
                    counted: *counted,
                    numbers: self
                        .spec
                        .conditions
                        .iter()
                        .map(|condition| Some(number(level, condition).ok()?.value))
                        .collect(),
                };
                runs.extend(levels.map(run));
            }
        }
        runs
    }
}

/// Rounds that do not count, because the load generator was the bottleneck.
fn uncounted(counted: &[bool]) -> usize {
    counted.iter().filter(|counted| !**counted).count()
}

/// The gate gives up.
fn invalid_rounds_are_too_many(counted: &[bool]) -> bool {
    let uncounted = uncounted(counted);
    uncounted > MAX_UNCOUNTED.max(counted.len() - uncounted)
}

/// The comparison of the first round, which tells whether the sides are comparable.
fn first_comparison(spec: &GateSpec, arms: &[Arm<'_>], names: &Names) -> anyhow::Result<Report> {
    let contestants = arms.iter().map(|arm| arm.contestant_of(names, |_| true)).collect();
    Ok(compare(contestants, (Order::InPairs, Vec::new()), &[], spec.ignore)?.0)
}

/// Why the numbers of a level must not be used, if the load generator is to blame for it (`fault`), or if it is not.
fn invalid(level: &LevelResult, fault: bool) -> Option<String> {
    let validity = level.validity();
    let reason = validity.reasons.first().filter(|_| !validity.valid)?;
    (level.is_invalid_by_generator() == fault).then(|| format!("{} is INVALID: {reason}", level.load_name()))
}

/// Whether the runs, if INVALID and not by the load generator's fault, are so only because too many actions failed on the candidate.
fn only_actions_of_the_candidate_failed([baseline, candidate]: [&[Vec<LevelResult>]; 2]) -> bool {
    let counts = |run: &LevelResult| run.validity().valid || run.is_invalid_by_generator();
    baseline.iter().flatten().all(counts)
        && candidate.iter().flatten().all(|run| counts(run) || only_actions_failed(run.validity()))
}

fn number(level: &LevelResult, condition: &Condition) -> Result<RunNumber, String> {
    let run = level.measured().ok_or_else(|| format!("{} was not run", level.load_name()))?;
    reliable(condition, &level.moved_metrics())?;
    RunNumber::of(&run, condition)
}

/// The observation of a condition at load level `level` in the runs of a round.
fn observe(condition: &Condition, level: usize, sides: [&[Vec<LevelResult>]; 2]) -> Result<Observation, Nothing> {
    let numbers = |runs: &[Vec<LevelResult>]| -> Result<Vec<RunNumber>, String> {
        let of = |run: &Vec<LevelResult>| number(run.get(level).ok_or("a load level was not run")?, condition);
        runs.iter().map(of).collect()
    };
    observed(condition, sides.map(numbers))
}

/// The observation that the numbers of both sides make.
fn observed(condition: &Condition, numbers: [Result<Vec<RunNumber>, String>; 2]) -> Result<Observation, Nothing> {
    let [baseline, candidate] = numbers.map(|numbers| numbers.map_err(Nothing::Yet));
    Observation::of(condition, [&baseline?, &candidate?]).map_err(Nothing::Ever)
}

#[cfg(test)]
mod tests;

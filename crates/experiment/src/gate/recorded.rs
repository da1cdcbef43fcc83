//! A gate on recordings: nothing is measured. Where they were made in turns (`duel --record`, `gate --record`, or one by one), the gate
//! decides as it would have then; where they were not, each condition is judged once.

mod levels;
mod rounds;
mod runs_apart;

use plimsoll_report::findings::Report;
use plimsoll_stats::comparison::CONFIDENCE;

pub use levels::RecordedSide;

use super::apart::Unit;
use super::clocks::refuse_other_clocks;
use super::missing::note_missing;
use super::question::{Question, Seen, refuse_other_loads};
use super::result::{Basis, GateResult};
use levels::{Level, length, levels};
use plimsoll_results::comparison::Condition;
use rounds::{in_turns, rounds, runs_of_rounds};
use runs_apart::{apart, runs_apart};

/// Judges the conditions. `report` is the comparison of the sides, which tells whether they are comparable.
///
/// # Errors
/// They have no load level in common.
pub fn judge_recordings(
    sides: &[RecordedSide; 2],
    conditions: &[Condition],
    report: &Report,
) -> anyhow::Result<GateResult> {
    let levels = levels(sides)?;
    let alpha = (1.0 - CONFIDENCE) / (levels.len() * conditions.len()).max(1) as f64;
    let ask = |level: &Level<'_>| {
        let ask = |condition: &Condition| Question::new(condition.clone(), level.level_name.clone(), alpha);
        conditions.iter().map(ask).collect::<Vec<_>>()
    };
    let mut questions: Vec<Question> = levels.iter().flat_map(ask).collect();
    refuse_other_loads(&mut questions, report);
    refuse_other_clocks(&mut questions, report);
    note_missing(&mut questions, report, sides[0].len());
    let refused = report.comparison.as_ref().and_then(|comparison| comparison.refused.clone());
    let rounds = rounds(&levels);
    if rounds.is_none() {
        questions.iter_mut().for_each(|question| question.seen = Seen::Apart([0, 0], Unit::Run));
    }
    let (basis, why, counted) = match (refused, &rounds) {
        (Some(why), Some(rounds)) => (Basis::Rounds { all: rounds.len(), uncounted: 0 }, why, vec![true; rounds.len()]),
        (Some(why), None) => (Basis::Apart, why, Vec::new()),
        (None, Some(rounds)) => in_turns(rounds, (&mut questions, conditions)),
        (None, None) => (Basis::Apart, apart(&levels, (&mut questions, conditions)), Vec::new()),
    };
    let runs = match rounds {
        Some(rounds) => runs_of_rounds(&rounds, &counted, conditions),
        None => runs_apart(&levels, conditions),
    };
    let (took, judged_again) = (length(&levels), true);
    Ok(GateResult { questions, why, basis, took, runs, judged_again })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure, Protocol, Transaction};
    use plimsoll_report::collect::comparison::MeasuredRun;
    use plimsoll_results::comparison::{Outcome as JudgedOutcome, RecordedRun};
    use plimsoll_stats::intervals::{IntervalRecorder, Intervals};
    use plimsoll_testkit::transaction;

    use super::levels::Placed;
    use super::runs_apart::numbers;
    use super::*;
    use crate::gate::apart::Apart;

    const MS: i64 = 1_000_000;

    fn run(moved: &[&str]) -> RecordedRun {
        let mut recorder = IntervalRecorder::new(Intervals::growing());
        (1..=2_000).for_each(|at| recorder.record(&transaction(Procedure::of(Protocol::Nfs3, 6), at * MS, MS)));
        RecordedRun {
            level_name: "1 client".to_owned(),
            run: MeasuredRun { span_ns: (0, 2_000 * MS), intervals: recorder.finish() },
            invalid: None,
            generators_fault: false,
            failed_actions: false,
            moved: moved.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    /// A run of 0.5 s, which begins at `second`. If it is `failing`, it is INVALID, and every nth request was refused.
    fn run_at(second: i64, failing: Option<i64>) -> RecordedRun {
        let mut recorder = IntervalRecorder::new(Intervals::growing());
        let begun = second * 1_000 * MS;
        for at in 1..=500 {
            let refused = failing.is_some_and(|one_of| at % one_of == 0);
            let outcome = if refused { Outcome::Refused } else { Outcome::Succeeded };
            recorder
                .record(&Transaction { outcome, ..transaction(Procedure::of(Protocol::Nfs3, 6), begun + at * MS, MS) });
        }
        RecordedRun {
            run: MeasuredRun { span_ns: (begun, begun + 500 * MS), intervals: recorder.finish() },
            invalid: failing.map(|_| "1 client is INVALID: actions failed".to_owned()),
            failed_actions: failing.is_some(),
            ..run(&[])
        }
    }

    /// The result for runs in this order of the sides. In the candidate's runs every nth request was refused; the runs alternate between
    /// the two values of n in `errors`.
    fn decided(order: &[usize], errors: [i64; 2], conditions: &[&str]) -> GateResult {
        let conditions: Vec<Condition> = conditions.iter().map(|text| Condition::parse(text).unwrap()).collect();
        let mut sides = [vec![Vec::new()], vec![Vec::new()]];
        for (second, side) in (1..).zip(order) {
            let one_of = errors[second as usize % 2];
            sides[*side][0].push(run_at(second, (*side == 1).then_some(one_of)));
        }
        let report = Report { schema: String::new(), tool: String::new(), sides: Vec::new(), comparison: None };
        judge_recordings(&sides, &conditions, &report).unwrap()
    }

    /// Without this, no server with too many errors could fail a limit of the errors.
    #[test]
    fn too_many_errors_fail_although_they_make_the_runs_invalid() {
        let conditions = ["errors > 1%", "errors > +1%", "errors > 20%", "mean > +3%"];
        for order in [[0, 1, 1, 0].repeat(8), [1, 0, 0, 1].repeat(8)] {
            let judged = decided(&order, [20, 19], &conditions);
            let of = |at: usize| (judged.questions[at].outcome, judged.questions[at].why_unknown());
            let invalid = Some("1 client is INVALID: actions failed".to_owned());
            assert_eq!(of(0), (JudgedOutcome::Failed, None), "{:?}", judged.basis);
            assert_eq!(of(1), (JudgedOutcome::Failed, None), "{:?}", judged.basis);
            assert_eq!(of(2), (JudgedOutcome::Undecided, invalid.clone()), "nothing passes");
            assert_eq!(of(3), (JudgedOutcome::Undecided, invalid));
            assert!(judged.runs.iter().all(|run| run.counted));
        }
        let without = decided(&[0, 1, 1, 0].repeat(8), [20, 19], &["mean > +3%"]);
        assert_eq!(without.basis, Basis::Rounds { all: 1, uncounted: 1 });
        assert!(without.why.contains("INVALID: actions failed"));
    }

    #[test]
    fn more_runs_are_advised_only_where_they_help() {
        let invalid = decided(&[0, 0, 0, 1, 1, 1], [20, 19], &["mean > +3%"]);
        assert_eq!(invalid.basis, Basis::Apart);
        assert_eq!(invalid.questions[0].why_unknown().as_deref(), Some("1 client is INVALID: actions failed"));
        assert!(!invalid.why.contains("record more runs"), "{}", invalid.why);
        let sides = [1, 2].map(|second| vec![vec![run_at(second, None)]]);
        let report = Report { schema: String::new(), tool: String::new(), sides: Vec::new(), comparison: None };
        let few = judge_recordings(&sides, &[Condition::parse("mean > +3%").unwrap()], &report).unwrap();
        assert_eq!(few.questions[0].outcome, JudgedOutcome::Undecided);
        assert!(few.why.contains("record more runs of each side"), "{}", few.why);
    }

    #[test]
    fn recordings_stay_the_unit_when_one_has_no_number_left() {
        let (fine, late) = (run(&[]), run(&["p99"]));
        let condition = Condition::parse("all.p99 > +5%").unwrap();
        for late_one in [0, 1] {
            let baseline =
                |recording| Placed { side: 0, recording, run: if recording == late_one { &late } else { &fine } };
            let candidate = Placed { side: 1, recording: 0, run: &fine };
            let runs = [baseline(0), baseline(0), baseline(1), baseline(1), candidate, candidate];
            let [a, b] = numbers(&condition, &runs, &runs).unwrap();
            assert_eq!(Apart::of(&condition, [&a, &b]).unwrap().unit, Unit::Recording, "recording {late_one} is late");
        }
        let late_only = [Placed { side: 0, recording: 0, run: &late }, Placed { side: 1, recording: 0, run: &fine }];
        assert_eq!(numbers(&condition, &late_only, &late_only).unwrap_err(), "the baseline has no valid run");
    }
}

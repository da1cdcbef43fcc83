//! A gate on recordings: nothing is measured. Where they were made in turns (`duel --record`, `gate --record`, or one by one), the gate
//! decides as it would have then; where they were not, each condition is judged once.

use std::time::Duration;

use anyhow::bail;
use plimsoll_report::findings::Report;
use plimsoll_stats::comparison::CONFIDENCE;

use plimsoll_results::comparison::{Condition, Outcome, RecordedRun};

use super::apart::Apart;
use super::apart::Unit;
use super::clocks::refuse_other_clocks;
use super::observation::{Observation, RunNumber, reliable};
use super::question::{Nothing, Question, Seen, refuse_other_loads};
use super::result::{Basis, GateResult, GateRun};
use super::{invalid_rounds_are_too_many, observed, uncounted};
use crate::two_sides::rounds::TURNS;

/// The recordings of a side, each with its runs.
pub type RecordedSide = Vec<Vec<RecordedRun>>;

/// A run, the index of its recording on its side, and its side.
#[derive(Clone, Copy)]
struct Placed<'r> {
    side: usize,
    recording: usize,
    run: &'r RecordedRun,
}

impl Placed<'_> {
    fn number(&self, condition: &Condition) -> Result<RunNumber, String> {
        reliable(condition, &self.run.moved)?;
        RunNumber::of(&self.run.run, condition)
    }

    /// Whether the run, if INVALID and not by the load generator's fault, is so only because too many actions failed on the candidate;
    /// `errors`: for a limit of the errors.
    fn is_usable(&self, errors: bool) -> bool {
        let RecordedRun { invalid, generators_fault, failed_actions, .. } = self.run;
        invalid.is_none() || *generators_fault || errors && self.side == 1 && *failed_actions
    }
}

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
        let ask = |condition: &Condition| Question::new(condition.clone(), level.words.clone(), alpha);
        conditions.iter().map(ask).collect::<Vec<_>>()
    };
    let mut questions: Vec<Question> = levels.iter().flat_map(ask).collect();
    refuse_other_loads(&mut questions, report);
    refuse_other_clocks(&mut questions, report);
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

/// A load level that both sides have, and its runs in the order of time.
struct Level<'r> {
    words: String,
    runs: Vec<Placed<'r>>,
}

fn levels(sides: &[RecordedSide; 2]) -> anyhow::Result<Vec<Level<'_>>> {
    let words = |side: &RecordedSide| {
        let mut words: Vec<String> = Vec::new();
        for run in side.iter().flatten() {
            if !words.contains(&run.words) {
                words.push(run.words.clone());
            }
        }
        words
    };
    let [ours, theirs] = [words(&sides[0]), words(&sides[1])];
    let pairs: Vec<(String, String)> = match (ours.as_slice(), theirs.as_slice()) {
        // If each side has only one level, they are compared whatever their names; the comparison warns of it.
        ([our], [their]) => vec![(our.clone(), their.clone())],
        _ => ours.iter().filter(|level| theirs.contains(level)).map(|level| (level.clone(), level.clone())).collect(),
    };
    if pairs.is_empty() {
        bail!(
            "no common load level, so there is nothing to judge: the baseline has {}, the candidate {}; run both with the same levels",
            ours.join(", "),
            theirs.join(", ")
        );
    }
    let level = |(our, their): (String, String)| {
        let mut runs: Vec<Placed<'_>> = Vec::new();
        for (side, (recordings, words)) in sides.iter().zip([&our, &their]).enumerate() {
            for (recording, all) in recordings.iter().enumerate() {
                runs.extend(all.iter().filter(|run| run.words == *words).map(|run| Placed { side, recording, run }));
            }
        }
        runs.sort_by_key(|placed| placed.run.run.span_ns);
        Level { words: our, runs }
    };
    Ok(pairs.into_iter().map(level).collect())
}

/// The four runs of a round at each load level.
type Round<'r> = Vec<[Placed<'r>; 4]>;

/// The complete rounds; `None` if the runs of a level were not made alternately.
fn rounds<'r>(levels: &[Level<'r>]) -> Option<Vec<Round<'r>>> {
    let in_turns = |level: &Level<'r>| -> Option<Vec<[Placed<'r>; 4]>> {
        let apart = level.runs.windows(2).all(|pair| pair[0].run.run.span_ns.1 <= pair[1].run.run.span_ns.0);
        let order = level.runs.iter().zip(TURNS.iter().cycle()).all(|(placed, turn)| placed.side == *turn);
        let rounds: Vec<[Placed<'r>; 4]> =
            level.runs.chunks_exact(4).filter_map(|round| round.try_into().ok()).collect();
        (apart && order && !rounds.is_empty()).then_some(rounds)
    };
    let all: Vec<_> = levels.iter().map(in_turns).collect::<Option<_>>()?;
    let whole = all.iter().map(Vec::len).min().unwrap_or(0);
    Some((0..whole).map(|round| all.iter().filter_map(|level| level.get(round).copied()).collect()).collect())
}

/// Judges round by round, like a gate; returns the rounds, the reason for the end, and the rounds that count.
fn in_turns(
    rounds: &[Round<'_>],
    (questions, conditions): (&mut [Question], &[Condition]),
) -> (Basis, String, Vec<bool>) {
    let mut why = "all recorded rounds are used".to_owned();
    let mut counted: Vec<bool> = Vec::new();
    for round in rounds {
        let invalid = |fault: bool| {
            let runs = round.iter().flatten().map(|placed| placed.run).filter(|run| run.generators_fault == fault);
            runs.filter_map(|run| run.invalid.clone()).next()
        };
        let (fault, failed) = (invalid(true), invalid(false));
        let can_fail = round.iter().flatten().all(|placed| placed.is_usable(true));
        if let Some(reason) =
            failed.clone().filter(|_| !(can_fail && questions.iter().any(Question::is_failed_by_actions)))
        {
            counted.push(false);
            why = reason;
            break;
        }
        counted.push(fault.is_none());
        if let Some(fault) = fault {
            if invalid_rounds_are_too_many(&counted) {
                why = fault;
                break;
            }
            continue;
        }
        for (at, question) in questions.iter_mut().enumerate() {
            if let Some(runs) = round.get(at / conditions.len()) {
                // The actions of another level say nothing about this one.
                let mut failed = runs.iter().filter(|placed| !placed.run.generators_fault);
                let failed = failed.find_map(|placed| placed.run.invalid.as_ref());
                failed.into_iter().for_each(|why| question.note_failed_actions(why));
                question.observe(observe(&question.condition, runs));
            }
        }
        if !questions.iter().any(Question::is_open) {
            why = "no further round can change a result".to_owned();
            break;
        }
    }
    (Basis::Rounds { all: counted.len(), uncounted: uncounted(&counted) }, why, counted)
}

fn observe(condition: &Condition, runs: &[Placed<'_>; 4]) -> Result<Observation, Nothing> {
    let of = |side: usize| -> Result<Vec<RunNumber>, String> {
        runs.iter().filter(|run| run.side == side).map(|placed| placed.number(condition)).collect()
    };
    observed(condition, [of(0), of(1)])
}

/// Judges each condition once; why some are undecided, if they are.
fn apart(levels: &[Level<'_>], (questions, conditions): (&mut [Question], &[Condition])) -> String {
    for (at, question) in questions.iter_mut().enumerate() {
        let Some(level) = levels.get(at / conditions.len()) else { continue };
        let runs = usable(level, question.condition.limits_errors());
        let failed = runs.iter().flatten().find_map(|placed| placed.run.invalid.as_ref());
        failed.into_iter().for_each(|why| question.note_failed_actions(why));
        let numbers = runs.and_then(|runs| numbers(&question.condition, &runs, &level.runs));
        question.judge_apart(numbers.and_then(|[a, b]| Apart::of(&question.condition, [&a, &b])));
    }
    // More runs help only a condition whose numbers could be used.
    let is_open = |question: &Question| question.outcome == Outcome::Undecided && question.why_unknown().is_none();
    let why = match questions.iter().any(is_open) {
        true => {
            "the confidence interval of a condition contains its limit, or cannot be computed; record more runs of each side"
        }
        false => "the runs cannot decide a condition; its line gives the reason",
    };
    why.to_owned()
}

/// The runs that count. A fault of the generator says nothing about the server, so such a run can be left out; any other invalid run may
/// be the candidate's fault. `errors`: for a limit of the errors.
fn usable<'r>(level: &Level<'r>, errors: bool) -> Result<Vec<Placed<'r>>, String> {
    for (side, name) in ["baseline", "candidate"].into_iter().enumerate() {
        let spans: Vec<(i64, i64)> =
            level.runs.iter().filter(|run| run.side == side).map(|run| run.run.run.span_ns).collect();
        if spans.windows(2).any(|pair| pair[1].0 < pair[0].1) {
            return Err(format!(
                "runs of the {name} overlap in time, so they are not independent measurements; make one run after another"
            ));
        }
    }
    let server = level.runs.iter().find(|placed| !placed.is_usable(errors));
    if let Some(why) = server.and_then(|placed| placed.run.invalid.clone()) {
        return Err(why);
    }
    let (left_out, kept): (Vec<Placed<'r>>, Vec<Placed<'r>>) =
        level.runs.iter().partition(|placed| placed.run.invalid.is_some() && placed.run.generators_fault);
    match left_out.first().and_then(|placed| placed.run.invalid.clone()) {
        Some(why) if left_out.len() > kept.len() => Err(why),
        _ => Ok(kept),
    }
}

/// The numbers of each recording of each side, without those that the load generator's lateness moved. A recording without any number
/// keeps its place, because the unit of independence is decided by `all` recordings.
fn numbers(condition: &Condition, runs: &[Placed<'_>], all: &[Placed<'_>]) -> Result<[Vec<Vec<RunNumber>>; 2], String> {
    let (kept, left_out): (Vec<&Placed<'_>>, Vec<&Placed<'_>>) =
        runs.iter().partition(|placed| reliable(condition, &placed.run.moved).is_ok());
    match left_out.first().map(|placed| reliable(condition, &placed.run.moved)) {
        Some(Err(why)) if left_out.len() > kept.len() => return Err(format!("{why} in {} runs", left_out.len())),
        _ => {}
    }
    let recordings = |side| all.iter().filter(|run| run.side == side).map(|run| run.recording + 1).max().unwrap_or(0);
    let mut sides = [0, 1].map(|side| vec![Vec::new(); recordings(side)]);
    for placed in kept {
        if let Some(own) = sides.get_mut(placed.side).and_then(|side| side.get_mut(placed.recording)) {
            own.push(RunNumber::of(&placed.run.run, condition)?);
        }
    }
    let is_empty = |side: &Vec<Vec<RunNumber>>| side.iter().all(Vec::is_empty);
    if let Some((_, name)) = sides.iter().zip(["baseline", "candidate"]).find(|(side, _)| is_empty(side)) {
        return Err(format!("the {name} has no valid run"));
    }
    Ok(sides)
}

fn runs_of_rounds(rounds: &[Round<'_>], counted: &[bool], conditions: &[Condition]) -> Vec<GateRun> {
    let mut runs = Vec::new();
    for ((number, round), counted) in (1_u32..).zip(rounds).zip(counted) {
        for place in 0..TURNS.len() {
            let placed = round.iter().filter_map(|level| level.get(place));
            let turn = u32::try_from(place).unwrap_or(u32::MAX) + 1;
            runs.extend(placed.map(|placed| shown(*placed, (Some(number), turn), *counted, conditions)));
        }
    }
    runs
}

fn runs_apart(levels: &[Level<'_>], conditions: &[Condition]) -> Vec<GateRun> {
    let errors = conditions.iter().any(Condition::limits_errors);
    let counts = |placed: &Placed<'_>| placed.is_usable(errors) && !placed.run.generators_fault;
    let of_level = |level: &Level<'_>| -> Vec<GateRun> {
        let runs = (1_u32..).zip(level.runs.clone());
        runs.map(|(turn, placed)| shown(placed, (None, turn), counts(&placed), conditions)).collect()
    };
    levels.iter().flat_map(of_level).collect()
}

fn shown(placed: Placed<'_>, (round, turn): (Option<u32>, u32), counted: bool, conditions: &[Condition]) -> GateRun {
    let numbers = conditions.iter().map(|condition| Some(placed.number(condition).ok()?.value)).collect();
    let Placed { side, run, .. } = placed;
    let (level_name, first_ns, seconds) = (run.words.clone(), run.run.span_ns.0, run.run.seconds());
    GateRun { round, turn, side, level_name, first_ns, seconds, counted, numbers }
}

/// From the first run to the last.
fn length(levels: &[Level<'_>]) -> Duration {
    let spans = || levels.iter().flat_map(|level| &level.runs).map(|placed| placed.run.run.span_ns);
    let (first, last) = (spans().map(|span| span.0).min(), spans().map(|span| span.1).max());
    let ns = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first));
    Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure, Protocol, Transaction};
    use plimsoll_report::collect::comparison::MeasuredRun;
    use plimsoll_results::comparison::Outcome as JudgedOutcome;
    use plimsoll_stats::intervals::{IntervalRecorder, Intervals};
    use plimsoll_testkit::transaction;

    use super::*;

    const MS: i64 = 1_000_000;

    fn run(moved: &[&str]) -> RecordedRun {
        let mut recorder = IntervalRecorder::new(Intervals::growing());
        (1..=2_000).for_each(|at| recorder.record(&transaction(Procedure::of(Protocol::Nfs3, 6), at * MS, MS)));
        RecordedRun {
            words: "1 client".to_owned(),
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

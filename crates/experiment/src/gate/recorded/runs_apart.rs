//! Judges recordings whose runs were not made alternately: each condition once.

use super::levels::{Level, Placed};
use crate::gate::apart::Apart;
use crate::gate::observation::{RunNumber, reliable};
use crate::gate::question::Question;
use crate::gate::result::GateRun;
use plimsoll_results::comparison::{Condition, Outcome};

/// Judges each condition once; why some are undecided, if they are.
pub(super) fn apart(levels: &[Level<'_>], (questions, conditions): (&mut [Question], &[Condition])) -> String {
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
pub(super) fn numbers(
    condition: &Condition,
    runs: &[Placed<'_>],
    all: &[Placed<'_>],
) -> Result<[Vec<Vec<RunNumber>>; 2], String> {
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

/// The runs of every level.
pub(super) fn runs_apart(levels: &[Level<'_>], conditions: &[Condition]) -> Vec<GateRun> {
    let errors = conditions.iter().any(Condition::limits_errors);
    let counts = |placed: &Placed<'_>| placed.is_usable(errors) && !placed.run.generators_fault;
    let of_level = |level: &Level<'_>| -> Vec<GateRun> {
        let runs = (1_u32..).zip(level.runs.clone());
        runs.map(|(turn, placed)| placed.shown((None, turn), counts(&placed), conditions)).collect()
    };
    levels.iter().flat_map(of_level).collect()
}

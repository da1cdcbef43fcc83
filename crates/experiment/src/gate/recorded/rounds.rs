//! Judges recordings whose runs were made alternately: round by round, like a gate.

use super::levels::{Level, Placed};
use crate::gate::observation::{Observation, RunNumber};
use crate::gate::question::{Nothing, Question};
use crate::gate::result::{Basis, GateRun};
use crate::gate::{invalid_rounds_are_too_many, observed, uncounted};
use crate::two_sides::rounds::TURNS;
use plimsoll_results::comparison::Condition;

/// The four runs of a round at each load level.
pub(super) type Round<'r> = Vec<[Placed<'r>; 4]>;

/// The complete rounds; `None` if the runs of a level were not made alternately.
pub(super) fn rounds<'r>(levels: &[Level<'r>]) -> Option<Vec<Round<'r>>> {
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
pub(super) fn in_turns(
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

/// The runs of the rounds that were judged.
pub(super) fn runs_of_rounds(rounds: &[Round<'_>], counted: &[bool], conditions: &[Condition]) -> Vec<GateRun> {
    let mut runs = Vec::new();
    for ((number, round), counted) in (1_u32..).zip(rounds).zip(counted) {
        for place in 0..TURNS.len() {
            let placed = round.iter().filter_map(|level| level.get(place));
            let turn = u32::try_from(place).unwrap_or(u32::MAX) + 1;
            runs.extend(placed.map(|placed| placed.shown((Some(number), turn), *counted, conditions)));
        }
    }
    runs
}

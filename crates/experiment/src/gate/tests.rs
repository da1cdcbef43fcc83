//! Rounds of a gate without a server.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{ClientTally, EngineResult, Generator, Plan};
use plimsoll_model::{Outcome as Ended, Procedure, Protocol, Transaction};
use plimsoll_results::comparison::Outcome;
use plimsoll_stats::intervals::{IntervalRecorder, Intervals};
use plimsoll_stats::{Options, Statistics};
use plimsoll_testkit::transaction;
use plimsoll_workload::{Load, Pause};

use super::*;
use crate::tests::connection_failures::ran;

/// A run of one level with 1,000 actions; `failed` of them failed.
fn run(failed: i64) -> Vec<LevelResult> {
    run_of(Generator::default(), (Cause::Status, failed))
}

/// The same of a generator, and the cause of the failures.
fn run_of(generator: Generator, (cause, failed): (Cause, i64)) -> Vec<LevelResult> {
    let mut statistics = Statistics::new(Options::default());
    let mut recorder = IntervalRecorder::new(Intervals::growing());
    for at in 1..=1_000 {
        let outcome = if at <= failed { Ended::Refused } else { Ended::Succeeded };
        let took = 1_000_000;
        let request = Transaction { outcome, ..transaction(Procedure::of(Protocol::Nfs3, 6), at * took, took) };
        statistics.record(&request);
        recorder.record(&request);
    }
    let failed = failed.unsigned_abs();
    let client = ClientTally { actions: 1_000 - failed, errors: vec![(cause, failed)], ..ClientTally::default() };
    let ran = EngineResult { generator, ..ran(vec![client], (0, 1_000_000_000)) };
    let plan = Plan::new(Load::Closed { clients: 1, think: Pause::None });
    vec![crate::level::ended(statistics, Some(recorder.finish()), ran, &plan, "1 client")]
}

/// Without this, no server with too many errors could fail a limit of the errors.
#[test]
fn too_many_errors_fail_although_they_make_the_runs_invalid() {
    let of = |conditions: &[&str], failed: [i64; 2]| {
        let mut gate = gate(100, 1_000);
        gate.spec.conditions = conditions.iter().map(|text| Condition::parse(text).unwrap()).collect();
        let ask = |condition: &Condition| Question::new(condition.clone(), "1 client".to_owned(), 0.01);
        gate.questions = gate.spec.conditions.iter().map(ask).collect();
        let [baseline, candidate] = failed.map(|failed| [run(failed), run(failed + failed.signum())]);
        let over = (0..12).any(|_| gate.judge([&baseline, &candidate]));
        (over, gate.questions.iter().map(|question| question.outcome).collect::<Vec<_>>(), gate.why)
    };
    let (over, outcomes, why) = of(&["errors > 2%", "mean > +3%"], [0, 50]);
    assert_eq!((over, outcomes), (true, vec![Outcome::Failed, Outcome::Undecided]), "{why}");
    let (over, outcomes, _) = of(&["errors > 20%"], [0, 50]);
    assert_eq!((over, outcomes), (true, vec![Outcome::Undecided]), "nothing passes");
    for (conditions, failed) in [(["mean > +3%"], [0, 50]), (["errors > 2%"], [50, 50])] {
        let (over, outcomes, why) = of(&conditions, failed);
        assert_eq!((over, outcomes), (true, vec![Outcome::Undecided]));
        assert!(why.contains("1 client is INVALID: 50 of 1000 actions of the workload failed"), "{why}");
    }
}

/// Of 1,000 requests, the last `late` ones were read 20 ms late.
fn late(late: i64) -> Generator {
    let mut generator = Generator::default();
    for at in 0..1_000 {
        let more = if at < 1_000 - late { 0 } else { 20_000_000 };
        generator.lateness.response.measured.record(1_000_000 + more);
        generator.lateness.response.on_time.record(1_000_000);
    }
    generator
}

/// Otherwise a build that loses data or refuses requests would pass on a load generator that was a little late.
#[test]
fn a_late_generator_does_not_hide_the_fault_of_the_candidate() {
    let fine = [run(0), run(0)];
    // Only the mean was moved.
    let mut errors = gate(100, 1_000);
    errors.spec.conditions = vec![Condition::parse("errors > 2%").unwrap()];
    errors.questions = vec![Question::new(errors.spec.conditions[0].clone(), "1 client".to_owned(), 0.01)];
    let failing = [50, 51].map(|failed| run_of(late(10), (Cause::Status, failed)));
    assert!(failing.iter().flatten().all(|run| run.generators_fault().is_some()));
    assert!((0..12).any(|_| errors.judge([&fine, &failing])));
    assert_eq!(errors.questions[0].outcome, Outcome::Failed, "{}", errors.why);
    // Not even where most numbers were moved.
    for generator in [late(10), late(600)] {
        let mut mean = gate(100, 1_000);
        let wrong = [run_of(generator, (Cause::WrongData, 1)), run(0)];
        assert!(mean.judge([&fine, &wrong]), "it ends");
        assert!(mean.why.contains("the server returned wrong data 1 time"), "{}", mean.why);
    }
    let mut alone = gate(100, 1_000);
    assert!(!alone.judge([&fine, &[run_of(late(600), (Cause::Status, 0)), run(0)]]));
    assert_eq!(alone.counted, [false], "the generator alone was at fault");
}

#[test]
fn the_failed_actions_of_one_level_say_nothing_about_another() {
    let mut gate = gate(100, 1_000);
    gate.spec.conditions = vec![Condition::parse("errors > 2%").unwrap()];
    let ask = |level: &str| Question::new(gate.spec.conditions[0].clone(), level.to_owned(), 0.01);
    gate.questions = vec![ask("1 client"), ask("2 clients")];
    let [baseline, candidate] = [[0, 0], [0, 50]].map(|failed| {
        let level = |failed: i64, more: i64| run(failed + more * failed.signum());
        let levels = |more| failed.into_iter().flat_map(|failed| level(failed, more)).collect();
        [levels(0), levels(1)]
    });
    (0..12).any(|_| gate.judge([&baseline, &candidate]));
    let [healthy, failing] = &gate.questions[..] else { unreachable!() };
    assert_eq!((failing.outcome, &healthy.unanswerable), (Outcome::Failed, &None));
    assert_ne!(healthy.outcome, Outcome::Failed);
}

fn gate(most_rounds: u32, budget: u64) -> Gate {
    let conditions = vec![Condition::parse("mean > +3%").unwrap()];
    let budget = Duration::from_secs(budget);
    let mut gate = Gate::new(GateSpec { conditions, budget, most_rounds, ignore: Ignore::default() });
    gate.questions = vec![Question::new(gate.spec.conditions[0].clone(), "1 client".to_owned(), 0.05)];
    gate
}

#[test]
fn no_round_begins_that_would_end_after_the_budget() {
    let seconds = Duration::from_secs;
    let mut ten = gate(100, 10);
    ten.counted = vec![true; 2];
    assert!(!ten.is_spent(seconds(6), seconds(3), None));
    assert!(ten.is_spent(seconds(8), seconds(3), None));
    assert_eq!(ten.why, "another round (about 3.0 s) would exceed the time budget of 10.0 s: give a larger --budget");
    assert!(ten.is_spent(seconds(11), seconds(3), None) && ten.why == "the time budget of 10.0 s is spent");
    let mut two = gate(2, 1_000);
    two.counted = vec![true; 2];
    assert!(two.is_spent(seconds(8), seconds(3), None) && two.why == "the limit of 2 rounds is reached");
}

/// The server was gone in the fifth round. Nobody interrupted the gate.
#[test]
fn an_error_is_no_interruption() {
    let why = |ended: anyhow::Result<()>| gate(100, 1_000).finish(&[], &ended).why;
    assert_eq!(why(Ok(())), "interrupted");
    let lost = Err(anyhow::anyhow!("connection refused").context("nfs://new/export"));
    assert_eq!(why(lost), "an error ended it: nfs://new/export: connection refused");
}

#[test]
fn a_busy_load_generator_costs_rounds_and_in_the_end_the_verdict() {
    let spent = |counted: &[bool]| {
        let mut gate = gate(100, 1_000);
        gate.counted = counted.to_vec();
        gate.is_spent(Duration::ZERO, Duration::ZERO, Some("busy"))
    };
    assert!(!spent(&[false, false, false]) && spent(&[false, false, false, false]));
    assert!(!spent(&[true, true, true, true, false, false, false, false]));
}

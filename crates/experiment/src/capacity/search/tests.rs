//! Searches of simulated servers.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{
    Answered, ClientTally, ConnectionFailure, EngineResult, Generator, GivenUp, IterationTally, Lateness, Plan,
    WorkerCpu,
};
use plimsoll_model::{Procedure, Protocol};
use plimsoll_stats::{Options, Statistics};
use plimsoll_testkit::transaction;
use plimsoll_workload::{Arrivals, Load, Pause, Phases};

use super::*;
use crate::tests::connection_failures::{ran, refused};

const MS: i64 = 1_000_000;

/// A run of 1 s whose requests take `took_ms`. The server serves the first `served` clients, and refuses the logons of the others.
fn level(plan: &Plan, served: u32, took_ms: i64, generator: Generator) -> LevelResult {
    level_of(plan, (served, Cause::LogonRefused), took_ms, generator)
}

/// The same with the cause for which the other clients could not connect.
fn level_of(plan: &Plan, (served, cause): (u32, Cause), took_ms: i64, generator: Generator) -> LevelResult {
    let mut statistics = Statistics::new(Options::default());
    let read = Procedure::of(Protocol::Nfs3, 6);
    (1..=100).for_each(|at| statistics.record(&transaction(read, at * took_ms * MS, took_ms * MS)));
    let refused = ConnectionFailure { cause, was_up: false, measured: false, kept: false, count: 1 };
    let client = |client_index| {
        let mut tally = ClientTally { client_index, ..ClientTally::default() };
        if client_index < served {
            (tally.actions, tally.iterations, tally.connected) = (100, 100, true);
            if generator.asked_rate.is_some() {
                tally.iterations = if client_index == 0 { generator.achieved_rate as u64 } else { 0 };
            }
            (0..100).for_each(|_| tally.responses.record(1_000_000));
        } else {
            tally.connection_failures.push(refused);
        }
        tally
    };
    let clients = (0..plan.clients()).map(client).collect();
    // Where none ended in the phase, none ends in the drain either.
    let unended = if generator.achieved_rate > 0.0 { 0 } else { generator.planned };
    let iterations = vec![IterationTally { unended, ..IterationTally::default() }];
    let ran = EngineResult { iterations, generator, ..ran(clients, (0, 1_000 * MS)) };
    crate::level::ended(statistics, None, ran, plan, "some load")
}

fn closed(clients: u32) -> Load {
    Load::Closed { clients, think: Pause::None }
}

/// A search for the highest load with a median below 5 ms.
fn spec(most: Load, (start, runs): (f64, u32)) -> SearchSpec {
    let phases = Phases { measured_ns: Some(1_000_000_000), ..Phases::default() };
    let plan = Plan { phases, ..Plan::new(most) };
    let most = LevelSpec { plan, load_name: most.to_string(), curve: None, parameter: None, share: None };
    let least = most.least_load();
    SearchSpec { most, least, start, resolution: 0.02, runs, objectives: vec!["p50 < 5ms".to_owned()] }
}

fn searched(spec: &SearchSpec, run: impl Fn(&Plan, usize) -> LevelResult) -> Capacity {
    let mut search = CapacitySearch::new(spec).unwrap();
    let mut ran: Vec<LevelResult> = Vec::new();
    while let Some(next) = search.next(&ran).unwrap() {
        assert!(ran.len() < 400, "it does not end");
        ran.push(run(&next.plan, ran.len()));
    }
    search.summary(&ran)
}

/// Clients that were refused before the phase have no failure in it, and no request that could be too slow.
#[test]
fn a_load_whose_clients_cannot_connect_is_not_met() {
    let capacity = searched(&spec(closed(100), (4.0, 100)), |plan, _| level(plan, 10, 1, Generator::default()));
    let found = (capacity.outcome, capacity.low, capacity.high);
    assert_eq!(found, (CapacityOutcome::Found, Some(10.0), Some(11.0)), "{capacity:?}");
    let missed = capacity.trials.iter().find(|trial| trial.met == Some(false)).unwrap();
    assert!(missed.because[0].starts_with("6 of 16 clients completed no action; 6 of the"), "{missed:?}");
}

/// More than ten clients end the server, and all give up. The run is cut short, but not by the user: it is judged.
#[test]
fn a_load_that_ends_the_server_is_not_met() {
    let capacity = searched(&spec(closed(100), (4.0, 100)), |plan, _| {
        if plan.clients() <= 10 {
            return level(plan, plan.clients(), 1, Generator::default());
        }
        let gone = |client_index| {
            let connection_failures = vec![refused(true, true, 1), refused(false, true, 10)];
            let given_up = Some(GivenUp { since: 0, slots: 1 });
            ClientTally { client_index, actions: 1, connection_failures, given_up, ..ClientTally::default() }
        };
        let ran = ran((0..plan.clients()).map(gone).collect(), (0, MS));
        let cut = crate::level::ended(Statistics::new(Options::default()), None, ran, plan, "some load");
        assert!(cut.gave_up() && !cut.complete());
        cut
    });
    let found = (capacity.outcome, capacity.low, capacity.high);
    assert_eq!(found, (CapacityOutcome::Found, Some(10.0), Some(11.0)), "{capacity:?}");
}

/// At the highest load every second run misses while the load generator is busy, so the cause is unknown.
#[test]
fn runs_in_doubt_do_not_confirm_a_load() {
    let capacity = searched(&spec(closed(8), (8.0, 40)), |plan, number| {
        let workers = vec![WorkerCpu { user_ns: 95, elapsed_ns: 100, ..WorkerCpu::default() }];
        let slow = plan.clients() == 8 && number % 2 == 1;
        level(plan, 8, if slow { 9 } else { 1 }, Generator { workers, ..Generator::default() })
    });
    // Each attempt at 8 clients needs more runs than the one before, until none are left.
    assert_eq!((capacity.outcome, capacity.low), (CapacityOutcome::Undecided, None), "{capacity:?}");
    let moved = capacity.trials.iter().find(|trial| trial.because.iter().any(|why| why == MOVED));
    assert_eq!(moved.map(|trial| (trial.load, trial.met)), Some((8.0, None)), "{capacity:?}");
}

/// The run at 16 clients finds no ports for six of them. It says nothing of a server that serves all who come.
#[test]
fn ports_that_run_out_are_neither_met_nor_missed() {
    let none_left = (10, Cause::OutOfResources);
    let run = |plan: &Plan, _| level_of(plan, none_left, 1, Generator::default());
    let capacity = searched(&spec(closed(100), (4.0, 100)), run);
    let found = (capacity.outcome, capacity.low, capacity.high);
    assert_eq!(found, (CapacityOutcome::AtLeast, Some(8.0), None), "{capacity:?}");
    assert!(capacity.why.unwrap().contains("this machine ran out of ports"));
    assert!(capacity.trials.iter().all(|trial| trial.met != Some(false)));
}

/// Nor if the generator is late, and the few clients miss the objective even without its lateness.
#[test]
fn ports_that_run_out_beside_a_late_generator_are_no_miss_either() {
    let run = |plan: &Plan, _| {
        let requests = if plan.clients() > 10 { 10 } else { 100 };
        let (mut lateness, answered) = (Lateness::default(), Answered { requests, ..Answered::default() });
        for _ in 0..100 {
            lateness.response.measured.record(9_000_000);
            lateness.response.on_time.record(1_000_000);
        }
        level_of(plan, (10, Cause::OutOfResources), 1, Generator { lateness, answered, ..Generator::default() })
    };
    let objectives = vec!["throughput > 50/s".to_owned()];
    let capacity = searched(&SearchSpec { objectives, ..spec(closed(100), (4.0, 100)) }, run);
    assert_eq!((capacity.outcome, capacity.low), (CapacityOutcome::AtLeast, Some(8.0)), "{capacity:?}");
    assert!(capacity.trials.iter().all(|trial| trial.met != Some(false)));
}

/// Each run has the same clients, so each would miss, however low the rate.
#[test]
fn clients_of_a_rate_that_cannot_connect_end_the_search() {
    let most = Load::Open { clients: 8, rate: 100.0, arrivals: Arrivals::Constant };
    let capacity = searched(&spec(most, (64.0, 100)), |plan, _| level(plan, 7, 1, on_time(plan, f64::INFINITY)));
    assert_eq!((capacity.outcome, capacity.trials.len()), (CapacityOutcome::Unfinished, 1), "{capacity:?}");
    assert!(capacity.why.unwrap().starts_with("a run must not be used: 1 of 8 clients completed no action; 1 of"));
}

/// Above 30/s the server closes a connection, and is too busy to accept it again. Below it serves all.
#[test]
fn clients_that_an_overload_disconnects_miss_the_objective() {
    let most = Load::Open { clients: 8, rate: 200.0, arrivals: Arrivals::Constant };
    let capacity = searched(&spec(most, (64.0, 100)), |plan, _| {
        let served = if plan.asked_rate().unwrap() > 30.0 { 7 } else { 8 };
        level_of(plan, (served, Cause::ConnectionRefused), 1, on_time(plan, f64::INFINITY))
    });
    assert_eq!(capacity.outcome, CapacityOutcome::Found, "{capacity:?}");
    assert!(capacity.low.is_some_and(|low| (26.0..31.0).contains(&low)), "{capacity:?}");
}

/// A generator that begins each iteration on time, of a server that ends as many per second as `most`.
fn on_time(plan: &Plan, most: f64) -> Generator {
    let rate = plan.asked_rate().unwrap();
    let (asked_rate, planned) = (Some(rate), rate as u64);
    Generator { asked_rate, planned, achieved_rate: rate.min(most), ..Generator::default() }
}

/// The backlog of each run ends in the drain. Half the rate is served twice as well, and 10 per second entirely.
#[test]
fn a_server_that_falls_behind_has_a_capacity_far_below_the_first_load() {
    let most = Load::Open { clients: 8, rate: 200.0, arrivals: Arrivals::Constant };
    let capacity = searched(&spec(most, (100.0, 100)), |plan, _| level(plan, 8, 1, on_time(plan, 10.0)));
    assert_eq!(capacity.outcome, CapacityOutcome::Found, "{capacity:?}");
    assert!(capacity.low.is_some_and(|low| (9.5..11.5).contains(&low)), "{capacity:?}");
}

/// Every iteration begins on time and ends after the phase, at any rate.
#[test]
fn iterations_that_are_longer_than_the_runs_are_no_answer() {
    let most = Load::Open { clients: 8, rate: 100.0, arrivals: Arrivals::Constant };
    let capacity = searched(&spec(most, (64.0, 100)), |plan, _| {
        level(plan, 8, 1, on_time(plan, plan.asked_rate().unwrap() / 2.0))
    });
    assert_eq!((capacity.outcome, capacity.low), (CapacityOutcome::Unfinished, None), "{capacity:?}");
    assert!(capacity.why.unwrap().contains("(use a longer --warmup)") && capacity.trials.len() == 3);
}

/// Iterations that outlast the drain as well, and shares of few iterations, which differ by chance.
#[test]
fn shares_that_do_not_double_at_half_the_load_are_no_overload() {
    let most = Load::Open { clients: 8, rate: 100.0, arrivals: Arrivals::Constant };
    for shares in [[0.0; 3], [0.5, 0.65, 0.5]] {
        let capacity = searched(&spec(most, (64.0, 100)), |plan, number| {
            level(plan, 8, 1, on_time(plan, plan.asked_rate().unwrap() * shares[number]))
        });
        assert_eq!((capacity.outcome, capacity.trials.len()), (CapacityOutcome::Unfinished, 3), "{capacity:?}");
        assert!(capacity.why.unwrap().contains("use a longer --warmup"));
    }
}

/// A server that serves all iterations side by side: above 12 per second none ends, but the requests of each are faster at a lower rate.
#[test]
fn a_server_that_shares_its_time_among_all_iterations_has_a_capacity() {
    let most = Load::Open { clients: 8, rate: 100.0, arrivals: Arrivals::Constant };
    let spec = SearchSpec { objectives: vec!["p50 < 1s".to_owned()], ..spec(most, (64.0, 100)) };
    let capacity = searched(&spec, |plan, _| {
        let rate = plan.asked_rate().unwrap();
        let (most, took_ms) = if rate > 12.0 { (0.0, rate as i64) } else { (rate, 1) };
        level(plan, 8, took_ms, on_time(plan, most))
    });
    assert_eq!(capacity.outcome, CapacityOutcome::Found, "{capacity:?}");
    assert!(capacity.low_tested.is_some_and(|low| (11.0..=12.0).contains(&low)), "{capacity:?}");
}

#[test]
fn a_run_without_its_files_ends_the_search() {
    let lost = plimsoll_model::Reason::invalid("another run took the file set");
    let run = |plan: &Plan, _| level(plan, 8, 1, Generator::default()).against(Some(lost.clone()));
    let capacity = searched(&spec(closed(8), (8.0, 40)), run);
    assert_eq!((capacity.outcome, capacity.trials.len()), (CapacityOutcome::Unfinished, 1), "{capacity:?}");
    assert_eq!(capacity.why.as_deref(), Some("a run must not be used: another run took the file set"));
}

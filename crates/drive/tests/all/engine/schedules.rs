//! Start times of all kinds of load, to the nanosecond.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_drive::engine::{Part, Plan, WAKING_NS, Watch, run_on, so_far};
use plimsoll_drive::network::memory::{Accept, Delays, Delivery, Memory, Reply};
use plimsoll_model::Transaction;
use plimsoll_workload::{Arrivals, Load, Pause};

use super::memory::{MS, Over, S, START, ToyServer, all, door, over, phases, steady};
use super::toy::{Do, HEAD, LATER, Toys, answer, head};

const ITERATION: [Do; 2] = [Do::Null, Do::IterationOver];

fn plan(load: Load) -> Plan {
    Plan { threads: 1, phases: phases(10, 100, 50), level: 3, ..Plan::new(load) }
}

fn closed(clients: u32, think: Pause) -> Plan {
    plan(Load::Closed { clients, think })
}

/// Intended instants after the start of the warm-up, ns.
fn intended(ran: &Over) -> Vec<i64> {
    let begin = ran.measured.0 - 10 * MS;
    all(ran).iter().filter_map(|t| t.timeline.intended).map(|at| at - begin).collect()
}

#[test]
fn in_a_closed_loop_the_next_iteration_starts_when_the_last_is_over() {
    let toys = Toys::new(&ITERATION);
    let ran = over(&closed(1, Pause::None), &toys, |_| steady(3 * MS));
    assert_eq!(intended(&ran), (0..37).map(|n| n * 3 * MS).collect::<Vec<_>>());
    assert_eq!(ran.measured, (START + 10 * MS, START + 110 * MS));
    // Intended at 12, 15 … 108: 33; over at 12, 15 … 108: 33.
    let tally = &ran.clients[0];
    assert_eq!((tally.actions, tally.iterations, tally.error_count()), (33, 33, 0));
    assert_eq!(tally.responses.sum_ns(), 33 * 3 * MS as u128);
    assert_eq!(all(&ran).iter().filter(|t| t.level == Some(3)).count(), 33);
    assert!(all(&ran).iter().all(|t| t.timeline.response_time() == Some(3 * MS)));
}

#[test]
fn a_client_that_does_something_by_itself_is_woken_at_that_instant() {
    let toys = Toys::new(&[Do::Later, Do::Null, Do::IterationOver]);
    let ran = over(&closed(3, Pause::None), &toys, |_| steady(3 * MS));
    let rows = all(&ran);
    assert!(rows.len() > 90, "{}", rows.len());
    let waited = |t: &Transaction| t.timeline.request_first.unwrap() - t.timeline.intended.unwrap();
    // The client sends every other request by itself, 1 ms later, to the nanosecond; clients do not wait for each other.
    let late = rows.iter().filter(|t| waited(t) == LATER).count();
    assert_eq!(rows.iter().filter(|t| waited(t) == 0).count() + late, rows.len());
    assert!(late.abs_diff(rows.len() / 2) <= 3, "{late} of {}", rows.len());
}

#[test]
fn think_times_come_between_iterations_and_spread_the_first_ones() {
    let toys = Toys::new(&ITERATION);
    let ran = over(&closed(4, Pause::Constant(20 * MS as u64)), &toys, |_| steady(MS));
    let first: Vec<i64> = intended(&ran).into_iter().take(8).map(|at| at / MS).collect();
    assert_eq!(first, [0, 5, 10, 15, 21, 26, 31, 36]);
    assert_eq!(ran.generator.schedule_lag.moments().max_ns(), Some(0));
}

/// The thread sleeps past the end of the phase, and then reads the only outstanding answer. Another iteration was due before the end.
#[test]
fn a_start_that_was_due_before_the_end_is_begun_late_in_the_drain() {
    let load = Load::Closed { clients: 2, think: Pause::Constant(20 * MS as u64) };
    let plan = Plan { phases: phases(10, 105, 50), ..plan(load) };
    let asleep = Delays { waking_ns: 0, taken_ns: (START + 110 * MS, 30 * MS) };
    let ran = over(&plan, &Toys::new(&ITERATION), |_| steady(14 * MS).delayed(asleep));
    assert_eq!(intended(&ran), [0, 10, 34, 44, 68, 78, 102, 112].map(|at| at * MS));
    let rows = all(&ran);
    let late = rows.last().unwrap();
    assert_eq!((late.level, late.timeline.request_first), (Some(3), Some(START + 140 * MS)));
    assert_eq!(ran.generator.schedule_lag.moments().max_ns(), Some(28 * MS as u64));
    // Of both delays, only that from 112 ms until the end of the phase at 115 ms is lost to the phase.
    assert_eq!(ran.generator.lateness.lost_ns, 3 * MS as u64 - WAKING_NS);
}

/// A thread wakes up late, after the end of the phase, begins in its drain what was due before, and waits for the other thread: an iteration
/// that began then would be outstanding when its client logs off.
#[test]
fn a_late_thread_begins_nothing_after_its_drain() {
    for measured in 90..=130 {
        let end = START + measured * MS;
        let begun_late = Arc::new(AtomicBool::new(false));
        let net = |worker| {
            let begun_late = Arc::clone(&begun_late);
            if worker == 0 {
                let latency = move |at| {
                    begun_late.fetch_or(at >= end, SeqCst);
                    if at >= end { 30 * MS } else { 6 * MS }
                };
                return served(latency).delayed(Delays { waking_ns: 5 * MS, ..Delays::default() });
            }
            // The other thread is the last to drain: its server waits, by the real clock, for a request that comes too late.
            served(move |at| {
                let mut looks = 0;
                while at + 20 * MS >= end && looks < 40 && !begun_late.load(SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                    looks += 1;
                }
                10 * MS
            })
        };
        let phases = phases(0, measured.try_into().unwrap(), 5_000);
        let load = Load::Closed { clients: 3, think: Pause::Constant(20 * MS as u64) };
        let ran = over(&Plan { threads: 2, phases, ..plan(load) }, &Toys::new(&ITERATION), net);
        assert!(ran.clients.iter().all(|tally| tally.error_count() == 0), "{measured}: {:?}", ran.clients);
        assert!(all(&ran).iter().all(|row| row.timeline.response_last.is_some()), "{measured}");
    }
}

/// A server that answers each request after the time that `latency` says.
fn served(latency: impl Fn(i64) -> i64 + Clone + Send + 'static) -> Memory {
    door(move |_, _, _| Accept::Serve(Box::new(ToyServer::new(latency.clone())), 0))
}

#[test]
fn a_scenario_thinks_within_a_iteration_and_ends_when_it_has_finished() {
    let toys = Toys::new(&[Do::Null, Do::Think(7 * MS as u64), Do::Null, Do::Finish]);
    let mut plan = closed(2, Pause::None);
    plan.phases.measured_ns = None;
    let ran = over(&plan, &toys, |_| steady(5 * MS));
    assert_eq!(intended(&ran), [0, 0, 12 * MS, 12 * MS]);
    assert_eq!(ran.measured, (START + 10 * MS, START + 17 * MS + 1));
    assert_eq!(ran.clients.iter().map(|tally| tally.actions).collect::<Vec<_>>(), [1, 1]);
    assert!(!ran.stopped);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let run = |seed, threads| {
        let toys = Toys::new(&ITERATION);
        let plan = Plan { seed, threads, ..closed(9, Pause::Exponential(4 * MS as u64)) };
        let ran = over(&plan, &toys, |_| steady(MS / 3));
        let begin = ran.measured.0;
        let rows = all(&ran);
        rows.iter().map(|t| (t.connection, t.timeline.intended.map(|at| at - begin))).collect::<Vec<_>>()
    };
    assert_eq!(run(1, 1), run(1, 1));
    assert_eq!(run(1, 1), run(1, 4), "whatever the number of threads");
    assert_ne!(run(1, 1), run(2, 1));
}

#[test]
fn an_open_schedule_is_kept_whatever_the_server_does() {
    let toys = Toys::new(&ITERATION);
    let load = Load::Open { clients: 3, rate: 3_000.0, arrivals: Arrivals::Constant };
    let quick = over(&plan(load), &toys, |_| steady(100_000));
    let slow = over(&plan(load), &toys, |_| steady(7 * MS));
    let exact: Vec<i64> = (0..330).map(|n| (f64::from(n) * 1e9 / 3_000.0).round() as i64).collect();
    assert_eq!(intended(&quick), exact);
    assert_eq!(quick.generator.planned, 300);
    assert_eq!((quick.generator.late_starts, quick.generator.never_sent), (0, 0));
    assert_eq!(
        (quick.generator.schedule_lag.moments().count(), quick.generator.schedule_lag.moments().max_ns()),
        (300, Some(0))
    );
    let begun = |ran: &Over| all(ran).iter().filter(|t| t.timeline.request_first == t.timeline.intended).count();
    assert_eq!(begun(&quick), 330);
    // A slot takes 7 ms per iteration: three slots do some 43 in 100 ms and 21 in the drain's 50 ms. The rest never starts.
    let generator = &slow.generator;
    assert_eq!(generator.planned, 300);
    assert!(generator.never_sent > 200 && generator.late_starts > 0, "{generator:?}");
    let started = all(&slow).iter().filter(|t| t.level.is_some()).count() as u64;
    assert_eq!(started + generator.never_sent, 300);
    assert_eq!(intended(&slow), exact[..intended(&slow).len()]);
}

#[test]
fn independent_arrivals_are_the_same_for_any_number_of_threads() {
    let run = |threads| {
        let toys = Toys::new(&ITERATION);
        let load = Load::Open { clients: 40, rate: 5_000.0, arrivals: Arrivals::Poisson };
        let ran = over(&Plan { threads, seed: 11, ..plan(load) }, &toys, |_| steady(MS));
        let begin = ran.measured.0;
        let rows = all(&ran);
        assert_eq!(ran.generator.late_starts, 0);
        assert_eq!(rows.iter().filter(|t| t.level.is_some()).count() as u64, ran.generator.planned);
        rows.iter().map(|t| (t.timeline.intended.map(|at| at - begin), t.connection)).collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(one.len() > 400, "{}", one.len());
    for threads in [2, 3, 4] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
}

/// Median and such of the measured rows, by their rank.
fn percentile(mut values: Vec<i64>, percent: f64) -> i64 {
    values.sort_unstable();
    values[((values.len() as f64 * percent / 100.0).ceil() as usize).max(1) - 1]
}

#[test]
fn a_stall_shows_in_the_response_time_from_intended() {
    // 2,000 operations per second for 20 s; answers take 100 µs, but for 1.4 s the server says nothing.
    let (stall, until) = (START + 8 * S, START + 8 * S + 1_400 * MS);
    let toys = Toys::new(&ITERATION);
    let load = Load::Open { clients: 4, rate: 2_000.0, arrivals: Arrivals::Constant };
    let plan = Plan { threads: 1, phases: phases(1_000, 20_000, 5_000), level: 0, ..Plan::new(load) };
    let ran = over(&plan, &toys, |_| {
        door(move |_, _, _| {
            let latency = move |at| if (stall..until).contains(&at) { until - at + 100_000 } else { 100_000 };
            Accept::Serve(Box::new(ToyServer::new(latency)), 0)
        })
    });
    let rows: Vec<Transaction> = all(&ran).into_iter().filter(|t| t.level.is_some()).collect();
    assert_eq!(rows.len(), 40_000);
    let p99 = |time: fn(&Transaction) -> Option<i64>| percentile(rows.iter().filter_map(time).collect(), 99.0);
    // An iteration due u after the stall began waited for its end and for the 2,000 u iterations before it, four at a time every 100 µs:
    // 1.4 s − 0.95 u. 400 of 40,000 are 1 %, so u = 0.2 s.
    let corrected = p99(|t| t.timeline.response_time_from_intended());
    assert!((corrected as f64 / 1.21e9 - 1.0).abs() < 0.01, "{corrected}");
    assert_eq!(p99(|t| t.timeline.response_time()), 100_000, "an uncorrected generator sees nothing");
    assert!(ran.generator.late_starts > 2_700, "{:?}", ran.generator);
    assert_eq!(ran.generator.schedule_lag.moments().max_ns(), Some(0), "it is the server that was late");
}

#[test]
fn users_start_iterations_on_schedules_of_their_own() {
    let toys = Toys::new(&[Do::Null, Do::Null, Do::IterationOver]);
    let load = Load::Partly { users: 4, every_ns: 20 * MS as u64, arrivals: Arrivals::Constant };
    let ran = over(&plan(load), &toys, |_| steady(2 * MS));
    let of = |user| {
        let rows = all(&ran);
        let mine = rows.iter().filter(|t| t.connection == user).filter_map(|t| t.timeline.intended);
        mine.map(|at| (at - START) / MS).collect::<Vec<_>>()
    };
    // The second operation of an iteration is meant to start when the first is over.
    assert_eq!(of(0), [0, 2, 20, 22, 40, 42, 60, 62, 80, 82, 100, 102]);
    assert_eq!(of(3), [15, 17, 35, 37, 55, 57, 75, 77, 95, 97]);
    assert_eq!(ran.generator.planned, 20);
    assert_eq!((ran.generator.late_starts, ran.generator.asked_rate), (0, Some(200.0)));
    assert_eq!(ran.generator.achieved_rate, 200.0);
    assert_eq!(ran.generator.overtime_ns, 0, "the last one ends at 109 ms, within the phase");
}

#[test]
fn overtime_lasts_until_the_last_iteration_of_the_phase_has_ended_or_is_given_up() {
    let overtime = |answer: i64| {
        let toys = Toys::new(&ITERATION);
        let load = Load::Partly { users: 2, every_ns: 10 * MS as u64, arrivals: Arrivals::Constant };
        over(&plan(load), &toys, move |_| steady(answer)).generator.overtime_ns / MS as u64
    };
    // The phase ends at 110 ms. The second user's last iteration is due at 105 ms: begun then, or after ten others, one by one.
    assert_eq!([2, 7, 12].map(|answer| overtime(answer * MS)), [0, 2, 27]);
    // 11 iterations of 20 ms each are not over when the drain of 50 ms is.
    assert_eq!(overtime(20 * MS), 50);
}

#[test]
fn a_user_whose_iteration_is_not_over_starts_the_next_one_late() {
    let toys = Toys::new(&ITERATION);
    let load = Load::Partly { users: 1, every_ns: 10 * MS as u64, arrivals: Arrivals::Constant };
    let ran = over(&plan(load), &toys, |_| steady(15 * MS));
    let rows = all(&ran);
    assert_eq!(intended(&ran), (0..11).map(|n| n * 10 * MS).collect::<Vec<_>>());
    let begun: Vec<i64> = rows.iter().filter_map(|t| t.timeline.request_first).map(|at| at - START).collect();
    assert_eq!(begun, (0..11).map(|n| n * 15 * MS).collect::<Vec<_>>(), "the drain starts what was due before");
    // Due at 10 … 100: all ten in the measured phase, all late.
    assert_eq!((ran.generator.late_starts, ran.clients[0].late_iterations, ran.generator.never_sent), (10, 10, 0));
    assert_eq!(ran.clients[0].due_iterations, 10);
    // Answers come at 15, 30 … 165 ms, the phase is from 10 to 110 ms: answers in the drain are not part of its throughput.
    assert_eq!(rows.iter().filter(|row| row.level.is_some()).count(), 10);
    assert_eq!(ran.generator.answered.requests, 7);
}

/// The checkpoints of a run whose server takes `latency` ns.
fn checkpoints(plan: &Plan, latency: i64, delays: Delays) -> Vec<Part> {
    let parts = Mutex::new(Vec::new());
    let checkpoint = |_: &mut Vec<Transaction>, part: Part| parts.lock().unwrap().push(part);
    let (toys, watch, net) = (Toys::new(&ITERATION), Watch::new(), |_| Ok(steady(latency).delayed(delays)));
    run_on::<Vec<Transaction>, Memory>(plan, &toys, |_| Vec::new(), &watch, net, Some(&checkpoint)).unwrap();
    let parts = parts.into_inner().unwrap();
    assert!(parts.len() >= 2, "{}", parts.len());
    parts
}

/// The run may be killed: its latest checkpoint says that the schedule is not kept.
#[test]
fn a_checkpoint_counts_iterations_that_are_due_and_wait() {
    let (rate, every_ns, arrivals) = (100.0, 10 * MS as u64, Arrivals::Constant);
    for load in [Load::Open { clients: 1, rate, arrivals }, Load::Partly { users: 1, every_ns, arrivals }] {
        let plan = Plan { phases: phases(0, 2_500, 50), ..plan(load) };
        for part in checkpoints(&plan, 100 * MS, Delays::default()) {
            let found = so_far(&plan, [part]);
            let due = ((found.measured.1 - found.measured.0) as u64).div_ceil(every_ns);
            // The first one is on time, and the others wait for it, and for each other.
            let generator = &found.generator;
            assert_eq!((generator.planned, generator.late_starts + generator.never_sent), (due, due - 1), "{load:?}");
            let tally = &found.clients[0];
            let is_partly = matches!(load, Load::Partly { .. });
            let users = if is_partly { (due, due - 1) } else { (0, 0) };
            assert_eq!((tally.due_iterations, tally.late_iterations), users);
            // With users, all iterations in the report are late. The last one may still end before the next one is due.
            let kinds = &found.iterations;
            let unended = kinds.iter().map(|kind| kind.unended).sum::<u64>() + generator.never_sent;
            let ended: u64 = kinds.iter().map(|kind| kind.ended).sum();
            let late: u64 = kinds.iter().map(|kind| kind.late).sum();
            let of_users = if is_partly { (due - 1, due - 1) } else { (ended, 0) };
            assert_eq!((ended + unended, late + unended), of_users, "{load:?}");
        }
    }
}

/// The thread wakes up for an iteration, and makes the checkpoint before it begins the iteration.
#[test]
fn a_checkpoint_does_not_count_an_iteration_as_late_that_has_a_free_slot() {
    let (every_ns, arrivals) = (25 * MS as u64, Arrivals::Constant);
    for load in [Load::Open { clients: 1, rate: 40.0, arrivals }, Load::Partly { users: 1, every_ns, arrivals }] {
        let plan = Plan { phases: phases(0, 2_500, 50), ..plan(load) };
        for part in checkpoints(&plan, MS, Delays { waking_ns: 1_000, ..Delays::default() }) {
            let found = so_far(&plan, [part]);
            let due = ((found.measured.1 - found.measured.0) as u64).div_ceil(every_ns);
            assert_eq!((found.generator.planned, found.generator.late_starts), (due - 1, 0), "{load:?}");
            assert_eq!(found.clients[0].late_iterations, 0);
        }
    }
}

#[test]
fn iterations_go_on_to_their_end_in_the_drain_of_a_schedule_but_not_of_a_closed_loop() {
    let script = [Do::Null, Do::Null, Do::Null, Do::IterationOver];
    let load = Load::Open { clients: 1, rate: 10.0, arrivals: Arrivals::Constant };
    let toys = Toys::new(&script);
    // Due at 0 and 100 ms; the second iteration's actions at 100, 108 and 116 ms. The end is at 110 ms.
    let ran = over(&plan(load), &toys, |_| steady(8 * MS));
    assert_eq!(all(&ran).iter().map(|t| t.level).collect::<Vec<_>>()[3..], [Some(3), Some(3), None]);
    let toys = Toys::new(&script);
    let ran = over(&closed(1, Pause::None), &toys, |_| steady(8 * MS));
    assert_eq!(intended(&ran).last(), Some(&(104 * MS)));
}

#[test]
fn what_is_due_together_goes_out_together() {
    let calls = Arc::new(AtomicU64::new(0));
    let toys = Toys::new(&ITERATION);
    let mut plan = closed(2, Pause::None);
    plan.depth = 8;
    let counted = calls.clone();
    let ran = over(&plan, &toys, move |_| {
        let counted = counted.clone();
        door(move |_, _, _| {
            let counted = counted.clone();
            Accept::Serve(
                Box::new(move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
                    counted.fetch_add(1, SeqCst);
                    for request in bytes.chunks(HEAD) {
                        let (_, id, word) = head(request).unwrap();
                        replies.extend(answer(id, word).map(|it| Reply { at: at + MS, what: Delivery::Bytes(it) }));
                    }
                }),
                0,
            )
        })
    });
    assert_eq!(all(&ran).len() as u64, calls.load(SeqCst) * 8);
    assert_eq!(all(&ran).len(), 110 * 16);
}

#[test]
fn clients_share_connections_or_have_several() {
    for (clients, connections, per_connection, expected) in [(10, 1, 5, 2), (11, 1, 5, 3), (4, 3, 1, 12)] {
        for threads in [1, 2, 3] {
            let toys = Toys::new(&ITERATION);
            let mut plan = Plan { connections, threads, depth: 6, ..closed(clients, Pause::None) };
            plan.clients_per_connection = per_connection;
            let ran = over(&plan, &toys, |_| steady(MS));
            let used: BTreeSet<u32> = all(&ran).iter().map(|t| t.connection).collect();
            assert_eq!(used, (0..expected).collect());
            assert!(ran.clients.iter().all(|tally| tally.connected && tally.actions == 600), "{:?}", ran.clients);
            let slots: BTreeSet<(u32, u32)> = toys.seen.iterations.lock().unwrap().iter().copied().collect();
            assert_eq!(slots.len() as u32, clients * 6);
        }
    }
}

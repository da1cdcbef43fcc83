//! A server that fails is part of the measurement.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{ConnectionFailure, EngineError, ErrorCount, Phase, Plan, Reconnect, Watch, run_on};
use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply};
use plimsoll_model::{Outcome, Transaction};
use plimsoll_workload::scenario::Verdict;
use plimsoll_workload::{Arrivals, Load, Pause};

use super::memory::{MS, START, ToyServer, all, door, over, phases, steady, try_over};
use super::toy::{Do, HEAD, Toys, answer, head, message};

pub(super) const ITERATION: [Do; 2] = [Do::Null, Do::IterationOver];

pub(super) fn plan(clients: u32) -> Plan {
    let load = Load::Closed { clients, think: Pause::Constant(10 * MS as u64) };
    let reconnect = Reconnect { attempts: 3, first_ns: 10 * MS as u64, most_ns: 25 * MS as u64, after_timeout: true };
    Plan { threads: 1, phases: phases(0, 200, 50), timeout_ns: 80 * MS as u64, level: 0, reconnect, ..Plan::new(load) }
}

/// Served as usual, but the `n`th request of the `attempt`th connection gets what `instead` gives.
pub(super) fn except(attempt: u32, n: u32, instead: fn(i64, u64) -> Vec<Reply>) -> Memory {
    door(move |_, attempts, _| {
        let mut seen = 0;
        let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
            for request in bytes.chunks(HEAD) {
                let (_, id, word) = head(request).unwrap();
                if attempts == attempt && seen == n {
                    replies.extend(instead(at, id));
                } else {
                    replies.extend(answer(id, word).map(|it| Reply { at: at + MS, what: Delivery::Bytes(it) }));
                }
                seen += 1;
            }
        };
        Accept::Serve(Box::new(serve), 0)
    })
}

pub(super) fn bytes(at: i64, bytes: Vec<u8>) -> Vec<Reply> {
    vec![Reply { at, what: Delivery::Bytes(bytes) }]
}

#[test]
fn nobody_connected_says_why() {
    for (kind, cause) in [
        (ErrorKind::ConnectionRefused, Cause::ConnectionRefused),
        (ErrorKind::NetworkUnreachable, Cause::Unreachable),
        (ErrorKind::HostUnreachable, Cause::Unreachable),
        (ErrorKind::AddrNotAvailable, Cause::OutOfResources),
        (ErrorKind::Unsupported, Cause::NotOffered),
        (ErrorKind::InvalidData, Cause::Untrusted),
        (ErrorKind::Other, Cause::RefusedBySystem),
        (ErrorKind::ConnectionReset, Cause::ConnectionReset),
    ] {
        let toys = Toys::new(&ITERATION);
        let result = try_over(&plan(3), &toys, |_| door(move |_, _, _| Accept::Refuse(kind, MS)));
        let Err(EngineError::NobodyConnected { failure, .. }) = result else { panic!("{kind:?}: {result:?}") };
        assert_eq!((failure.cause, failure.status), (cause, None));
    }
    let toys = Toys::new(&ITERATION);
    let result = try_over(&plan(3), &toys, |_| door(|_, _, _| Accept::Silence));
    let Err(EngineError::NobodyConnected { failure, .. }) = result else { panic!("{result:?}") };
    assert_eq!(failure.cause, Cause::TimedOut);
}

#[test]
fn attempts_are_counted_and_wait_longer_each_time() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let toys = Toys::new(&ITERATION);
    let noted = times.clone();
    // The second client's connection is refused at once, five times.
    let ran = over(&plan(2), &toys, move |_| {
        let noted = noted.clone();
        door(move |key, _, at| {
            if key.0 == 0 {
                return Accept::Serve(Box::new(ToyServer::new(|_| MS)), 0);
            }
            noted.lock().unwrap().push((at - START) / MS);
            Accept::Refuse(ErrorKind::ConnectionRefused, 0)
        })
    });
    // One attempt and three more, 10, 20 and 25 ms apart; then it is given up.
    assert_eq!(*times.lock().unwrap(), [0, 10, 30, 55]);
    let refused =
        ConnectionFailure { cause: Cause::ConnectionRefused, was_up: false, measured: false, kept: false, count: 4 };
    assert_eq!(ran.clients[1].connection_failures, [refused]);
    assert!(ran.clients[1].errors_outside.is_empty(), "no action was begun");
    assert!(ran.clients[1].starved() && !ran.clients[1].connected);
    assert!(!ran.clients[0].starved() && ran.clients[0].connected);
}

#[test]
fn what_is_done_without_a_request_is_counted_apart() {
    let toys = Toys::new(&[Do::Known, Do::Null, Do::Known, Do::Impossible, Do::IterationOver]);
    let ran = over(&plan(1), &toys, |_| door(|_, _, _| Accept::Serve(Box::new(ToyServer::new(|_| MS)), 0)));
    let client = &ran.clients[0];
    assert!(client.without_request > 0);
    assert_eq!(3 * client.without_request, 2 * client.actions, "two of three that succeed");
    assert_eq!(client.asked(), client.without_request / 2 + client.error_count());
}

#[test]
fn a_refused_logon_is_not_tried_again() {
    let mut toys = Toys::new(&ITERATION);
    toys.log_on = true;
    let doors = Arc::new(AtomicU64::new(0));
    let count = doors.clone();
    let result = try_over(&plan(1), &toys, move |_| {
        let count = count.clone();
        door(move |_, _, _| {
            count.fetch_add(1, SeqCst);
            let refuse = |at: i64, request: &[u8], replies: &mut Vec<Reply>| {
                let (_, id, _) = head(request).unwrap();
                replies.extend(bytes(at, message(id, 0xc000_006d, 0)));
            };
            Accept::Serve(Box::new(refuse), 0)
        })
    });
    let Err(EngineError::NobodyConnected { failure, .. }) = result else { panic!("{result:?}") };
    assert_eq!((failure.cause, failure.status), (Cause::LogonRefused, Some(0xc000_006d)));
    assert_eq!(doors.load(SeqCst), 1);
}

#[test]
fn every_way_to_fail_in_mid_run_has_its_name_and_the_run_goes_on() {
    let reset: fn(i64, u64) -> Vec<Reply> = |at, _| vec![Reply { at: at + MS, what: Delivery::Reset }];
    let close: fn(i64, u64) -> Vec<Reply> = |at, _| vec![Reply { at: at + MS, what: Delivery::Close }];
    let cut: fn(i64, u64) -> Vec<Reply> = |at, id| {
        let half = message(id, 0, 100)[..HEAD + 7].to_vec();
        vec![Reply { at, what: Delivery::Bytes(half) }, Reply { at: at + MS, what: Delivery::Close }]
    };
    let garbage: fn(i64, u64) -> Vec<Reply> = |at, _| bytes(at, vec![0; 40]);
    for (instead, cause) in [
        (reset, Cause::ConnectionReset),
        (close, Cause::ConnectionClosed),
        (cut, Cause::ConnectionClosed),
        (garbage, Cause::Malformed),
    ] {
        let toys = Toys::new(&ITERATION);
        let ran = over(&plan(1), &toys, |_| except(0, 3, instead));
        let tally = &ran.clients[0];
        assert_eq!(tally.errors, [(cause, 1)], "the operation");
        let lost = ConnectionFailure { cause, was_up: true, measured: true, kept: false, count: 1 };
        assert_eq!(tally.connection_failures, [lost], "and its connection");
        assert_eq!((tally.reconnects, tally.connected), (1, true));
        assert_eq!(toys.seen.reconnected.load(SeqCst), 1);
        let rows = all(&ran);
        let failed: Vec<&Transaction> = rows.iter().filter(|t| t.outcome == Outcome::Failed).collect();
        assert_eq!(failed.len(), 1);
        // The connection that was made again has a new number.
        assert_eq!((failed[0].connection, rows.last().unwrap().connection), (0, 1));
        assert_eq!(tally.actions + 1, rows.len() as u64);
    }
}

#[test]
fn an_outage_is_charged_to_the_iteration_that_waited_for_its_end() {
    let toys = Toys::new(&ITERATION);
    let ran = over(&plan(1), &toys, |_| {
        door(|_, attempts, _| match attempts {
            0 => Accept::Serve(
                Box::new(|at: i64, _: &[u8], replies: &mut Vec<Reply>| {
                    replies.push(Reply { at, what: Delivery::Reset });
                }),
                0,
            ),
            // Refused twice, then there again, 10 + 20 + 25 ms after it was lost.
            1 | 2 => Accept::Refuse(ErrorKind::ConnectionRefused, 0),
            _ => Accept::Serve(Box::new(ToyServer::new(|_| MS)), 0),
        })
    });
    let rows = all(&ran);
    let next = &rows[1].timeline;
    // Lost at 0; the next iteration was due a think time later.
    assert_eq!(next.intended, Some(START + 10 * MS));
    assert_eq!((next.request_first, next.response_time_from_intended()), (Some(START + 55 * MS), Some(46 * MS)));
    let tally = &ran.clients[0];
    assert_eq!(tally.errors, [(Cause::ConnectionReset, 1)]);
    let failure = |cause, was_up, count| ConnectionFailure { cause, was_up, measured: true, kept: false, count };
    let connections = [failure(Cause::ConnectionReset, true, 1), failure(Cause::ConnectionRefused, false, 2)];
    assert_eq!((tally.connection_failures.as_slice(), tally.connections_failed()), (connections.as_slice(), [2, 1]));
}

/// Resets the connection, then refuses `times` attempts.
fn reset_and_refused(times: u32) -> Memory {
    door(move |_, attempts, _| match attempts {
        0 => Accept::Serve(
            Box::new(|at: i64, _: &[u8], replies: &mut Vec<Reply>| {
                replies.push(Reply { at, what: Delivery::Reset });
            }),
            0,
        ),
        n if n <= times => Accept::Refuse(ErrorKind::ConnectionRefused, 0),
        _ => Accept::Serve(Box::new(ToyServer::new(|_| MS)), 0),
    })
}

#[test]
fn a_client_that_keeps_its_operations_goes_on_over_the_next_connection() {
    let toys = Toys { keeps: true, ..Toys::new(&ITERATION) };
    let ran = over(&plan(1), &toys, |_| reset_and_refused(3));
    let tally = &ran.clients[0];
    assert!(tally.errors.is_empty() && tally.errors_outside.is_empty(), "{:?}", tally.errors);
    let cause = Cause::ConnectionReset;
    let lost = ConnectionFailure { cause, was_up: true, measured: true, kept: true, count: 1 };
    assert_eq!((tally.connection_failures.as_slice(), tally.connections_failed()), (&[lost][..], [0, 0]));
    assert_eq!((tally.reconnects, tally.connected), (1, true));
    assert_eq!(toys.seen.reconnected.load(SeqCst), 0, "its scenario knows nothing of it");
    let rows = all(&ran);
    assert_eq!((rows[0].outcome, rows[0].connection), (Outcome::Unanswered, 0));
    // Lost at once, refused after 10, 20 and 30 ms, connected after 40 ms: the first request is answered then.
    let again = &rows[1].timeline;
    assert_eq!((rows[1].outcome, rows[1].connection), (Outcome::Succeeded, 1));
    assert_eq!((again.request_first, again.response_last), (Some(START + 40 * MS), Some(START + 41 * MS)));
    // The next iteration begins a think time after the first one ended.
    assert_eq!(rows[2].timeline.intended, Some(START + 51 * MS));
    assert_eq!(ran.silences, [(START, START + 41 * MS)], "the outage, to the nanosecond");
    assert_eq!(tally.actions + 1, rows.len() as u64);
}

#[test]
fn a_client_that_keeps_its_operations_does_so_for_a_time() {
    // The operation's time is over after 80 ms; attempts end after 10 + 20 + 25 ms.
    let toys = Toys { keeps: true, ..Toys::new(&ITERATION) };
    let ran = over(&plan(1), &toys, |_| reset_and_refused(u32::MAX));
    let tally = &ran.clients[0];
    assert_eq!(tally.errors, [(Cause::ConnectionRefused, 1)]);
    assert!(!tally.connected && tally.connections_failed()[0] > 0);
    let patient = Plan { reconnect: Reconnect { attempts: 20, ..plan(1).reconnect }, ..plan(1) };
    let ran = over(&patient, &toys, |_| reset_and_refused(u32::MAX));
    let timed_out = ran.clients[0].errors.iter().find(|(cause, _)| *cause == Cause::TimedOut);
    assert!(timed_out.is_some_and(|(_, count)| *count >= 1), "{:?}", ran.clients[0].errors);
}

#[test]
fn no_answer_in_time_is_unanswered_and_a_later_answer_is_unmatched() {
    let toys = Toys::new(&ITERATION);
    let late: fn(i64, u64) -> Vec<Reply> = |at, id| bytes(at + 120 * MS, message(id, 0, 0));
    let ran = over(&plan(1), &toys, |_| except(0, 2, late));
    let tally = &ran.clients[0];
    assert_eq!(tally.errors, [(Cause::TimedOut, 1)]);
    assert_eq!((ran.generator.overdue, ran.generator.unmatched_responses, tally.reconnects), (1, 1, 0));
    let rows = all(&ran);
    let unanswered: Vec<&Transaction> = rows.iter().filter(|t| t.outcome == Outcome::Unanswered).collect();
    assert_eq!(unanswered.len(), 1);
    // The next iteration starts a think time after the operation was given up: not before the timeout, and at most an eighth
    // after it.
    let after = rows[3].timeline.intended.unwrap() - unanswered[0].timeline.request_first.unwrap() - 10 * MS;
    assert!((80 * MS..=90 * MS).contains(&after), "{after}");
}

/// While other clients log off, answers to abandoned requests may come: they are expected, and their number is random.
#[test]
fn an_answer_after_the_end_of_the_drain_is_not_unmatched() {
    let toys = Toys { log_on: true, ..Toys::new(&ITERATION) };
    let plan = Plan { connecting: 1, timeout_ns: 1_000_000 * MS as u64, ..plan(8) };
    let wait = |at: i64| match at - START {
        passed if passed < 10 * MS => MS / 10,
        passed if passed < 250 * MS => 255 * MS - passed,
        _ => 2 * MS,
    };
    let ran = over(&plan, &toys, |_| door(move |_, _, _| Accept::Serve(Box::new(ToyServer::new(wait)), 0)));
    assert!(ran.clients.iter().all(|tally| tally.errors == [(Cause::TimedOut, 1)]), "{:?}", ran.clients);
    assert_eq!((ran.generator.left_rudely, ran.generator.unmatched_responses), (0, 0));
}

/// Two clients whose server answers until 100 ms, and logoffs after 5 s; a request of the first client between them after `late`.
fn left_by(late: i64) -> super::memory::Over {
    let toys = Toys { log_on: true, ..Toys::new(&ITERATION) };
    let plan = Plan { phases: phases(0, 200, 3_000), timeout_ns: 30_000 * MS as u64, ..plan(2) };
    over(&plan, &toys, move |_| {
        door(move |key, _, _| {
            let latency = move |at: i64| match at - START {
                passed if passed < 100 * MS => MS,
                passed if passed > 3_000 * MS => 5_000 * MS,
                _ if key.0 == 0 => late,
                _ => 1_000_000 * MS,
            };
            Accept::Serve(Box::new(ToyServer::new(latency)), 0)
        })
    })
}

#[test]
fn a_server_that_sent_nothing_during_the_drain_is_not_awaited_for_logoffs() {
    let ran = left_by(1_000_000 * MS);
    assert_eq!(ran.generator.left_rudely, 2, "2 s without a response are enough");
    assert_eq!((ran.generator.unanswered.count, ran.generator.unanswered.at_end), (2, 2));
    let ran = left_by(1_000 * MS);
    assert_eq!(ran.generator.left_rudely, 0, "it is slow");
    assert_eq!((ran.generator.unanswered.count, ran.generator.unanswered.at_end), (1, 1));
}

#[test]
fn a_duplicate_is_unmatched() {
    let toys = Toys::new(&ITERATION);
    let twice: fn(i64, u64) -> Vec<Reply> = |at, id| bytes(at, [message(id, 0, 0), message(id, 0, 0)].concat());
    let ran = over(&plan(1), &toys, |_| except(0, 2, twice));
    assert_eq!((ran.clients[0].error_count(), ran.generator.unmatched_responses), (0, 1));
}

#[test]
fn an_error_status_wrong_data_and_the_impossible_are_different_things() {
    let toys = Toys::new(&ITERATION);
    let status: fn(i64, u64) -> Vec<Reply> = |at, id| bytes(at, message(id, 5, 0));
    let ran = over(&plan(1), &toys, |_| except(0, 2, status));
    assert_eq!(ran.clients[0].errors, [(Cause::Status, 1)]);
    let [ErrorCount { cause: Cause::Status, words, count: 1 }] = &ran.clients[0].error_statuses[..] else {
        panic!("{:?}", ran.clients[0].error_statuses)
    };
    assert_eq!(words, "error status: status 0x00000005, ECHO");
    for (line, cause) in [(Do::ReadWrong(3), Cause::WrongData), (Do::Impossible, Cause::Unsupported)] {
        let toys = Toys::new(&[line, Do::IterationOver]);
        let ran = over(&plan(1), &toys, |_| steady(MS));
        let tally = &ran.clients[0];
        assert_eq!((tally.actions, tally.errors.len(), tally.errors[0].0), (0, 1, cause));
        assert!(tally.starved() && tally.errors[0].1 > 15);
    }
}

#[test]
fn the_scenario_says_what_counts_as_failed() {
    let status: fn(i64, u64) -> Vec<Reply> = |at, id| bytes(at, message(id, 5, 0));
    let judged = |verdict| {
        let toys = Toys::new(&[Do::Judged(verdict), Do::IterationOver]);
        // One answer is an error status.
        let ran = over(&plan(1), &toys, |_| except(0, 2, status));
        (ran.clients[0].actions, ran.clients[0].errors.clone())
    };
    let (succeeded, errors) = judged(Verdict::AsAnswered);
    assert_eq!(errors, [(Cause::Status, 1)]);
    assert_eq!(judged(Verdict::Expected), (succeeded + 1, vec![]));
    assert_eq!(judged(Verdict::Excused), (0, vec![]));
    // The toy finds nothing wrong with an answer that is none.
    let failed = judged(Verdict::Failed(Cause::WrongData));
    assert_eq!(failed, (0, vec![(Cause::WrongData, succeeded), (Cause::Status, 1)]));
}

#[test]
fn a_client_that_gets_no_answers_is_starved_and_the_others_are_not() {
    let toys = Toys::new(&ITERATION);
    let ran = over(&plan(3), &toys, |_| {
        door(|key, _, _| {
            let wait = if key.0 == 1 { 10_000 * MS } else { MS };
            Accept::Serve(Box::new(ToyServer::new(move |_| wait)), 0)
        })
    });
    assert_eq!(ran.clients.iter().map(|tally| tally.starved()).collect::<Vec<_>>(), [false, true, false]);
    assert!(ran.clients[1].errors.iter().all(|(cause, _)| *cause == Cause::TimedOut));
}

#[test]
fn an_open_schedule_goes_on_while_a_connection_is_lost() {
    let toys = Toys::new(&ITERATION);
    let load = Load::Open { clients: 1, rate: 500.0, arrivals: Arrivals::Constant };
    let plan = Plan { load, ..plan(1) };
    let reset: fn(i64, u64) -> Vec<Reply> = |at, _| vec![Reply { at, what: Delivery::Reset }];
    let ran = over(&plan, &toys, |_| except(0, 50, reset));
    // Lost at 100 ms, reconnected at 110 ms. Iterations due at 102, 104 … start then, one per ms, and have caught up with the schedule at
    // 118.
    assert_eq!((ran.generator.planned, ran.generator.never_sent, ran.generator.late_starts), (100, 0, 8));
    assert_eq!((ran.clients[0].actions, ran.generator.schedule_lag.moments().max_ns()), (99, Some(0)));
}

#[test]
fn nobody_waits_for_a_held_request_in_the_end() {
    let toys = Toys::new(&[Do::Hold, Do::IterationOver]);
    let mut plan = plan(2);
    plan.phases.drain_ns = 1_000_000 * MS as u64;
    let ran = over(&plan, &toys, |_| steady(MS));
    assert!(ran.clients.iter().all(|tally| tally.errors == [(Cause::Ended, 1)]), "{:?}", ran.clients);
    assert!(all(&ran).iter().all(|t| t.long_lived));
}

#[test]
fn the_drain_ends_when_its_time_is_over() {
    let toys = Toys::new(&ITERATION);
    let mut plan = plan(1);
    plan.timeout_ns = 1_000_000 * MS as u64;
    let ran = over(&plan, &toys, |_| steady(1_000 * MS));
    let rows = all(&ran);
    assert_eq!((rows.len(), rows[0].outcome), (1, Outcome::Unanswered));
    assert_eq!(ran.clients[0].errors, [(Cause::TimedOut, 1)]);
}

#[test]
fn a_server_that_takes_a_few_bytes_at_a_time_gets_all_of_them() {
    struct Narrow(ToyServer<fn(i64) -> i64>);
    impl plimsoll_drive::network::memory::Server for Narrow {
        fn received(&mut self, at: i64, bytes: &[u8], replies: &mut Vec<Reply>) {
            assert!(bytes.len() <= 5);
            self.0.received(at, bytes, replies);
        }
        fn room(&mut self, at: i64) -> (usize, i64) {
            (5, at + 100_000)
        }
    }
    let toys = Toys::new(&ITERATION);
    let latency: fn(i64) -> i64 = |_| MS;
    let serve = move |_, _, _| Accept::Serve(Box::new(Narrow(ToyServer::new(latency))), 0);
    let ran = over(&plan(1), &toys, |_| door(serve));
    assert_eq!(ran.clients[0].error_count(), 0);
    let first = &all(&ran)[0].timeline;
    // 5 + 5 + 5 + 1 bytes, 100 µs apart.
    assert_eq!(first.request_last.unwrap() - first.request_first.unwrap(), 300_000);
    assert_eq!(first.service_time(), Some(MS));
}

/// Runs until the server ends it through `watch` at `when`.
fn ended_by_the_server(
    when: i64,
    tell: fn(&Watch),
) -> (Vec<Phase>, plimsoll_drive::engine::EngineResult<Vec<Transaction>>) {
    let watch = Arc::new(Watch::new());
    let phases = Arc::new(Mutex::new(Vec::new()));
    let mut toys = Toys::new(&ITERATION);
    toys.log_on = true;
    let (told, seen) = (watch.clone(), phases.clone());
    let net = move |_| {
        let (told, seen) = (told.clone(), seen.clone());
        Ok(door(move |_, _, _| {
            let (told, seen) = (told.clone(), seen.clone());
            let latency = move |at| {
                seen.lock().unwrap().push(told.progress().phase);
                if at - START >= when {
                    tell(&told);
                }
                MS
            };
            Accept::Serve(Box::new(ToyServer::new(latency)), 0)
        }))
    };
    let mut plan = plan(2);
    plan.phases = super::memory::phases(100, 10_000_000, 50);
    let ran = run_on(&plan, &toys, |_| Vec::new(), &watch, net, None).unwrap();
    let phases = phases.lock().unwrap().clone();
    (phases, ran)
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_has_and_logs_off() {
    let (phases, ran) = ended_by_the_server(500 * MS, Watch::stop);
    assert!(ran.stopped);
    let (begin, end) = ran.measured;
    assert_eq!(begin, START + 101 * MS);
    assert!((START + 500 * MS..START + 600 * MS).contains(&end), "{}", end - START);
    assert!(ran.clients.iter().all(|tally| tally.actions > 30 && tally.connected && tally.error_count() == 0));
    assert_eq!(ran.generator.left_rudely, 0);
    assert_eq!(phases.iter().filter(|&&phase| phase == Phase::Leaving).count(), 2, "both logged off");
}

#[test]
fn clients_are_connected_until_they_have_logged_off() {
    let watch = Arc::new(Watch::new());
    let connected = Arc::new(Mutex::new(Vec::new()));
    let toys = Toys { log_on: true, ..Toys::new(&ITERATION) };
    let (seen, noted) = (watch.clone(), connected.clone());
    let net = move |_| {
        let (seen, noted) = (seen.clone(), noted.clone());
        Ok(door(move |_, _, _| {
            let (seen, noted) = (seen.clone(), noted.clone());
            let latency = move |_| {
                let progress = seen.progress();
                if progress.phase == Phase::Leaving {
                    noted.lock().unwrap().push(progress.connected);
                }
                MS
            };
            Accept::Serve(Box::new(ToyServer::new(latency)), 0)
        }))
    };
    run_on(&plan(2), &toys, |_| Vec::<Transaction>::new(), &watch, net, None).unwrap();
    assert_eq!(*connected.lock().unwrap(), [2, 2]);
    assert_eq!(watch.progress().connected, 0);
}

#[test]
fn a_run_that_is_abandoned_does_not_log_off() {
    let (phases, ran) = ended_by_the_server(500 * MS, Watch::abandon);
    assert!(ran.stopped && ran.clients.iter().all(|tally| tally.actions > 30));
    assert!(!phases.contains(&Phase::Leaving));
    assert_eq!(ran.generator.left_rudely, 2);
}

#[test]
fn a_run_that_is_stopped_before_it_measures_says_so() {
    let (_, ran) = ended_by_the_server(20 * MS, Watch::stop);
    assert!(ran.stopped);
    assert_eq!(ran.measured.0, ran.measured.1);
    assert!(ran.clients.iter().all(|tally| tally.actions == 0));
    let (_, ran) = ended_by_the_server(0, Watch::stop);
    assert!(ran.stopped);
    assert_eq!(ran.measured.0, ran.measured.1);
}

/// The tenth request of each connection is answered so late.
pub(super) fn late_by(ns: i64) -> Memory {
    door(move |_, _, _| {
        let mut seen = 0;
        let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
            for request in bytes.chunks(HEAD) {
                let (_, id, word) = head(request).unwrap();
                seen += 1;
                let after = if seen == 10 { ns } else { MS };
                replies.extend(answer(id, word).map(|it| Reply { at: at + after, what: Delivery::Bytes(it) }));
            }
        };
        Accept::Serve(Box::new(serve), 0)
    })
}

#[test]
fn a_silence_begins_when_something_is_wanted_and_ends_with_an_answer() {
    let toys = Toys::new(&ITERATION);
    let ran = over(&plan(1), &toys, |_| late_by(60 * MS));
    // An iteration every 11 ms: the tenth request goes at 99 ms. The pauses of 10 ms before each are no silences.
    assert_eq!(ran.silences, [(ran.measured.0 + 99 * MS, ran.measured.0 + 159 * MS)]);
    let quick = over(&plan(1), &Toys::new(&ITERATION), |_| late_by(MS));
    assert_eq!(quick.silences, []);
}

#[test]
fn what_has_no_answer_waited_until_it_was_given_up() {
    let none = |_: i64, _: u64| Vec::new();
    let ran = over(&plan(1), &Toys::new(&ITERATION), |_| except(0, 9, none));
    let unanswered = ran.generator.unanswered;
    assert_eq!(unanswered.count, 1);
    let waited = i64::try_from(unanswered.longest_ns).unwrap();
    assert!((80 * MS..101 * MS).contains(&waited), "the timeout and the time until it is looked for: {waited}");
    assert_eq!(ran.silences.len(), 1, "it is silent until the next one is answered: {:?}", ran.silences);
    let (from, to) = ran.silences[0];
    assert!(from == ran.measured.0 + 99 * MS && to - from >= waited, "{from} to {to}");
    let rest = over(&plan(1), &Toys::new(&ITERATION), |_| except(0, 17, none));
    assert_eq!(rest.generator.unanswered.count, 1, "not answered in the drain");
    assert_eq!(rest.silences.last().map(|silence| silence.1), Some(rest.measured.1), "up to the end of the phase");
}

#[test]
fn reads_of_less_than_was_asked_for_are_counted_apart() {
    let mut seen = 0;
    let toys = Toys::new(&[Do::Read(100), Do::IterationOver]);
    let ran = over(&plan(1), &toys, move |_| {
        door(move |_, _, _| {
            let serve = move |at: i64, requests: &[u8], replies: &mut Vec<Reply>| {
                for request in requests.chunks(HEAD) {
                    let (_, id, _) = head(request).unwrap();
                    // The first three return nothing, the fourth a part.
                    let data = [0, 0, 0, 40].get(seen).copied().unwrap_or(100);
                    seen += 1;
                    replies.extend(bytes(at + MS, message(id, 0, data)));
                }
            };
            Accept::Serve(Box::new(serve), 0)
        })
    });
    let client_index = &ran.clients[0];
    assert_eq!((client_index.empty_reads, client_index.short_reads), (3, 1));
    assert!(
        client_index.reads > 4 && client_index.reads == client_index.actions,
        "{} of {}",
        client_index.reads,
        client_index.actions
    );
}

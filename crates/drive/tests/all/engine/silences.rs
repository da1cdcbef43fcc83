//! Silences of one target of several, and pauses of the load generator, which are none.

use std::io::ErrorKind;

use plimsoll_drive::engine::{GivenUp, Plan, merged};
use plimsoll_drive::network::memory::{Accept, Delays, Delivery, Memory, Reply};
use plimsoll_workload::{Arrivals, Load, Pause};

use super::failures::{late_by, plan};
use super::memory::{MS, Over, START, ToyServer, door, over, phases, steady};
use super::toy::{Do, GRACE, HEAD, LOG_ON, Toys, answer, head, message};

const ITERATION: [Do; 2] = [Do::Null, Do::IterationOver];
/// When the second server dies.
const DEATH: i64 = START + 100 * MS;

fn two_targets() -> Toys {
    Toys { targets: vec!["one".to_owned(), "other".to_owned()], ..Toys::new(&ITERATION) }
}

/// The first server always responds; the second one until it dies. `after` is what it does then with a request.
fn one_dies(after: fn(i64) -> Option<Reply>) -> Memory {
    door(move |key, attempts, _| {
        if key.0 == 0 {
            return Accept::Serve(Box::new(ToyServer::new(|_| MS)), 0);
        }
        if attempts > 0 {
            return Accept::Refuse(ErrorKind::ConnectionRefused, 0);
        }
        let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
            for request in bytes.chunks(HEAD) {
                let (_, id, word) = head(request).unwrap();
                let alive = || answer(id, word).map(|it| Reply { at: at + MS, what: Delivery::Bytes(it) });
                replies.extend(if at < DEATH { alive() } else { after(at) });
            }
        };
        Accept::Serve(Box::new(serve), 0)
    })
}

/// Only the second target is silent, from its death to the end of the phase.
fn assert_second_is_silent(ran: &Over) {
    // Its clients think for 10 ms between responses.
    assert!(
        ran.silences.iter().all(|(from, to)| to - from <= 11 * MS),
        "the first target always responds: {:?}",
        ran.silences
    );
    let [one, other] = &ran.targets[..] else { panic!("{:?}", ran.targets) };
    assert_eq!((one.name.as_str(), one.silences()), ("one", Vec::new()));
    let silences = other.silences();
    assert_eq!((other.name.as_str(), silences.len()), ("other", 1), "{silences:?}");
    let (from, to) = silences[0];
    assert!((DEATH - 11 * MS..DEATH + 31 * MS).contains(&from), "{} ms", (from - START) / MS);
    assert_eq!(to, ran.measured.1);
}

#[test]
fn one_target_of_two_that_dies_is_silent_by_itself() {
    for after in [|_| None, |at| Some(Reply { at: at + MS, what: Delivery::Reset })] {
        assert_second_is_silent(&over(&plan(2), &two_targets(), move |_| one_dies(after)));
    }
}

#[test]
fn a_schedule_that_gives_all_iterations_to_the_other_target_hides_nothing() {
    let load = Load::Open { clients: 2, rate: 200.0, arrivals: Arrivals::Constant };
    let reset = |at| Some(Reply { at: at + MS, what: Delivery::Reset });
    assert_second_is_silent(&over(&Plan { load, ..plan(2) }, &two_targets(), move |_| one_dies(reset)));
}

#[test]
fn a_user_of_a_dead_target_leaves_the_other_target_alone() {
    let load = Load::Partly { users: 2, every_ns: 45 * MS as u64, arrivals: Arrivals::Constant };
    let ran = over(&Plan { load, ..plan(2) }, &two_targets(), |_| one_dies(|_| None));
    assert_eq!(ran.targets[0].silences(), [], "its user waits for the next iteration, not for the server");
    assert_eq!(ran.targets[1].silences().len(), 1, "{:?}", ran.targets[1]);
}

#[test]
fn parts_of_a_run_have_the_silences_of_the_whole() {
    let ran = over(&plan(2), &two_targets(), |_| one_dies(|_| None));
    let targets = ran.targets.clone();
    let (_, part) = ran.split();
    let whole = merged(&plan(2), vec![part.clone(), part]);
    let silences = |of: &[plimsoll_drive::engine::TargetGaps]| of.iter().map(|of| of.silences()).collect::<Vec<_>>();
    assert_eq!(silences(&whole.targets), silences(&targets));
}

/// A server that answers after 1 ms: what `answer` gives for the client, the time, the ID and the word of a request.
fn answers(answer: fn(u32, i64, u64, u32) -> Option<Delivery>) -> Memory {
    door(move |key, _, _| {
        let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
            for request in bytes.chunks(HEAD) {
                let (_, id, word) = head(request).unwrap();
                replies.extend(answer(key.0, at, id, word).map(|what| Reply { at: at + MS, what }));
            }
        };
        Accept::Serve(Box::new(serve), 0)
    })
}

fn patient(load: Load) -> Plan {
    Plan { load, timeout_ns: 1_000 * MS as u64, ..plan(1) }
}

/// How long the server of the next test refuses all requests.
const GRACE_PERIOD: i64 = 60 * MS;

#[test]
fn refusals_that_ask_to_wait_end_no_silence() {
    let refuses = |_: u32, at: i64, id, word| {
        let is_in_grace = (DEATH..DEATH + GRACE_PERIOD).contains(&at);
        if is_in_grace { Some(message(id, GRACE, 0)) } else { answer(id, word) }.map(Delivery::Bytes)
    };
    for load in [plan(1).load, Load::Closed { clients: 3, think: Pause::None }] {
        let ran = over(&patient(load), &Toys::new(&ITERATION), |_| answers(refuses));
        let [(from, to)] = ran.silences[..] else { panic!("{:?}", ran.silences) };
        assert!((DEATH - MS..DEATH + 12 * MS).contains(&from), "{} ms", (from - START) / MS);
        assert!((DEATH + GRACE_PERIOD..DEATH + GRACE_PERIOD + 4 * MS).contains(&to), "{} ms", (to - START) / MS);
        for client in &ran.clients {
            let [(GRACE, count)] = client.postponed[..] else { panic!("{:?}", client.postponed) };
            // Each request is repeated every 2 ms.
            assert!((20..=32).contains(&count), "{count}");
        }
    }
}

#[test]
fn logons_of_other_clients_end_no_silence() {
    // From then on one client waits, and the other one loses its connection again and again.
    let only_logons = |client: u32, at: i64, id, word| match at {
        DEATH.. if word != LOG_ON => (client == 1).then_some(Delivery::Reset),
        _ => answer(id, word).map(Delivery::Bytes),
    };
    let toys = Toys { log_on: true, ..Toys::new(&ITERATION) };
    let ran = over(&patient(plan(2).load), &toys, |_| answers(only_logons));
    let [(from, to)] = ran.silences[..] else { panic!("{:?}", ran.silences) };
    assert!((DEATH - MS..DEATH + 12 * MS).contains(&from), "{} ms", (from - START) / MS);
    assert_eq!(to, ran.measured.1);
    assert!(ran.clients[1].reconnects > 1, "{:?}", ran.clients[1]);
}

#[test]
fn a_run_with_one_target_lists_no_targets() {
    assert!(over(&plan(2), &Toys::new(&ITERATION), |_| steady(MS)).targets.is_empty());
}

/// The thread does not run in a part of the phase that begins at 100 ms.
fn paused(net: Memory, ns: i64) -> Memory {
    net.delayed(Delays { waking_ns: 0, taken_ns: (START + 100 * MS, ns) })
}

#[test]
fn a_pause_of_the_load_generator_is_no_silence_of_the_server() {
    let longer = Plan { phases: phases(0, 300, 50), timeout_ns: 1_000 * MS as u64, ..plan(1) };
    let rate = Load::Open { clients: 1, rate: 50.0, arrivals: Arrivals::Constant };
    let users = Load::Partly { users: 1, every_ns: 20 * MS as u64, arrivals: Arrivals::Constant };
    for load in [longer.load, rate, users] {
        let ran = over(&Plan { load, ..longer.clone() }, &Toys::new(&ITERATION), |_| paused(steady(MS), 100 * MS));
        assert_eq!(ran.silences, [], "{load:?}");
        let stall = i64::try_from(ran.generator.longest_stall_ns).unwrap();
        assert!((60 * MS..=100 * MS).contains(&stall), "{load:?}: {stall}");
    }
    let punctual = over(&longer, &Toys::new(&ITERATION), |_| steady(MS));
    assert_eq!(punctual.generator.longest_stall_ns, 0);
}

#[test]
fn a_pause_within_a_silence_leaves_the_silence_whole() {
    let longer = Plan { phases: phases(0, 300, 50), timeout_ns: 1_000 * MS as u64, ..plan(1) };
    let ran = over(&longer, &Toys::new(&ITERATION), |_| paused(late_by(150 * MS), 100 * MS));
    assert_eq!(ran.silences, [(START + 99 * MS, START + 249 * MS)]);
    // The response came in the pause, and the kernel says when.
    let ran = over(&longer, &Toys::new(&ITERATION), |_| paused(late_by(60 * MS), 100 * MS));
    assert_eq!(ran.silences, [(START + 99 * MS, START + 159 * MS)]);
}

#[test]
fn a_pause_until_the_end_of_the_phase_is_no_silence() {
    let ran = over(&plan(1), &Toys::new(&ITERATION), |_| paused(steady(MS), 300 * MS));
    assert_eq!(ran.silences, []);
}

/// The connection ends 5 ms after the answer to the tenth request, while its client pauses. Then the server refuses
/// this number of attempts to connect.
fn ends_in_a_pause(refused: u32) -> Memory {
    door(move |_, attempts, _| match attempts {
        0 => {
            let mut seen = 0;
            let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
                for request in bytes.chunks(HEAD) {
                    let (_, id, word) = head(request).unwrap();
                    seen += 1;
                    replies.extend(answer(id, word).map(|it| Reply { at: at + MS, what: Delivery::Bytes(it) }));
                    replies.extend((seen == 10).then_some(Reply { at: at + 6 * MS, what: Delivery::Close }));
                }
            };
            Accept::Serve(Box::new(serve), 0)
        }
        n if n <= refused => Accept::Refuse(ErrorKind::ConnectionRefused, 0),
        _ => Accept::Serve(Box::new(ToyServer::new(|_| MS)), 0),
    })
}

/// Nothing is outstanding when the server dies. The next action is due 10 ms after the last one.
#[test]
fn a_server_that_dies_in_a_pause_is_silent_until_its_clients_give_up() {
    let dead = over(&plan(1), &Toys::new(&ITERATION), |_| ends_in_a_pause(u32::MAX));
    let (begin, end) = dead.measured;
    assert_eq!(dead.silences, [(begin + 110 * MS, end)]);
    // Attempts 10, 20 and 25 ms after the loss and after each other.
    assert!((155 * MS..156 * MS).contains(&(end - begin)), "all have given up: {}", end - begin);
    assert_eq!(dead.clients[0].given_up, Some(GivenUp { since: begin + 100 * MS, slots: 1 }));
    assert!(!dead.stopped && !dead.clients[0].connected);
    let back = over(&plan(1), &Toys::new(&ITERATION), |_| ends_in_a_pause(2));
    let [(since, until)] = back.silences[..] else { panic!("{:?}", back.silences) };
    assert_eq!(since, begin + 110 * MS);
    assert!((155 * MS..158 * MS).contains(&(until - begin)), "the third attempt succeeds: {}", until - begin);
    assert_eq!((back.clients[0].given_up, back.measured.1 - back.measured.0), (None, 200 * MS));
}

#[test]
fn a_client_that_is_being_connected_at_the_end_of_the_phase_has_not_given_up() {
    let longer = Plan { phases: phases(0, 140, 50), ..plan(1) };
    let ran = over(&longer, &Toys::new(&ITERATION), |_| ends_in_a_pause(u32::MAX));
    assert_eq!((ran.clients[0].given_up, ran.clients[0].connected), (None, false));
    assert_eq!(ran.silences, [(ran.measured.0 + 110 * MS, ran.measured.1)]);
}

#[test]
fn requests_that_were_due_before_the_phase_are_counted_apart() {
    let busy = |warmup, latency| {
        let load = Load::Closed { clients: 1, think: plimsoll_workload::Pause::None };
        let plan = Plan { load, phases: phases(warmup, 100, 200), ..plan(1) };
        over(&plan, &Toys::new(&ITERATION), move |_| steady(latency)).generator.answered
    };
    let (long, short) = (busy(30, 70 * MS), busy(30, MS));
    assert_eq!((long.requests, long.due_before), (1, 1), "sent before the phase, answered in it");
    assert!(short.requests > 90 && short.due_before <= 1, "{short:?}");
}

#[test]
fn reads_whose_data_are_compared_are_counted() {
    let toys = Toys::new(&[Do::ReadData(100), Do::Read(100), Do::IterationOver]);
    let ran = over(&plan(1), &toys, |_| steady(MS));
    let client = &ran.clients[0];
    assert!(client.verified_reads > 4 && client.verified_reads.abs_diff(client.actions / 2) <= 1, "{client:?}");
    assert_eq!(client.wrong_reads, 0);
}

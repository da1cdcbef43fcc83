//! For any plan and any behaviour of the server: every run ends, and nothing is lost or counted twice.

use std::io::ErrorKind;
use std::sync::atomic::Ordering::SeqCst;

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{ClientTally, Plan, Reconnect, Watch, run_on};
use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply};
use plimsoll_model::Transaction;
use plimsoll_workload::{Arrivals, Load, Pause};
use proptest::prelude::*;
use rand::{Rng as _, SeedableRng};

use super::memory::{MS, START, phases};
use super::toy::{Do, HEAD, Toys, answer, head, message};

fn loads() -> impl Strategy<Value = Load> {
    let arrivals = prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)];
    let pause = prop_oneof![
        Just(Pause::None),
        (0..20 * MS as u64).prop_map(Pause::Constant),
        (0..20 * MS as u64).prop_map(Pause::Exponential),
        (0..9 * MS as u64).prop_map(|low| Pause::Uniform(low, 2 * low)),
    ];
    let every = 10_000..30 * MS as u64;
    prop_oneof![
        (1u32..7, pause).prop_map(|(clients, think)| Load::Closed { clients, think }),
        (1u32..7, 10.0..3e3, arrivals.clone()).prop_map(|(clients, rate, arrivals)| Load::Open {
            clients,
            rate,
            arrivals
        }),
        (1u32..7, every, arrivals).prop_map(|(users, every_ns, arrivals)| Load::Partly { users, every_ns, arrivals }),
    ]
}

prop_compose! {
    fn plans()(
        load in loads(), slots in 1u32..4, shape in 0u32..4, threads in 1u32..4, seed: u64, timeout in 1u64..60,
        warmup in 0u64..30, measured in proptest::option::weighted(0.9, 1u64..150), drain in 0u64..60,
        attempts in 0u32..4, connecting in 1u32..5,
    ) -> Plan {
        let mut phases = phases(warmup, measured.unwrap_or(0), drain);
        phases.measured_ns = measured.map(|ms| ms * MS as u64);
        let reconnect = Reconnect { attempts, first_ns: MS as u64, most_ns: 10 * MS as u64, after_timeout: true };
        let connections = if shape == 1 { slots } else { 1 };
        let clients_per_connection = if shape > 1 { shape } else { 1 };
        Plan {
            depth: slots, connections, clients_per_connection, phases, threads, seed, reconnect, connecting,
            timeout_ns: timeout * MS as u64, level: 1, ..Plan::new(load)
        }
    }
}

fn lines() -> impl Strategy<Value = Vec<Do>> {
    let line = prop_oneof![
        4 => Just(Do::Null),
        2 => (0u32..3_000).prop_map(Do::Read),
        1 => (0u32..400_000).prop_map(Do::Read),
        1 => (0u32..3_000).prop_map(Do::ReadData),
        1 => (0u32..10).prop_map(Do::ReadWrong),
        1 => Just(Do::Hold),
        1 => Just(Do::Impossible),
        2 => (0..5 * MS as u64).prop_map(Do::Think),
        3 => Just(Do::IterationOver),
    ];
    proptest::collection::vec(line, 1..8)
}

/// A server that mostly answers, at some time.
fn moody(seed: u64, trouble: f64) -> Memory {
    let mut doors = rand::rngs::StdRng::seed_from_u64(seed);
    Memory::new(START, move |_, _, _| {
        let mut rng = rand::rngs::StdRng::seed_from_u64(doors.random());
        if rng.random_bool(trouble / 3.0) {
            return match rng.random_range(0..3) {
                0 => Accept::Silence,
                1 => Accept::Refuse(ErrorKind::ConnectionRefused, rng.random_range(0..2 * MS)),
                _ => Accept::Refuse(ErrorKind::AddrNotAvailable, 0),
            };
        }
        let wait = rng.random_range(0..2 * MS);
        let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
            for request in bytes.chunks(HEAD) {
                let (_, id, word) = head(request).unwrap();
                let at = at + rng.random_range(1..3 * MS);
                let usual = answer(id, word);
                if !rng.random_bool(trouble / 10.0) {
                    replies.extend(usual.map(|bytes| Reply { at, what: Delivery::Bytes(bytes) }));
                    continue;
                }
                let what = match rng.random_range(0..8) {
                    0 => Delivery::Reset,
                    1 => Delivery::Close,
                    2 => Delivery::Bytes(vec![0; 50]),
                    3 => Delivery::Bytes(message(id, 7, 0)),
                    4 => Delivery::Bytes(message(id + 1_000, 0, 10)),
                    5 => Delivery::Bytes([message(id, 0, 0), message(id, 0, 0)].concat()),
                    6 => Delivery::Bytes(message(id, 0, 50)[..HEAD + 3].to_vec()),
                    _ => continue,
                };
                replies.push(Reply { at, what });
            }
        };
        Accept::Serve(Box::new(serve), wait)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_begun_is_done_once_and_counted_once(
        plan in plans(), mut lines in lines(), log_on: bool, keeps: bool, seed: u64,
        trouble in prop_oneof![Just(0.0), 0.0..1.0],
    ) {
        // Scenarios that never end need a phase that does; scenarios that do nothing would spin under this clock, which
        // stands still while something is done.
        if plan.phases.measured_ns.is_none() {
            lines.retain(|line| *line != Do::Hold);
            lines.push(Do::Finish);
        }
        lines.push(Do::Think(100_000));
        let mut toys = Toys::new(&lines);
        (toys.log_on, toys.keeps) = (log_on, keeps);
        let watch = Watch::new();
        let net = |worker| Ok(moody(seed ^ u64::from(worker), trouble));
        let ran = run_on(&plan, &toys, |_| Vec::<Transaction>::new(), &watch, net, None);
        let seen = &toys.seen;
        prop_assert_eq!(seen.begun.load(SeqCst), seen.done.load(SeqCst), "everything begun is done, once");
        let ends = seen.ends.lock().unwrap();
        prop_assert_eq!(ends.len() as u64, seen.done.load(SeqCst));
        let Ok(ran) = ran else {
            // Connecting and logging on take up to 5 ms.
            prop_assert!(trouble > 0.0 || plan.timeout_ns < 6 * MS as u64, "{:?}", ran);
            prop_assert!(ends.is_empty());
            return Ok(());
        };
        check(&plan, &ran, &ends, &watch, &lines)?;
    }
}

fn check(
    plan: &Plan,
    ran: &plimsoll_drive::engine::EngineResult<Vec<Transaction>>,
    ends: &[super::toy::End],
    watch: &Watch,
    lines: &[Do],
) -> Result<(), TestCaseError> {
    let wrong = lines.iter().any(|line| matches!(line, Do::ReadWrong(_)));
    let succeeded = ends.iter().filter(|(.., end)| end.is_ok()).count() as u64;
    let progress = watch.progress();
    if wrong {
        prop_assert!(progress.actions <= succeeded);
    } else {
        prop_assert_eq!(progress.actions, succeeded);
    }
    // All errors are those of actions and those of connections.
    let all_errors = |cause| ran.clients.iter().map(|tally| tally.count_of(cause)).sum::<u64>();
    let of_actions = |cause| ends.iter().filter(|(.., end)| *end == Err(cause)).count() as u64;
    for cause in [Cause::Status, Cause::Unsupported, Cause::Ended] {
        prop_assert_eq!(all_errors(cause), of_actions(cause), "{:?}", cause);
    }
    for cause in [Cause::TimedOut, Cause::ConnectionReset, Cause::ConnectionClosed, Cause::Malformed] {
        prop_assert!(all_errors(cause) >= of_actions(cause), "{:?}", cause);
    }
    let outside = ran.clients.iter().flat_map(|tally| &tally.errors_outside).map(|error| error.count);
    let total = ran.clients.iter().map(ClientTally::error_count).chain(outside).sum::<u64>();
    let failures = ran.clients.iter().flat_map(|t| &t.connection_failures).filter(|one| !one.kept);
    let connections: u64 = failures.map(|one| one.count).sum();
    prop_assert_eq!(progress.errors, total + connections);
    prop_assert_eq!(progress.actions + total >= ends.len() as u64, true);
    let (begin, end) = ran.measured;
    prop_assert!(begin <= end);
    prop_assert!(plan.phases.measured_ns.is_none_or(|most| (end - begin) as u64 <= most));
    let inside =
        |t: &Transaction| t.timeline.intended.or(t.timeline.request_first).is_some_and(|at| begin <= at && at < end);
    let rows: Vec<&Transaction> = ran.sinks.iter().flatten().collect();
    for row in &rows {
        prop_assert_eq!(row.level.is_some(), inside(row), "{:?} in {:?}", row.timeline, ran.measured);
    }
    let actions: u64 = ran.clients.iter().map(|tally| tally.actions).sum();
    let answered = rows.iter().filter(|t| t.level.is_some() && t.status == Some(0) && t.timeline.intended.is_some());
    let answered = answered.count() as u64;
    prop_assert!(if wrong { actions <= answered } else { actions == answered }, "{} {}", actions, answered);
    let generator = &ran.generator;
    prop_assert!(generator.late_starts + generator.never_sent <= generator.planned);
    prop_assert_eq!(generator.asked_rate.is_some(), !matches!(plan.load, Load::Closed { .. }));
    Ok(())
}

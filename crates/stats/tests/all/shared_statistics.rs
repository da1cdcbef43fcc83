//! Statistics that two threads work on are those of one thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use plimsoll_model::{Coverage, Names, Procedure, Protocol, Sink, Transaction};
use plimsoll_stats::{Options, SharedStatistics, Statistics};

/// Of some connections, whose order decides which of equally slow ones is listed.
fn transactions(count: i64) -> impl Iterator<Item = Transaction> {
    (0..count).map(|i| Transaction {
        connection: (i % 7) as u32,
        session: Some(i as u64 % 3),
        ..plimsoll_testkit::transaction(Procedure::of(Protocol::Smb2, (i % 9) as u16), i * 1_000_003, 1_000 + i % 50)
    })
}

fn begun() -> Statistics {
    Statistics::new(Options { tallies: true, ..Options::default() })
}

fn state(statistics: &Statistics) -> Vec<u8> {
    statistics.to_bytes(&Coverage::default(), &Names::default())
}

/// The state of one thread.
fn alone(count: i64) -> Vec<u8> {
    let mut statistics = begun();
    transactions(count).for_each(|transaction| statistics.record(&transaction));
    state(&statistics)
}

/// Transactions that are handed over together.
const TOGETHER: i64 = 64;
/// Until a thread that can run has run, on any machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The state of two threads, of which the second one helps if `helps`: with the first piece at least.
fn together(count: i64, helps: bool) -> Vec<u8> {
    let (mut shared, names) = (SharedStatistics::new(begun()), Names::default());
    let (work, ended, helped) = (shared.share(), AtomicBool::new(false), AtomicU64::new(0));
    let state = std::thread::scope(|scope| {
        scope.spawn(|| {
            while helps && !ended.load(Relaxed) {
                match work.some() {
                    true => _ = helped.fetch_add(1, Relaxed),
                    false => std::thread::yield_now(),
                }
            }
        });
        for (at, transaction) in transactions(count).enumerate() {
            shared.transaction(&transaction, &names);
            if at % 1_000 == 0 {
                work.some();
            }
            let begun = Instant::now();
            while helps && at as i64 + 1 == TOGETHER && helped.load(Relaxed) == 0 && begun.elapsed() < LIMIT {
                std::thread::yield_now();
            }
        }
        let state = state(shared.settled());
        ended.store(true, Relaxed);
        state
    });
    assert!(!work.some(), "all is counted");
    assert_eq!(helped.load(Relaxed) > 0, helps && count >= TOGETHER, "{count} transactions");
    state
}

#[test]
fn two_threads_count_what_one_counts() {
    for count in [0, 1, 63, 64, 65, 50_000] {
        let alone = alone(count);
        assert!(together(count, true) == alone, "{count} transactions");
        assert!(together(count, false) == alone, "{count} transactions, and nobody helps");
    }
}

#[test]
fn statistics_that_are_settled_go_on_alone() {
    let (mut shared, names) = (SharedStatistics::new(begun()), Names::default());
    for (at, transaction) in transactions(1_000).enumerate() {
        match at {
            300 => _ = shared.share(),
            500 => _ = shared.settled(),
            _ => {}
        }
        shared.transaction(&transaction, &names);
    }
    assert!(state(shared.settled()) == alone(1_000));
}

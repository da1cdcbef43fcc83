//! Where an operation counts, that parts are the whole, and that intervals agree with the report's statistics.

use plimsoll_model::{Group, Outcome, Procedure, Protocol, Timeline, Transaction};
use plimsoll_stats::intervals::MAX_CELLS;
use plimsoll_stats::{
    Accumulator, FineHistogram, GroupKey, Interval, IntervalRecorder, IntervalWidth, Intervals, Options, Statistics,
};
use plimsoll_testkit::{Random, transaction};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000_000;
/// A multiple of the first widths.
const NOON: i64 = 1_700_000_400 * SECOND;

fn read() -> Procedure {
    Procedure::of(Protocol::Smb2, 8)
}

fn write() -> Procedure {
    Procedure::of(Protocol::Smb2, 9)
}

/// An operation of a first level.
fn operation(procedure: Procedure, end: i64, took: i64) -> Transaction {
    Transaction { payload_bytes: Some(512), level: Some(0), ..transaction(procedure, end, took) }
}

fn recorded(all: &[Transaction], into: Intervals) -> Intervals {
    let mut recorder = IntervalRecorder::new(into);
    all.iter().for_each(|t| recorder.record(t));
    recorder.finish()
}

fn usual(all: &[Transaction]) -> Intervals {
    recorded(all, Intervals::new(IntervalWidth::USUAL))
}

#[test]
fn an_operation_counts_where_its_answer_ended() {
    let mut refused = operation(read(), NOON + 2 * SECOND, 5);
    refused.outcome = Outcome::Refused;
    let all =
        [operation(read(), NOON - 1, 7), operation(read(), NOON, 3 * SECOND), operation(write(), NOON, 9), refused];
    let intervals = usual(&all);
    let starts: Vec<i64> = intervals.iter().map(Interval::start_ns).collect();
    assert_eq!(starts, [NOON - SECOND, NOON, NOON + 2 * SECOND], "an empty second is not there");
    let noon = intervals.iter().nth(1).unwrap();
    assert_eq!((noon.rows().len(), noon.end_ns() - noon.start_ns()), (2, SECOND));
    let reads = noon.procedure(read()).unwrap();
    assert_eq!((reads.count, reads.payload_bytes, reads.response.max_ns()), (1, 512, Some(3_000_000_000)));
    assert_eq!((noon.total().count, noon.group(GroupKey::One(Group::Write)).count), (2, 1));
    assert_eq!(intervals.iter().last().unwrap().total().errors, 1);
    assert_eq!(noon.procedure(Procedure::of(Protocol::Smb2, 5)), None);
}

#[test]
fn without_an_answer_it_counts_where_it_began_and_without_either_nowhere() {
    let mut lost = operation(read(), NOON + SECOND, SECOND);
    (lost.outcome, lost.timeline.response_first, lost.timeline.response_last) = (Outcome::Unanswered, None, None);
    let mut nowhere = lost.clone();
    nowhere.timeline = Timeline::default();
    let intervals = usual(&[lost, nowhere]);
    let interval = intervals.iter().next().unwrap();
    assert_eq!((interval.start_ns(), intervals.unplaced()), (NOON, 1));
    let total = interval.total();
    assert_eq!((total.count, total.unanswered, total.response.count(), total.histogram.count()), (1, 1, 0, 0));
}

#[test]
fn what_a_report_leaves_out_is_left_out() {
    let mut held = operation(read(), NOON, 1);
    held.long_lived = true;
    let mut never = operation(read(), NOON, 1);
    never.outcome = Outcome::NeverSent;
    let raw = operation(Procedure::write_raw_async(), NOON, 1);
    let mut backwards = operation(write(), NOON, 0);
    backwards.timeline.request_first = Some(NOON + 1);
    let total = usual(&[held, never, raw, backwards]).sum().total();
    assert_eq!((total.count, total.payload_bytes, total.response.count()), (1, 1024, 0));
}

#[test]
fn a_short_time_is_cut_finer_and_a_long_one_is_not() {
    let seconds = |count: i64| -> Vec<Transaction> {
        (0..count * 10).map(|tenth| operation(read(), NOON + tenth * SECOND / 10, 1000)).collect()
    };
    let short = recorded(&seconds(20), Intervals::growing());
    assert_eq!((short.width(), short.iter().len()), (IntervalWidth::NARROW, 200));
    let long = recorded(&seconds(21), Intervals::growing());
    assert_eq!((long.width(), long.iter().len()), (IntervalWidth::USUAL, 21));
    assert_eq!(long, usual(&seconds(21)), "joined ones are as if they had been wide from the start");
}

#[test]
fn finished_intervals_are_handed_out_in_order_and_nothing_is_lost() {
    let all: Vec<Transaction> = (0..5000).map(|i| operation(read(), NOON + i * 3_000_000, 1000 + i)).collect();
    let mut recorder = IntervalRecorder::new(Intervals::new(IntervalWidth::USUAL));
    let mut handed = Vec::new();
    for (i, t) in all.iter().enumerate() {
        recorder.record(t);
        if i % 700 == 0 {
            handed.extend(recorder.drain_before(t.timeline.response_last.unwrap()));
        }
    }
    assert!(handed.len() > 10 && handed.is_sorted_by_key(Interval::start_ns));
    let mut rest = recorder.finish();
    assert!(rest.iter().all(|interval| interval.start_ns() > handed.last().unwrap().start_ns()));
    handed.into_iter().for_each(|interval| rest.add(interval));
    assert_eq!(rest, usual(&all));
}

/// Each operation in a second and a cell of its own: 18 MB, were it not bounded.
#[test]
fn memory_is_bounded_by_joining() {
    let mut intervals = Intervals::new(IntervalWidth::USUAL);
    let (seconds, cells) = (4_000u64, 2_200u64);
    for second in 0..seconds {
        let mut interval = Interval::at(NOON + second.cast_signed() * SECOND, IntervalWidth::USUAL);
        (0..cells).for_each(|ns| interval.row_mut(read()).histogram.record(ns));
        intervals.add(interval);
    }
    let held: usize = intervals.iter().flat_map(Interval::rows).map(|(_, row)| row.histogram.len()).sum();
    assert!(held <= MAX_CELLS && intervals.width() > IntervalWidth::USUAL, "{held}");
    assert_eq!(intervals.sum().total().histogram.count(), seconds * cells);
}

/// The intervals of a level, added up, are the level: counts, moments, histogram and percentiles.
#[test]
fn all_intervals_together_are_what_the_report_says() {
    let mut random = Random::new(1);
    let all: Vec<Transaction> = (0..40_000)
        .map(|i| {
            operation(
                [read(), write()][(random.bits() % 2) as usize],
                NOON + i * 250_000,
                (random.bits() >> (24 + random.bits() % 30)) as i64,
            )
        })
        .collect();
    let mut statistics = Statistics::new(Options::default());
    all.iter().for_each(|t| statistics.record(t));
    let sum = usual(&all).sum();
    for (procedure, row) in statistics.operations() {
        let (mine, times) = (sum.procedure(procedure).unwrap(), row.response());
        assert_eq!((mine.count, Some(mine.payload_bytes)), (row.count(), row.payload().exact()));
        assert_eq!((&mine.response, &mine.histogram), (times.moments(), &FineHistogram::from(&*times)));
        for percentile in [0.0, 0.01, 50.0, 90.0, 99.0, 99.9, 100.0] {
            assert_eq!(mine.percentile_ns(percentile), times.percentile_ns(percentile), "p{percentile}");
        }
    }
    let mut total = Accumulator::default();
    statistics.operations().for_each(|(_, row)| total.merge(row));
    assert_eq!(sum.total().percentile_ns(99.0), total.response().percentile_ns(99.0));
}

fn any_operation() -> impl Strategy<Value = Transaction> {
    // Mostly in order, as `sort_by_key` below leaves them, over seconds and now and then over centuries.
    let end = prop_oneof![20 => NOON..NOON + 4 * SECOND, 1 => prop::num::i64::ANY];
    (0usize..4, end, 0i64..10 * SECOND, 0u32..30, 0u8..12).prop_map(|(which, end, took, shift, fate)| {
        let mut t = operation(Procedure::of(Protocol::Smb2, 5 + which as u16), end, 0);
        t.timeline.request_first = end.checked_sub(took >> shift);
        match fate {
            0 => t.outcome = Outcome::Refused,
            1 => (t.outcome, t.timeline.response_last) = (Outcome::Unanswered, None),
            2 => t.long_lived = true,
            3 => t.timeline = Timeline::default(),
            _ => {}
        }
        t
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn parts_merged_are_the_whole(
        mut all in prop::collection::vec(any_operation(), 0..400),
        parts in prop::sample::select(&[1usize, 2, 7, 64]),
        sorted: bool,
        growing: bool,
    ) {
        if sorted {
            all.sort_by_key(|t| t.timeline.response_last);
        }
        let empty = || if growing { Intervals::growing() } else { Intervals::new(IntervalWidth::USUAL) };
        let whole = recorded(&all, empty());
        let mut merged = empty();
        for part in 0..parts {
            let mine: Vec<Transaction> = all.iter().skip(part).step_by(parts).cloned().collect();
            merged.merge(&recorded(&mine, empty()));
        }
        prop_assert_eq!(&merged, &whole);
        // One by one, which never opens an interval for long, is the same.
        let mut single = empty();
        all.iter().for_each(|t| single.merge(&recorded(std::slice::from_ref(t), empty())));
        prop_assert_eq!(&single, &whole);
    }
}

use plimsoll_model::{Outcome, Procedure, Protocol, Timeline, Transaction};
use plimsoll_testkit::transaction;
use proptest::prelude::*;

use super::*;
use crate::IntervalRecorder;

/// What happened, of any kind, in time order or not.
fn any_intervals() -> impl Strategy<Value = Intervals> {
    let one = (0..400i64, 0..4u16, 0..3u8, (any::<u64>(), 0..64u32));
    (prop::collection::vec(one, 0..300), any::<bool>()).prop_map(|(all, growing)| {
        let into = if growing { Intervals::growing() } else { Intervals::new(IntervalWidth::USUAL) };
        let mut recorder = IntervalRecorder::new(into);
        for (at, code, what, (took, shift)) in all {
            recorder.record(&ended(at * 370_000_000, code, what, (took >> shift).cast_signed()));
        }
        recorder.finish()
    })
}

/// 0: an answer, 1: a refusal, 2: no answer, and neither instant.
fn ended(at: i64, code: u16, what: u8, took: i64) -> Transaction {
    let mut t = transaction(Procedure::of(Protocol::Nfs3, code), 0, 0);
    t.timeline.request_first = Some(at.saturating_sub(took.saturating_abs()));
    t.timeline.response_last = Some(at);
    match what {
        1 => t.outcome = Outcome::Refused,
        2 => {
            t.outcome = Outcome::Unanswered;
            t.timeline = Timeline::default();
        }
        _ => {}
    }
    t
}

fn through_bytes(intervals: &Intervals) -> Result<Intervals, StateError> {
    let mut reader = IntervalsReader::default();
    for interval in intervals.iter() {
        reader.interval(&interval.to_bytes())?;
    }
    reader.end(&intervals.end_to_bytes())
}

#[test]
fn an_interval_is_cut_off_or_lengthened_nowhere() {
    let mut recorder = IntervalRecorder::new(Intervals::growing());
    (0..50).for_each(|i| recorder.record(&ended(i * 1000, 6, 0, 7 * i)));
    let intervals = recorder.finish();
    let bytes = intervals.iter().next().unwrap().to_bytes();
    for length in 0..bytes.len() {
        assert!(IntervalsReader::default().interval(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
    }
    assert!(IntervalsReader::default().interval(&[&bytes[..], &[0]].concat()).is_err());
    assert!(IntervalsReader::default().end(&[]).is_err());
}

/// Two intervals with maximal counts overflow.
#[test]
fn absurd_counts_are_an_error_and_no_overflow() {
    let mut interval = Interval::at(0, IntervalWidth::USUAL);
    interval.row_mut(Procedure::of(Protocol::Smb2, 8)).count = (1 << 56) - 1;
    let bytes = interval.to_bytes();
    let mut reader = IntervalsReader::default();
    assert!(reader.interval(&bytes).is_ok());
    assert!(reader.interval(&bytes).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn intervals_are_read_back_as_they_were(intervals in any_intervals()) {
        prop_assert_eq!(through_bytes(&intervals).unwrap(), intervals);
    }

    /// Any bytes give an error, or an interval that is written the same again.
    #[test]
    fn damaged_intervals_are_errors_or_harmless(
        intervals in any_intervals(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut reader = IntervalsReader::default();
        for interval in intervals.iter() {
            let mut bytes = interval.to_bytes();
            for &(place, byte) in &damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            let _ = reader.interval(&bytes);
        }
        let read = reader.end(&intervals.end_to_bytes()).unwrap();
        prop_assert_eq!(through_bytes(&read).unwrap(), read.clone());
        read.sum().total().response.stddev_ns();
    }
}

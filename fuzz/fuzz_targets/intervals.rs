//! Any bytes as a recording's intervals: pieces with a length in two bytes; the last one is the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_stats::Intervals;
use plimsoll_stats::comparison::{Course, Metric, Scope, estimate};
use plimsoll_stats::intervals::IntervalsReader;

fn pieces(mut data: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while let Some((length, rest)) = data.split_at_checked(2) {
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        let (piece, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        pieces.push(piece);
        data = rest;
    }
    pieces
}

fn through_bytes(intervals: &Intervals) -> Intervals {
    let mut reader = IntervalsReader::default();
    for interval in intervals.iter() {
        reader.interval(&interval.to_bytes()).expect("what was written is an interval");
    }
    reader.end(&intervals.end_to_bytes()).expect("what was written is an end")
}

fuzz_target!(|data: &[u8]| {
    let pieces = pieces(data);
    let Some((end, pieces)) = pieces.split_last() else { return };
    let mut reader = IntervalsReader::default();
    for piece in pieces {
        // A refused piece is ignored.
        let _ = reader.interval(piece);
    }
    let Ok(intervals) = reader.end(end) else { return };
    assert!(through_bytes(&intervals) == intervals);
    let span = (intervals.iter().next(), intervals.iter().last());
    let (Some(first), Some(last)) = span else { return };
    let course = Course::new(&intervals, (first.start_ns(), last.end_ns()), |procedure| Scope::All.holds(procedure));
    for metric in Metric::ALL {
        estimate(metric, std::slice::from_ref(&course));
    }
});

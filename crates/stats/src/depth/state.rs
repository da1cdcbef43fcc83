//! A queue depth in a recording: what is in its window, and what was taken from it.

use super::tally::trim;
use super::{MAX_DEPTH, QueueDepth, WINDOW};
use crate::state::{Counter, Reader, State, StateError, Writer};

impl State for QueueDepth {
    fn put(&self, out: &mut Writer) {
        [&self.starts, &self.ends, &self.points].iter().for_each(|instants| instants.put(out));
        self.taken_until.put(out);
        self.depth.put(out);
        let (mut at_arrival, mut time_ns) = (self.at_arrival.clone(), self.time_ns.clone());
        trim(&mut at_arrival);
        trim(&mut time_ns);
        at_arrival.put(out);
        time_ns.put(out);
        self.entered_late.put(out);
        self.left_out.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut depth = Self {
            starts: State::take(from)?,
            ends: State::take(from)?,
            points: State::take(from)?,
            taken_until: State::take(from)?,
            depth: State::take(from)?,
            at_arrival: State::take(from)?,
            time_ns: State::take(from)?,
            entered_late: State::take(from)?,
            left_out: State::take(from)?,
        };
        let windows = [&depth.starts, &depth.ends, &depth.points].iter().map(|of| of.len()).sum::<usize>();
        let depths = depth.at_arrival.len().max(depth.time_ns.len());
        let counted = Counter::all(&depth.at_arrival) && Counter::all(&[depth.entered_late, depth.left_out]);
        let timed = depth.time_ns.iter().all(|&ns| ns < 1 << 100);
        if windows > WINDOW || depths > MAX_DEPTH + 1 || depth.depth > 1 << 40 || !counted || !timed {
            return Err(from.no("queue depth"));
        }
        depth.at_arrival.resize(MAX_DEPTH + 1, 0);
        depth.time_ns.resize(MAX_DEPTH + 1, 0);
        Ok(depth)
    }
}

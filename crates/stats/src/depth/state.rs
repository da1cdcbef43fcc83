//! A queue depth in a recording: its window, and the processed data.

use super::by_depth::ByDepth;
use super::{MAX_DEPTH, QueueDepth, WINDOW};
use crate::state::{Counter, Reader, State, StateError, Writer};

impl State for QueueDepth {
    fn put(&self, out: &mut Writer) {
        [&self.starts, &self.ends, &self.points].iter().for_each(|instants| instants.put(out));
        self.taken_until.put(out);
        self.depth.put(out);
        self.by_depth.arrivals().put(out);
        self.by_depth.times_ns().put(out);
        self.entered_late.put(out);
        self.left_out.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let [starts, ends, points] = [State::take(from)?, State::take(from)?, State::take(from)?];
        let (taken_until, depth) = (State::take(from)?, State::take(from)?);
        let (at_arrival, time_ns) = (Vec::<u64>::take(from)?, Vec::<u128>::take(from)?);
        let (entered_late, left_out) = (State::take(from)?, State::take(from)?);
        let by_depth = ByDepth::new(&at_arrival, &time_ns);
        let depth = Self { starts, ends, points, taken_until, depth, by_depth, entered_late, left_out };
        let windows = [&depth.starts, &depth.ends, &depth.points].iter().map(|of| of.len()).sum::<usize>();
        let depths = at_arrival.len().max(time_ns.len());
        let counted = Counter::all(&at_arrival) && Counter::all(&[depth.entered_late, depth.left_out]);
        let timed = time_ns.iter().all(|&ns| ns < 1 << 100);
        if windows > WINDOW || depths > MAX_DEPTH + 1 || depth.depth > 1 << 40 || !counted || !timed {
            return Err(from.no("queue depth"));
        }
        Ok(depth)
    }
}

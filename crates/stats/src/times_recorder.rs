//! Records a distribution of times in few instructions, where every request has one.

use crate::fine::{OCTAVE, cell_of, highest};
use crate::times::histogram;
use crate::{Moments, Times};

/// Takes times as [`Times`] does, which it becomes in the end. It only has a counter per cell, so that recording a time takes a fraction
/// of the instructions, and as much memory.
#[derive(Clone, Debug, Default)]
pub struct TimesRecorder {
    moments: Moments,
    /// Counts by cell, in whole octaves.
    counts: Vec<u64>,
    negative: u64,
}

impl TimesRecorder {
    /// Takes one time, ns.
    #[inline]
    pub fn record(&mut self, ns: i64) {
        let Some(ns) = self.moments.record_time(ns, &mut self.negative) else { return };
        let cell = usize::from(cell_of(ns));
        match self.counts.get_mut(cell) {
            Some(count) => *count += 1,
            None => self.grow(cell),
        }
    }

    /// Counts the first time of an octave.
    #[cold]
    fn grow(&mut self, cell: usize) {
        self.counts.resize((cell / OCTAVE + 1) * OCTAVE, 0);
        if let Some(count) = self.counts.get_mut(cell) {
            *count += 1;
        }
    }

    /// Count, extremes, mean and deviation.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// All until now.
    pub fn times(&self) -> Times {
        let cells = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        let histogram = histogram(cells.map(|(cell, &count)| (highest(cell), count)));
        Times { moments: self.moments, histogram, negative: self.negative }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::to_bytes;

    #[test]
    fn it_becomes_what_times_would_have_been() {
        let mut state = 7_u64;
        let (mut recorder, mut times) = (TimesRecorder::default(), Times::default());
        assert_eq!(recorder.times(), times, "without times there is no histogram");
        let random = std::iter::from_fn(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Of every length, some of them negative.
            Some(state as i64 >> (state >> 58))
        });
        let edges = [0, 1, 2_047, 2_048, 4_095, 4_096, i64::MAX, -1, i64::MIN];
        for ns in edges.into_iter().chain(random.take(20_000)) {
            recorder.record(ns);
            times.record(ns);
        }
        assert!(times.negative() > 100);
        assert_eq!(to_bytes(&recorder.times()), to_bytes(&times));
        assert_eq!(recorder.times().curve(), times.curve());
        assert_eq!(recorder.moments(), times.moments());
    }
}

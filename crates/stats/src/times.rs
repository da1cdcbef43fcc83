//! One distribution of times: exact moments, a histogram for percentiles, exact decades.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::rank::rank;
use crate::state::{Counter, Reader, State, StateError, Writer};
use crate::{FineHistogram, Moments};

/// Significant digits of the histograms: a resolution of 0.1 %.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// The steps of [`Times::curve`].
pub const CURVE_PERCENTILES: [f64; 28] = [
    0.0, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0,
    90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.99, 100.0,
];

/// A distribution of times in nanoseconds.
///
/// Count, extremes, mean and deviation are exact; percentiles come from a histogram with an error of 0.1 %. A negative time (an answer
/// captured before its request) is in none of them: it is counted only in [`Times::negative`], and the observer counts it as
/// `NegativeTime`.
///
/// The histogram grows with the longest time seen, 8 KiB per octave above 2 µs: 120 KiB up to 10 ms, 168 KiB up to 1 s, 224 KiB up to 100
/// s, 432 KiB for the whole range of 292 years.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    pub(crate) moments: Moments,
    pub(crate) histogram: Option<Histogram<u64>>,
    pub(crate) negative: u64,
}

impl Times {
    /// Takes one time, ns.
    #[inline]
    pub fn record(&mut self, ns: i64) {
        let Some(ns) = self.moments.record_time(ns, &mut self.negative) else { return };
        if self.histogram.is_none() {
            self.histogram = Histogram::new(SIGNIFICANT_DIGITS).ok();
        }
        if let Some(histogram) = &mut self.histogram {
            // Cannot fail: it resizes itself, up to u64::MAX. (saturating_record would cut off at the first size.)
            let _ = histogram.record(ns);
        }
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: &Times) {
        self.moments.merge(&other.moments);
        self.negative += other.negative;
        match (&mut self.histogram, &other.histogram) {
            (Some(mine), Some(theirs)) => {
                let _ = mine.add(theirs); // cannot fail, as above
            }
            (None, theirs) => self.histogram.clone_from(theirs),
            (Some(_), None) => {}
        }
    }

    /// The histogram's counters in use: (highest time that counts there, ns, count), shortest first.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u64, u64)> {
        let counters = self.histogram.iter().flat_map(|histogram| histogram.iter_recorded());
        counters.map(|counter| (counter.value_iterated_to(), counter.count_at_value()))
    }

    /// The same counters by the middles of the times that count there, ns.
    pub(crate) fn middles(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram.iter().flat_map(|histogram| {
            let middle = |highest| histogram.median_equivalent(highest);
            histogram.iter_recorded().map(move |one| (middle(one.value_iterated_to()), one.count_at_value()))
        })
    }

    /// Whether no time was taken, nor a negative one.
    pub fn is_empty(&self) -> bool {
        self.moments.count() == 0 && self.negative == 0
    }

    /// Count, extremes, mean and deviation.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Negative times, which no other number includes.
    pub fn negative(&self) -> u64 {
        self.negative
    }

    /// The smallest time that at least `percentile` (0..=100) per cent of the times do not exceed, ns, to 0.1 %.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let (min, max) = (self.moments.min_ns()?, self.moments.max_ns()?);
        let histogram = self.histogram.as_ref()?;
        let value = histogram.value_at_quantile(quantile(percentile, histogram.len()));
        Some(if percentile <= 0.0 { min } else { value.clamp(min, max) })
    }

    /// The percentile curve: (percentile, ns) at [`CURVE_PERCENTILES`]; empty without times.
    pub fn curve(&self) -> Vec<(f64, u64)> {
        let known = self.histogram.as_ref().zip(self.moments.min_ns().zip(self.moments.max_ns()));
        let Some((histogram, (min, max))) = known else { return Vec::new() };
        let quantiles = CURVE_PERCENTILES.iter().map(|&percentile| quantile(percentile, histogram.len()));
        // All in one pass over the histogram, for they rise.
        let values = CURVE_PERCENTILES.into_iter().zip(histogram.value_at_quantiles(quantiles));
        let clamped = |(p, value): (f64, u64)| (p, if p <= 0.0 { min } else { value.clamp(min, max) });
        values.map(clamped).collect()
    }
}

/// A histogram of these cells: a time that counts there, ns, and the count. `None` without cells.
pub(crate) fn histogram(cells: impl Iterator<Item = (u64, u64)>) -> Option<Histogram<u64>> {
    let mut cells = cells.peekable();
    cells.peek()?;
    let mut histogram = Histogram::new(SIGNIFICANT_DIGITS).ok()?;
    // Cannot fail: it resizes itself.
    cells.for_each(|(ns, count)| _ = histogram.record_n(ns, count));
    Some(histogram)
}

/// The quantile at which [`Histogram`] has the value of a percentile's rank: the middle of the rank's share, so that rounding does not
/// make it another one's.
fn quantile(percentile: f64, total: u64) -> f64 {
    (rank(percentile, total) as f64 - 0.5) / total as f64
}

/// Exact counts by powers of ten: below 1 µs, below 10 µs, … ; edges are exclusive and compared as integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decades([u64; Decades::LEN]);

impl Decades {
    /// 10^18 ns, 31 years, begins the last one.
    pub const LEN: usize = 17;

    /// The decade of a time: 0 below 1 µs, then one per power of ten.
    #[inline]
    pub fn of(ns: u64) -> usize {
        // An octave lies in one decade or in two neighbours.
        let shortest = DECADE_OF_OCTAVE[(ns | 1).ilog2() as usize];
        (shortest + usize::from(ns >= DECADE_ENDS_NS[shortest])).min(Self::LEN - 1)
    }

    /// Counts one time whose decade is known.
    #[inline]
    pub fn add(&mut self, decade: usize) {
        if let Some(count) = self.0.get_mut(decade) {
            *count += 1;
        }
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: &Decades) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// (exclusive upper edge in ns, count) from the fastest decade in use to the slowest.
    pub fn in_use(&self) -> Vec<(u64, u64)> {
        let Some(first) = self.0.iter().position(|&n| n > 0) else { return Vec::new() };
        let last = self.0.iter().rposition(|&n| n > 0).unwrap_or(first);
        (first..=last).map(|d| (10u64.pow(d as u32 + 3), self.0[d])).collect()
    }
}

/// Exclusive upper edges of the decades, ns; the last one's is never reached.
const DECADE_ENDS_NS: [u64; Decades::LEN] = {
    let mut ends = [u64::MAX; Decades::LEN];
    let mut decade = 0;
    while decade + 1 < Decades::LEN {
        ends[decade] = 10u64.pow(decade as u32 + 3);
        decade += 1;
    }
    ends
};

/// The decade of each power of two.
const DECADE_OF_OCTAVE: [usize; 64] = {
    let mut decades = [0; 64];
    let mut octave = 1;
    while octave < 64 {
        let before = decades[octave - 1];
        decades[octave] = before + (1u64 << octave >= DECADE_ENDS_NS[before]) as usize;
        octave += 1;
    }
    decades
};

impl From<&Times> for FineHistogram {
    /// The same counts in the same cells.
    fn from(times: &Times) -> Self {
        let mut same = Self::default();
        times.cells().for_each(|(ns, count)| same.record_many(ns, count));
        same
    }
}

impl State for Times {
    fn put(&self, out: &mut Writer) {
        self.moments.put(out);
        FineHistogram::from(self).put(out);
        self.negative.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (moments, fine, negative) = (Moments::take(from)?, FineHistogram::take(from)?, u64::take(from)?);
        if fine.count() != moments.count() || !Counter::all(&[negative]) {
            return Err(from.no("times"));
        }
        Ok(Self { moments, histogram: histogram(fine.iter().map(|cell| (cell.to_ns, cell.count))), negative })
    }
}

crate::state::as_bytes!(Times);
crate::state::fields!("decades"; Decades { 0 } if |decades| Counter::all(&decades.0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decade_edges_are_exclusive() {
        let mut decades = Decades::default();
        for ns in [0, 999, 1_000, 9_999, 10_000, 999_999_999, 1_000_000_000] {
            decades.add(Decades::of(ns));
        }
        let in_use = decades.in_use();
        let seconds: Vec<_> = in_use.iter().filter(|&&(_, n)| n > 0).map(|&(e, n)| (e, n)).collect();
        assert_eq!(seconds, [(1_000, 2), (10_000, 2), (100_000, 1), (1_000_000_000, 1), (10_000_000_000, 1)]);
        assert_eq!(in_use.len(), 8, "empty decades between are shown");
        assert_eq!(Decades::of(u64::MAX), Decades::LEN - 1);
        assert_eq!(Decades::of(i64::MAX as u64), 16);
    }

    #[test]
    fn uniform_percentiles_are_within_a_tenth_of_a_per_cent() {
        let mut times = Times::default();
        (1..=1_000_000).for_each(|v| times.record(v * 17));
        for p in [0.1, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99] {
            let (exact, found) = (p / 100.0 * 17e6, times.percentile_ns(p).unwrap() as f64);
            assert!((found / exact - 1.0).abs() <= 1e-3, "p{p}: {found} for {exact}");
        }
        assert_eq!(times.percentile_ns(0.0), Some(17));
        assert_eq!(times.percentile_ns(100.0), Some(17_000_000));
    }

    /// Exponential by inverse transform of evenly spaced quantiles: no sampling error, closed-form percentiles.
    #[test]
    fn exponential_percentiles_match_the_closed_form() {
        let (n, mean) = (1_000_000u32, 5e6);
        let mut times = Times::default();
        for i in 0..n {
            let u = (f64::from(i) + 0.5) / f64::from(n);
            times.record((-mean * (1.0 - u).ln()).round() as i64);
        }
        for p in [1.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9] {
            let (exact, found) = (-mean * f64::ln(1.0 - p / 100.0), times.percentile_ns(p).unwrap() as f64);
            assert!((found / exact - 1.0).abs() <= 1.1e-3, "p{p}: {found} for {exact}");
        }
        let moments = times.moments();
        assert!((moments.mean_ns().unwrap() / mean - 1.0).abs() < 1e-4);
        assert!((moments.stddev_ns().unwrap() / mean - 1.0).abs() < 1e-4, "deviation of an exponential is its mean");
    }

    #[test]
    fn a_negative_time_is_counted_and_changes_nothing_else() {
        let mut times = Times::default();
        times.record(-5);
        assert_eq!((times.negative(), times.moments().count(), times.percentile_ns(50.0)), (1, 0, None));
    }

    #[test]
    fn memory_is_what_the_documents_say() {
        for (ns, kib) in [(0, 16), (10_000_000, 120), (1_000_000_000, 168), (100_000_000_000, 224), (i64::MAX, 432)] {
            let mut times = Times::default();
            times.record(ns);
            assert_eq!(times.histogram.unwrap().distinct_values() * 8 / 1024, kib, "{ns}");
        }
    }

    #[test]
    fn the_whole_range_is_taken() {
        let mut times = Times::default();
        times.record(0);
        times.record(i64::MAX);
        assert_eq!(times.percentile_ns(100.0), Some(i64::MAX as u64));
        assert_eq!(times.percentile_ns(50.0), Some(0));
    }
}

//! Sizes with unusual times compared with their neighbours: a bug, or a forgotten boundary (Poo and Tan (1988) found 1,500 bytes that
//! took longer than 39,000).

use super::Number;

/// The response time at a message size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    /// Bytes a message.
    pub bytes: f64,
    /// Mean response time, s.
    pub response: Number,
}

/// The result of comparing a size with its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The response time that its neighbours let expect: on the straight line between those below and those above, s.
    pub expected_s: f64,
    /// Whether it stands out, and how.
    pub odd: Option<Odd>,
}

/// How a size stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// It takes longer than its neighbours.
    Slower,
    /// It takes less time than its neighbours.
    Faster,
}

impl Odd {
    /// The word used in reports.
    pub fn label(self) -> &'static str {
        match self {
            Odd::Slower => "slower",
            Odd::Faster => "faster",
        }
    }
}

/// Neighbours on each side that are looked at: two may be odd themselves and one still tells.
const NEIGHBOURS: usize = 3;
/// Neighbours that each side must have.
const FEWEST: usize = 2;
/// Smallest relevant deviation, relative to the neighbours' time.
const NOTABLE: f64 = 0.10;
/// How many times the usual scatter of sizes a deviation must be.
const UNUSUAL: f64 = 5.0;
/// Standard deviations in a median of absolute deviations, of normal numbers.
const MAD: f64 = 1.4826;

/// Compares each point with its neighbours, in the order given; `None` if a point has fewer than two on a side, where a bend and an
/// unusual size look the same.
///
/// A point stands out if it lies beyond the median of the three next smaller sizes *and* beyond that of the three next larger ones, on
/// the same side, by more than a tenth and by more than five times the usual scatter; its interval, if it has one, must lie beyond them,
/// too. With a steep rise or a step no point lies beyond both.
pub fn judge_sizes(points: &[SizePoint]) -> Vec<Option<Judged>> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*a].bytes.total_cmp(&points[*b].bytes));
    let sorted: Vec<SizePoint> = order.iter().map(|at| points[*at]).collect();
    let around: Vec<Option<Around>> = (0..sorted.len()).map(|at| Around::of(&sorted, at)).collect();
    let off = |(point, around): (&SizePoint, &Option<Around>)| {
        Some((point.response.value / around.as_ref()?.expected(point.bytes) - 1.0).abs())
    };
    let scatter = MAD * median(sorted.iter().zip(&around).filter_map(off).collect()).unwrap_or(0.0);
    let mut judged = vec![None; points.len()];
    for ((at, point), around) in order.into_iter().zip(&sorted).zip(&around) {
        judged[at] = around.as_ref().map(|around| around.judge(point, scatter));
    }
    judged
}

/// The middle of the neighbours on both sides: bytes, and seconds.
struct Around {
    below: (f64, f64),
    above: (f64, f64),
}

impl Around {
    fn of(sorted: &[SizePoint], at: usize) -> Option<Around> {
        let below = sorted.get(at.saturating_sub(NEIGHBOURS)..at)?;
        let above = sorted.get(at + 1..(at + 1 + NEIGHBOURS).min(sorted.len()))?;
        let middle = |side: &[SizePoint]| {
            if side.len() < FEWEST {
                return None;
            }
            let bytes = median(side.iter().map(|point| point.bytes).collect())?;
            Some((bytes, median(side.iter().map(|point| point.response.value).collect())?))
        };
        Some(Around { below: middle(below)?, above: middle(above)? })
    }

    fn expected(&self, bytes: f64) -> f64 {
        let ((from, low), (to, high)) = (self.below, self.above);
        if to > from { low + (high - low) * (bytes - from) / (to - from) } else { f64::midpoint(low, high) }
    }

    fn judge(&self, point: &SizePoint, scatter: f64) -> Judged {
        let (low, high) = (self.below.1.min(self.above.1), self.below.1.max(self.above.1));
        let (value, limit) = (point.response.value, NOTABLE.max(UNUSUAL * scatter));
        let clear = point.response.interval;
        let slower = value > high * (1.0 + limit) && clear.is_none_or(|interval| interval.low > high);
        let faster = value < low * (1.0 - limit) && clear.is_none_or(|interval| interval.high < low);
        let odd = if slower { Some(Odd::Slower) } else { faster.then_some(Odd::Faster) };
        Judged { expected_s: self.expected(point.bytes), odd }
    }
}

/// The middle one, or the mean of the two in the middle; `None` of none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len().is_multiple_of(2) {
        f64::midpoint(*values.get(middle.checked_sub(1)?)?, upper)
    } else {
        upper
    })
}

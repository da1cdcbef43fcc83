//! The knee: the load beyond which more of it gets less done.

use super::Point;
use super::fit::{Fit, Free3};
use super::law::peak_of_square;
use crate::comparison::{Interval, half_width};

/// Different loads that a knee takes: the law has three unknowns, and two more tell how far the points scatter.
pub const FEWEST_LOADS: usize = 5;
/// Points further from the law than this, relative standard deviation, do not follow it.
const UNLIKE: f64 = 0.10;
/// A knee is accepted up to this multiple of the highest measured load.
const FARTHEST: f64 = 2.0;

/// The load at which throughput is highest, by the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// √((1 − σ) / κ), at least 1.
    pub load: f64,
    /// Holds the true one with [`crate::comparison::CONFIDENCE`].
    pub interval: Interval,
}

/// Why the position of the knee is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoKnee {
    /// Fewer than [`FEWEST_LOADS`] different loads.
    TooFew,
    /// The points are too far from the law: their relative standard deviation from it.
    Unlike(f64),
    /// Within the scatter of the points, throughput may rise forever.
    NoFall,
    /// It would be far beyond the highest load that was measured.
    Beyond,
}

impl std::fmt::Display for NoKnee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoKnee::TooFew => write!(f, "fewer than {FEWEST_LOADS} different loads with usable numbers"),
            NoKnee::Unlike(off) => write!(
                f,
                "the points deviate from the Universal Scalability Law by {:.0} % (limit {:.0} %)",
                off * 100.0,
                UNLIKE * 100.0
            ),
            NoKnee::NoFall => f.write_str("throughput does not fall significantly at these loads; raise the load"),
            NoKnee::Beyond => f.write_str("the knee is above twice the highest measured load; raise the load"),
        }
    }
}

/// The position of the knee. `fitted` is the fit of `points`.
///
/// # Errors
/// The reason why it is unknown.
pub fn knee(points: &[Point], fitted: Option<&Fit>) -> Result<Knee, NoKnee> {
    let fitted = fitted.ok_or(NoKnee::TooFew)?;
    let free = fitted.free.as_ref().ok_or(NoKnee::TooFew)?;
    if fitted.deviation > UNLIKE {
        return Err(NoKnee::Unlike(fitted.deviation));
    }
    let (load, found) = fitted.law.peak().zip(interval(free)).ok_or(NoKnee::NoFall)?;
    let highest = points.iter().filter(|point| point.is_sound()).map(|point| point.load).fold(0.0, f64::max);
    if load > FARTHEST * highest {
        return Err(NoKnee::Beyond);
    }
    // The interval knows nothing of σ, κ ≥ 0. Where they move the knee, it reaches to there.
    Ok(Knee { load, interval: Interval { low: found.low.min(load), high: found.high.max(load) } })
}

/// Fieller's interval (1954): the square of the knee is a ratio of two numbers that chance spreads evenly, (1/λ − σ/λ) over
/// κ/λ. `None` where κ may be 0, and the knee anywhere.
fn interval(free: &Free3) -> Option<Interval> {
    let Free3 { costs: [a, b, c], covariance: v, degrees } = free;
    let t2 = half_width(*degrees).powi(2);
    let (over, under) = (a - b, *c);
    let (of_over, both, of_under) = (v[0][0] - 2.0 * v[0][1] + v[1][1], v[0][2] - v[1][2], v[2][2]);
    let leading = under * under - t2 * of_under;
    // Also where it is no number.
    let bounded = under > 0.0 && leading > 0.0;
    if !bounded {
        return None;
    }
    let middle = over * under - t2 * both;
    let root = (middle * middle - leading * (over * over - t2 * of_over)).max(0.0).sqrt();
    let [low, high] = [(middle - root) / leading, (middle + root) / leading].map(peak_of_square);
    high.is_finite().then_some(Interval { low, high })
}

/// How many different numbers there are.
pub(super) fn different(numbers: impl Iterator<Item = f64>) -> usize {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers.len()
}

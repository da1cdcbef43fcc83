//! Fits the law to a curve.
//!
//! Minimises the sum of squares of ln(measured / law): the points' *relative* errors count, because the error of a throughput is roughly
//! proportional to it. N/X(N) is linear in the costs 1/λ, σ/λ and κ/λ, so each Gauss-Newton step is a linear problem. Under σ, κ ≥ 0 its
//! minimum is that of one of four choices of zero costs: all four are tried. No initial guess is needed.

use super::law::Law;
use super::solve::{Costs, Free, Squares, row, time};
use super::{Point, knee};

/// The law, and how far the curve is from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// With the least squares of all that have σ ≥ 0 and κ ≥ 0.
    pub law: Law,
    /// measured / law − 1 of every point that was given, in the same order; `None` where a point has no throughput.
    pub residuals: Vec<Option<f64>>,
    /// Standard deviation of the points from the law, relative, by the degrees of freedom that are left.
    pub deviation: f64,
    /// The costs without constraints, around which chance is symmetric: the interval of the knee comes from them.
    pub(super) free: Option<Free3>,
}

/// An unconstrained fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Free3 {
    pub(super) costs: Costs,
    pub(super) covariance: [Costs; 3],
    pub(super) degrees: f64,
}

/// Numbers that a fit gives: λ, σ and κ.
pub(super) const UNKNOWNS: usize = 3;
/// Steps, at most: a handful is usual.
const MOST_STEPS: usize = 100;
/// A step that changes less, relative, is the last.
const STILL: f64 = 1e-12;
/// Minimum relative uncertainty of a throughput, whatever the residuals of a few points: rounding.
const ROUNDING: f64 = 1e-6;

/// Fits the law to a curve. `None` where there are fewer than [`super::FEWEST_LOADS`] different loads with a throughput.
pub fn fit(points: &[Point]) -> Option<Fit> {
    let sound: Vec<(f64, f64)> =
        points.iter().filter(|point| point.is_sound()).map(|point| (point.load, point.throughput.value)).collect();
    if knee::different(sound.iter().map(|(load, _)| *load)) < knee::FEWEST_LOADS {
        return None;
    }
    let curve = Points(sound);
    let costs = curve.descend(least_sound)?;
    let law = Law { lambda: 1.0 / costs[0], sigma: costs[1] / costs[0], kappa: costs[2] / costs[0] };
    let off = |point: &Point| point.is_sound().then(|| point.throughput.value / law.throughput(point.load) - 1.0);
    let deviation = (curve.squares(&costs) / curve.degrees()).sqrt();
    Some(Fit { law, residuals: points.iter().map(off).collect(), deviation, free: curve.unconstrained() })
}

/// Loads and throughputs.
struct Points(Vec<(f64, f64)>);

impl Points {
    fn degrees(&self) -> f64 {
        self.0.len() as f64 - UNKNOWNS as f64
    }

    /// ln(measured / law), squared and added up; infinite where the law has no throughput.
    fn squares(&self, costs: &Costs) -> f64 {
        let square = |&(load, throughput): &(f64, f64)| {
            let expected = time(costs, load);
            if expected > 0.0 { (throughput * expected / load).ln().powi(2) } else { f64::INFINITY }
        };
        self.0.iter().map(square).sum()
    }

    /// The linear problem around `costs`; without costs around the measurements.
    fn around(&self, costs: Option<&Costs>) -> Squares {
        let mut squares = Squares::default();
        for &(load, throughput) in &self.0 {
            let measured = load / throughput;
            let expected = costs.map_or(measured, |costs| time(costs, load));
            let relative = row(load).map(|factor| factor / expected);
            squares.add(&relative, 1.0 - (expected / measured).ln());
        }
        squares
    }

    /// Gauss and Newton, a step halved until it helps.
    fn descend(&self, least: fn(&Squares) -> Option<Costs>) -> Option<Costs> {
        let mut costs = least(&self.around(None))?;
        let mut squares = self.squares(&costs);
        for _ in 0..MOST_STEPS {
            let wanted = least(&self.around(Some(&costs)))?;
            let between = |share: f64| -> Costs {
                let mut there = costs;
                there.iter_mut().zip(&wanted).for_each(|(from, to)| *from += share * (to - *from));
                there
            };
            let shares = std::iter::successors(Some(1.0), |share| Some(share / 2.0)).take(20);
            let better =
                shares.map(between).map(|there| (self.squares(&there), there)).find(|(found, _)| *found < squares);
            let Some((found, there)) = better else { break };
            let gained = squares - found;
            (squares, costs) = (found, there);
            if gained <= STILL * squares {
                break;
            }
        }
        squares.is_finite().then_some(costs)
    }

    fn unconstrained(&self) -> Option<Free3> {
        let costs = self.descend(|squares| squares.solve([true; 3]))?;
        let degrees = self.degrees();
        let variance = (self.squares(&costs) / degrees).max(ROUNDING * ROUNDING);
        let covariance = self.around(Some(&costs)).inverse()?.map(|row| row.map(|entry| entry * variance));
        Some(Free3 { costs, covariance, degrees })
    }
}

/// The least squares where no cost is negative and the first is not zero.
fn least_sound(squares: &Squares) -> Option<Costs> {
    const CHOICES: [Free; 4] = [[true, true, true], [true, true, false], [true, false, true], [true, false, false]];
    CHOICES
        .into_iter()
        .filter_map(|free| squares.solve(free))
        .filter(|costs| costs[0] > 0.0 && costs.iter().all(|cost| *cost >= 0.0))
        .min_by(|a, b| squares.value(a).total_cmp(&squares.value(b)))
}

//! Where throughput was highest.

use super::{Number, Point};

/// The highest throughput that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Maximum {
    /// Which point it is, from 0; the first of several.
    pub at: usize,
    /// Points whose throughput was not shown to be lower. Without points that have no interval, which cannot be compared.
    pub rivals: Vec<usize>,
}

/// The maximum of a curve; `None` where nothing was answered.
pub fn maximum(points: &[Point]) -> Option<Maximum> {
    let sound = || points.iter().enumerate().filter(|(_, point)| point.is_sound());
    // `max_by` takes the last of equals.
    let (at, best) = sound().rev().max_by(|(_, a), (_, b)| a.throughput.value.total_cmp(&b.throughput.value))?;
    let rival = |point: &Point| !shown_lower(&point.throughput, &best.throughput).unwrap_or(true);
    let rivals = sound().filter(|(place, point)| *place != at && rival(point)).map(|(place, _)| place).collect();
    Some(Maximum { at, rivals })
}

/// Whether the interval of the difference (MOVER, as [`crate::comparison::Difference`]) excludes zero; `None` without intervals.
fn shown_lower(number: &Number, best: &Number) -> Option<bool> {
    let (of, of_best) = (number.interval?, best.interval?);
    let uncertain = (best.value - of_best.low).hypot(of.high - number.value);
    Some(best.value - number.value > uncertain)
}

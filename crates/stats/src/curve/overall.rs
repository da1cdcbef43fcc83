//! One response time for a whole curve, as in SPEC's file server benchmarks.

use super::Point;

/// The area under response time against throughput, from the origin to the highest throughput, divided by that throughput; s. `None` if
/// no point has both numbers.
///
/// Points are taken in the order of their loads. A point whose throughput is not higher than that of a previous one is left out, so the
/// last point is the peak. The curve is linear between neighbours (trapezoids), and starts at the origin: no load, no time.
pub fn overall_response_time(points: &[Point]) -> Option<f64> {
    let mut known: Vec<(f64, f64, f64)> = points
        .iter()
        .filter(|point| point.is_sound())
        .filter_map(|point| Some((point.load, point.throughput.value, point.response?.value)))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut area, mut from) = (0.0, (0.0, 0.0));
    for (_, throughput, response) in known {
        if throughput > from.0 {
            area += (throughput - from.0) * (from.1 + response) / 2.0;
            from = (throughput, response);
        }
    }
    (from.0 > 0.0).then(|| area / from.0)
}

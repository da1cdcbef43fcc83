//! Static pictures: SVG in the page itself, for readers without scripts and for paper. Colours are classes of
//! `assets/page.css`.

use super::distribution::{edge, exponent};
use super::units::{count, duration};
use crate::findings::{HeatMap, OperationRow};
use maud::{Markup, html};
use std::fmt::Write as _;

/// The canvas: 960 × 280, with room for the axes' labels.
pub(super) const VIEW_BOX: &str = "0 0 960 280";
const LEFT: f64 = 76.0;
const RIGHT: f64 = 932.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 246.0;

/// Steps of the heat map's colour scale; `h0` to `h9` in the style sheet.
const HEAT_STEPS: u32 = 10;
/// More bins than this could not be told apart on paper; the highest of those that fall together is drawn.
const POINTS: usize = 856;

/// A line over time, a value a bin.
pub(super) struct Line<'a> {
    pub(super) values: &'a [Option<f64>],
}

/// Lines over bins of `bin_s` seconds, from nought up; none without a bin.
pub(super) fn over_time(lines: &[Line<'_>], bin_s: f64, unit: &str) -> Option<Markup> {
    let bins = lines.iter().map(|line| line.values.len()).max().filter(|n| *n > 0)?;
    let end = bins as f64 * bin_s;
    let top = lines.iter().flat_map(|line| line.values.iter().flatten()).copied().fold(0.0, f64::max);
    if !(end > 0.0 && end.is_finite() && top.is_finite()) {
        return None;
    }
    let step = nice_step(if top > 0.0 { top } else { 1.0 }, 4.0);
    let top = (top / step).ceil().max(1.0) * step;
    let y = |value: f64| BOTTOM - value / top * (BOTTOM - TOP);
    let ticks = steps(top, step).map(|v| (y(v), decimal(v, step))).collect::<Vec<_>>();
    Some(html! {
        (y_axis(&ticks, unit))
        (time_axis(end))
        @for (i, line) in lines.iter().enumerate() {
            path class={ "line s" (i) } d=(outline(line.values, bins, y)) {}
        }
    })
}

/// Path through the bins' middles, interrupted where there is no value.
fn outline(values: &[Option<f64>], bins: usize, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    let together = bins.div_ceil(POINTS).max(1);
    for (i, chunk) in values.chunks(together).enumerate() {
        let Some(value) = chunk.iter().flatten().copied().reduce(f64::max) else {
            pen_down = false;
            continue;
        };
        let middle = ((i * together) as f64 + chunk.len() as f64 / 2.0) / bins as f64;
        let _ = write!(path, "{}{:.1} {:.1}", if pen_down { 'L' } else { 'M' }, x(middle), y(value));
        if !pen_down {
            // A dot, so that a lone bin shows.
            path.push_str("h.1");
        }
        pen_down = true;
    }
    path
}

/// Time × latency, the logarithm of the count as colour; none where the map has no extent.
pub(super) fn heat_map(map: &HeatMap) -> Option<Markup> {
    let (low, high) = (lowest_edge(map)?, *map.edges_s.last()?);
    let scale = LogScale::new(low, high)?;
    let most = map.cells.iter().map(|cell| cell.2).max()?;
    let end = f64::from(map.columns) * map.column_s;
    if !(end > 0.0 && end.is_finite()) {
        return None;
    }
    let mut cells = map.cells.clone();
    cells.sort_unstable_by_key(|(column, row, _)| (*row, *column));
    let mut paths = vec![String::new(); HEAT_STEPS as usize];
    // Neighbours of one colour in a row are one rectangle.
    for run in
        cells.chunk_by(|a, b| a.1 == b.1 && a.0.checked_add(1) == Some(b.0) && heat(a.2, most) == heat(b.2, most))
    {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let row = first.1 as usize;
        let (Some(bottom), Some(top)) = (map.edges_s.get(row), map.edges_s.get(row + 1)) else { continue };
        let (y0, y1) = (scale.y(top.max(low)), scale.y(bottom.max(low)));
        let (x0, x1) =
            (x(f64::from(first.0) / f64::from(map.columns)), x((f64::from(last.0) + 1.0) / f64::from(map.columns)));
        if let Some(path) = paths.get_mut(heat(first.2, most) as usize) {
            let _ = write!(path, "M{x0:.1} {y0:.1}H{x1:.1}V{y1:.1}H{x0:.1}z");
        }
    }
    Some(html! {
        (y_axis(&scale.ticks(), ""))
        (time_axis(end))
        @for (i, path) in paths.iter().enumerate() { @if !path.is_empty() { path class={ "h" (i) } d=(path) {} } }
        g.axis { text x=(RIGHT - 4.0) y=(TOP + 14.0) text-anchor="end" { "strongest colour: " (count(most)) " operations" } }
    })
}

/// Which of the colours a count has, on a logarithmic scale.
fn heat(n: u64, most: u64) -> u32 {
    if most <= 1 {
        return HEAT_STEPS - 1;
    }
    let share = (n.max(1) as f64).ln() / (most as f64).ln();
    ((share * f64::from(HEAT_STEPS)) as u32).min(HEAT_STEPS - 1)
}

/// The lowest edge that a logarithmic scale can show: a first row that begins at nought is drawn as one decade.
fn lowest_edge(map: &HeatMap) -> Option<f64> {
    let first = *map.edges_s.first()?;
    Some(if first > 0.0 { first } else { *map.edges_s.get(1)? / 10.0 })
}

/// A curve for each row: response time over rarity.
pub(super) fn percentiles(rows: &[&OperationRow]) -> Option<Markup> {
    let curves: Vec<Vec<(f64, f64)>> = rows.iter().map(|row| curve(row)).collect();
    let points = || curves.iter().flatten();
    let scale = LogScale::new(
        points().map(|p| p.1).filter(|s| *s > 0.0).reduce(f64::min)?,
        points().map(|p| p.1).reduce(f64::max)?,
    )?;
    let end = points().map(|p| p.0).fold(1.0, f64::max);
    let lines = curves.iter().map(|points| {
        let mut path = String::new();
        for (u, s) in points.iter().filter(|p| p.1 > 0.0) {
            let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { 'M' } else { 'L' }, x(u / end), scale.y(*s));
        }
        path
    });
    let ticks = [
        (0.0, "0 %"),
        (2_f64.log10(), "50 %"),
        (1.0, "90 %"),
        (2.0, "99 %"),
        (3.0, "99.9 %"),
        (4.0, "99.99 %"),
        (5.0, "99.999 %"),
    ];
    Some(html! {
        (y_axis(&scale.ticks(), ""))
        @for (u, label) in ticks.iter().filter(|tick| tick.0 <= end) { (x_tick(x(u / end), label)) }
        @for (i, path) in lines.enumerate() { path class={ "line s" (i) } d=(path) {} }
    })
}

/// Rarity (0 at 0 %, 1 at 90 %, 2 at 99 %) and response time. The slowest of n stands where one in n is.
fn curve(row: &OperationRow) -> Vec<(f64, f64)> {
    let rarest = row.response_time.map_or(1.0, |t| (t.count as f64).log10()).max(0.0);
    let mut u = 0.0_f64;
    let mut curve = Vec::with_capacity(row.percentiles.len());
    for point in &row.percentiles {
        let rarity = if point.percentile < 100.0 { -(1.0 - point.percentile / 100.0).log10() } else { rarest };
        u = u.max(rarity.min(rarest));
        curve.push((u, point.value_s));
    }
    curve
}

/// Bars in groups, a group of bars a decade.
pub(super) fn decades(rows: &[&OperationRow]) -> Option<Markup> {
    let used = || rows.iter().flat_map(|row| &row.distribution).filter_map(exponent);
    let (low, high) = (used().min()?, used().max()?);
    let width = (RIGHT - LEFT) / f64::from(high - low + 1);
    let bar = width * 0.84 / rows.len().max(1) as f64;
    let height = |share: f64| share * (BOTTOM - TOP);
    let ticks: Vec<_> = (0..=4).map(|i| (BOTTOM - height(f64::from(i) / 4.0), format!("{} %", i * 25))).collect();
    Some(html! {
        (y_axis(&ticks, ""))
        @for decade in low..=high {
            (x_tick(LEFT + (f64::from(decade - low) + 0.5) * width, &format!("< {}", edge(decade))))
        }
        @for (i, row) in rows.iter().enumerate() {
            @let total = row.distribution.iter().map(|b| b.count as f64).sum::<f64>();
            @for bucket in &row.distribution { @if let Some(decade) = exponent(bucket) { @if bucket.count > 0 {
                @let tall = height(bucket.count as f64 / total).max(0.8);
                rect class={ "fill s" (i) } x=(format!("{:.1}", LEFT + (f64::from(decade - low) + 0.08) * width + i as f64 * bar))
                    y=(format!("{:.1}", BOTTOM - tall)) width=(format!("{:.1}", (bar - 1.0).max(0.5))) height=(format!("{tall:.1}")) {}
            } } }
        }
    })
}

/// A logarithmic axis of whole decades.
struct LogScale {
    low: f64,
    high: f64,
}

impl LogScale {
    fn new(min: f64, max: f64) -> Option<LogScale> {
        let (low, high) = (min.log10().floor(), max.log10().ceil());
        (low.is_finite() && high.is_finite()).then(|| LogScale { low, high: high.max(low + 1.0) })
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (value.log10() - self.low) / (self.high - self.low) * (BOTTOM - TOP)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        (self.low as i32..=self.high as i32).map(|e| (self.y(10_f64.powi(e)), edge(e))).collect()
    }
}

fn x(share: f64) -> f64 {
    LEFT + share * (RIGHT - LEFT)
}

fn y_axis(ticks: &[(f64, String)], unit: &str) -> Markup {
    html! {
        g.axis { @for (y, label) in ticks {
            path d=(format!("M{LEFT} {y:.1}H{RIGHT}")) {}
            text x=(LEFT - 8.0) y=(format!("{:.1}", y + 4.0)) text-anchor="end" { (label) @if !unit.is_empty() { " " (unit) } }
        } }
    }
}

fn x_tick(x: f64, label: &str) -> Markup {
    html! {
        g.axis {
            path d=(format!("M{x:.1} {BOTTOM}v5")) {}
            text x=(format!("{x:.1}")) y=(BOTTOM + 20.0) text-anchor="middle" { (label) }
        }
    }
}

/// Seconds since the capture began.
fn time_axis(end: f64) -> Markup {
    let step = nice_step(end, 8.0);
    html! { @for t in steps(end, step) { (x_tick(x(t / end), &if t > 0.0 { duration(t) } else { "0 s".into() })) } }
}

/// A step of 1, 2 or 5 times a power of ten, about `parts` of which make `full`.
fn nice_step(full: f64, parts: f64) -> f64 {
    let power = 10_f64.powf((full / parts).log10().floor());
    let wanted = full / parts / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|m| wanted <= *m).unwrap_or(10.0)
}

fn steps(full: f64, step: f64) -> impl Iterator<Item = f64> {
    // A nice step fits at most ten times.
    (0..=10).map(move |i| f64::from(i) * step).take_while(move |v| *v <= full * 1.000_001)
}

fn decimal(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(nice_step(651.8, 8.0), 100.0);
        assert_eq!(nice_step(8.0, 4.0), 2.0);
        assert_eq!(steps(1.0, 0.25).count(), 5);
        assert_eq!(decimal(0.25, 0.05), "0.25");
    }

    #[test]
    fn heat_spans_the_scale() {
        assert_eq!(heat(1, 1), HEAT_STEPS - 1);
        assert_eq!(heat(1, 1000), 0);
        assert_eq!(heat(1000, 1000), HEAT_STEPS - 1);
        assert_eq!(heat(0, 1000), 0);
    }
}

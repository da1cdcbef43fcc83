//! Static pictures: SVG in the page itself, for readers without scripts and for paper. Colours are classes of
//! `assets/page.css`.

mod axis;

use super::chart::{Chart, Series, Shape, lowest_edge};
use super::units::count;
use super::untrusted::Untrusted;
use crate::findings::HeatMap;
use maud::{Markup, html};
use std::fmt::Write as _;

/// The canvas: 960 × 290, with room for the axes' labels.
pub(super) const VIEW_BOX: &str = "0 0 960 290";
const LEFT: f64 = 76.0;
const RIGHT: f64 = 932.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 246.0;

/// Steps of the heat map's colour scale; `h0` to `h9` in the style sheet.
const HEAT_STEPS: u32 = 10;
/// Colours of series; `s0` to `s8` in the style sheet.
pub(super) const COLORS: usize = 9;
/// Maximum number of bins that are distinguishable on paper; of bins that coincide, the highest is drawn.
const POINTS: usize = 856;
/// Half the length of the strokes that end a range.
const SERIF: f64 = 5.0;

/// A chart as the inside of an `svg` element with [`VIEW_BOX`].
pub(super) fn draw(chart: &Chart<'_>) -> Markup {
    let bars = chart.series.iter().filter(|series| series.shape == Shape::Bars).count();
    html! {
        (axis::both(&chart.x, &chart.y))
        @for (place, series) in chart.series.iter().enumerate() {
            @match series.shape {
                Shape::Line => (line(chart, series)),
                Shape::Curve => (curve(chart, series)),
                // A chart with bars contains only bars.
                Shape::Bars => (bars_of(chart, series, place, bars)),
                Shape::Range => (ranges(chart, series)),
                Shape::Cells => @if let Some(map) = series.cells { (cells(chart, map)) },
            }
        }
        @for mark in &chart.x.marks {
            @if let Some(x) = chart.right(mark.at) {
                g.step {
                    path d=(format!("M{x:.1} {TOP}V{BOTTOM}")) {}
                    @let (x, y) = (if mark.upright { x + 4.0 } else { x + 3.0 }, if mark.upright { TOP + 4.0 } else { TOP + 28.0 });
                    text x=(format!("{x:.1}")) y=(y) transform=[mark.upright.then(|| format!("rotate(90 {x:.1} {y})"))] { (Untrusted(&mark.name)) }
                }
            }
        }
    }
}

impl Chart<'_> {
    fn right(&self, value: f64) -> Option<f64> {
        self.x.share(value).map(|share| LEFT + share * (RIGHT - LEFT))
    }

    fn up(&self, value: f64) -> Option<f64> {
        self.y.share(value).map(|share| BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP))
    }

    fn points<'s>(&'s self, series: &'s Series<'_>) -> impl Iterator<Item = Option<(f64, f64)>> + 's {
        series.x.iter().zip(&series.y).map(|(x, y)| Some((self.right(*x)?, self.up((*y)?)?)))
    }
}

/// Path through the points, interrupted where there is no value.
fn line(chart: &Chart<'_>, series: &Series<'_>) -> Markup {
    let points: Vec<_> = chart.points(series).collect();
    let mut path = String::new();
    let mut pen_down = false;
    for chunk in points.chunks(points.len().div_ceil(POINTS).max(1)) {
        // Higher values lie further up, at smaller numbers.
        let Some((x, y)) = chunk.iter().flatten().copied().reduce(|a, b| if b.1 < a.1 { b } else { a }) else {
            pen_down = false;
            continue;
        };
        let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { 'L' } else { 'M' });
        if !pen_down {
            // A dot, so that a lone point shows.
            path.push_str("h.1");
        }
        pen_down = true;
    }
    html! { path class={ "line s" (series.color % COLORS) } d=(path) {} }
}

/// A band from low to high, the line, and a mark at each point.
fn curve(chart: &Chart<'_>, series: &Series<'_>) -> Markup {
    let color = series.color % COLORS;
    let edge = |of: &[f64]| -> Vec<String> {
        let points = series.x.iter().zip(of).filter_map(|(x, v)| Some((chart.right(*x)?, chart.up(*v)?)));
        points.map(|(x, y)| format!("{x:.1} {y:.1}")).collect()
    };
    let (low, mut high) = (edge(&series.low), edge(&series.high));
    // The band of a curve that turns back would fold over itself: an upright stroke at each point.
    let strokes = (series.turns_back() && !low.is_empty())
        .then(|| low.iter().zip(&high).map(|(low, high)| format!("M{low}L{high}")));
    let strokes: Option<String> = strokes.map(Iterator::collect);
    high.reverse();
    html! {
        @if let Some(strokes) = strokes { path class={ "line s" (color) } d=(strokes) {} }
        @else if !low.is_empty() { path class={ "band s" (color) } d={ "M" (low.join("L")) "L" (high.join("L")) "z" } {} }
        (line(chart, series))
        @for (x, y) in chart.points(series).flatten() {
            circle class={ "fill s" (color) } cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="3.5" {}
        }
    }
}

/// Number `place` of `all` bars, side by side at every name.
fn bars_of(chart: &Chart<'_>, series: &Series<'_>, place: usize, all: usize) -> Markup {
    let room = (RIGHT - LEFT) / chart.x.names.len().max(1) as f64;
    let width = room * 0.84 / all.max(1) as f64;
    let left = |x: f64| x - room * 0.42 + place as f64 * width;
    html! {
        @for (x, y) in chart.points(series).flatten() {
            @let tall = (BOTTOM - y).max(0.8);
            rect class={ "fill s" (series.color % COLORS) } x=(format!("{:.1}", left(x))) y=(format!("{:.1}", BOTTOM - tall))
                width=(format!("{:.1}", (width - 1.0).max(0.5))) height=(format!("{tall:.1}")) {}
        }
    }
}

fn ranges(chart: &Chart<'_>, series: &Series<'_>) -> Markup {
    let color = series.color % COLORS;
    let ends = series.low.iter().zip(&series.high).map(|(low, high)| Some((chart.up(*low)?, chart.up(*high)?)));
    let mut path = String::new();
    for (point, ends) in chart.points(series).zip(ends) {
        if let (Some((x, _)), Some((low, high))) = (point, ends) {
            let (left, width) = (x - SERIF, 2.0 * SERIF);
            let _ = write!(path, "M{left:.1} {low:.1}h{width}M{x:.1} {low:.1}V{high:.1}M{left:.1} {high:.1}h{width}");
        }
    }
    html! {
        path class={ "line s" (color) } d=(path) {}
        @for (x, y) in chart.points(series).flatten() {
            circle class={ "fill s" (color) } cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="4" {}
        }
    }
}

/// Time × latency, the logarithm of the count as colour: a path a colour.
fn cells(chart: &Chart<'_>, map: &HeatMap) -> Markup {
    let most = map.cells.iter().map(|cell| cell.2).max().unwrap_or(0);
    let mut edges = map.edges_s.clone();
    if let (Some(first), Some(lowest)) = (edges.first_mut(), lowest_edge(map)) {
        *first = lowest;
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
        let (Some(low), Some(high)) = (edges.get(row), row.checked_add(1).and_then(|row| edges.get(row))) else {
            continue;
        };
        let (from, to) = (f64::from(first.0) * map.column_s, (f64::from(last.0) + 1.0) * map.column_s);
        let (Some(left), Some(right)) = (chart.right(from), chart.right(to)) else { continue };
        let (Some(bottom), Some(top)) = (chart.up(*low), chart.up(*high)) else { continue };
        if let Some(path) = paths.get_mut(heat(first.2, most) as usize) {
            let _ = write!(path, "M{left:.1} {bottom:.1}H{right:.1}V{top:.1}H{left:.1}z");
        }
    }
    html! {
        @for (i, path) in paths.iter().enumerate() { @if !path.is_empty() { path class={ "h" (i) } d=(path) {} } }
        g.axis { text x=(RIGHT - 4.0) y=(TOP + 14.0) text-anchor="end" { "strongest colour: " (count(most)) " operations" } }
    }
}

/// Which of the colours a count has, on a logarithmic scale.
fn heat(n: u64, most: u64) -> u32 {
    if most <= 1 {
        return HEAT_STEPS - 1;
    }
    let share = (n.max(1) as f64).ln() / (most as f64).ln();
    ((share * f64::from(HEAT_STEPS)) as u32).min(HEAT_STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_spans_the_scale() {
        assert_eq!(heat(1, 1), HEAT_STEPS - 1);
        assert_eq!(heat(1, 1000), 0);
        assert_eq!(heat(1000, 1000), HEAT_STEPS - 1);
        assert_eq!(heat(0, 1000), 0);
    }
}

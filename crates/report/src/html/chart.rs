//! The content of a chart, defined once: `picture` draws it as SVG for paper and readers without scripts, `assets/page.js` draws the same
//! numbers, embedded as JSON, on a canvas.

use crate::findings::HeatMap;
use serde::Serialize;

/// About as many ticks stand on an axis that goes up, and on one to the right.
pub(super) const TICKS_UP: f64 = 4.0;
pub(super) const TICKS_RIGHT: f64 = 8.0;

/// One chart.
#[derive(Debug, Serialize)]
pub(super) struct Chart<'a> {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series<'a>>,
}

impl Chart<'_> {
    /// Whether there is anything to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.y.iter().all(Option::is_none) && series.cells.is_none())
    }
}

/// How places on an axis follow numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scale {
    Linear,
    Log,
    /// Seconds since the start, linear.
    Time,
    /// −log₁₀ of the share that was slower: 0 at 0 %, 1 at 90 %, 2 at 99 %.
    Rarity,
    /// Equal places for names; a number is a place, from 0.
    Names,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    /// A plain number, thousands grouped.
    Count,
    /// Seconds, in the unit that suits.
    Seconds,
    /// A rate, 1/s.
    PerSecond,
    /// Bytes a second, in the unit that suits.
    BytesPerSecond,
    /// Bits a second, likewise.
    BitsPerSecond,
    /// 0 to 100.
    Percent,
    /// A number without unit.
    Ratio,
}

/// An axis and its extent.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Axis {
    pub(super) scale: Scale,
    pub(super) unit: Unit,
    /// Its title; empty if the labels are enough.
    pub(super) name: String,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The places of [`Scale::Names`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<String>,
    /// [`Scale::Time`]: the instant of 0, ns since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_ns: Option<i64>,
    /// Places that are marked from the bottom to the top.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) marks: Vec<Mark>,
}

/// A place on an axis that something begins at.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Mark {
    pub(super) at: f64,
    /// Empty where there is no room for it.
    pub(super) name: String,
    /// The name goes down along the line, for there is no room for it beside the next one.
    pub(super) upright: bool,
}

impl Axis {
    /// From 0 up to a round number above `highest`; `None` where that is no number.
    pub(super) fn linear(unit: Unit, name: &str, highest: f64) -> Option<Axis> {
        Axis::from_nought(unit, name, highest, TICKS_UP)
    }

    /// The same for an axis to the right, which has room for more numbers.
    pub(super) fn linear_right(unit: Unit, name: &str, highest: f64) -> Option<Axis> {
        Axis::from_nought(unit, name, highest, TICKS_RIGHT)
    }

    fn from_nought(unit: Unit, name: &str, highest: f64, ticks: f64) -> Option<Axis> {
        if !highest.is_finite() {
            return None;
        }
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let step = nice_step(highest, ticks);
        let high = (highest / step - 1e-9).ceil().max(1.0) * step;
        Some(Axis::of(Scale::Linear, unit, name, (0.0, high)))
    }

    /// Round numbers around all `values` and 0; `None` without values.
    pub(super) fn signed(unit: Unit, name: &str, values: impl Iterator<Item = f64>) -> Option<Axis> {
        let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let step = nice_step(high - low, TICKS_UP);
        (low < high && step.is_finite())
            .then(|| Axis::of(Scale::Linear, unit, name, ((low / step).floor() * step, (high / step).ceil() * step)))
    }

    /// Whole decades around all positive `values`; `None` without any.
    pub(super) fn log(unit: Unit, name: &str, values: impl Iterator<Item = f64>) -> Option<Axis> {
        let positive = values.filter(|value| *value > 0.0 && value.is_finite());
        let (min, max) = positive.fold((f64::INFINITY, 0.0_f64), |(min, max), v| (min.min(v), max.max(v)));
        let (low, high) = ((min.log10() + 1e-9).floor(), (max.log10() - 1e-9).ceil());
        // f64 covers about 600 decades: every finite number is finite on the axis too.
        (low.is_finite() && high.is_finite())
            .then(|| Axis::of(Scale::Log, unit, name, (10_f64.powf(low), 10_f64.powf(high.max(low + 1.0)))))
    }

    /// Seconds since `start_ns`, up to `end` s.
    pub(super) fn time(start_ns: i64, end: f64) -> Option<Axis> {
        (end > 0.0 && end.is_finite()).then(|| Axis {
            start_ns: Some(start_ns),
            ..Axis::of(Scale::Time, Unit::Seconds, "since the start", (0.0, end))
        })
    }

    /// Rarity up to one in 10^`high`.
    pub(super) fn rarity(name: &str, high: f64) -> Axis {
        Axis::of(Scale::Rarity, Unit::Percent, name, (0.0, high.max(1.0)))
    }

    /// A place for each name.
    pub(super) fn names(names: Vec<String>) -> Axis {
        let high = names.len() as f64 - 0.5;
        Axis { names, ..Axis::of(Scale::Names, Unit::Count, "", (-0.5, high)) }
    }

    /// Shares in per cent, 0 to 100.
    pub(super) fn percent(name: &str) -> Axis {
        Axis::of(Scale::Linear, Unit::Percent, name, (0.0, 100.0))
    }

    /// From `low` to `high`, without names and marks.
    pub(super) fn of(scale: Scale, unit: Unit, name: &str, (low, high): (f64, f64)) -> Axis {
        Axis { scale, unit, name: name.into(), low, high, names: vec![], start_ns: None, marks: vec![] }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    /// A line through the points, interrupted where y is null.
    Line,
    /// A line through points that are marked; low to high stand as a band behind it.
    Curve,
    /// A bar from 0 to y.
    Bars,
    /// A mark at y, and a line from low to high.
    Range,
    /// Cells of a heat map.
    Cells,
}

/// Numbers that are drawn in one colour and hidden together.
#[derive(Debug, Serialize)]
pub(super) struct Series<'a> {
    pub(super) name: String,
    pub(super) shape: Shape,
    /// Number of the colour: `s0` to `s8` in the style sheet, and round again.
    pub(super) color: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) x: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) y: Vec<Option<f64>>,
    /// Lower and upper end of the band around each y; as many as y, or none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) low: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) high: Vec<f64>,
    /// The meaning of the band: "p50 to p95".
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) between: String,
    /// The labels of the points; as many as y, or none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) labels: Vec<String>,
    /// Number of values for each y; as many as y, or none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) counts: Vec<u64>,
    /// Whether the area below the line is tinted.
    pub(super) filled: bool,
    /// The heat map as a JSON pointer into the report in the page, so that the page contains its cells only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) map: Option<String>,
    #[serde(skip)]
    pub(super) cells: Option<&'a HeatMap>,
}

impl<'a> Series<'a> {
    /// Whether some point lies left of the previous one, as when throughput falls under more load.
    pub(super) fn turns_back(&self) -> bool {
        self.x.windows(2).any(|pair| matches!(pair, [before, x] if x < before))
    }

    /// The highest number of several, at least 0.
    pub(super) fn highest(all: &[Series<'_>]) -> f64 {
        all.iter().flat_map(|series| series.y.iter().flatten()).copied().fold(0.0, f64::max)
    }

    /// A series without numbers yet.
    pub(super) fn new(name: impl Into<String>, shape: Shape, color: usize) -> Series<'a> {
        Series {
            name: name.into(),
            shape,
            color,
            x: vec![],
            y: vec![],
            low: vec![],
            high: vec![],
            between: String::new(),
            labels: vec![],
            counts: vec![],
            filled: false,
            map: None,
            cells: None,
        }
    }

    /// The cells of `map`, which stands at `pointer` in the page's report.
    pub(super) fn cells(map: &'a HeatMap, pointer: String) -> Series<'a> {
        Series { map: Some(pointer), cells: Some(map), ..Series::new(map.group.clone(), Shape::Cells, 0) }
    }
}

/// The lowest edge that a logarithmic scale can show: a first row that begins at nought is drawn as one decade.
pub(super) fn lowest_edge(map: &HeatMap) -> Option<f64> {
    let first = *map.edges_s.first()?;
    Some(if first > 0.0 { first } else { *map.edges_s.get(1)? / 10.0 })
}

/// A step of 1, 2 or 5 times a power of ten; about `parts` steps make `full`.
pub(super) fn nice_step(full: f64, parts: f64) -> f64 {
    let power = 10_f64.powf((full / parts).log10().floor());
    let wanted = full / parts / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|m| wanted <= *m).unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let high = |highest| Axis::linear(Unit::Count, "", highest).map(|axis| axis.high);
        assert_eq!(high(1.0), Some(1.0));
        assert_eq!(high(651.8), Some(800.0));
        assert_eq!(high(0.0), Some(1.0));
        assert_eq!(high(f64::INFINITY), None);
        let log = Axis::log(Unit::Seconds, "", [0.0, 0.002, 0.1].into_iter()).map(|axis| (axis.low, axis.high));
        assert_eq!(log, Some((0.001, 0.1)));
        assert!(Axis::log(Unit::Seconds, "", [0.0].into_iter()).is_none());
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(nice_step(651.8, 8.0), 100.0);
        assert_eq!(nice_step(8.0, 4.0), 2.0);
    }
}

//! Differences with their intervals, and the numbers of all sides at every load level.

use crate::findings::Findings;
use crate::findings::comparison::{ComparedLevel, ComparedMetric, ComparedRow, Comparison, Estimate};
use crate::html::chart::{Axis, Chart, Series, Shape, Unit};
use crate::html::figure::Figure;

/// The metrics whose differences are drawn.
const DRAWN: [&str; 3] = ["throughput", "mean", "p99"];

pub(super) fn figures<'a>(sides: &'a [Findings], comparison: &'a Comparison) -> Vec<Figure<'a>> {
    let across = |id, title, explanation, metric, unit| {
        Across { id, title, explanation, group: None, metric, unit, times: 1.0 }.figure(sides, comparison)
    };
    let throughput = "Operations per second of each side at each load level, with the confidence interval.";
    let mean = "Mean response time of each side at each load level, with the confidence interval.";
    [
        differences(sides, comparison),
        across("compared-throughput", "Throughput", throughput, "throughput", Unit::PerSecond),
        across("compared-mean", "Mean response time", mean, "mean", Unit::Seconds),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Relative differences from the baseline, a chart a level and a series a side.
fn differences<'a>(sides: &[Findings], comparison: &'a Comparison) -> Option<Figure<'a>> {
    // A mark beside zero looks like a verdict.
    let usable = comparison.levels.iter().filter(|level| level.invalid.is_empty());
    let charts = usable.filter_map(|level| {
        let metrics: Vec<(&ComparedRow, &ComparedMetric)> = level
            .rows
            .iter()
            .filter(|row| row.scope == "all" || row.scope == "group")
            .flat_map(|row| row.metrics.iter().map(move |metric| (row, metric)))
            .filter(|(_, metric)| DRAWN.contains(&metric.metric.as_str()))
            .collect();
        let others = sides.iter().skip(1).enumerate();
        let series: Vec<Series<'a>> = others.map(|(i, other)| ranges(&metrics, i, &other.letter)).collect();
        let ends = || series.iter().flat_map(|series| series.low.iter().chain(&series.high)).copied();
        let y = Axis::signed(Unit::Percent, "difference from the baseline", ends())?;
        let names = metrics.iter().map(|(row, metric)| format!("{} {}", row.name, metric.metric)).collect();
        Some((level.level_name.clone(), Chart { x: Axis::names(names), y, series }))
    });
    Figure {
        id: "differences-chart",
        title: "Differences from the baseline",
        explanation: "Each mark is a difference in per cent of the baseline, with its interval. An interval that contains 0 \
        shows no difference. Higher is better for throughput, lower for times.",
        summary: "Differences from the baseline with their intervals; the numbers are in the tables below.".into(),
        choose: "At",
        charts: charts.collect(),
    }
    .if_any()
}

fn ranges<'a>(metrics: &[(&ComparedRow, &ComparedMetric)], place: usize, letter: &str) -> Series<'a> {
    let mut series = Series { between: "Interval".into(), ..Series::new(letter, Shape::Range, place + 1) };
    for (x, (row, metric)) in metrics.iter().enumerate() {
        let Some(difference) = metric.differences.get(place).and_then(Option::as_ref) else { continue };
        let (Some(value), Some(low), Some(high)) =
            (difference.relative, difference.relative_low, difference.relative_high)
        else {
            continue;
        };
        series.x.push(x as f64);
        series.y.push(Some(value * 100.0));
        series.low.push(low * 100.0);
        series.high.push(high * 100.0);
        series.labels.push(format!("{letter}: {} {}, {}", row.name, metric.metric, difference.verdict.label()));
    }
    series
}

/// The levels of one load curve. A line connects only points of one curve: other block sizes are other curves.
struct LevelsOfCurve<'a> {
    name: String,
    levels: Vec<&'a ComparedLevel>,
}

/// The levels by their curve, in its order; all together if the curves are unknown.
fn curves<'a>(sides: &[Findings], comparison: &'a Comparison) -> Vec<LevelsOfCurve<'a>> {
    let own = || sides.iter().flat_map(|side| &side.levels);
    let mut curves: Vec<LevelsOfCurve<'a>> = Vec::new();
    for level in &comparison.levels {
        let name = own().find(|one| one.words() == level.level_name).and_then(|one| one.facts.curve.clone());
        let name = name.unwrap_or_default();
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.levels.push(level),
            None => curves.push(LevelsOfCurve { name, levels: vec![level] }),
        }
    }
    curves
}

/// A place for each level. Where all are numbers of the same, the axis says of what.
fn loads(all: &[&ComparedLevel]) -> Axis {
    let levels = || all.iter().map(|level| level.level_name.split(", ").next().unwrap_or_default());
    let parts: Vec<(&str, &str)> = levels().filter_map(|level| level.split_once(' ')).collect();
    let (what, one) = parts.last().map_or(("", ""), |(_, what)| (*what, what.trim_end_matches('s')));
    let counts = |(number, of): &(&str, &str)| number.parse::<f64>().is_ok() && of.trim_end_matches('s') == one;
    if parts.len() == all.len() && parts.iter().all(counts) {
        let names = parts.iter().map(|(number, _)| (*number).to_owned()).collect();
        return Axis { name: what.to_owned(), ..Axis::names(names) };
    }
    Axis::names(levels().map(str::to_owned).collect())
}

/// A number of every side over the load levels.
pub(super) struct Across {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) explanation: &'static str,
    /// Of this group, or of all operations together.
    pub(super) group: Option<&'static str>,
    pub(super) metric: &'static str,
    pub(super) unit: Unit,
    /// Factor from the number to `unit`.
    pub(super) times: f64,
}

impl Across {
    /// Drawn; only where there are several levels.
    pub(super) fn figure<'a>(&self, sides: &[Findings], comparison: &'a Comparison) -> Option<Figure<'a>> {
        let chart = |curve: &LevelsOfCurve<'a>| {
            let series: Vec<Series<'a>> =
                sides.iter().enumerate().map(|(i, side)| self.series(curve, i, side)).collect();
            let highest = series.iter().flat_map(|series| &series.high).copied().fold(0.0, f64::max);
            let chart = Chart { x: loads(&curve.levels), y: Axis::linear(self.unit, self.title, highest)?, series };
            Some((curve.name.clone(), chart))
        };
        let summary = format!("{} at each load level; the numbers are in the table.", self.title);
        let curves = curves(sides, comparison);
        let charts = curves.iter().filter(|curve| curve.levels.len() > 1).filter_map(chart).collect();
        let (id, title, explanation) = (self.id, self.title, self.explanation);
        Figure { id, title, explanation, summary, choose: "Curve", charts }.if_any()
    }

    fn series<'a>(&self, curve: &LevelsOfCurve<'_>, place: usize, side: &Findings) -> Series<'a> {
        let of = |(x, level): (usize, &&ComparedLevel)| {
            let estimate = level.number(self.group, self.metric)?.estimates.get(place)?.clone()?;
            Some((x as f64, level.level_name.clone(), estimate))
        };
        let points: Vec<(f64, String, Estimate)> = curve.levels.iter().enumerate().filter_map(of).collect();
        // Without an interval the band is as thin as the line.
        let end = |pick: fn(&Estimate) -> Option<f64>| {
            points.iter().map(|(_, _, one)| pick(one).unwrap_or(one.value) * self.times).collect()
        };
        Series {
            x: points.iter().map(|point| point.0).collect(),
            y: points.iter().map(|point| Some(point.2.value * self.times)).collect(),
            low: end(|one| one.low),
            high: end(|one| one.high),
            between: "Interval".into(),
            labels: points.iter().map(|point| format!("{}: {}", side.letter, point.1)).collect(),
            ..Series::new(side.letter.clone(), Shape::Curve, place)
        }
    }
}

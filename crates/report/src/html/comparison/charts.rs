//! Differences with their intervals, and the numbers of all subjects at every load level.

use crate::findings::comparison::{ComparedMetric, ComparedRow, Comparison, Estimate};
use crate::html::chart::{Axis, Chart, Series, Shape, Unit};
use crate::html::figure::Figure;

/// The metrics whose differences are drawn.
const DRAWN: [&str; 3] = ["throughput", "mean", "p99"];

pub(super) fn figures<'a>(comparison: &'a Comparison) -> Vec<Figure<'a>> {
    let across = |id, title, explanation, metric, unit| curve(comparison, (id, title, explanation), metric, unit);
    let throughput =
        "Operations a second of each subject at each load level, with the interval that holds the true value.";
    let mean = "Mean response time of each subject at each load level, with the interval that holds the true value.";
    [
        differences(comparison),
        across("compared-throughput", "Throughput", throughput, "throughput", Unit::PerSecond),
        across("compared-mean", "Mean response time", mean, "mean", Unit::Seconds),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Relative differences from the baseline, a chart a level and a series a subject.
fn differences<'a>(comparison: &'a Comparison) -> Option<Figure<'a>> {
    let charts = comparison.levels.iter().filter_map(|level| {
        let metrics: Vec<(&ComparedRow, &ComparedMetric)> = level
            .rows
            .iter()
            .filter(|row| row.scope == "all" || row.scope == "group")
            .flat_map(|row| row.metrics.iter().map(move |metric| (row, metric)))
            .filter(|(_, metric)| DRAWN.contains(&metric.metric.as_str()))
            .collect();
        let others = comparison.subjects.iter().skip(1).enumerate();
        let series: Vec<Series<'a>> = others.map(|(i, other)| ranges(&metrics, i, &other.letter)).collect();
        let ends = || series.iter().flat_map(|series| series.low.iter().chain(&series.high)).copied();
        let y = Axis::signed(Unit::Percent, "difference from the baseline", ends())?;
        let names = metrics.iter().map(|(row, metric)| format!("{} {}", row.name, metric.metric)).collect();
        Some((level.level.clone(), Chart { x: Axis::names(names), y, series }))
    });
    Figure {
        id: "differences-chart",
        title: "Differences from the baseline",
        explanation: "A mark a difference, in per cent of the baseline, with its interval. An interval that holds 0 shows no \
                      difference. More is better of throughput, worse of times.",
        summary: "Differences from the baseline with their intervals; the tables below hold the numbers.".into(),
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
        series.labels.push(format!("{letter}: {} {}, {}", row.name, metric.metric, difference.verdict));
    }
    series
}

/// A metric of all operations together over the load levels; only where there are several.
fn curve<'a>(
    comparison: &'a Comparison,
    (id, title, explanation): (&'static str, &'static str, &'static str),
    metric: &str,
    unit: Unit,
) -> Option<Figure<'a>> {
    if comparison.levels.len() < 2 {
        return None;
    }
    let estimates = |place: usize| -> Vec<(f64, String, &'a Estimate)> {
        let of = |(x, level): (usize, &'a crate::findings::comparison::ComparedLevel)| {
            let row = level.rows.iter().find(|row| row.scope == "all")?;
            let metric = row.metrics.iter().find(|other| other.metric == metric)?;
            Some((x as f64, level.level.clone(), metric.estimates.get(place)?.as_ref()?))
        };
        comparison.levels.iter().enumerate().filter_map(of).collect()
    };
    let series = comparison.subjects.iter().enumerate().map(|(i, subject)| {
        let points = estimates(i);
        Series {
            x: points.iter().map(|point| point.0).collect(),
            y: points.iter().map(|point| Some(point.2.value)).collect(),
            // Without an interval the band is as thin as the line.
            low: points.iter().map(|point| point.2.low.unwrap_or(point.2.value)).collect(),
            high: points.iter().map(|point| point.2.high.unwrap_or(point.2.value)).collect(),
            between: "Interval".into(),
            labels: points.iter().map(|point| format!("{}: {}", subject.letter, point.1)).collect(),
            ..Series::new(subject.letter.clone(), Shape::Curve, i)
        }
    });
    let series: Vec<Series<'a>> = series.collect();
    let highest = series.iter().flat_map(|series| &series.high).copied().fold(0.0, f64::max);
    let names = comparison.levels.iter().map(|level| level.level.clone()).collect();
    let chart = Chart { x: Axis::names(names), y: Axis::linear(unit, title, highest)?, series };
    Figure::of(
        (id, title),
        explanation,
        format!("{title} at each load level; the tables below hold the numbers."),
        chart,
    )
}

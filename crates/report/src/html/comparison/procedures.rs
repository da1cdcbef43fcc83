//! Each procedure's mean response time and rate, a bar a side: before and after, as McKee and Eswaraprasad's results have them.

use crate::findings::Findings;
use crate::findings::comparison::{ComparedLevel, ComparedRow, Comparison};
use crate::html::chart::{Axis, Chart, Series, Shape, Unit};
use crate::html::figure::Figure;

/// Procedures in a chart, those with the most requests first: more have no room for their names.
const NAMED: usize = 14;

pub(super) fn figures<'a>(sides: &'a [Findings], comparison: &'a Comparison) -> Vec<Figure<'a>> {
    let figure = |id, title, explanation, metric, unit| {
        let chart = |level: &ComparedLevel| Some((level.level_name.clone(), chart(sides, level, metric, unit)?));
        let summary = format!("{title}, one bar per side; the numbers and their intervals are in the tables below.");
        let charts = comparison.levels.iter().filter_map(chart).collect();
        Figure { id, title, explanation, summary, choose: "At", charts }.if_any()
    };
    let times = "Mean response time of each kind of request, one bar per side. The tables below have the intervals and verdicts.";
    let rates = "Answered requests per second of each kind, one bar per side. The tables below have the intervals and verdicts.";
    [
        figure("procedure-times", "Mean response time of each procedure", times, "mean", Unit::Seconds),
        figure("procedure-rates", "Requests per second of each procedure", rates, "throughput", Unit::PerSecond),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn chart<'a>(sides: &[Findings], level: &ComparedLevel, metric: &str, unit: Unit) -> Option<Chart<'a>> {
    let mut rows: Vec<&ComparedRow> = level.rows.iter().filter(|row| row.scope == "procedure").collect();
    rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    rows.truncate(NAMED);
    let series = |(place, side): (usize, &Findings)| Series {
        x: (0..rows.len()).map(|x| x as f64).collect(),
        y: rows.iter().map(|row| value(row, metric, place)).collect(),
        ..Series::new(side.letter.clone(), Shape::Bars, place)
    };
    let all: Vec<Series<'a>> = sides.iter().enumerate().map(series).collect();
    let most = Series::highest(&all);
    let names = rows.iter().map(|row| row.name.clone()).collect();
    (most > 0.0).then_some(())?;
    Some(Chart { x: Axis::names(names), y: Axis::linear(unit, "", most)?, series: all })
}

/// Requests per second of the side with the highest rate.
fn rate(row: &ComparedRow) -> f64 {
    let metric = row.metrics.iter().find(|metric| metric.metric == "throughput");
    let values = metric.into_iter().flat_map(|metric| metric.estimates.iter().flatten());
    values.map(|estimate| estimate.value).fold(0.0, f64::max)
}

fn value(row: &ComparedRow, metric: &str, place: usize) -> Option<f64> {
    let found = row.metrics.iter().find(|one| one.metric == metric)?;
    Some(found.estimates.get(place)?.as_ref()?.value)
}

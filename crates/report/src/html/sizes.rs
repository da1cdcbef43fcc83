//! Comparison of message sizes.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::units::{count, duration};
use super::untrusted::Untrusted;
use crate::findings::{Findings, SizeCurve, SizePoint};
use maud::{Markup, html};

/// A sentence for each size that stands out; nothing where none does.
pub(super) fn section(findings: &Findings) -> Option<Markup> {
    let odd = |curve: &'_ SizeCurve| -> Vec<String> {
        curve.points.iter().filter_map(|point| sentence(curve, point)).collect()
    };
    let all: Vec<String> = findings.sizes.iter().flat_map(odd).collect();
    (!all.is_empty()).then(|| html! { ul.odd { @for said in &all { li { (Untrusted(said)) } } } })
}

fn sentence(curve: &SizeCurve, point: &SizePoint) -> Option<String> {
    let (how, expected) = (point.outlier.as_ref()?, point.expected_s?);
    let SizeCurve { parameter, load_name, .. } = curve;
    let (size, own, expected) = (&point.value, duration(point.mean_s), duration(expected));
    Some(format!(
        "At {load_name}, {parameter} = {size} is {how} than the neighbouring sizes: mean response time {own}, expected {expected}."
    ))
}

/// Response time against size at each load, and the highest throughput of each size.
pub(super) fn figures<'a>(findings: &'a Findings) -> Vec<Figure<'a>> {
    let response = Figure {
        id: "size-response",
        title: "Response time against size",
        explanation: "Mean response time of each size, and the time interpolated from the neighbouring sizes. An outlier may indicate a \
        size limit in the server or client, for example the size of a buffer.",
        summary: summary(findings),
        choose: "Load",
        charts: findings.sizes.iter().filter_map(|curve| Some((curve.load_name.clone(), response(curve)?))).collect(),
    };
    [response.if_any(), highest(findings)].into_iter().flatten().collect()
}

fn response<'a>(curve: &SizeCurve) -> Option<Chart<'a>> {
    let points = || curve.points.iter();
    let x = || points().map(|point| point.bytes as f64).collect::<Vec<f64>>();
    let label = |point: &SizePoint| match &point.outlier {
        Some(how) => format!("{} ({how})", point.value),
        None => point.value.clone(),
    };
    let measured = Series {
        x: x(),
        y: points().map(|point| Some(point.mean_s)).collect(),
        labels: points().map(label).collect(),
        ..Series::new("Measured", Shape::Curve, 0)
    };
    let expected = Series {
        x: x(),
        y: points().map(|point| point.expected_s).collect(),
        ..Series::new("Expected from the neighbouring sizes", Shape::Line, 1)
    };
    let slowest = points().map(|point| point.mean_s.max(point.expected_s.unwrap_or(0.0))).fold(0.0, f64::max);
    let largest = points().map(|point| point.bytes as f64).fold(0.0, f64::max);
    let x = Axis::linear_right(Unit::Count, "bytes", largest)?;
    Some(Chart { x, y: Axis::linear(Unit::Seconds, "response time", slowest)?, series: vec![measured, expected] })
}

fn summary(findings: &Findings) -> String {
    let odd = findings.sizes.iter().flat_map(|curve| curve.points.iter().filter_map(|point| sentence(curve, point)));
    let odd: Vec<String> = odd.collect();
    if odd.is_empty() { "No size stands out from the neighbouring sizes.".to_owned() } else { odd.join(" ") }
}

/// The highest data rate of each value of the varied parameter, at any load.
fn highest<'a>(findings: &'a Findings) -> Option<Figure<'a>> {
    let mut best: Vec<(&str, f64)> = Vec::new();
    for level in findings.levels.iter().filter(|level| level.facts.validity.valid) {
        let Some(varied) = level.facts.varied.as_ref().filter(|varied| varied.bytes.is_some()) else { continue };
        let rate = level.read_bytes_per_s + level.write_bytes_per_s;
        match best.iter_mut().find(|(value, _)| *value == varied.value) {
            Some((_, highest)) => *highest = highest.max(rate),
            None => best.push((&varied.value, rate)),
        }
    }
    if best.len() < 2 {
        return None;
    }
    let most = best.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let series = Series {
        x: (0..best.len()).map(|place| place as f64).collect(),
        y: best.iter().map(|(_, rate)| Some(*rate)).collect(),
        ..Series::new("Highest", Shape::Bars, 0)
    };
    let said: Vec<String> =
        best.iter().map(|(value, rate)| format!("{value} {} kB/s", count((rate / 1e3).round() as u64))).collect();
    let chart = Chart {
        x: Axis::names(best.iter().map(|(value, _)| (*value).to_owned()).collect()),
        y: Axis::linear(Unit::BytesPerSecond, "data", most)?,
        series: vec![series],
    };
    let explanation = "The most file data read and written per second with each size, at any valid load level.";
    let summary = format!("Highest throughput for each size: {}.", said.join(", "));
    Figure::of(("size-throughput", "Highest throughput for each size"), explanation, summary, chart)
}

//! What several load levels tell together: the highest throughput, the knee, and each group's response times.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::table::scrolled;
use super::units::{count, duration};
use super::untrusted::Untrusted;
use crate::findings::{CurveMaximum, Findings, Interval, LoadCurve, LoadLevel};
use maud::{Markup, html};

/// Places at which a law is drawn between the lowest and the highest load.
const STEPS: u32 = 96;

/// A table of all curves; nothing where no load was raised.
pub(super) fn section(findings: &Findings) -> Option<Markup> {
    let curves = &findings.curves;
    (!curves.is_empty()).then(|| {
        html! {
            (scrolled("curves-caption", "", html! {
                "Limits of the server. The knee is the load at which the fitted Universal Scalability Law has its highest throughput. Overall response time: area under the curve of response time against throughput, divided by the highest throughput. In brackets: 95 % intervals."
            }, html! {
                thead { tr {
                    th scope="col" { "Curve" } th scope="col" { "Highest" } th scope="col" { "At" } th.wide scope="col" { "Knee" }
                    th scope="col" { "Contention σ" } th scope="col" { "Coherency κ" } th scope="col" { "Deviation of the points from the law" }
                    th scope="col" { "Overall response time" }
                } }
                tbody { @for curve in curves { (row(findings, curve)) } }
            }))
        }
    })
}

fn row(findings: &Findings, curve: &LoadCurve) -> Markup {
    let unknown = || super::units::UNKNOWN.to_owned();
    let law = |number: fn(&crate::findings::FittedLaw) -> String| curve.law.as_ref().map_or_else(unknown, number);
    html! {
        tr {
            th scope="row" { (Untrusted(curve.curve.as_deref().unwrap_or("all levels"))) }
            td { (curve.maximum.as_ref().map_or_else(unknown, highest)) }
            td { @if let Some(load) = curve.maximum.as_ref().and_then(|most| load_name(findings, most.level)) { (Untrusted(load)) } @else { (unknown()) } }
            td.wide { (Untrusted(&knee(curve))) }
            td { (law(|law| format!("{:.4}", law.sigma))) }
            td { (law(|law| format!("{:.6}", law.kappa))) }
            td { (law(|law| format!("{:.1} %", law.deviation * 100.0))) }
            td { (curve.overall_response_time_s.map_or_else(unknown, duration)) }
        }
    }
}

fn load_name(findings: &Findings, number: u32) -> Option<&str> {
    findings.levels.iter().find(|level| level.number == number).map(|level| level.facts.load_name.as_str())
}

fn highest(most: &CurveMaximum) -> String {
    let whole = |rate: f64| count(rate.round() as u64);
    let interval = most
        .interval
        .map_or_else(String::new, |Interval { low, high }| format!(" ({} to {})", whole(low), whole(high)));
    format!("{}/s{interval}", whole(most.operations_per_s))
}

fn knee(curve: &LoadCurve) -> String {
    match (curve.knee.load, curve.knee.interval) {
        (Some(load), Some(Interval { low, high })) => format!("{load:.1} {} ({low:.1} to {high:.1})", curve.load),
        _ => format!("not identifiable: {}", curve.knee.missing.as_deref().unwrap_or("unknown reason")),
    }
}

/// The law of a curve as a line; nothing where there is none.
pub(super) fn law_line<'a>(curve: &LoadCurve, name: String, color: usize) -> Option<Series<'a>> {
    let law = curve.law?;
    let (low, high) = (curve.points.first()?.load, curve.points.last()?.load);
    let x: Vec<f64> =
        (0..=STEPS).map(|step| low + (high - low) * f64::from(step) / f64::from(STEPS)).collect::<Vec<_>>();
    let y = x.iter().map(|load| Some(law.throughput(*load))).collect();
    Some(Series { x, y, ..Series::new(name, Shape::Line, color) })
}

/// Mean response time of each group, and data a second, against load: a chart a curve.
pub(super) fn figures<'a>(findings: &'a Findings) -> Vec<Figure<'a>> {
    let groups = Figure {
        id: "load-groups",
        title: "Response time of each group against load",
        explanation: "Mean response time of each group of operations at each load. It shows the group that becomes slow first.",
        summary: summary(findings),
        choose: "Curve",
        charts: charts(findings, by_group),
    };
    let data = Figure {
        id: "load-data",
        title: "Data against load",
        explanation: "File data read and written per second at each load, and their sum. 1 MB/s is 8 Mbit/s.",
        summary: "File data per second at each load; the numbers are in the table of load levels.".to_owned(),
        choose: "Shown",
        charts: [(in_bytes as Drawing<'a>, "MB/s"), (in_bits, "Mbit/s")]
            .into_iter()
            .flat_map(|(draw, unit)| {
                charts(findings, draw).into_iter().map(move |(curve, chart)| (named(&curve, unit), chart))
            })
            .collect(),
    };
    [groups, data].into_iter().filter_map(Figure::if_any).collect()
}

type Drawing<'a> = fn(&LoadCurve, &[&'a LoadLevel]) -> Option<Chart<'a>>;

fn charts<'a>(findings: &'a Findings, draw: Drawing<'a>) -> Vec<(String, Chart<'a>)> {
    let of = |curve: &LoadCurve| {
        let level = |number: u32| findings.levels.iter().find(|level| level.number == number);
        let levels: Vec<&LoadLevel> = curve.points.iter().filter_map(|point| level(point.level)).collect();
        Some((curve.curve.clone().unwrap_or_default(), draw(curve, &levels)?))
    };
    findings.curves.iter().filter_map(of).collect()
}

fn by_group<'a>(curve: &LoadCurve, levels: &[&'a LoadLevel]) -> Option<Chart<'a>> {
    let mut names: Vec<&str> = Vec::new();
    for row in levels.iter().flat_map(|level| &level.groups) {
        if row.headline_time().is_some() && !row.group.contains('.') && !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    let mean = |level: &LoadLevel, name: &str| {
        level.groups.iter().find(|row| row.group == name).and_then(|row| Some(row.headline_time()?.mean_s))
    };
    let all: Vec<Series<'a>> =
        names.iter().enumerate().map(|(color, name)| series(levels, name, color, |level| mean(level, name))).collect();
    chart(
        curve,
        levels,
        all,
        Unit::Seconds,
        &format!("response time{}", levels.first().map_or("", |level| level.headline.words())),
    )
}

/// A chart of a curve in a unit.
fn named(curve: &str, unit: &str) -> String {
    if curve.is_empty() { unit.to_owned() } else { format!("{curve}, {unit}") }
}

fn in_bytes<'a>(curve: &LoadCurve, levels: &[&'a LoadLevel]) -> Option<Chart<'a>> {
    chart(curve, levels, data(levels, 1.0), Unit::BytesPerSecond, "data")
}

fn in_bits<'a>(curve: &LoadCurve, levels: &[&'a LoadLevel]) -> Option<Chart<'a>> {
    chart(curve, levels, data(levels, 8.0), Unit::BitsPerSecond, "data")
}

/// Read and written data, if any; if both exist, also their sum.
fn data<'a>(levels: &[&'a LoadLevel], times: f64) -> Vec<Series<'a>> {
    type Rate = fn(&LoadLevel) -> f64;
    let (read, written): (Rate, Rate) = (|level| level.read_bytes_per_s, |level| level.write_bytes_per_s);
    let both: Rate = |level| level.read_bytes_per_s + level.write_bytes_per_s;
    let moves = |rate: Rate| levels.iter().any(|level| rate(level) > 0.0);
    let both = (moves(read) && moves(written)).then_some(("Both", both));
    let moved = [("Read", read), ("Written", written)].into_iter().filter(|(_, rate)| moves(*rate));
    let of =
        |(color, (name, rate)): (usize, (&str, Rate))| series(levels, name, color, |level| Some(times * rate(level)));
    moved.chain(both).enumerate().map(of).collect()
}

fn series<'a>(levels: &[&LoadLevel], name: &str, color: usize, y: impl Fn(&LoadLevel) -> Option<f64>) -> Series<'a> {
    Series {
        x: levels.iter().map(|level| level.load()).collect(),
        y: levels.iter().map(|level| y(level)).collect(),
        labels: levels.iter().map(|level| level.words()).collect(),
        ..Series::new(name, Shape::Curve, color)
    }
}

fn chart<'a>(
    curve: &LoadCurve,
    levels: &[&LoadLevel],
    all: Vec<Series<'a>>,
    unit: Unit,
    name: &str,
) -> Option<Chart<'a>> {
    let most = levels.iter().map(|level| level.load()).fold(0.0, f64::max);
    let highest = Series::highest(&all);
    let x = Axis::linear_right(Unit::Count, &curve.load, most)?;
    Some(Chart { x, y: Axis::linear(unit, name, highest)?, series: all })
}

fn summary(findings: &Findings) -> String {
    let curves = findings.curves.len();
    format!(
        "Mean response time of each group at each load, for {curves} load curve{}.",
        if curves == 1 { "" } else { "s" }
    )
}

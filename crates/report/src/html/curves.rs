//! Load curves: throughput and response times at each load.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::load_curves::law_line;
use super::units::{count, duration};
use crate::findings::Findings;
use crate::findings::{Interval, LoadCurve, LoadLevel, Times};
use crate::sides::{label, response_time_of};
use crate::tables::unattributable;

/// Curves that are drawn with the laws that come nearest to them, at most.
const MOST_LAWS: usize = 2;

/// Throughput and response time against load and against each other, and the fairness between clients.
pub(super) fn figures<'a>(sides: &'a [Findings]) -> Vec<Figure<'a>> {
    let curves = curves(sides);
    let of_one_level = curves.iter().all(|curve| curve.levels.len() < 2);
    let several = sides.len() > 1;
    let data = if several { data(&curves) } else { None };
    let loads =
        if of_one_level { vec![] } else { vec![throughput(&curves), data, response(&curves), trade(&curves, several)] };
    loads.into_iter().chain([fairness(&curves)]).flatten().collect()
}

/// Levels that belong together.
pub(super) struct Curve<'a> {
    pub(super) name: String,
    pub(super) levels: Vec<&'a LoadLevel>,
    /// The combined results of the levels.
    together: Option<&'a LoadCurve>,
}

/// The levels of all sides, a curve each.
pub(super) fn curves<'a>(sides: &'a [Findings]) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for side in sides {
        for level in &side.levels {
            let name = label(sides, side, level.facts.curve.as_deref().unwrap_or_default());
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.levels.push(level),
                None => {
                    let together = side.curves.iter().find(|curve| curve.curve == level.facts.curve);
                    curves.push(Curve { name, levels: vec![level], together });
                }
            }
        }
    }
    for curve in &mut curves {
        curve.levels.sort_by(|a, b| a.load().total_cmp(&b.load()));
    }
    curves
}

/// The varied quantity; None if it differs between levels.
pub(super) fn load_axis(curves: &[Curve<'_>]) -> Option<Axis> {
    let levels = || curves.iter().flat_map(|curve| &curve.levels);
    let most = levels().map(|level| level.load()).fold(0.0, f64::max);
    let asked = levels().filter(|level| level.facts.asked_per_s.is_some()).count();
    let users = levels().filter(|level| level.users.is_some()).count();
    let deep = levels().any(|level| level.facts.depth > 1);
    match asked {
        _ if users > 0 && users == levels().count() => Axis::linear_right(Unit::Count, "users", most),
        _ if users > 0 => None,
        // A closed loop's load and an open loop's are no numbers of one axis.
        0 if deep => Axis::linear_right(Unit::Count, "maximum number of outstanding actions (clients × depth)", most),
        0 => Axis::linear_right(Unit::Count, "clients", most),
        n if n == levels().count() => Axis::linear_right(Unit::PerSecond, "planned rate", most),
        _ => None,
    }
}

/// A point a level.
pub(super) fn series<'a>(
    curve: &Curve<'_>,
    color: usize,
    x: impl Fn(&LoadLevel) -> f64,
    y: impl Fn(&LoadLevel) -> Option<f64>,
) -> Series<'a> {
    let levels = || curve.levels.iter().copied();
    Series {
        x: levels().map(x).collect(),
        y: levels().map(y).collect(),
        labels: levels().map(words).collect(),
        ..Series::new(curve.name.clone(), Shape::Curve, color)
    }
}

fn words(level: &LoadLevel) -> String {
    if level.facts.validity.valid { level.words() } else { format!("{} (invalid)", level.words()) }
}

fn throughput<'a>(curves: &[Curve<'_>]) -> Option<Figure<'a>> {
    let mut all: Vec<Series<'a>> = curves.iter().enumerate().map(|(i, curve)| rates(curve, i)).collect();
    // With more curves the laws would hide the measurements.
    let laws = curves.iter().enumerate().filter(|_| curves.len() <= MOST_LAWS);
    let law = |(i, curve): (usize, &Curve<'_>)| {
        law_line(curve.together?, format!("{} law", curve.name).trim_start().to_owned(), curves.len() + i)
    };
    all.extend(laws.filter_map(law));
    if let [measured, _] = all.as_mut_slice()
        && measured.name.is_empty()
    {
        measured.name = "measured".to_owned();
    }
    let y = Axis::linear(Unit::PerSecond, "operations", Series::highest(&all))?;
    let best = curves
        .iter()
        .flat_map(|curve| &curve.levels)
        .max_by(|a, b| a.operations_per_s.total_cmp(&b.operations_per_s))?;
    let summary = format!(
        "Operations per second at each load. Highest: {} per second at {}.",
        count(best.operations_per_s.round() as u64),
        best.words()
    );
    let explanation = "Operations answered per second at each load. The server is saturated where the curve stops rising. The \
    band is the 95 % interval; the line without marks is the fitted Universal Scalability Law.";
    let chart = Chart { x: load_axis(curves)?, y, series: all };
    Figure::of(("load-throughput", "Throughput against load"), explanation, summary, chart)
}

/// Throughput at each load, with its interval where every level has one.
fn rates<'a>(curve: &Curve<'_>, color: usize) -> Series<'a> {
    let intervals = || curve.levels.iter().filter_map(|level| level.facts.operations_per_s_interval);
    let all = intervals().count() == curve.levels.len();
    let ends = |pick: fn(Interval) -> f64| if all { intervals().map(pick).collect() } else { Vec::new() };
    Series {
        low: ends(|interval| interval.low),
        high: ends(|interval| interval.high),
        between: if all { "95 % interval".into() } else { String::new() },
        ..series(curve, color, LoadLevel::load, |level| Some(level.operations_per_s))
    }
}

fn response<'a>(curves: &[Curve<'_>]) -> Option<Figure<'a>> {
    let (series, name) = (response_series(curves, LoadLevel::load), response_name(curves));
    let explanation = "Mean response time of all operations at each load; the band reaches from p50 to p95.";
    let chart = Chart { x: load_axis(curves)?, y: response_axis(&series, name)?, series };
    Figure::of(("load-response", "Response time against load"), explanation, response_words(curves, "load"), chart)
}

/// Response time against operations and against data. Operations of several sides may be of different protocols: data leads.
fn trade<'a>(curves: &[Curve<'_>], several: bool) -> Option<Figure<'a>> {
    let chart = |x: fn(&LoadLevel) -> f64, unit: Unit, name: &str| {
        let series = response_series(curves, x);
        let most = series.iter().flat_map(|series| &series.x).copied().fold(0.0, f64::max);
        let x = Axis::linear_right(unit, name, most)?;
        Some((name.to_owned(), Chart { x, y: response_axis(&series, response_name(curves))?, series }))
    };
    let operations = chart(|level| level.operations_per_s, Unit::PerSecond, "operations");
    let data = if moves_data(curves) { chart(bits, Unit::BitsPerSecond, "data") } else { None };
    let charts = if several { [data, operations] } else { [operations, data] };
    Figure {
        id: "throughput-response",
        title: "Response time against throughput",
        explanation: "Mean response time against throughput, one point per load level. The band reaches from p50 \
        to p95; where throughput falls at higher load, a vertical bar replaces the band. The best operating range ends where the \
        response time begins to rise steeply.",
        summary: response_words(curves, "throughput"),
        choose: "Against",
        charts: charts.into_iter().flatten().collect(),
    }
    .if_any()
}

/// File data read and written at each load, in bits per second, which is comparable between protocols.
fn data<'a>(curves: &[Curve<'_>]) -> Option<Figure<'a>> {
    let all: Vec<Series<'a>> = curves
        .iter()
        .enumerate()
        .map(|(i, curve)| series(curve, i, LoadLevel::load, |level| Some(bits(level))))
        .collect();
    let chart = Chart {
        x: load_axis(curves)?,
        y: Axis::linear(Unit::BitsPerSecond, "data", Series::highest(&all))?,
        series: all,
    };
    let summary =
        "File data per second at each load, one line per server; the numbers are in the table of load levels.";
    let explanation = "File data read and written per second at each load, without protocol headers, so that different protocols can be compared.";
    let figure = Figure::of(("load-data", "Data against load"), explanation, summary.to_owned(), chart);
    figure.filter(|_| moves_data(curves))
}

fn bits(level: &LoadLevel) -> f64 {
    8.0 * (level.read_bytes_per_s + level.write_bytes_per_s)
}

fn moves_data(curves: &[Curve<'_>]) -> bool {
    curves.iter().flat_map(|curve| &curve.levels).any(|level| bits(level) > 0.0)
}

/// Which response time the curves show.
fn response_name(curves: &[Curve<'_>]) -> &'static str {
    response_time_of(curves.iter().flat_map(|curve| &curve.levels).map(|level| level.headline))
}

/// Mean response times with a band from p50 to p95.
fn response_series<'a>(curves: &[Curve<'_>], x: impl Fn(&LoadLevel) -> f64) -> Vec<Series<'a>> {
    let of = |(color, curve): (usize, &Curve<'_>)| {
        // Without a response time there is no place in the band.
        let levels = curve.levels.iter().copied().filter(|level| level.headline_time().is_some()).collect();
        let curve = Curve { name: curve.name.clone(), levels, together: None };
        let times = |pick: fn(&Times) -> f64| {
            curve.levels.iter().filter_map(move |level| level.headline_time().as_ref().map(pick)).collect::<Vec<f64>>()
        };
        Series {
            low: times(|t| t.p50_s),
            high: times(|t| t.p95_s),
            between: "p50 to p95".into(),
            ..series(&curve, color, &x, |level| level.headline_time().map(|t| t.mean_s))
        }
    };
    curves.iter().enumerate().map(of).collect()
}

fn response_axis(series: &[Series<'_>], name: &str) -> Option<Axis> {
    let highest = series.iter().flat_map(|series| &series.high).copied().fold(Series::highest(series), f64::max);
    Axis::linear(Unit::Seconds, name, highest)
}

fn response_words(curves: &[Curve<'_>], against: &str) -> String {
    let levels = curves.iter().flat_map(|curve| &curve.levels);
    let means =
        levels.filter_map(|level| Some(format!("{} {}", level.words(), duration(level.headline_time()?.mean_s))));
    format!("Mean {} against {against}: {}.", response_name(curves), means.collect::<Vec<_>>().join(", "))
}

/// Iterations of the clients over their mean, from the least served to the most; only where several shared the server.
fn fairness<'a>(curves: &[Curve<'_>]) -> Option<Figure<'a>> {
    let levels: Vec<&LoadLevel> = curves.iter().flat_map(|curve| curve.levels.iter().copied()).collect();
    let shared: Vec<(&LoadLevel, f64, f64)> = levels
        .iter()
        .filter(|level| level.facts.fairness.clients > 1)
        .filter_map(|level| Some((*level, level.facts.fairness.min?, level.facts.fairness.max?)))
        .collect();
    let most = shared.iter().map(|(.., max)| *max).fold(1.0, f64::max);
    let mark = |level: &LoadLevel| if unattributable(level) { "*" } else { "" };
    let jain = |level: &LoadLevel| {
        level.facts.fairness.jain.map_or_else(String::new, |jain| format!(", Jain's index {jain:.3}"))
    };
    let range = Series {
        x: (0..shared.len()).map(|place| place as f64).collect(),
        y: shared.iter().map(|_| Some(1.0)).collect(),
        low: shared.iter().map(|(_, min, _)| *min).collect(),
        high: shared.iter().map(|(.., max)| *max).collect(),
        between: "Least to most served".into(),
        labels: shared.iter().map(|(level, ..)| format!("{}{}", words(level), jain(level))).collect(),
        ..Series::new("Mean of the clients", Shape::Range, 0)
    };
    let text = |(level, min, max): &(&LoadLevel, f64, f64)| {
        format!("{} {min:.2} to {max:.2}{}{}", level.words(), jain(level), mark(level))
    };
    let summary = format!(
        "Iterations of each client, divided by the mean of all clients: {}.",
        shared.iter().map(text).collect::<Vec<_>>().join("; ")
    );
    let names = shared.iter().map(|(level, ..)| format!("{}{}", level.words(), mark(level))).collect();
    let chart = Chart {
        x: Axis::names(names),
        y: Axis::linear(Unit::Ratio, "iterations / mean of all clients", most)?,
        series: vec![range],
    };
    let explanation = if shared.iter().any(|(level, ..)| unattributable(level)) {
        "Iterations of the least and the most served client, divided by the mean of all. At levels marked * the load \
        generator may cause the difference: the run-queue delay or the wake-up lag differs between its threads, or is unknown."
    } else {
        "Iterations of the least and the most served client, divided by the mean of all. With a fair server both are near 1."
    };
    Figure::of(("fairness", "Fairness"), explanation, summary, chart)
}

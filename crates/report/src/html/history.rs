//! The page of a history: a chart per number over the runs, where numbers change, and the runs themselves.

use super::chart::{Axis, Chart, Mark, Scale, Series, Shape, TICKS_UP, Unit, nice_step};
use super::figure::Figure;
use super::table::scrolled;
use super::untrusted::Untrusted;
use super::{Head, Section, comparison, data, units, whole_page};
use crate::findings::comparison::{ComparedUnit, Estimate};
use crate::findings::history::{ChangePoint, History, HistoryMetric, HistorySeries, LABEL};
use crate::text::history::{fact, later, sentence};
use maud::{Markup, html};

/// `history` as one HTML page, complete in itself.
///
/// # Errors
///
/// The history cannot be serialised: a number in it is one that JSON has no text for.
pub fn history(history: &History) -> Result<String, serde_json::Error> {
    let runs = || history.series.iter().flat_map(|series| &series.runs);
    let span = runs().map(|run| run.begin_ns).min().zip(runs().map(|run| run.begin_ns).max());
    let facts = html! {
        div { dt { "Series" } dd { (history.series.len()) } }
        div { dt { "First run" } dd { (units::instant(span.map(|span| span.0))) } }
        div { dt { "Last run" } dd { (units::instant(span.map(|span| span.1))) } }
    };
    let head = Head {
        title: html! { "Plimsoll – history" },
        heading: "File server response times over time",
        stamp: html! {},
        facts,
        tool: &history.tool,
        schema: &history.schema,
    };
    let sections = vec![
        Section::new("summary", "Changes").text(warnings(history)).text(history.series.iter().map(changes)),
        Section::new("over-time", "Over time").figures(figure(history)),
        Section::new("numbers", "Numbers").text(history.series.iter().enumerate().map(numbers)),
        Section::new("runs", "Runs").text(history.series.iter().enumerate().map(runs_of)),
    ];
    whole_page(&head, data::embeddable(history)?, sections, None)
}

fn warnings(history: &History) -> Option<Markup> {
    (!history.warnings.is_empty()).then(|| {
        html! { div.notice { h3 { "Warnings" } ul { @for warning in &history.warnings { li { (Untrusted(warning)) } } } } }
    })
}

fn changes(series: &HistorySeries) -> Markup {
    html! {
        h3 { (Untrusted(&series.name)) }
        @for point in &series.changes { (change(series, point)) }
        @if let Some(unchanged) = series.unchanged() { p { (Untrusted(&unchanged)) } }
        @if let Some(moved) = series.moved() { p { (Untrusted(&moved)) } }
    }
}

fn change(series: &HistorySeries, point: &ChangePoint) -> Markup {
    let metrics = series.metrics.iter().flat_map(|metric| metric.changes.iter().map(move |change| (metric, change)));
    html! {
        p {
            "From " (units::instant(Some(point.begin_ns))) ", run " (point.run + 1)
            @for label in &point.labels { "; " (Untrusted(&fact(label))) }
            ":"
        }
        ul {
            @for (metric, change) in metrics.filter(|(_, change)| change.run == point.run) {
                li class=(change.verdict.label()) { (Untrusted(&sentence(metric, change))) }
            }
            @for also in &point.also_changed { li { "also changed" (later(also.runs_later)) ": " (Untrusted(&fact(also))) } }
        }
    }
}

fn figure(history: &History) -> Option<Figure<'_>> {
    let several = history.series.len() > 1;
    let charts = history.series.iter().flat_map(|series| {
        // The first is what paper shows.
        let mut metrics: Vec<&HistoryMetric> = series.metrics.iter().collect();
        metrics.sort_by_key(|metric| metric.changes.is_empty());
        metrics.into_iter().filter_map(move |metric| {
            let name = if several { format!("{}: {}", series.name, metric.label()) } else { metric.label() };
            Some((name, chart(series, metric)?))
        })
    });
    Figure {
        id: "history",
        title: "Each number over time",
        explanation: "One point per run, with the 95 % interval of the run as a band. The lines are the means between changes. \
        Runs that are INVALID, or whose load generator was too late for this number, are drawn separately, and the means exclude them.",
        summary: "One number over all runs; the tables have the values.".into(),
        choose: "Number",
        charts: charts.collect(),
    }
    .if_any()
}

fn chart<'a>(series: &HistorySeries, metric: &HistoryMetric) -> Option<Chart<'a>> {
    let points: Vec<(f64, bool, &Estimate)> = (series.runs.iter().zip(&metric.points).enumerate())
        .filter_map(|(at, (_, point))| Some(((at + 1) as f64, series.counts(metric, at), point.as_ref()?)))
        .collect();
    let of = |name: &str, color: usize, wanted: bool| {
        let own = || points.iter().filter(move |point| point.1 == wanted);
        Series {
            x: own().map(|point| point.0).collect(),
            y: own().map(|point| Some(point.2.value)).collect(),
            low: own().map(|point| point.2.low.unwrap_or(point.2.value)).collect(),
            high: own().map(|point| point.2.high.unwrap_or(point.2.value)).collect(),
            between: "95 % interval".into(),
            labels: own().map(|point| run_name(series, point.0)).collect(),
            ..Series::new(name, if wanted { Shape::Curve } else { Shape::Range }, color)
        }
    };
    let mut all = vec![of("Runs", 0, true)];
    all.extend(Some(of("Runs that do not count", 7, false)).filter(|invalid| !invalid.x.is_empty()));
    all.extend(means(series, metric));
    let ends = || points.iter().flat_map(|(_, _, point)| [Some(point.value), point.low, point.high]).flatten();
    let (low, high) = ends().fold((f64::INFINITY, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let marks =
        metric.changes.iter().map(|change| Mark { at: change.run as f64 + 0.5, name: String::new(), upright: false });
    let mut x = Axis::linear_right(Unit::Count, "run", series.runs.len() as f64)?;
    x.marks = marks.collect();
    Some(Chart { x, y: axis(metric, low, high)?, series: all })
}

/// Around the values: small changes of a large number would not show on an axis from 0.
fn axis(metric: &HistoryMetric, low: f64, high: f64) -> Option<Axis> {
    let unit = match metric.unit {
        ComparedUnit::Seconds => Unit::Seconds,
        ComparedUnit::PerSecond => Unit::PerSecond,
        // A history has no such numbers.
        ComparedUnit::BytesPerSecond => Unit::BytesPerSecond,
        ComparedUnit::PerHour | ComparedUnit::Share => Unit::Ratio,
    };
    // A tenth of the value at least, or noise fills the chart.
    let middle = (low + high) / 2.0;
    let (low, high) = (low.min(middle * 0.95), high.max(middle * 1.05));
    let step = nice_step(high - low, TICKS_UP);
    let usable = low < high && step.is_finite() && step > 0.0;
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    usable.then(|| Axis::of(Scale::Linear, unit, &metric.label(), (low, high)))
}

/// The means between changes, as one line with steps.
fn means<'a>(series: &HistorySeries, metric: &HistoryMetric) -> Option<Series<'a>> {
    let (first, last) = (metric.changes.first()?, metric.changes.last()?);
    let mut line = Series::new("Mean between changes", Shape::Line, 1);
    let mut level = |from: f64, to: f64, mean: f64| {
        line.x.extend([from, to, to]);
        line.y.extend([Some(mean), Some(mean), None]);
    };
    level(1.0, first.run as f64 + 0.5, first.before);
    for pair in metric.changes.windows(2) {
        if let [change, next] = pair {
            level(change.run as f64 + 0.5, next.run as f64 + 0.5, change.after);
        }
    }
    level(last.run as f64 + 0.5, series.runs.len() as f64, last.after);
    Some(line)
}

fn run_name(series: &HistorySeries, place: f64) -> String {
    let run = series.runs.get((place as usize).saturating_sub(1));
    run.map_or_else(String::new, |run| format!("{}, {}", crate::instant::second(run.begin_ns), run.recording))
}

fn show(metric: &HistoryMetric, value: f64) -> String {
    match metric.unit {
        ComparedUnit::PerSecond => units::per_second(value),
        unit => comparison::show(value, unit),
    }
}

fn numbers((number, series): (usize, &HistorySeries)) -> Markup {
    let cell = |metric: &HistoryMetric, point: Option<&Estimate>| {
        html! { td { @match point { Some(point) => (show(metric, point.value)), None => (units::UNKNOWN) } } }
    };
    html! {
        (scrolled(&format!("numbers-{number}-caption"), "", html! { (Untrusted(&series.name)) ": every number of every run" }, html! {
            thead { tr {
                th scope="col" { "Run" }
                @for metric in &series.metrics { th scope="col" { (Untrusted(&metric.label())) } }
            } }
            tbody { @for (at, run) in series.runs.iter().enumerate() {
                tr {
                    th scope="row" { (at + 1) @if !run.counted { " (not counted)" } @if run.is_partial() { " (PARTIAL)" } }
                    @for metric in &series.metrics { (cell(metric, metric.points.get(at).and_then(Option::as_ref))) }
                }
            } }
        }))
    }
}

fn runs_of((number, series): (usize, &HistorySeries)) -> Markup {
    html! {
        (scrolled(&format!("runs-{number}-caption"), "", html! { (Untrusted(&series.name)) ": the runs" }, html! {
            thead { tr {
                th scope="col" { "Run" } th.text scope="col" { "Begin" } th.text scope="col" { "Recording" }
                th.text scope="col" { "Verdict" } th.text scope="col" { "Labels" }
            } }
            tbody { @for (at, run) in series.runs.iter().enumerate() {
                tr {
                    th scope="row" { (at + 1) }
                    td.text { (units::instant(Some(run.begin_ns))) }
                    td.text { bdi { (Untrusted(&run.recording)) } }
                    td.text { (run.validity.verdict.label()) @for reason in run.validity.reasons.iter().take(1) { ": " (Untrusted(reason)) } }
                    td.text { @for fact in run.facts.iter().filter(|fact| fact.name.starts_with(LABEL)) {
                        bdi { (Untrusted(fact.name.trim_start_matches(LABEL))) "=" (Untrusted(&fact.value)) } " "
                    } }
                }
            } }
        }))
    }
}

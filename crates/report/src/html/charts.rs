//! Figures: for each a drawing area that the script fills, a static picture for everyone else, and a sentence for
//! those who see neither. The order of series here is the order in `assets/page.js`, so that colours agree.

use super::picture::{self, Line};
use super::units::{bytes, count, duration};
use super::untrusted::Untrusted;
use crate::findings::{Findings, HeatMap, OperationRow, Series};
use maud::{Markup, html};

/// Latency heat map, throughput, operation rate and mean response time; nothing where there is no time axis.
pub(super) fn over_time(findings: &Findings) -> Option<Markup> {
    let figures = [heat_map(findings), throughput(&findings.series), rate(&findings.series), mean(&findings.series)];
    figures.iter().any(Option::is_some).then(|| {
        html! { @for figure in figures.iter().flatten() { (figure) } }
    })
}

/// What a figure says besides its picture.
struct Figure<'a> {
    /// Name of the chart in `assets/page.js`.
    chart: &'a str,
    title: &'a str,
    /// How to read it.
    explanation: &'a str,
    /// For readers who see no picture.
    summary: String,
}

fn figure(figure: &Figure<'_>, picture: &Markup, legend: &[&str]) -> Markup {
    let id = figure.chart;
    html! {
        figure id={ "figure-" (id) } aria-labelledby={ "title-" (id) } {
            figcaption {
                h3 id={ "title-" (id) } { (figure.title) }
                p { (figure.explanation) }
            }
            div.live {
                div.controls data-for=(id) {}
                div.chart data-chart=(id) role="img" tabindex="0" aria-label=(Untrusted(&figure.summary)) {}
            }
            div.static {
                svg viewBox=(picture::VIEW_BOX) role="img" aria-label=(Untrusted(&figure.summary)) { (picture) }
                @if legend.len() > 1 {
                    ul.legend { @for (i, name) in legend.iter().enumerate() {
                        li { i class={ "swatch s" (i) } {} (Untrusted(name)) }
                    } }
                }
            }
        }
    }
}

fn heat_map(findings: &Findings) -> Option<Markup> {
    let map = findings.heat_maps.iter().find(|map| !map.cells.is_empty())?;
    let fullest = map.cells.iter().max_by_key(|cell| cell.2)?;
    let edges = |row: u32| {
        let row = usize::try_from(row).ok()?;
        Some((*map.edges_s.get(row)?, *map.edges_s.get(row.checked_add(1)?)?))
    };
    let (low, high) = edges(fullest.1)?;
    let summary = format!(
        "Latency heat map, {}: {} columns of {}. {} The fullest cell holds {} operations between {} and {}.",
        map.group,
        map.columns,
        duration(map.column_s),
        spread(map),
        count(fullest.2),
        duration(low),
        duration(high)
    );
    let about = Figure {
        chart: "heat",
        title: "Latency heat map",
        explanation: "Each column is a moment, each row a response time on a logarithmic scale; the stronger a cell's colour, \
                      the more operations ended there with that response time.",
        summary,
    };
    Some(figure(&about, &picture::heat_map(map)?, &[]))
}

/// From where to where the cells of a map reach.
fn spread(map: &HeatMap) -> String {
    let rows = || map.cells.iter().map(|cell| cell.1 as usize);
    let edge = |row: Option<usize>| row.and_then(|row| map.edges_s.get(row)).copied();
    match (edge(rows().min()), edge(rows().max().and_then(|row| row.checked_add(1)))) {
        (Some(low), Some(high)) => format!("Response times reach from {} to {}.", duration(low), duration(high)),
        _ => String::new(),
    }
}

fn throughput(series: &Series) -> Option<Markup> {
    let megabytes = |values: &[u64]| -> Vec<Option<f64>> { per_second(values, series.bin_s, 1e-6) };
    let (read, written) = (megabytes(&series.read_bytes), megabytes(&series.write_bytes));
    let peak = |line: &[Option<f64>]| bytes(highest(line) * 1e6);
    let about = Figure {
        chart: "throughput",
        title: "Throughput",
        explanation: "File data read and written, in megabytes a second.",
        summary: format!("Throughput over time. Reads peak at {}/s, writes at {}/s.", peak(&read), peak(&written)),
    };
    let lines = [Line { values: &read }, Line { values: &written }];
    Some(figure(&about, &picture::over_time(&lines, series.bin_s, "MB/s")?, &["Read", "Written"]))
}

fn rate(series: &Series) -> Option<Markup> {
    let (operations, errors) =
        (per_second(&series.operations, series.bin_s, 1.0), per_second(&series.errors, series.bin_s, 1.0));
    let about = Figure {
        chart: "rate",
        title: "Operations",
        explanation: "Operations that ended, and those of them with an error, a second.",
        summary: format!(
            "Operations a second over time. Highest {:.1} operations and {:.1} errors a second.",
            highest(&operations),
            highest(&errors)
        ),
    };
    let lines = [Line { values: &operations }, Line { values: &errors }];
    Some(figure(&about, &picture::over_time(&lines, series.bin_s, "1/s")?, &["Operations", "Errors"]))
}

fn mean(series: &Series) -> Option<Markup> {
    let values: Vec<_> = series.response_mean_s.iter().map(|mean| mean.map(|s| s * 1e3)).collect();
    let about = Figure {
        chart: "mean",
        title: "Mean response time",
        explanation: "Mean over all operations that ended in each interval, in milliseconds; no line where none ended.",
        summary: format!("Mean response time over time. Highest {}.", duration(highest(&values) * 1e-3)),
    };
    Some(figure(&about, &picture::over_time(&[Line { values: &values }], series.bin_s, "ms")?, &[]))
}

/// Response time by percentile, a curve for each group.
pub(super) fn percentiles(findings: &Findings) -> Option<Markup> {
    let rows: Vec<&OperationRow> = findings.groups.iter().filter(|row| !row.percentiles.is_empty()).collect();
    let p99 = rows.iter().filter_map(|row| Some(format!("{} {}", row.group, duration(row.response_time?.p99_s))));
    let about = Figure {
        chart: "percentiles",
        title: "Response time by percentile",
        explanation: "How long the slowest 50 %, 10 %, 1 %, 0.1 % of each group took at least: each step to the right is ten \
                      times rarer. Both axes are logarithmic.",
        summary: format!(
            "Response time by percentile and group. 99th percentiles: {}.",
            p99.collect::<Vec<_>>().join(", ")
        ),
    };
    let names: Vec<&str> = rows.iter().map(|row| row.group.as_str()).collect();
    Some(figure(&about, &picture::percentiles(&rows)?, &names))
}

/// Share of each group's response times in each decade.
pub(super) fn decades(findings: &Findings) -> Option<Markup> {
    let rows: Vec<&OperationRow> =
        findings.groups.iter().filter(|row| row.distribution.iter().any(|bucket| bucket.count > 0)).collect();
    let about = Figure {
        chart: "decades",
        title: "Response times by decade",
        explanation: "Share of each group's response times between one power of ten and the next.",
        summary: "Share of each group's response times by decade; the table below holds the numbers.".into(),
    };
    let names: Vec<&str> = rows.iter().map(|row| row.group.as_str()).collect();
    Some(figure(&about, &picture::decades(&rows)?, &names))
}

fn per_second(values: &[u64], bin_s: f64, scale: f64) -> Vec<Option<f64>> {
    values.iter().map(|n| (bin_s > 0.0).then(|| *n as f64 / bin_s * scale)).collect()
}

fn highest(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().copied().fold(0.0, f64::max)
}

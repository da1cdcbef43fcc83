//! Number, size and service time of requests: in total, or for each load level.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::operations::short_name;
use super::table::scrolled;
use super::units::{bytes, count, duration, milliseconds, optional, percentage};
use super::untrusted::Untrusted;
use crate::findings::{Findings, IO_SIZE, OperationRow, SHARED};
use crate::shares::{self, Percentage};
use maud::{Markup, html};

/// Operations with a chart; the least frequent others are only in the table.
const CHARTS: usize = 12;

/// Rows, and the load that they are of; no name where there is one.
struct Level<'a> {
    name: String,
    rows: &'a [OperationRow],
}

/// Combined numbers of several loads describe none of them, so each load is shown separately.
fn levels(findings: &Findings) -> Vec<Level<'_>> {
    match findings.levels.as_slice() {
        [] | [_] => vec![Level { name: String::new(), rows: &findings.operations }],
        levels => levels.iter().map(|level| Level { name: level.words(), rows: &level.operations }).collect(),
    }
}

/// Service times in powers of two, a chart an operation, all levels together.
pub(super) fn figure<'a>(findings: &'a Findings) -> Option<Figure<'a>> {
    let mut rows: Vec<&OperationRow> =
        findings.operations.iter().filter(|row| row.is_counted_once() && !row.service_octaves.is_empty()).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    let said = |row: &&OperationRow| Some(format!("{} {}", row.procedure, duration(row.service_time?.mean_s)));
    let means: Vec<String> = rows.iter().take(5).filter_map(said).collect();
    Figure {
        id: "service-octaves",
        title: "Service time in powers of two",
        explanation: "Share of the requests and share of the total service time in each range of service time. Each range ends at twice the \
        end of the previous one. Look first at ranges with few requests and a large share of the time.",
        summary: format!("Mean service times: {}.", means.join(", ")),
        choose: "Operation",
        charts: rows.into_iter().take(CHARTS).filter_map(|row| Some((row.procedure.clone(), chart(row)?))).collect(),
    }
    .if_any()
}

fn chart<'a>(row: &OperationRow) -> Option<Chart<'a>> {
    let octaves = &row.service_octaves;
    let (counted, total_s) = whole(row);
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole * 100.0).filter(|share| *share > 0.0);
    let series = |name: &'static str, color: usize, y: Vec<Option<f64>>| Series {
        x: (0..octaves.len()).map(|place| place as f64).collect(),
        y,
        ..Series::new(name, Shape::Bars, color)
    };
    let of_count = octaves.iter().map(|octave| share(octave.count as f64, counted as f64)).collect();
    let of_time = octaves.iter().map(|octave| share(octave.total_s, total_s)).collect();
    let all = vec![series("Of the requests", 0, of_count), series("Of the time", 1, of_time)];
    let highest = Series::highest(&all);
    let names = Axis::names(octaves.iter().map(|octave| duration(octave.below_s)).collect());
    let x = Axis { name: "service time below".into(), ..names };
    Some(Chart { x, y: Axis::linear(Unit::Percent, "", highest)?, series: all })
}

/// All times of a row: how many, and their sum, s.
fn whole(row: &OperationRow) -> (u64, f64) {
    let add = |(count, sum): (u64, f64), octave: &crate::findings::Octave| {
        (octave.count.saturating_add(count), sum + octave.total_s)
    };
    row.service_octaves.iter().fold((0, 0.0), add)
}

/// The operation mix with sizes and times, and all service times in powers of two.
pub(super) fn tables(findings: &Findings) -> Vec<Markup> {
    let levels = levels(findings);
    let served = levels.iter().any(|level| level.rows.iter().any(|row| !row.service_octaves.is_empty()));
    if served { [Some(mix(&levels)), octaves(&levels)].into_iter().flatten().collect() } else { Vec::new() }
}

fn heading(name: &str, columns: usize) -> Markup {
    html! { @if !name.is_empty() { tr.heading { th scope="rowgroup" colspan=(columns) { (Untrusted(name)) } } } }
}

fn row_name(row: &OperationRow) -> String {
    if row.parent.is_some() { short_name(row).to_owned() } else { format!("{} {}", row.protocol, row.procedure) }
}

fn mix(levels: &[Level<'_>]) -> Markup {
    html! {
        (scrolled("service-caption", "", html! {
            "Operation mix, sizes and times. " (IO_SIZE)
            @if levels.iter().flat_map(|level| level.rows).any(OperationRow::may_share_messages) { " " (SHARED) }
        }, html! {
            thead { tr {
                th scope="col" { "Operation" } th scope="col" { "Count" } th scope="col" { "Share" } th scope="col" { "I/O size" }
                th scope="col" { "Response, mean ms" } th scope="col" { "Service, mean ms" } th scope="col" { "Together" }
                th scope="col" { "Share of the time" }
            } }
            @for level in levels { tbody {
                (heading(&level.name, 8))
                @let all_s: f64 = level.rows.iter().filter(|row| row.is_counted_once()).map(OperationRow::service_total_s).sum();
                @let of_time = shares::of_rows_by(level.rows, OperationRow::service_total_s, all_s);
                @for ((row, share), of_time) in level.rows.iter().zip(shares::of_rows(level.rows)).zip(of_time) {
                    (mix_line(row, share, of_time))
                }
            } }
        }))
    }
}

fn mix_line(row: &OperationRow, share: Option<Percentage>, of_time: Option<Percentage>) -> Markup {
    let (service, total_s) = (row.service_time, row.service_total_s());
    html! {
        tr.sub[row.parent.is_some()] {
            th scope="row" { (Untrusted(&row_name(row))) }
            td { (count(row.count)) } td { (percentage(share)) }
            td { (optional(row.mean_payload(), bytes)) }
            td { (optional(row.headline_time(), |times| milliseconds(times.mean_s))) }
            td.key { (optional(service, |times| milliseconds(times.mean_s))) }
            td { (optional(service, |_| duration(total_s))) }
            td { (percentage(service.and(of_time))) }
        }
    }
}

/// Columns are the octaves in use anywhere: 1 µs times a power of two.
fn octaves(levels: &[Level<'_>]) -> Option<Markup> {
    let power = |below_s: f64| (below_s * 1e6).log2().round() as i32;
    let used = || levels.iter().flat_map(|level| level.rows).flat_map(|row| &row.service_octaves);
    let powers = used().map(|octave| power(octave.below_s)).filter(|power| (0..=64).contains(power));
    let (first, last) = (powers.clone().min()?, powers.max()?);
    let edges: Vec<i32> = (first..=last).collect();
    Some(html! {
        (scrolled("octaves-caption", "decades", html! {
            "Service times in powers of two. Each cell has three numbers: requests, their share of the row's requests, and their share \
            of the row's service time. A column counts the times from half of the limit in its heading to this limit. All times \
            below 1 µs are in one column."
        }, html! {
            thead { tr {
                th scope="col" { "Operation" } th scope="col" { "Times" }
                @for edge in &edges { th scope="col" { "below " (duration(2_f64.powi(*edge) / 1e6)) } }
            } }
            @for level in levels { tbody {
                (heading(&level.name, edges.len() + 2))
                @for row in level.rows.iter().filter(|row| !row.service_octaves.is_empty()) {
                    (octaves_line(row, &edges, power))
                }
            } }
        }))
    })
}

fn octaves_line(row: &OperationRow, edges: &[i32], power: impl Fn(f64) -> i32) -> Markup {
    let (counted, total_s) = whole(row);
    let of_count = shares::of_counts(row.service_octaves.iter().map(|octave| octave.count), counted);
    let of_time = shares::of(&row.service_octaves.iter().map(|octave| octave.total_s).collect::<Vec<_>>(), total_s);
    let shown = || row.service_octaves.iter().zip(of_count.iter().zip(&of_time));
    let at = |edge: i32| shown().find(|(octave, _)| power(octave.below_s) == edge);
    html! {
        tr.sub[row.parent.is_some()] {
            th scope="row" { (Untrusted(&row_name(row))) }
            td { (count(counted)) }
            @for edge in edges {
                @match at(*edge).filter(|(octave, _)| octave.count > 0) {
                    None => td.nought { "0" },
                    Some((octave, (of_count, of_time))) => td.bar style=(format!("--w:{:.1}%", octave.count as f64 / counted.max(1) as f64 * 100.0)) {
                        (count(octave.count)) " "
                        small { (percentage(*of_count)) " / " (percentage(*of_time)) }
                    },
                }
            }
        }
    }
}

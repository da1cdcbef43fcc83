//! The main tables: operations, groups, long-lived requests and a breakdown, one shape for all four.

use super::table::scrolled;
use super::units::{UNKNOWN, bytes, count, data, milliseconds, optional, percentage};
use super::untrusted::Untrusted;
use crate::findings::{BreakdownRow, Findings, OperationRow, Overhead, Times};
use crate::shares::{self, Percentage};
use maud::{Markup, html};

/// The row's own heading, the counts, nine response times, two service times, bytes.
const COLUMNS: usize = 18;

/// Sums over groups and subgroups. `id` is unique in the page.
pub(super) fn groups(id: &str, rows: &[OperationRow]) -> Option<Markup> {
    (!rows.is_empty()).then(|| {
        table((id, OperationRow::headline_words(rows), false), "Groups of operations. Other is the sum of its three subgroups. Shares add up to 100 %, so those of equal counts may differ by 0.1 %.", "Group", &html! {
            tbody { @for (row, share) in rows.iter().zip(shares::of_rows(rows)) {
                @let (name, sub) = row.group.split_once('.').map_or((row.group.as_str(), false), |(_, sub)| (sub, true));
                (line(&html! { (Untrusted(name)) }, row, share, sub, None))
            } }
        })
    })
}

/// One row a procedure, subcommands below their command, protocols apart. `id` is unique in the page.
pub(super) fn operations(id: &str, rows: &[OperationRow]) -> Option<Markup> {
    (!rows.is_empty()).then(|| {
        table(
            (id, OperationRow::headline_words(rows), false),
            "All procedures in the input. The row of a command includes its subcommands, which have the rows below it. Shares add up to \
            100 %, so those of equal counts may differ by 0.1 %.",
            "Operation",
            &procedures(rows),
        )
    })
}

/// Requests that wait by design.
pub(super) fn long_lived(findings: &Findings) -> Option<Markup> {
    (!findings.long_lived.is_empty()).then(|| {
        table(
            ("long-lived", OperationRow::headline_words(&findings.long_lived), false),
            "Requests that wait by design (change notification, blocking locks, reads of pipes). The tables of operations and groups exclude these requests.",
            "Operation",
            &procedures(&findings.long_lived),
        )
    })
}

/// NFSv4 compounds, and their members besides the main operations.
pub(super) fn members(findings: &Findings) -> Option<Markup> {
    (!findings.members.is_empty()).then(|| {
        table(
            ("members", OperationRow::headline_words(&findings.members), false),
            "NFSv4 compounds, and their operations other than the main one. The tables of operations and groups exclude these rows, \
            and count a compound only as its main operation. Share: share of the compounds.",
            "Operation",
            &procedures(&findings.members),
        )
    })
}

/// The same numbers by key (`--by`).
pub(super) fn breakdown(findings: &Findings) -> Option<Markup> {
    let breakdown = findings.breakdown.as_ref()?;
    let shares = shares::of(&breakdown.rows.iter().map(|entry| entry.row.share).collect::<Vec<_>>(), 1.0);
    Some(html! {
        (table(("breakdown", "", true), &format!("Operations by {}, longest waiting first{}.", breakdown.dimensions.join(", "), breakdown.first_keys_words()), &breakdown.by, &html! {
            tbody { @for (entry, share) in breakdown.rows.iter().zip(shares) {
                (line(&html! { bdi { (Untrusted(&entry.key)) } }, &entry.row, share, false, Some(&data_rate(entry))))
            } }
        }))
        @if breakdown.others > 0 {
            p.note { "Not counted by key, because there are too many keys: " (count(breakdown.others)) @if breakdown.others == 1 { " operation." } @else { " operations." } }
        }
    })
}

fn procedures(rows: &[OperationRow]) -> Markup {
    let shown: Vec<(&OperationRow, Option<Percentage>)> = rows.iter().zip(shares::of_rows(rows)).collect();
    html! {
        @for protocol in shown.chunk_by(|(a, _), (b, _)| a.protocol == b.protocol) {
            tbody {
                @if let Some((first, _)) = protocol.first() {
                    tr.heading { th scope="rowgroup" colspan=(COLUMNS) { (Untrusted(&first.protocol)) } }
                }
                @for (row, share) in protocol {
                    @if row.is_asynchronous() { (unanswerable(row)) } @else { (line(&procedure(short_name(row), row), row, *share, row.parent.is_some(), None)) }
                }
            }
        }
    }
}

/// A subcommand's name without its command's, below which it stands.
pub(super) fn short_name(row: &OperationRow) -> &str {
    let rest = row.parent.as_deref().and_then(|parent| row.procedure.strip_prefix(parent)).map(str::trim_start);
    rest.filter(|rest| !rest.is_empty()).unwrap_or(&row.procedure)
}

fn unanswerable(row: &OperationRow) -> Markup {
    html! {
        tr.sub {
            th scope="row" { (procedure(short_name(row), row)) }
            @for _ in 0..4 { td { (UNKNOWN) } }
            td { (optional(row.packets_mean, |n| format!("{n:.1}"))) }
            @for _ in 0..11 { td { (UNKNOWN) } }
            td { (data(row.payload_bytes, row.payload_unknown)) }
        }
    }
}

fn procedure(name: &str, row: &OperationRow) -> Markup {
    html! {
        (Untrusted(name))
        @if let Some(seed) = &row.netbench_name { small.alias { (Untrusted(seed)) } }
    }
}

/// File data per second, of a row of `--by`.
fn data_rate(entry: &BreakdownRow) -> String {
    let rate = optional(entry.bytes_per_s, |rate| format!("{}/s", bytes(rate)));
    if entry.row.payload_unknown > 0 && entry.bytes_per_s.is_some() { format!("≥ {rate}") } else { rate }
}

fn line(name: &Markup, row: &OperationRow, share: Option<Percentage>, sub: bool, rate: Option<&str>) -> Markup {
    let response = |of: fn(&Times) -> f64| optional(row.headline_time().as_ref(), |t| milliseconds(of(t)));
    let service = |of: fn(&Times) -> f64| optional(row.service_time.as_ref(), |t| milliseconds(of(t)));
    let stddev = row.headline_time().as_ref().and_then(|t| t.stddev_s);
    html! {
        tr.sub[sub] {
            th scope="row" { (name) }
            td { (count(row.count)) }
            td { (percentage(share)) }
            (alarming(row.unanswered))
            (alarming(row.errors))
            td { (optional(row.packets_mean, |n| format!("{n:.1}"))) }
            td { (response(|t| t.min_s)) }
            td { (response(|t| t.max_s)) }
            td.key { (response(|t| t.p50_s)) }
            td { (response(|t| t.mean_s)) }
            td { (optional(stddev, milliseconds)) }
            td { (response(|t| t.p90_s)) }
            td { (response(|t| t.p95_s)) }
            td.key { (response(|t| t.p99_s)) }
            td { (response(|t| t.p999_s)) }
            td { (service(|t| t.p50_s)) }
            td { (service(|t| t.p99_s)) }
            td { (data(row.payload_bytes, row.payload_unknown)) }
            @if let Some(rate) = rate { td { (rate) } }
        }
    }
}

/// A count that should be nought: pale when it is.
fn alarming(n: u64) -> Markup {
    html! { td.alarming[n > 0].nought[n == 0] { (count(n)) } }
}

/// `rates`: with a column of file data per second.
fn table((id, from, rates): (&str, &str, bool), caption: &str, first: &str, body: &Markup) -> Markup {
    html! {
        (scrolled(&format!("{id}-caption"), "operations", html! { (Untrusted(caption)) " Times in milliseconds." }, html! {
            thead {
                tr {
                    th scope="col" rowspan="2" { (Untrusted(first)) }
                    th scope="colgroup" colspan="5" { "Requests" }
                    th scope="colgroup" colspan="9" { "Response time" (from) ", ms" }
                    th scope="colgroup" colspan="2" { "Service time, ms" }
                    th scope="col" rowspan="2" { "File data" }
                    @if rates { th scope="col" rowspan="2" { "Per second" } }
                }
                tr {
                    @for name in [
                        "Count", "Share", "No answer", "Errors", "Packets", "Fastest", "Slowest", "p50", "Mean",
                        "Std dev", "p90", "p95", "p99", "p99.9", "p50", "p99",
                    ] { th scope="col" { (name) } }
                }
            }
            (body)
        }))
    }
}

/// Bytes sent per byte of file data.
pub(super) fn overhead(own: &Overhead) -> Markup {
    html! { p.note { (crate::text::throughput::overhead(own)) } }
}

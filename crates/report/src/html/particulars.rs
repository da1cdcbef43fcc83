//! Single things to look at: statuses, the slowest operations, the requests without an answer.

use super::operations::short_name;
use super::table::scrolled;
use super::units::{UNKNOWN, count, instant, milliseconds, optional, percent_of};
use super::untrusted::Untrusted;
use crate::findings::{Findings, Headline, OperationRow, Slow};
use maud::{Markup, html};

/// Answers by procedure and status, without success.
pub(super) fn statuses(findings: &Findings) -> Option<Markup> {
    let rows: Vec<&OperationRow> = findings
        .operations
        .iter()
        .chain(&findings.long_lived)
        .chain(&findings.members)
        .filter(|row| !row.statuses.is_empty() || row.failed_without_status() > 0)
        .collect();
    (!rows.is_empty()).then(|| {
        html! {
            (scrolled("statuses-caption", "statuses", html! {
                "Responses with a status other than success. Some of these statuses are not errors, for example \
                the end of a listing. The rows of a command include its subcommands."
            }, html! {
                thead { tr {
                    th scope="col" { "Operation" } th.text scope="col" { "Status" } th scope="col" { "Number" }
                    th.text scope="col" { "Counts as" } th scope="col" { "Responses" } th scope="col" { "Share of responses" }
                } }
                tbody { @for row in rows {
                    @if row.failed_without_status() > 0 {
                        tr.sub[row.parent.is_some()] {
                            (operation(row))
                            td.text { "(no status)" } td { (UNKNOWN) } td.text { span.error { "failed" } }
                            td { (count(row.failed_without_status())) } td { (UNKNOWN) }
                        }
                    }
                    @for status in &row.statuses {
                    tr.sub[row.parent.is_some()] {
                        (operation(row))
                        td.text { (Untrusted(&status.name)) }
                        td { code { (format!("{:#010x}", status.status)) } }
                        td.text { span.error[status.error] { (Untrusted(&status.outcome)) } }
                        td { (count(status.count)) }
                        td { (percent_of(status.count, row.answered)) }
                    }
                } } }
            }))
        }
    })
}

fn operation(row: &OperationRow) -> Markup {
    html! {
        th scope="row" {
            @if row.parent.is_some() { (Untrusted(short_name(row))) }
            @else { (Untrusted(&row.protocol)) " " (Untrusted(&row.procedure)) }
        }
    }
}

/// The slowest operations, with what Wireshark needs to show them.
pub(super) fn slowest(findings: &Findings) -> Option<Markup> {
    let rows = &findings.slowest;
    let caption = "The slowest operations. The display filter shows the request and the response in Wireshark.";
    let from = findings.headline.is_from_intended();
    let time = if from { "Response from intended, ms" } else { "Response, ms" };
    (!rows.is_empty()).then(|| table("slowest", caption, Some(time), rows, findings.headline))
}

/// Requests without a captured answer, longest wait first.
pub(super) fn unanswered(findings: &Findings) -> Option<Markup> {
    let rows = &findings.unanswered;
    // The client of a run stops waiting at the timeout: an age at the end of the run says nothing.
    let (caption, time) = match findings.run {
        Some(_) => ("Requests without a response.", None),
        None => ("Requests without a captured response, and their age at the end of the capture.", Some("Age, ms")),
    };
    (!rows.is_empty()).then(|| table("unanswered", caption, time, rows, findings.headline))
}

/// `time` heads the column of times; without it there is none.
fn table(id: &str, caption: &str, time: Option<&str>, rows: &[Slow], headline: Headline) -> Markup {
    let answered = rows.iter().any(|row| row.service_time_s.is_some() || row.status.is_some());
    html! {
        (scrolled(&format!("{id}-caption"), "particulars", html! { (caption) }, html! {
            thead { tr {
                th scope="col" { "Operation" }
                @if let Some(time) = time { th scope="col" { (time) } }
                @if answered { th scope="col" { "Service, ms" } }
                th.text scope="col" { "Request sent" } th.text scope="col" { "Client, server" }
                th.text scope="col" { "On" }
                @if answered { th.text scope="col" { "Status" } }
                th scope="col" { "Frames" } th.text scope="col" { "Display filter" }
            } }
            tbody { @for row in rows { (line(row, answered, time.map(|_| headline))) } }
        }))
    }
}

fn line(row: &Slow, answered: bool, headline: Option<Headline>) -> Markup {
    html! {
        tr {
            th scope="row" { (Untrusted(&row.protocol)) " " (Untrusted(&row.procedure)) }
            @if let Some(headline) = headline { td.key { (milliseconds(row.headline_s(headline))) } }
            @if answered { td { (optional(row.service_time_s, milliseconds)) } }
            td.text.when { (instant(Some(row.at_ns))) }
            td.text.ends { (Untrusted(&row.client)) " →" br; (Untrusted(&row.server)) }
            td.text.on { (object(row)) }
            @if answered {
                td.text { @if let Some(status) = &row.status { (Untrusted(status)) } @else { (UNKNOWN) } }
            }
            td { (frames(row)) }
            td.text.filter { code { (Untrusted(&row.display_filter)) } }
        }
    }
}

/// First frame of the request, last of the response; ungrouped, as Wireshark shows them.
fn frames(row: &Slow) -> String {
    match (row.request_frame, row.response_frame) {
        (Some(first), Some(last)) => format!("{first} – {last}"),
        (Some(only), None) | (None, Some(only)) => only.to_string(),
        (None, None) => UNKNOWN.into(),
    }
}

/// Share, path and user, as far as they are known.
fn object(row: &Slow) -> Markup {
    html! {
        @if let Some(path) = &row.path { bdi.path { (Untrusted(path)) } }
        @if let Some(share) = &row.share { small { "share " bdi { (Untrusted(share)) } } }
        @if let Some(user) = &row.user { small { "user " bdi { (Untrusted(user)) } } }
        @if row.path.is_none() && row.share.is_none() && row.user.is_none() { (UNKNOWN) }
    }
}

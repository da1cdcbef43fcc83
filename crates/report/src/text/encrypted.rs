//! Encrypted messages without a key: exact numbers and estimates.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::time;
use super::units::{NONE, bytes};
use crate::collect::{are, plural};
use crate::findings::{Encrypted, Findings, Waited};

/// The section; nothing where all messages were read.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Some(found) = &findings.encrypted else { return Ok(()) };
    page.heading("Encrypted SMB 3 messages, not read:")?;
    let rate = |sum: u64| {
        let per_s = found.elapsed_s.filter(|&s| s > 0.0).map(|s| format!(" ({}/s)", bytes((sum as f64 / s) as u64)));
        format!("{}{}", bytes(sum), per_s.unwrap_or_default())
    };
    let mut sums = Table::new().left(0);
    for (name, text) in [
        ("  Requests:", format!("{}, {}", found.requests, rate(found.request_bytes))),
        ("  Responses:", format!("{}, {}", found.responses, rate(found.response_bytes))),
    ] {
        sums.row(vec![name.to_owned(), text]);
    }
    page.table(&sums)?;
    let mut table = Table::new().left(0);
    table.head(&["", "Count", "Data", "Average", "p50", "p90", "p99"]);
    for (name, waited) in [("All", &found.all), ("Reads", &found.reads), ("Writes", &found.writes)] {
        table.row(row(name, waited));
    }
    page.table(&table)?;
    page.paragraph(Role::Plain, "", &explained(found))
}

fn row(name: &str, waited: &Waited) -> Vec<String> {
    let shown = |s: Option<f64>| s.map_or_else(|| NONE.to_owned(), time);
    let data = if name == "All" { NONE.to_owned() } else { bytes(waited.data_bytes) };
    let times = [waited.mean_s, waited.p50_s, waited.p90_s, waited.p99_s].map(shown);
    [name.to_owned(), waited.count.to_string(), data].into_iter().chain(times).collect()
}

fn explained(found: &Encrypted) -> String {
    // Requests are left out at a gap in the order of requests.
    let (exact, first) = match (found.all.mean_s, found.interrupted) {
        (Some(_), 0) => (
            "counts, bytes, and the average of all response times, which follows from the number of outstanding requests (Little's law)",
            "",
        ),
        (_, 0) => ("counts and bytes", ""),
        (mean_s, _) => {
            ("counts and bytes of the captured messages", if mean_s.is_some() { "the average, " } else { "" })
        }
    };
    let mut text = format!(
        "Exact: {exact}. Estimated: {first}percentiles, and the rows of reads and writes. The estimates assume that responses come in the \
        order of their requests. Plimsoll distinguishes reads from writes by the message size. A message may contain several operations."
    );
    if found.besides > 0 {
        let mean = match found.mean_low_s.zip(found.mean_high_s) {
            Some((low, high)) if low == high => {
                "The size of such a response identifies it, so it does not change the average.".to_owned()
            }
            Some((low, high)) => {
                format!("Therefore only bounds of the average are known: {} to {}.", time(low), time(high))
            }
            None => "Therefore the average is not known.".to_owned(),
        };
        text += &format!(
            " {} had no captured request (interim responses, lease breaks, or responses to requests before the capture). {mean} The \
            percentiles are too low, because Plimsoll treats each of these responses as the response to an outstanding request.",
            plural(found.besides, "response"),
        );
    }
    if found.cancels > 0 {
        text += &format!(" {} counted as CANCEL. A CANCEL request gets no response.", are(found.cancels, "request"));
    }
    if found.unanswered > 0 {
        text += &format!(
            " {} got no captured response. A request without a response makes the response times of later requests too long.",
            plural(found.unanswered, "request")
        );
    }
    if found.interrupted > 0 {
        let timed = found.all.count.saturating_add(found.unanswered).saturating_add(found.cancels);
        text += &format!(
            " The capture has {gaps} with missing bytes. After each gap, Plimsoll measures no request until the connection has been \
            quiet for one second. This leaves out {requests} in total, including those that were outstanding at a gap.",
            gaps = plural(found.interrupted, "gap"),
            requests = plural(found.requests.saturating_sub(timed), "request"),
        );
    }
    text
}

//! Anomalies with their counts, and at the end of the report what could not be seen.

use super::page::{Page, Role};
use super::table::Table;
use super::time;
use super::units::{bytes, percent_of};
use crate::collect::missing;
use crate::findings::{Findings, Resent, Unseen};
use std::fmt;

pub(super) fn anomalies(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    page.heading("Anomalies (share of packets):")?;
    if findings.anomalies.is_empty() {
        return page.line("  none");
    }
    let mut table = Table::new();
    for anomaly in &findings.anomalies {
        table.row(vec![
            format!("  {}:", anomaly.text),
            anomaly.count.to_string(),
            percent_of(anomaly.count, findings.packets.total),
        ]);
    }
    page.table(&table)
}

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    page.heading("Data quality:")?;
    page.paragraph(Role::Plain, "  ", &missing::headline(findings))?;
    if findings.run.is_none() {
        halves(page, findings)?;
    }
    Ok(())
}

/// How long operations waited for bytes that were sent again, where any did.
fn resent(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Resent { operations, wait_s, brief_operations, brief_wait_s, unknown } = findings.resent;
    let waited = |count: Option<u64>, seconds: Option<f64>| {
        let (count, seconds) = (count.filter(|&count| count > 0)?, seconds?);
        Some(format!("{count}, {} in all", time(seconds)))
    };
    let rows = [
        ("operations that waited 3 ms or longer for retransmissions:", waited(operations, wait_s)),
        ("operations that waited less than 3 ms, reordering included:", waited(brief_operations, brief_wait_s)),
    ];
    let mut table = Table::new().left(2);
    for (name, text) in rows {
        if let Some(text) = text {
            table.row(vec![format!("  {name}"), text]);
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    if let Some(unknown) = unknown.filter(|&unknown| unknown > 0) {
        table.row(vec!["  operations for which the wait is unknown:".to_owned(), unknown.to_string()]);
    }
    page.table(&table)
}

/// Requests and responses that found no partner in the capture.
fn halves(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let mut table = Table::new();
    for (name, count, always) in rows(&findings.unseen) {
        if always || count > 0 {
            table.row(vec![format!("  {name}:"), count.to_string()]);
        }
    }
    page.table(&table)?;
    resent(page, findings)?;
    let packets = &findings.packets;
    if packets.missing_bytes > 0 {
        let size = bytes(packets.missing_bytes);
        let text = match missing::dropped_packets(findings) {
            Some((estimate, least)) => format!(
                "About {estimate} packets with data ({size}) are missing from the capture. The lower bound is {least} packets: it assumes \
                that each missing packet was as large as the largest packet in its direction."
            ),
            None => format!("{size} of data are missing from the capture. {}", missing::PACKETS_UNKNOWN),
        };
        page.paragraph(Role::Plain, "  ", &text)?;
    }
    if !findings.anomalies.is_empty() {
        page.paragraph(Role::Plain, "  ", "More counts: see the list of anomalies.")?;
    }
    Ok(())
}

/// Counts by cause, and whether they are shown if 0.
pub(crate) fn rows(unseen: &Unseen) -> [(&'static str, u64, bool); 14] {
    [
        ("requests and responses paired", unseen.paired, true),
        ("operations missing, estimated", unseen.missing, true),
        ("requests whose response was dropped or not recognised", unseen.requests_after_gap, true),
        ("responses whose request was dropped or not recognised", unseen.responses_after_gap, true),
        ("requests whose response the snap length cut off", unseen.requests_after_cut, false),
        ("responses whose request the snap length cut off", unseen.responses_after_cut, false),
        ("requests on connections captured in one direction", unseen.requests_one_sided, false),
        ("responses on connections captured in one direction", unseen.responses_one_sided, false),
        ("encrypted messages, not read (one direction)", unseen.encrypted, false),
        ("compressed messages, not read (one direction)", unseen.compressed, false),
        ("requests without a response, although nothing was lost", unseen.requests_waiting, true),
        ("responses to requests from before the capture", unseen.responses_before_start, true),
        ("requests without a response, unknown cause", unseen.requests_unexplained, false),
        ("responses without a request, unknown cause", unseen.responses_unexplained, false),
    ]
}

//! Anomalies with their counts, and at the end of the report what could not be seen.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{percent, percent_of};
use crate::findings::Findings;
use std::fmt;

pub(super) fn warnings(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    page.heading("Warnings (share of packets):")?;
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
    page.heading("What could not be seen:")?;
    if findings.run.is_some() {
        // Whoever sends knows of every request.
        let text = "Nothing: every request of the measured phases is in these numbers, answered or not.";
        page.paragraph(Role::Plain, "  ", text)?;
    } else {
        halves(page, findings)?;
    }
    Ok(())
}

/// Requests and responses that found no partner in the capture.
fn halves(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let unseen = &findings.unseen;
    let lost = unseen.share_lost_at_least;
    let text = if unseen.requests_after_gap == 0 && unseen.responses_after_gap == 0 {
        "No operation was lost to a hole in the capture, as far as the packets tell.".to_owned()
    } else {
        let share = if lost > 0.0 && lost < 0.0005 { "less than 0.1%".to_owned() } else { percent(lost) };
        format!(
            "At least {share} of the operations could not be paired because of holes in the capture; those of which both halves were lost are not counted."
        )
    };
    page.paragraph(Role::Plain, "  ", &text)?;
    let mut table = Table::new();
    for (name, count) in [
        ("requests and responses paired:", unseen.paired),
        ("requests whose response fell into a hole:", unseen.requests_after_gap),
        ("responses whose request fell into a hole:", unseen.responses_after_gap),
        ("requests still waiting, nothing lost:", unseen.requests_waiting),
        ("responses to requests before the start:", unseen.responses_before_start),
    ] {
        table.row(vec![format!("  {name}"), count.to_string()]);
    }
    page.table(&table)?;
    if findings.packets.dropped_at_least > 0 {
        let text = format!("The capture dropped {} packets or more.", findings.packets.dropped_at_least);
        page.paragraph(Role::Plain, "  ", &text)?;
    }
    if !findings.anomalies.is_empty() {
        page.paragraph(Role::Plain, "  ", "Anomalies are counted under Warnings.")?;
    }
    Ok(())
}

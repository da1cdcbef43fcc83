//! Only Appendix A of the netbench report: one report for a capture, or for each load level of a run.

use super::page::Page;
use super::table::Table;
use super::units::{percent_of, significant};
use super::{Section, Sections, Style, commands, distributions, packets, scale_of, write_side};
use crate::findings::{Findings, LoadLevel, Report};
use crate::safe;
use std::fmt;

/// What Appendix A has.
const SECTIONS: Sections = Sections::NONE
    .with(Section::Packets)
    .with(Section::Commands)
    .with(Section::Groups)
    // Without them its tables do not add up to the commands that the packets are counted by.
    .with(Section::LongLived)
    .with(Section::Distributions)
    .with(Section::Anomalies);

/// Appendix A's report of a capture, or of each load level of a run in order. Ignores the sections of the style.
pub fn appendix_a(report: &Report, style: &Style) -> String {
    let mut text = String::new();
    let mut page = Page::new(&mut text, style);
    page.set_scale(scale_of(&report.sides));
    // Writing to a String cannot fail.
    let _ = report.sides.iter().try_for_each(|side| of_side(&mut page, side, style));
    text
}

fn of_side(page: &mut Page<'_>, findings: &Findings, style: &Style) -> fmt::Result {
    let Some(run) = &findings.run else {
        return write_side(page, findings, &Style { sections: SECTIONS, ..*style });
    };
    if findings.levels.is_empty() {
        return packets::title(page, findings);
    }
    for (place, level) in findings.levels.iter().enumerate() {
        if place > 0 {
            page.blank()?;
        }
        of_level(page, &run.target, level)?;
    }
    Ok(())
}

/// A load level: requests and data replace a capture's packets, which a run does not have.
fn of_level(page: &mut Page<'_>, target: &str, level: &LoadLevel) -> fmt::Result {
    let name = format!("{target} - {}", level.words());
    let name = safe::fit_path(&name, page.width().saturating_sub(4));
    packets::banner(page, &name, &level.facts.validity)?;
    page.blank()?;
    page.table(&counts(level))?;
    page.blank()?;
    packets::elapsed(page, &level.span)?;
    commands::draw(page, &level.operations)?;
    commands::groups(page, &level.groups)?;
    distributions::draw(page, &level.operations, &level.groups)?;
    warnings(page, level)
}

fn counts(level: &LoadLevel) -> Table {
    let mut table = Table::new().left(3);
    let mut row = |name: &str, number: String, share: String, note: String| {
        table.row(vec![name.to_owned(), number, share, note]);
    };
    let answered = level.count.saturating_sub(level.unanswered);
    let of_all = |count| percent_of(count, level.count);
    row("Requests:", level.count.to_string(), String::new(), "without logons and logoffs".to_owned());
    let rate = format!("{} per second", significant(level.operations_per_s));
    row("  answered:", answered.to_string(), of_all(answered), rate);
    row("  errors:", level.errors.to_string(), of_all(level.errors), "refused or failed".to_owned());
    row("  unanswered:", level.unanswered.to_string(), of_all(level.unanswered), String::new());
    let data = level.read_bytes_per_s + level.write_bytes_per_s;
    for (name, bytes) in [("Data:", data), ("  read:", level.read_bytes_per_s), ("  written:", level.write_bytes_per_s)]
    {
        let bits = format!("MB/s, {} Mbit/s", significant(bytes * 8.0 / 1e6));
        row(name, significant(bytes / 1e6), String::new(), bits);
    }
    table
}

fn warnings(page: &mut Page<'_>, level: &LoadLevel) -> fmt::Result {
    page.heading("Warnings:")?;
    let told = [
        ("operations not sent", level.facts.generator.never_sent),
        ("unmatched responses", level.facts.generator.unmatched_responses),
    ];
    let mut table = Table::new();
    for failure in &level.failures {
        table.row(vec![format!("  {}:", failure.cause), failure.count.to_string()]);
    }
    for (what, count) in told.into_iter().filter(|(_, count)| *count > 0) {
        table.row(vec![format!("  {what}:"), count.to_string()]);
    }
    if table.is_empty() { page.line("  none") } else { page.table(&table) }
}

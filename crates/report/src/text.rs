//! The terminal report: all parts of Swartz's (1997) Appendix A in its order, then the parts that it does not have.
//!
//! Made only from [`Report`]. All text from a capture goes through [`crate::safe`]; every number has a unit in its cell or its header.
//! Output has colours only if the caller requests them.

mod appendix_a;
mod breakdown;
pub(crate) mod calls;
pub(crate) mod capacity;
mod client_paths;
mod clients;
mod commands;
mod comparison;
mod curves;
mod described;
mod diagnosis;
mod distributions;
mod drawn;
mod encrypted;
mod errors;
mod file_io;
pub(crate) mod history;
mod names;
mod packets;
mod page;
mod percentiles;
mod profile;
mod queue_depth;
mod ranking;
mod run;
mod screen;
mod service;
mod slowest;
mod spark;
mod style;
mod summary;
mod table;
pub(crate) mod throughput;
mod units;
mod unseen;

pub(crate) use unseen::rows as unseen_rows;

use crate::findings::{Findings, Report};
pub use appendix_a::appendix_a;
pub(crate) use capacity::lowered;
pub use capacity::{exact as exact_load, load_name};
pub(crate) use clients::{sentence, unjudged};
pub(crate) use comparison::change_of as change;
pub use history::history;
use names::{full_name, group_name, name, several_protocols, standard_name};
use page::{Page, Role};
pub use screen::{LINES, screen};
use std::fmt;
pub use style::{Section, Sections, Style};
use units::TimeScale;
pub(crate) use units::bytes as size;
pub(crate) use units::{in_table, time, unit_label, with_unit};
pub use units::{significant, time as duration};

/// Writes the report. Fails only where `out` does.
pub fn write(report: &Report, style: &Style, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::new(out, style);
    page.set_scale(scale_of(&report.sides));
    if let Some(found) = &report.comparison {
        return comparison::draw(&mut page, &report.sides, found, style.sections);
    }
    report.sides.iter().try_for_each(|side| write_side(&mut page, side, style))
}

fn write_side(page: &mut Page<'_>, findings: &Findings, style: &Style) -> fmt::Result {
    packets::title(page, findings)?;
    described::draw(page, std::slice::from_ref(findings))?;
    for section in Section::ALL.into_iter().filter(|&section| style.sections.contains(section)) {
        let before = page.lines();
        match section {
            Section::Diagnosis => diagnosis::draw(page, &findings.diagnosis)?,
            Section::Packets => {
                packets::draw(page, findings)?;
                client_paths::draw(page, findings)?;
                if findings.run.is_none() {
                    drawn::draw(page, crate::tables::channels(std::slice::from_ref(findings)))?;
                }
                drawn::draw(page, crate::tables::lease_breaks(std::slice::from_ref(findings)))?;
                drawn::draw(page, crate::tables::delegations(std::slice::from_ref(findings)))?;
                drawn::draw(page, crate::tables::slots(std::slice::from_ref(findings)))?;
                encrypted::draw(page, findings)?;
            }
            Section::Run => run::draw(page, findings)?,
            Section::Clients => drawn::draw(page, crate::tables::clients(std::slice::from_ref(findings)))?,
            Section::Summary => summary::draw(page, findings)?,
            Section::Commands => commands::draw(page, &findings.operations)?,
            Section::Groups => commands::groups(page, &findings.groups)?,
            Section::Distributions => distributions::draw(page, &findings.operations, &findings.groups)?,
            Section::Anomalies => unseen::anomalies(page, findings)?,
            Section::Percentiles => percentiles::draw(page, findings)?,
            Section::Throughput => throughput::draw(page, findings)?,
            Section::Io => file_io::draw(page, findings)?,
            Section::Errors => errors::draw(page, findings)?,
            Section::LongLived => {
                commands::long_lived(page, &findings.long_lived)?;
                commands::members(page, &findings.members)?;
            }
            Section::QueueDepth => queue_depth::draw(page, findings)?,
            Section::ServiceTime => service::draw(page, findings)?,
            Section::ServiceOctaves => service::each(page, findings)?,
            Section::Breakdown => {
                // A whole report has the parts of a call with the run.
                if let Some(run) = findings.run.as_ref().filter(|_| !style.sections.contains(Section::Run)) {
                    calls::draw(page, run.calls.as_deref())?;
                }
                breakdown::draw(page, findings)?;
            }
            Section::Slowest => slowest::slowest(page, findings)?,
            Section::Unanswered => slowest::unanswered(page, findings)?,
            Section::Unseen => unseen::draw(page, findings)?,
            Section::Ranking | Section::Differences => {}
        }
        if style.sections != Sections::ALL && page.lines() == before {
            page.paragraph(Role::Quiet, "", &format!("Section {}: nothing in this report.", section.label()))?;
        }
    }
    Ok(())
}

/// The report as a string.
pub fn to_string(report: &Report, style: &Style) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(report, style, &mut text);
    text
}

/// A report that compares as one table; one of a single side is as long as ever.
pub fn compact_to_string(report: &Report, style: &Style) -> String {
    let Some(found) = &report.comparison else { return to_string(report, style) };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = comparison::compact(&mut Page::new(&mut text, style), &report.sides, found);
    text
}

/// The common unit of all response and service times, so that numbers of different tables can be compared easily.
fn scale_of(sides: &[Findings]) -> TimeScale {
    let rows = sides.iter().flat_map(|side| side.operations.iter().chain(&side.groups));
    let times = rows.flat_map(|row| [row.headline_time(), row.service_time]).flatten();
    let slowest = sides.iter().flat_map(|side| side.slowest.iter().map(|slow| slow.headline_s(side.headline)));
    TimeScale::of(times.flat_map(|t| [t.min_s, t.max_s, t.p50_s, t.mean_s]).chain(slowest))
}

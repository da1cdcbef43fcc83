//! How the load was made, a line a load level, and whether the generator kept up.

use super::page::{Page, Role};
use super::units::{NONE, time};
use super::{calls, capacity, drawn};
use crate::findings::{Findings, outstanding, pace};
use crate::tables;
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Some(run) = &findings.run else { return Ok(()) };
    page.blank()?;
    page.paragraph(Role::Plain, "Target:   ", &run.target)?;
    page.paragraph(Role::Plain, "Workload: ", &format!("{}: {}", run.workload, run.description))?;
    if !run.parameters.is_empty() {
        let values: Vec<String> = run.parameters.iter().map(|one| format!("{} = {}", one.name, one.value)).collect();
        page.paragraph(Role::Plain, "With:     ", &values.join(", "))?;
    }
    let threads = if run.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", run.threads) };
    let mut how = format!("seed {}, {threads}, warm-up {} before each level", run.seed, time(run.warmup_s));
    for words in pace(&findings.levels) {
        how.push_str(&format!("; {words}"));
    }
    page.paragraph(Role::Plain, "Load:     ", &how)?;
    if let Some(words) = outstanding(&findings.levels) {
        page.paragraph(Role::Plain, "Depth:    ", &words)?;
    }
    if !run.facts.is_empty() {
        page.paragraph(Role::Plain, "Facts:    ", &run.facts.join(", "))?;
    }
    capacity::draw(page, run.capacity.as_deref())?;
    calls::draw(page, run.calls.as_deref())?;
    if findings.levels.is_empty() {
        return Ok(());
    }
    let sides = std::slice::from_ref(findings);
    drawn::draw(page, tables::interference(sides))?;
    drawn::draw(page, tables::levels_and_outages(sides))?;
    super::curves::draw(page, findings)?;
    other_tables(page, sides)?;
    super::clients::draw(page, findings)?;
    drawn::draw(page, tables::failures(sides))
}

/// Tables of load levels, of several sides in comparison.
pub(super) fn tables_of(page: &mut Page<'_>, sides: &[Findings]) -> fmt::Result {
    drawn::draw(page, tables::levels_and_outages(sides))?;
    other_tables(page, sides)?;
    drawn::draw(page, tables::failures(sides))
}

fn other_tables(page: &mut Page<'_>, sides: &[Findings]) -> fmt::Result {
    drawn::draw(page, tables::highest_data(sides))?;
    let users = tables::users(sides).into_iter().chain(tables::late_iterations(sides));
    drawn::draw(page, users.chain(tables::repeats(sides)).chain(tables::server_side(sides)))?;
    drawn::draw(page, tables::session_requests(sides))?;
    drawn::draw(page, tables::server_counters(sides))?;
    drawn::draw(page, tables::channels(sides))?;
    drawn::draw(page, tables::generators(sides))
}

pub(super) fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

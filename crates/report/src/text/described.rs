//! Title, labels and the system under test in the terminal.

use super::page::{Page, Role};
use crate::described::{self, DescribedRow, described, is_brief};
use crate::findings::Findings;
use crate::findings::comparison::ComparedGuarantee;
use crate::safe;
use std::fmt;

/// Descriptions of one side, or of several; nothing if there are none.
pub(super) fn draw(page: &mut Page<'_>, sides: &[Findings]) -> fmt::Result {
    let rows = described(sides);
    if rows.is_empty() {
        return Ok(());
    }
    page.heading(if sides.len() == 1 { "Described as:" } else { "Described as (differences first):" })?;
    rows.iter().try_for_each(|row| one(page, sides, row))
}

/// Descriptions that differ between sides; nothing if they agree.
pub(super) fn differences(page: &mut Page<'_>, sides: &[Findings]) -> fmt::Result {
    let rows = described(sides);
    let mut different = rows.iter().filter(|row| row.differs()).peekable();
    if different.peek().is_some() {
        page.heading("Described differently:")?;
    }
    different.try_for_each(|row| one(page, sides, row))
}

/// Guarantees of the servers in a comparison; only those that differ unless `all` is set.
pub(super) fn guarantees(
    page: &mut Page<'_>,
    (sides, rows): (&[Findings], &[ComparedGuarantee]),
    all: bool,
) -> fmt::Result {
    let rows = described::guarantees(rows.iter().filter(|row| all || is_brief(row)));
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("Server guarantees:")?;
    rows.iter().try_for_each(|row| one(page, sides, row))
}

/// A line each for the title, the labels and the system, cut to the width of the page.
pub(super) fn brief(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let about = &findings.source.about;
    let line = |page: &mut Page<'_>, lead: &str, text: &str| {
        let room = page.width().saturating_sub(lead.len());
        page.line(&format!("{lead}{}", safe::fit(text, room)))
    };
    if let Some(title) = &about.title {
        line(page, "Title: ", title)?;
    }
    if !about.labels.is_empty() {
        let labels: Vec<String> = about.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        line(page, "Labels: ", &labels.join(", "))?;
    }
    if let Some(system) = &about.system {
        let parts = system.parts();
        let parts: Vec<String> =
            parts.iter().filter(|(_, lines)| !lines.is_empty()).map(|(_, lines)| lines.join("; ")).collect();
        line(page, "System: ", &parts.join("; "))?;
    }
    Ok(())
}

/// `CPU      A: …`, and one line for each other side; one line if all are equal.
fn one(page: &mut Page<'_>, sides: &[Findings], row: &DescribedRow) -> fmt::Result {
    // A key of a label may be 64 characters long.
    let name = format!("  {:<12}", safe::fit(&row.name, page.width() / 2));
    let values: Vec<&str> = row.values.iter().map(|value| value.as_deref().unwrap_or("(not given)")).collect();
    if !row.differs() {
        return page.paragraph(Role::Plain, &format!("{name} "), values.first().unwrap_or(&""));
    }
    for (place, (side, value)) in sides.iter().zip(values).enumerate() {
        let name = if place == 0 { name.clone() } else { " ".repeat(safe::columns(&name)) };
        page.paragraph(Role::Plain, &format!("{name} {}: ", side.letter), value)?;
    }
    Ok(())
}

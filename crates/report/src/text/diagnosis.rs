//! What to know first, above every table.

use super::page::{Page, Role};
use crate::findings::Findings;
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let diagnosis = &findings.diagnosis;
    if diagnosis.statements.is_empty() {
        return Ok(());
    }
    page.heading("Diagnosis:")?;
    for statement in &diagnosis.statements {
        page.paragraph(Role::Plain, "* ", &statement.text)?;
    }
    if let Some(next) = &diagnosis.next {
        page.paragraph(Role::Plain, "Next: ", next)?;
    }
    Ok(())
}

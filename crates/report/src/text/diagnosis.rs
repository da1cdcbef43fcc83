//! What to know first, above every table.

use super::page::{Page, Role};
use crate::findings::Diagnosis;
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, diagnosis: &Diagnosis) -> fmt::Result {
    if diagnosis.statements.is_empty() {
        return Ok(());
    }
    page.heading("Diagnosis:")?;
    for statement in &diagnosis.statements {
        page.paragraph(Role::Plain, "* ", &statement.text)?;
    }
    if let Some(next) = &diagnosis.next {
        page.command("Next: ", next)?;
    }
    Ok(())
}

//! What the page is about: one set of findings, or several beside each other in the same charts.

use crate::findings::{Findings, OperationRow};

/// Which response time the charts of these sides show.
pub(super) fn response_time(sides: &[Side<'_>]) -> &'static str {
    let from_intended = !sides.is_empty() && sides.iter().all(|side| side.findings.headline.is_from_intended());
    if from_intended { "response time from the intended start" } else { "response time" }
}

/// A set of findings.
pub(super) struct Side<'a> {
    /// What it is called in legends; nobody reads it where there is one side only.
    pub(super) name: String,
    pub(super) findings: &'a Findings,
    /// Where the findings stand in the page's JSON: a JSON pointer, empty for the whole.
    pub(super) pointer: String,
}

impl<'a> Side<'a> {
    /// The only side of a page.
    pub(super) fn only(findings: &'a Findings) -> Side<'a> {
        Side { name: String::new(), findings, pointer: String::new() }
    }
}

/// What a series is called: the side's name is part of it only where there are several.
pub(super) fn label(sides: &[Side<'_>], side: &Side<'_>, what: &str) -> String {
    match (sides.len(), what.is_empty()) {
        (1, _) => what.to_owned(),
        (_, true) => side.name.clone(),
        (_, false) => format!("{what}, {}", side.name),
    }
}

/// The groups of all sides in the order in which they first appear, those for which `wanted` holds somewhere.
pub(super) fn groups<'a>(sides: &[Side<'a>], wanted: impl Fn(&OperationRow) -> bool) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in sides.iter().flat_map(|side| &side.findings.groups).filter(|row| wanted(row)) {
        if !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    names
}

/// A side's row of a group.
pub(super) fn group<'a>(side: &Side<'a>, name: &str) -> Option<&'a OperationRow> {
    side.findings.groups.iter().find(|row| row.group == name)
}

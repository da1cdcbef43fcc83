//! What a report is about: one set of findings, or several beside each other in the same tables and charts.

use crate::findings::comparison::{Comparison, Subject};
use crate::findings::{Findings, OperationRow};

/// Which response time the charts of these sides show.
pub(crate) fn response_time(sides: &[Side<'_>]) -> &'static str {
    let from_intended = !sides.is_empty() && sides.iter().all(|side| side.findings.headline.is_from_intended());
    if from_intended { "response time from the intended start" } else { "response time" }
}

/// A set of findings.
pub(crate) struct Side<'a> {
    /// What it is called in legends and tables that show several sides.
    pub(crate) name: String,
    pub(crate) findings: &'a Findings,
    /// Where the findings stand in the page's JSON: a JSON pointer, empty for the whole.
    pub(crate) pointer: String,
}

/// The subjects of a comparison, as far as their findings are known: of all of them, or of none.
pub(crate) fn of<'a>(comparison: &Comparison, findings: &'a [Findings]) -> Vec<Side<'a>> {
    if findings.len() != comparison.subjects.len() {
        return Vec::new();
    }
    let side = |(place, (subject, findings)): (usize, (&Subject, &'a Findings))| Side {
        name: subject.letter.clone(),
        findings,
        pointer: format!("/subjects/{place}"),
    };
    comparison.subjects.iter().zip(findings).enumerate().map(side).collect()
}

impl<'a> Side<'a> {
    /// The only side of a page.
    pub(crate) fn only(findings: &'a Findings) -> Side<'a> {
        Side { name: String::new(), findings, pointer: String::new() }
    }
}

/// What a series is called: the side's name is part of it only where there are several.
pub(crate) fn label(sides: &[Side<'_>], side: &Side<'_>, what: &str) -> String {
    match (sides.len(), what.is_empty()) {
        (1, _) => what.to_owned(),
        (_, true) => side.name.clone(),
        (_, false) => format!("{what}, {}", side.name),
    }
}

/// The groups of all sides in the order in which they first appear, those for which `wanted` holds somewhere.
pub(crate) fn groups<'a>(sides: &[Side<'a>], wanted: impl Fn(&OperationRow) -> bool) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in sides.iter().flat_map(|side| &side.findings.groups).filter(|row| wanted(row)) {
        if !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    names
}

/// A side's row of a group.
pub(crate) fn group<'a>(side: &Side<'a>, name: &str) -> Option<&'a OperationRow> {
    side.findings.groups.iter().find(|row| row.group == name)
}

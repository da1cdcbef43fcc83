//! Several sides in the tables and charts of one report.

use crate::findings::{Findings, OperationRow};

/// Which response time the charts of these sides show.
pub(crate) fn response_time(sides: &[Findings]) -> &'static str {
    let from_intended = !sides.is_empty() && sides.iter().all(|side| side.headline.is_from_intended());
    if from_intended { "response time from the intended start" } else { "response time" }
}

/// A series' name, with the side's name if there are several sides.
pub(crate) fn label(sides: &[Findings], side: &Findings, what: &str) -> String {
    match (sides.len(), what.is_empty()) {
        (1, _) => what.to_owned(),
        (_, true) => side.letter.clone(),
        (_, false) => format!("{what}, {}", side.letter),
    }
}

/// The groups of all sides in the order in which they first appear, those for which `wanted` holds somewhere.
pub(crate) fn groups(sides: &[Findings], wanted: impl Fn(&OperationRow) -> bool) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in sides.iter().flat_map(|side| &side.groups).filter(|row| wanted(row)) {
        if !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    names
}

/// A side's row of a group.
pub(crate) fn group<'a>(side: &'a Findings, name: &str) -> Option<&'a OperationRow> {
    side.groups.iter().find(|row| row.group == name)
}

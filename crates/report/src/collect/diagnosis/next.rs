//! The command that shows more.

use super::{Evidence, Look, clients};
use crate::safe::{file_for_shell, for_shell};

/// Dimensions that are of use to anybody, in the order in which they are asked about.
const DIMENSIONS: [&str; 4] = ["client", "path", "second", "connection"];

/// The command that shows the most important cause, or else the first operation, by the first dimension that has several values and whose
/// answer the report does not show already; None if there is no such dimension.
pub(super) fn next(evidence: &Evidence<'_>, operation: &str, look: Option<&Look>) -> Option<String> {
    let findings = evidence.findings;
    let inputs = &findings.source.inputs;
    if !findings.source.is_readable_again() {
        return None;
    }
    let filters = &findings.source.filters;
    let is_filtered = |flag: &str| filters.iter().any(|filter| flag_and_value(filter).0 == flag);
    let only = look.and_then(|look| look.only.as_ref()).filter(|(flag, _)| !is_filtered(flag));
    let is_one = |by: &str| {
        let is_it = |flag: &str| flag.strip_prefix("--") == Some(by);
        only.is_some_and(|(flag, _)| is_it(flag))
            || filters.iter().any(|filter| is_it(flag_and_value(filter).0) && is_single(filter))
    };
    let is_shown = |by: &str| findings.breakdown.as_ref().is_some_and(|breakdown| breakdown.by == by);
    let mut by = look.map(|look| look.by).into_iter().chain(DIMENSIONS);
    let operation = look.map_or(operation, |look| look.operation);
    let by = by.find(|by| !is_one(by) && !is_shown(by) && !has_one_value(evidence, operation, by))?;
    let mut words: Vec<String> = vec!["plimsoll analyze".to_owned()];
    words.extend(inputs.iter().map(|input| file_for_shell(input)));
    words.extend(findings.source.options.iter().chain(filters).cloned());
    if !is_filtered("--operation") {
        words.push(format!("--operation {}", for_shell(operation)));
    }
    words.extend(only.map(|(flag, value)| match *flag {
        "--share" => format!("{flag} {}", for_shell(&as_pattern(value))),
        flag => format!("{flag} {}", for_shell(value)),
    }));
    words.push(format!("--by {by}"));
    Some(words.join(" "))
}

/// Whether no two values of a dimension are known of an operation's requests.
fn has_one_value(evidence: &Evidence<'_>, operation: &str, by: &str) -> bool {
    let Some(tallies) = evidence.tallies else { return false };
    match by {
        "client" => clients::all(evidence).len() == 1,
        "path" => tallies.paths().rows().iter().filter(|row| row.operation.label() == operation).count() <= 1,
        "connection" => evidence.findings.connections == 1,
        _ => false,
    }
}

/// The pattern that matches this name and no other: an export may have a bracket in its name.
fn as_pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '*' | '?' | '[' | ']' | '{' | '}' => pattern.extend(['[', letter, ']']),
            _ => pattern.push(letter),
        }
    }
    pattern
}

/// Of a filter as a report has it: `--client 10.0.0.1`.
fn flag_and_value(filter: &str) -> (&str, &str) {
    filter.split_once(' ').unwrap_or((filter, ""))
}

/// Whether a filter lets one value through, not a network, a pattern, or all but one. One that is quoted may be a pattern.
fn is_single(filter: &str) -> bool {
    !flag_and_value(filter).1.contains(['!', '/', '*', '?', '[', '\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_patterns_stand_for_themselves() {
        assert_eq!(as_pattern("/exports/[a]{1}*?"), "/exports/[[]a[]][{]1[}][*][?]");
        assert_eq!(as_pattern(r"\\nas\home"), r"\\nas\home");
    }
}

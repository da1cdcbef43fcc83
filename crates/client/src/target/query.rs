//! The options of a target: `?NAME=VALUE&NAME=VALUE`.

use super::TargetError;

/// Options that may be given once each, and their names in messages.
const OPTIONS: [(&str, &str); 8] = [
    ("version", "option version"),
    ("slots", "option slots"),
    ("delegations", "option delegations"),
    ("mountport", "option mountport"),
    ("portmapport", "option portmapport"),
    ("resvport", "option resvport"),
    ("xprtsec", "option xprtsec"),
    ("sec", "option sec"),
];

/// The options of a query with their values.
pub(super) fn options(query: &str) -> Result<Vec<(&str, &str)>, TargetError> {
    let found: Vec<(&str, &str)> = query.split('&').filter(|option| !option.is_empty()).map(option).collect();
    let is_repeated = |name: &str| found.iter().filter(|(key, _)| *key == name).count() > 1;
    match OPTIONS.into_iter().find(|(name, _)| is_repeated(name)) {
        Some((_, part)) => Err(TargetError::Part { part, problem: "is given twice; give it once" }),
        None => Ok(found),
    }
}

/// Name and value; `vers` is another name of `version`.
fn option(text: &str) -> (&str, &str) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (if name == "vers" { "version" } else { name }, value)
}

//! The command that shows more.

use super::Look;
use crate::findings::Findings;
use crate::safe::for_shell;

/// The command that shows the cause that explains most, or else the first operation by client; by path where that is known already.
pub(super) fn next(findings: &Findings, operation: &str, look: Option<&Look>) -> Option<String> {
    let inputs = &findings.source.inputs;
    if inputs.is_empty() || inputs.iter().any(|input| input == "-") {
        return None;
    }
    let operation = look.map_or(operation, |look| look.operation);
    let asked = look.map_or("client", |look| look.by);
    let is_by = |by: &str| findings.breakdown.as_ref().is_some_and(|breakdown| breakdown.by == by);
    let by = match asked {
        known if is_by(known) && known == "path" => "client",
        known if is_by(known) => "path",
        asked => asked,
    };
    let mut words: Vec<String> = vec!["plimsoll analyze".to_owned()];
    words.extend(inputs.iter().map(|input| for_shell(input)));
    words.extend(findings.source.filters.iter().cloned());
    if !findings.source.filters.iter().any(|filter| filter.contains("--operation")) {
        words.push(format!("--operation {}", for_shell(operation)));
    }
    let is_filtered = |flag: &str| findings.source.filters.iter().any(|filter| filter.contains(flag));
    if let Some((flag, value)) = look.and_then(|look| look.only.as_ref()).filter(|(flag, _)| !is_filtered(flag)) {
        words.push(format!("{flag} {}", for_shell(value)));
    }
    words.push(format!("--by {by}"));
    Some(words.join(" "))
}

//! Load levels that are captures: what only a load generator knows is null, never 0.

use serde_json::Value;

use crate::findings::Report;

/// The fields of a level that only its load generator knows.
const OF_THE_GENERATOR: [&str; 8] =
    ["depth", "outstanding", "iterations_per_s", "generator", "fairness", "spread", "silence", "short_reads"];

/// The report with these fields null at the levels of captures; `None` where no level is a capture.
pub(super) fn without_generator(report: &Report) -> serde_json::Result<Option<Value>> {
    if !report.sides.iter().any(|side| side.run.is_none() && !side.levels.is_empty()) {
        return Ok(None);
    }
    let mut document = serde_json::to_value(report)?;
    let sides = document["sides"].as_array_mut().into_iter().flatten();
    for side in sides.filter(|side| side["run"].is_null()) {
        for level in side["levels"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            OF_THE_GENERATOR.into_iter().for_each(|name| {
                level.insert(name.to_owned(), Value::Null);
            });
        }
    }
    Ok(Some(document))
}

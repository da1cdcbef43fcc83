//! The report JSON, held to its schema.

use crate::{against_schema, example, value};
use plimsoll_report::findings::Report;
use plimsoll_report::json::{Layout, write};
use serde_json::Value;

pub(crate) const SCHEMA: &str = include_str!("../../../../schemas/plimsoll.report.2.schema.json");

fn written(report: &Report, layout: Layout) -> String {
    let mut out = Vec::new();
    write(report, layout, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn findings_keep_to_the_schema() {
    for findings in [example::rich(), example::empty(), example::run(), example::shared()] {
        let value: Value = serde_json::from_str(&written(&findings.into(), Layout::Pretty)).unwrap();
        assert_eq!(against_schema(&value), Vec::<String>::new());
        assert_eq!((value["sides"].as_array().map(Vec::len), &value["comparison"]), (Some(1), &Value::Null));
    }
}

#[test]
fn a_status_may_have_each_outcome_of_a_response() {
    use plimsoll_model::Outcome;
    let mut findings = example::rich();
    let outcomes = [Outcome::Succeeded, Outcome::Expected, Outcome::Refused, Outcome::Unknown, Outcome::Failed];
    for outcome in outcomes.into_iter().chain([Outcome::Cancelled]) {
        let row = findings.operations.iter_mut().find(|row| !row.statuses.is_empty()).unwrap();
        row.statuses[0].outcome = outcome.label().to_owned();
        assert_eq!(against_schema(&value(&findings)), Vec::<String>::new(), "{outcome:?}");
    }
}

/// Every object of the schema names all its fields and requires them: a field added to Findings needs a line in the
/// schema, a field removed takes its line away.
#[test]
fn the_schema_is_closed() {
    fn walk(value: &Value, path: &str, objects: &mut u32) {
        // The user chooses the keys of labels; the schema has their pattern and values.
        let is_map = value["propertyNames"].is_object() && value["additionalProperties"].is_object();
        if value["type"] == "object" && !is_map {
            *objects += 1;
            assert_eq!(value["additionalProperties"], false, "{path}");
            let mut required: Vec<&str> =
                value["required"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
            let mut named: Vec<&str> = value["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            required.sort_unstable();
            named.sort_unstable();
            assert_eq!(required, named, "{path}");
            assert!(value["description"].is_string(), "{path}");
        }
        match value {
            Value::Object(map) => map.iter().for_each(|(key, v)| walk(v, &format!("{path}/{key}"), objects)),
            Value::Array(list) => list.iter().for_each(|v| walk(v, path, objects)),
            _ => {}
        }
    }
    let mut objects = 0;
    walk(&serde_json::from_str(SCHEMA).unwrap(), "", &mut objects);
    assert!(objects > 15);
}

#[test]
fn a_new_field_needs_a_line_in_the_schema() {
    let value = value(&example::rich());
    for place in
        ["", "/sides/0", "/sides/0/operations/0", "/sides/0/breakdown/rows/0", "/sides/0/slowest/0", "/sides/0/packets"]
    {
        let mut changed = value.clone();
        changed.pointer_mut(place).unwrap()["unheard_of"] = Value::from(1);
        assert!(!against_schema(&changed).is_empty(), "{place:?}");
    }
}

#[test]
fn json_reads_back_and_keeps_names_as_they_are() {
    let report = Report::from(example::rich());
    for layout in [Layout::Compact, Layout::Pretty] {
        let text = written(&report, layout);
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        assert!(!text.contains('\x1b'), "control characters are escaped by the serialiser");
        assert!(text.ends_with("}\n"));
    }
    assert_eq!(written(&report, Layout::Compact).lines().count(), 1);
}

/// Each rule of the schema has a section, a row or a paragraph of its page.
#[test]
fn the_page_of_the_diagnosis_has_every_rule() {
    let page = include_str!("../../../../docs/diagnosis.md");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let rules =
        schema.pointer("/$defs/side/properties/diagnosis/properties/statements/items/properties/rule/enum").unwrap();
    let is_in = |line: &str, rule: &str| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_heading = line.starts_with("### ") && words.any(|word| word == rule);
        is_heading || line.starts_with(&format!("| {rule} |")) || line.starts_with(&format!("**{rule}**"))
    };
    for rule in rules.as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()) {
        assert!(page.lines().any(|line| is_in(line, rule)), "{rule}");
    }
}

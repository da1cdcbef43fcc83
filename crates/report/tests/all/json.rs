//! The report JSON, held to its schema.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::example;
use plimsoll_report::findings::Findings;
use plimsoll_report::json::{Layout, write};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../schemas/plimsoll.report.1.schema.json");

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn written(findings: &Findings, layout: Layout) -> String {
    let mut out = Vec::new();
    write(findings, layout, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn findings_keep_to_the_schema() {
    let validator = validator();
    for findings in [example::rich(), example::empty(), example::run()] {
        let value: Value = serde_json::from_str(&written(&findings, Layout::Pretty)).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

/// Every object of the schema names all its fields and requires them: a field added to Findings needs a line in the
/// schema, a field removed takes its line away.
#[test]
fn the_schema_is_closed() {
    fn walk(value: &Value, path: &str, objects: &mut u32) {
        if value["type"] == "object" {
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
    let validator = validator();
    let value = serde_json::to_value(example::rich()).unwrap();
    for place in ["", "/operations/0", "/breakdown/rows/0", "/operations/0/response_time", "/slowest/0", "/packets"] {
        let mut changed = value.clone();
        changed.pointer_mut(place).unwrap()["unheard_of"] = Value::from(1);
        assert!(!validator.is_valid(&changed), "{place:?}");
    }
}

#[test]
fn json_reads_back_and_keeps_names_as_they_are() {
    let findings = example::rich();
    for layout in [Layout::Compact, Layout::Pretty] {
        let text = written(&findings, layout);
        assert_eq!(serde_json::from_str::<Findings>(&text).unwrap(), findings);
        assert!(!text.contains('\x1b'), "control characters are escaped by the serialiser");
        assert!(text.ends_with("}\n"));
    }
    assert_eq!(written(&findings, Layout::Compact).lines().count(), 1);
}

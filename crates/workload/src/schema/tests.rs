//! The schema says something about everything, and what it says stands in two files.

use std::path::Path;

use serde_json::{Map, Value};

use super::schema;
use crate::BUILTINS;

/// Every object with properties, with a name for messages.
fn tables<'a>(name: &str, value: &'a Value, found: &mut Vec<(String, &'a Map<String, Value>)>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                found.push((name.to_owned(), properties));
            }
            object.iter().for_each(|(key, value)| tables(&format!("{name}/{key}"), value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| tables(name, value, found)),
        _ => {}
    }
}

#[test]
fn every_field_and_every_word_has_a_description() {
    let schema = schema();
    let mut found = Vec::new();
    tables("", &schema, &mut found);
    assert!(found.len() > 10, "{}", found.len());
    for (table, properties) in found {
        for (field, of) in properties {
            // A step's key is described where its table is.
            let described = of["description"].is_string() || properties.len() == 1;
            assert!(described, "{table}: {field}: {of}");
        }
    }
    let steps = schema["$defs"]["Step"]["anyOf"][0]["oneOf"].as_array().unwrap();
    assert!(steps.len() > 20);
    for step in steps {
        assert!(!step["description"].as_str().unwrap().is_empty(), "{step}");
    }
}

#[test]
fn the_defaults_are_those_of_the_types() {
    let schema = schema();
    let load = &schema["$defs"]["Load"]["properties"];
    assert_eq!(
        ["depth", "warmup", "duration", "arrivals"].map(|field| load[field]["default"].clone()),
        [Value::from(1), "5s".into(), "30s".into(), "poisson".into()]
    );
    assert_eq!(schema["$defs"]["Files"]["properties"]["scale"]["default"], 1.0);
    assert_eq!(schema["$defs"]["Files"]["required"], serde_json::json!(["count", "directories", "depth", "size"]));
    let text = schema.to_string();
    assert!(
        !text.contains(":null") && !text.contains("\"type\":\"null\"") && !text.contains(",\"null\"]"),
        "TOML has none"
    );
}

#[test]
fn the_schema_stands_in_its_file() {
    let text = format!("{:#}\n", schema());
    hold("schemas/plimsoll.workload.1.schema.json", &text);
}

#[test]
fn the_reference_stands_in_its_file() {
    hold("docs/workload-reference.md", &super::reference::markdown(&schema()));
}

/// A file of the repository that is made here; PLIMSOLL_BLESS=1 makes it anew.
fn hold(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let is = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(is == text, "{path} is not what the types say: PLIMSOLL_BLESS=1 cargo test -p plimsoll-workload schema");
}

/// So that an example in the reference is one.
#[test]
fn every_key_of_the_built_in_workloads_is_known() {
    let text = schema().to_string();
    for builtin in BUILTINS {
        let whole: toml::Table = builtin.text.parse().unwrap();
        for key in whole.keys() {
            assert!(text.contains(&format!("\"{key}\":")), "{}: {key}", builtin.name);
        }
    }
}

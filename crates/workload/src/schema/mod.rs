//! The JSON Schema of workload files, made from the types that read them.

mod steps;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::text::Text;

/// Where a parameter's name stands for its value.
const USE: &str = "ParameterUse";

/// The JSON Schema of workload files (draft 2020-12).
#[must_use]
pub fn schema() -> Value {
    let mut schema = Value::from(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Text>());
    without_null(&mut schema);
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    with_parameters(&mut schema, &definitions);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        let of = json!({
            "type": "string",
            "description": "Name of a parameter; Plimsoll replaces the name with the value of the parameter",
            "pattern": r"^\$[a-z][a-z0-9-]*$",
            "examples": ["$block"],
        });
        definitions.insert(USE.to_owned(), of);
    }
    schema
}

/// TOML has no null: what is optional is left out.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    object.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice != &json!({ "type": "null" }));
                if let [Value::Object(one)] = choices.as_slice() {
                    let one = one.clone();
                    object.remove("anyOf");
                    object.extend(one);
                }
            }
            object.values_mut().for_each(without_null);
        }
        Value::Array(values) => values.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// Lets a parameter's name stand wherever a text, a number or a switch does.
fn with_parameters(schema: &mut Value, definitions: &Map<String, Value>) {
    let Value::Object(object) = schema else {
        if let Value::Array(values) = schema {
            values.iter_mut().for_each(|value| with_parameters(value, definitions));
        }
        return;
    };
    for (key, value) in object.iter_mut() {
        // What is said of a schema is no schema.
        if !matches!(key.as_str(), "default" | "examples" | "enum" | "const") {
            with_parameters(value, definitions);
        }
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties
            .iter_mut()
            .filter(|(name, _)| *name != "parameters")
            .for_each(|(_, value)| allow(value, definitions));
    }
    if let Some(items @ Value::Object(_)) = object.get_mut("items") {
        allow(items, definitions);
    }
}

fn allow(value: &mut Value, definitions: &Map<String, Value>) {
    let Value::Object(object) = value else { return };
    if !takes_a_scalar(object, definitions) {
        return;
    }
    let said = ["description", "default", "examples"];
    let (outer, inner): (Map<String, Value>, Map<String, Value>) =
        std::mem::take(object).into_iter().partition(|(key, _)| said.contains(&key.as_str()));
    *object = outer;
    object.insert("anyOf".to_owned(), json!([inner, { "$ref": format!("#/$defs/{USE}") }]));
}

/// Whether something else than a table or an array may stand there.
fn takes_a_scalar(schema: &Map<String, Value>, definitions: &Map<String, Value>) -> bool {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/")) {
        return definitions.get(name).and_then(Value::as_object).is_some_and(|of| takes_a_scalar(of, definitions));
    }
    let choices = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
    let mut choices = choices.filter_map(Value::as_object).peekable();
    if choices.peek().is_some() {
        return choices.any(|choice| takes_a_scalar(choice, definitions));
    }
    !matches!(schema.get("type").and_then(Value::as_str), Some("object" | "array"))
}

//! Steps and think times, whose types read themselves: what they read.

use std::borrow::Cow;

use plimsoll_client::operation::OperationKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::file_step::FileStep;
use crate::program::does;
use crate::quantity::Time;
use crate::text::{StepText, StepWithOptions, Think, ThinkTable};

impl JsonSchema for StepText {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let own = [
            ("create", "Creates the iteration's own file"),
            ("recreate", "Creates the iteration's own file again, which truncates the file; the file must be closed"),
        ];
        let own = own.into_iter().map(|(word, does)| json!({ "const": word, "description": does }));
        let operations = OperationKind::ALL.iter().filter_map(|kind| does(*kind).map(|does| (kind, does)));
        let words = operations.map(|(kind, does)| json!({ "const": kind, "description": does }));
        let words: Vec<Value> = own.chain(words).collect();
        let [options, on_file] = [generator.subschema_for::<StepWithOptions>(), generator.subschema_for::<FileStep>()];
        json_schema!({
            "description": "One step of an iteration: a word, or a table with one key",
            "examples": ["getattr", { "read": { "size": "64KiB", "whole": true } }],
            "anyOf": [{ "oneOf": words }, options, on_file],
        })
    }
}

/// What a user may write for a pause.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what ThinkVisitor reads")]
enum Written {
    /// Always the same time.
    Constant(Time),
    Drawn(ThinkTable),
}

impl JsonSchema for Think {
    fn schema_name() -> Cow<'static, str> {
        "Think".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Written::json_schema(generator);
        schema.insert("description".into(), "A pause, or a distribution of pauses".into());
        schema.insert("examples".into(), json!(["10ms", { "exponential": "10ms" }]));
        schema
    }
}

//! The reference of workload files, printed from the schema.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const HEAD: &str = "# Workload files: reference

This page lists every field of a workload file, with its type, default and an example. These commands write a file to begin with and run it:

```sh
plimsoll workloads show mixed > mine.toml
plimsoll run mine.toml --target embedded:smb
```

Editors with [taplo](https://taplo.tamasfe.dev) (VS Code: *Even Better TOML*) complete and check the fields:

```sh
plimsoll workloads schema > plimsoll.workload.schema.json
taplo lint --schema \"file://$PWD/plimsoll.workload.schema.json\" mine.toml
```

For an editor, the first line of the workload file can name the schema: `#:schema ./plimsoll.workload.schema.json`.

A parameter's name (`\"$block\"`) can replace any value. `[parameters]` has the parameter's default; `--set block=8KiB` changes the value.

Plimsoll generates this page from its source code; do not edit it. To generate it again:
`PLIMSOLL_BLESS=1 cargo test -p plimsoll-workload schema`
";

/// Tables of the file, in the order of the page: the schema's name, and how the table is written.
const TABLES: [(&str, &str); 5] = [
    ("Files", "[files]"),
    ("Load", "[load]"),
    ("Script", "[script]"),
    ("Iteration", "[[iterations]]"),
    ("Replay", "[replay]"),
];
/// Tables within steps.
const STEPS: [(&str, &str); 3] = [("Read", "read"), ("Write", "write"), ("Repeat", "repeat")];
/// Values that stand in several places.
const VALUES: [&str; 10] = ["Size", "Time", "Fraction", "Sizes", "Think", "Pick", "At", "Sharing", "Order", "Caching"];
const MORE_VALUES: [&str; 8] =
    ["LogNormal", "Weighted", "Arrivals", "Subject", "Range", "Volume", "Control", "DataSource"];

pub(super) fn markdown(schema: &Value) -> String {
    let mut page = HEAD.to_owned();
    heading(&mut page, 2, "The file");
    fields(&mut page, schema, schema);
    for (name, written) in TABLES {
        heading(&mut page, 2, &format!("`{written}`"));
        fields(&mut page, &schema["$defs"][name], schema);
    }
    heading(&mut page, 2, "Steps");
    page.push_str("Steps without options (`\"getattr\"`):\n\n| Step | What it does |\n|---|---|\n");
    for word in schema["$defs"]["Step"]["anyOf"][0]["oneOf"].as_array().into_iter().flatten() {
        row(&mut page, &[code(&word["const"]), text(word).to_owned()]);
    }
    page.push_str("\nSteps with options, each a table with one key (`{ read = { size = \"64KiB\" } }`):\n\n| Step | Value | What it does \
        |\n|---|---|---|\n");
    for kind in ["StepWithOptions", "FileStep"] {
        for choice in choices(&schema["$defs"][kind]) {
            for (name, of) in choice["properties"].as_object().into_iter().flatten() {
                row(&mut page, &[format!("`{name}`"), kind_of(of), text(choice).to_owned()]);
            }
        }
    }
    for (name, written) in STEPS {
        heading(&mut page, 3, &format!("`{written}`"));
        fields(&mut page, &schema["$defs"][name], schema);
    }
    for choice in choices(&schema["$defs"]["FileStep"]) {
        let copied = &choice["properties"]["copy-range"];
        if copied.is_object() {
            heading(&mut page, 3, "`copy-range`");
            fields(&mut page, copied, schema);
        }
    }
    page.push_str("\n## Values\n");
    for name in VALUES.into_iter().chain(MORE_VALUES) {
        value(&mut page, name, &schema["$defs"][name], schema);
    }
    page
}

fn heading(page: &mut String, level: usize, text: &str) {
    let _ = writeln!(page, "\n{} {text}\n", "#".repeat(level));
}

fn row(page: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn text(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

fn fields(page: &mut String, table: &Value, schema: &Value) {
    let empty = Map::new();
    let required: Vec<&str> = table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    page.push_str("| Field | Type | Default | Meaning | Example |\n|---|---|---|---|---|\n");
    for (name, of) in table["properties"].as_object().unwrap_or(&empty) {
        let default = match (&of["default"], required.contains(&name.as_str())) {
            (_, true) => "required".to_owned(),
            (Value::Null, false) => "absent".to_owned(),
            (Value::Array(_) | Value::Object(_), false) => "none".to_owned(),
            (default, false) => code(default),
        };
        let example = example(of, schema).map(code).unwrap_or_default();
        row(page, &[format!("`{name}`"), kind_of(of), default, text(of).to_owned(), example]);
    }
}

/// An example of a field, else of its type, else its default.
fn example<'a>(of: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    let referred = || {
        let name = of["$ref"].as_str().or_else(|| of["anyOf"][0]["$ref"].as_str())?;
        schema["$defs"].get(name.strip_prefix("#/$defs/")?)
    };
    let first = |of: &'a Value| of["examples"].as_array()?.first();
    first(of).or_else(|| referred().and_then(first)).or_else(|| of.get("default").filter(|of| !of.is_array()))
}

/// The kind of a value, with a link where it is explained.
fn kind_of(of: &Value) -> String {
    if let Some(name) = of["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return linked(name);
    }
    if let Some(choices) = of["anyOf"].as_array() {
        return choices.first().map(kind_of).unwrap_or_default();
    }
    match of["type"].as_str() {
        Some("integer") => "integer".to_owned(),
        Some("number") => "number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => format!("list of {}", kind_of(&of["items"])),
        Some("object") => "table".to_owned(),
        _ => "text".to_owned(),
    }
}

fn linked(name: &str) -> String {
    let tables = TABLES.iter().chain(&STEPS).find(|(schema, _)| *schema == name);
    match (name, tables) {
        ("Step", _) => "[step](#steps)".to_owned(),
        ("Scale" | "Exponent", _) => "number".to_owned(),
        (_, Some((_, written))) => {
            let plain: String = written.chars().filter(char::is_ascii_alphanumeric).collect();
            format!("[`{written}`](#{plain})")
        }
        _ => format!("[{}](#{0})", name.to_lowercase()),
    }
}

fn choices(of: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| of[key].as_array()).flatten()
}

/// A value's description, and its words or forms.
fn value(page: &mut String, name: &str, of: &Value, schema: &Value) {
    heading(page, 3, name);
    let examples: Vec<String> = of["examples"].as_array().into_iter().flatten().map(code).collect();
    let examples = if examples.is_empty() { String::new() } else { format!(" Examples: {}.", examples.join(", ")) };
    let _ = writeln!(page, "{}.{examples}", upper(text(of).trim_end_matches('.')));
    let mut rows = Vec::new();
    forms(of, schema, &mut rows);
    if !rows.is_empty() {
        page.push_str("\n| Value | Meaning |\n|---|---|\n");
        rows.iter().for_each(|cells| row(page, cells));
    }
    if of["properties"].is_object() {
        page.push('\n');
        fields(page, of, schema);
    }
}

fn forms(of: &Value, schema: &Value, rows: &mut Vec<[String; 2]>) {
    for choice in choices(of) {
        if choice["const"].is_string() {
            rows.push([code(&choice["const"]), text(choice).to_owned()]);
        }
        for word in choice["enum"].as_array().into_iter().flatten() {
            rows.push([code(word), text(choice).to_owned()]);
        }
        for (key, value) in choice["properties"].as_object().into_iter().flatten() {
            rows.push([format!("`{{ {key} = … }}`: {}", kind_of(value)), text(choice).to_owned()]);
        }
        let referred = choice["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        if let Some(of) = referred.and_then(|name| schema["$defs"].get(name)).filter(|of| choices(of).next().is_some())
        {
            forms(of, schema, rows);
        } else if choice["const"].is_null() && choice["properties"].is_null() {
            forms(choice, schema, rows);
        }
    }
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// As it stands in a workload file.
fn code(value: &Value) -> String {
    format!("`{}`", toml(value))
}

fn toml(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let pairs: Vec<String> = object.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string(),
    }
}

//! Reports in every form, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod collect;
mod comparison;
mod drill_down;
mod example;
mod history;
mod html;
mod html_browser;
mod html_synthetic;
mod json;
mod live_page;
mod text;
mod vocabulary;

use std::sync::LazyLock;

use plimsoll_report::findings::Findings;
use plimsoll_report::text::Style;

/// The page of a report of one side.
fn page(findings: &Findings) -> String {
    plimsoll_report::html::page(&findings.clone().into()).unwrap()
}

/// Its text.
fn shown(findings: &Findings, style: &Style) -> String {
    plimsoll_report::text::to_string(&findings.clone().into(), style)
}

fn value(findings: &Findings) -> serde_json::Value {
    serde_json::to_value(plimsoll_report::findings::Report::from(findings.clone())).unwrap()
}

/// Where JSON differs from the schema of reports.
fn against_schema(report: &serde_json::Value) -> Vec<String> {
    static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| validator(json::SCHEMA));
    SCHEMA.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The validator of a schema, which must be sound itself.
fn validator(schema: &str) -> jsonschema::Validator {
    let schema = serde_json::from_str(schema).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

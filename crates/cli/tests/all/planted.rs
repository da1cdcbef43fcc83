//! Captures of real servers with one planted cause each, and healthy ones (`captures/planted`): the first accusing statement of the
//! diagnosis names the cause, and a healthy capture has none.
//!
//! They judge the rules, so no rule's threshold may be set by them. A cause that is not named stands in the table as `missed`;
//! this test fails when one is lost, and when one is found that the table calls missed.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::command::output;
use serde::Deserialize;
use serde_json::Value;

/// Rules that name no cause: they describe the waiting, or say that nothing stands out.
const DESCRIBING: [&str; 3] = ["operation", "service_time", "nothing"];
/// Bytes of all captures together, so that a clone stays small.
const MOST_BYTES: u64 = 3_300_000;
/// Minimum numbers of planted causes and of healthy captures.
const LEAST: (usize, usize) = (10, 3);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    capture: Vec<Capture>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capture {
    name: String,
    cause: String,
    #[serde(default)]
    rule: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
    missed: Option<String>,
}

impl Capture {
    fn is_healthy(&self) -> bool {
        self.rule.is_empty()
    }

    /// Whether the diagnosis is right: the cause comes first, or there is none for a healthy capture.
    fn is_met_by(&self, first: Option<&Value>) -> bool {
        let Some(first) = first else { return self.is_healthy() };
        let text = first["text"].as_str().unwrap().to_lowercase();
        let names = |all: &String| all.split('|').any(|one| text.contains(&one.to_lowercase()));
        self.rule.iter().any(|rule| first["rule"] == *rule) && self.names.iter().all(names)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/planted")
}

fn table() -> Vec<Capture> {
    toml::from_str::<Table>(&std::fs::read_to_string(folder().join("table.toml")).unwrap()).unwrap().capture
}

fn statements(capture: &str) -> Vec<Value> {
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let found = output(
        analyze.args(["analyze", "-q", "--utc", "--json", "-"]).arg(folder().join(format!("{capture}.pcap.zst"))),
    );
    assert!(found.status.success(), "{capture}: {}", String::from_utf8_lossy(&found.stderr));
    crate::only_side(&found.stdout)["diagnosis"]["statements"].as_array().unwrap().clone()
}

#[test]
fn the_planted_cause_is_accused_first_and_nothing_in_healthy_captures() {
    let mut wrong = Vec::new();
    for capture in table() {
        let statements = statements(&capture.name);
        assert!(!statements.is_empty(), "{}: no diagnosis", capture.name);
        let first = statements.iter().find(|one| !DESCRIBING.contains(&one["rule"].as_str().unwrap()));
        let (met, shown) = (capture.is_met_by(first), first.map_or("nothing".to_owned(), Value::to_string));
        println!("{:18} {} {shown}", capture.name, if met { "named " } else { "MISSED" });
        match (met, &capture.missed) {
            (false, None) => wrong.push(format!("{}: {}\n  accused: {shown}", capture.name, capture.cause)),
            (true, Some(reason)) => wrong.push(format!("{}: named now; its `missed` must go: {reason}", capture.name)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_capture_of_the_folder() {
    let table = table();
    let mut files = Vec::new();
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap();
        if let Some(name) = entry.file_name().to_str().unwrap().strip_suffix(".pcap.zst") {
            files.push(name.to_owned());
            bytes += entry.metadata().unwrap().len();
        }
    }
    let mut names: Vec<&String> = table.iter().map(|capture| &capture.name).collect();
    files.sort();
    names.sort();
    assert_eq!(names, files.iter().collect::<Vec<_>>());
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    let healthy = table.iter().filter(|capture| capture.is_healthy()).count();
    assert!((table.len() - healthy, healthy) >= LEAST);
    assert!(table.iter().all(|capture| capture.is_healthy() == capture.names.is_empty() && !capture.cause.is_empty()));
}

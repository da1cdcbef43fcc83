//! The questions of docs/slow-share.md: each command prints the documented output, and its numbers equal those of the SQL beside it.
//!
//! `PLIMSOLL_BLESS=1 cargo test -p plimsoll --test all questions` rewrites the outputs: read the changes.

use std::path::Path;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::workspace;
use serde_json::Value;

use crate::recorded_sql::{can_import, python};

const QUESTIONS: usize = 5;
/// Lines of an output that the page shows; `…` stands for the rest.
const SHOWN: usize = 22;
/// Percentiles of breakdowns are the middle of a cell of 1/128.
const RESOLUTION: f64 = 0.008;

struct Question {
    flags: Vec<String>,
    output: String,
    sql: String,
}

/// What stands in the first fence of this kind after `from`.
fn fence<'p>(from: &'p str, kind: &str) -> &'p str {
    from.split_once(&format!("```{kind}\n")).unwrap().1.split_once("```").unwrap().0
}

fn questions(page: &str) -> Vec<Question> {
    let of = |section: &str| Question {
        flags: words(fence(section, "sh").strip_prefix("plimsoll analyze capture.pcap.zst ").unwrap()),
        output: fence(section, "text").to_owned(),
        sql: fence(section, "sql").to_owned(),
    };
    page.split("\n## ").skip(1).map(of).collect()
}

/// As a shell splits them; quotes stand around whole words.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect()
}

/// The capture that the page is about, and all of its requests as a table.
fn folder() -> Scratch {
    let scratch = Scratch::new("questions");
    std::fs::copy(
        workspace().join("captures/netbench-samba/capture.pcap.zst"),
        scratch.path().join("capture.pcap.zst"),
    )
    .unwrap();
    analyze(scratch.path(), &["-q", "--transactions", "ops.parquet"]);
    scratch
}

fn analyze(folder: &Path, arguments: &[&str]) -> String {
    let output = output(crate::plimsoll().args(["analyze", "capture.pcap.zst"]).args(arguments).current_dir(folder));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The table of `--by`, and what stands below it.
fn table(report: &str) -> String {
    let from = report.find("\nBy ").unwrap() + 1;
    let lines: Vec<&str> = report[from..]
        .lines()
        .take_while(|line| !line.starts_with("Next:") && !line.starts_with("Everything:"))
        .collect();
    let lines = &lines[..lines.iter().rposition(|line| !line.is_empty()).unwrap() + 1];
    let more = if lines.len() > SHOWN { "…\n" } else { "" };
    format!("{}\n{more}", lines[..lines.len().min(SHOWN)].join("\n"))
}

#[test]
fn the_documented_commands_print_the_documented_answers() {
    let (scratch, file) = (folder(), workspace().join("docs/slow-share.md"));
    let page = std::fs::read_to_string(&file).unwrap();
    let (mut written, all) = (page.clone(), questions(&page));
    assert_eq!(all.len(), QUESTIONS);
    for (place, question) in all.iter().enumerate() {
        let flags: Vec<&str> = question.flags.iter().map(String::as_str).collect();
        let shown = table(&analyze(scratch.path(), &flags));
        let (head, section) = written.split_at(written.match_indices("\n## ").nth(place).unwrap().0);
        let section = section.replacen(&format!("```text\n{}```", question.output), &format!("```text\n{shown}```"), 1);
        written = format!("{head}{section}");
    }
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(&file, &written).unwrap();
    }
    assert!(std::fs::read_to_string(&file).unwrap() == written, "docs/slow-share.md should say\n{written}");
}

#[test]
fn the_answers_are_those_of_sql() {
    if !can_import("duckdb") {
        return;
    }
    let (scratch, page) = (folder(), std::fs::read_to_string(workspace().join("docs/slow-share.md")).unwrap());
    let view = fence(&page, "sql");
    let script = "
import duckdb, json, sys
base = duckdb.connect()
base.sql(sys.argv[1])
print(json.dumps(base.sql(sys.argv[2]).fetchall()))
";
    for Question { flags, sql, .. } in questions(&page) {
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain(["--json", "-"]).collect();
        let report = crate::only_side(analyze(scratch.path(), &flags).as_bytes());
        let asked = output(python().args(["-c", script, view, &sql]).current_dir(scratch.path()));
        assert!(asked.status.success(), "{sql}\n{}", String::from_utf8_lossy(&asked.stderr));
        let answer: Vec<Vec<Value>> = serde_json::from_slice(&asked.stdout).unwrap();
        let rows = report["breakdown"]["rows"].as_array().unwrap();
        assert_eq!((rows.len(), report["breakdown"]["others"].as_u64()), (answer.len(), Some(0)), "{flags:?}");
        assert!(!rows.is_empty());
        rows.iter().for_each(|row| same(row, &answer, &flags));
    }
}

/// Compares a row with the one of the same keys in the answer.
fn same(row: &Value, answer: &[Vec<Value>], flags: &[&str]) {
    let keys = row["keys"].as_array().unwrap();
    let found = answer.iter().find(|other| other[..keys.len()] == keys[..]);
    let Some([count, errors, percentiles, max, waited]) = found.map(|other| &other[keys.len()..]) else {
        panic!("{flags:?}: SQL has no {keys:?}");
    };
    let ns = |value: &Value| (value.as_f64().unwrap() * 1e9).round() as i64;
    let times = &row["response_time"];
    assert_eq!((&row["count"], &row["errors"]), (count, errors), "{flags:?} {keys:?}");
    assert_eq!(
        (ns(&row["waited_s"]), ns(&times["max_s"])),
        (waited.as_i64().unwrap(), max.as_i64().unwrap()),
        "{keys:?}"
    );
    for (name, exact) in ["p50_s", "p95_s", "p99_s"].iter().zip(percentiles.as_array().unwrap()) {
        let (shown, exact) = (ns(&times[*name]) as f64, exact.as_f64().unwrap());
        assert!((shown / exact - 1.0).abs() <= RESOLUTION, "{flags:?} {keys:?} {name}: {shown} for {exact}");
    }
}

//! Recordings of all transactions, and tables of runs, in the place of captures: what the recording knows is not lost.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::shared_capture;
use serde_json::{Value, json};

fn plimsoll(folder: &Path, arguments: &[&str]) -> Output {
    output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).current_dir(folder).args(arguments))
}

/// The report of one side, whatever its verdict.
fn report(folder: &Path, arguments: &[&str]) -> Value {
    let ended = plimsoll(folder, &[arguments, &["--json", "-", "-q"]].concat());
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    crate::only_side(&ended.stdout)
}

/// Records a closed loop with all its transactions, and a table with its preparation and warm-up.
fn run(folder: &Path, name: &str) {
    let table = format!("{name}.csv");
    let load =
        ["run", "getattr", "--target", "embedded:nfs", "--clients", "2", "--duration", "300ms", "--warmup", "50ms"];
    let outputs = ["--record", name, "--record-transactions", "all", "--transactions", &table, "-q"];
    let ended = plimsoll(folder, &[&load[..], &outputs].concat());
    // The machine may be too busy for a valid one.
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
}

fn changed(folder: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(name).join("manifest.json");
    let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(&path, manifest.to_string()).unwrap();
}

fn rows(report: &Value) -> Vec<(&Value, &Value, u64)> {
    let waited = |row: &Value| (row["waited_s"].as_f64().unwrap() * 1e9).round() as u64;
    let rows = report["operations"].as_array().unwrap();
    rows.iter().map(|row| (&row["procedure"], &row["count"], waited(row))).collect()
}

/// Every operation has an intended start, also without a schedule: times from there were twice as long.
#[test]
fn a_closed_loop_has_the_same_times_in_its_report_and_in_its_table() {
    let scratch = Scratch::new("recorded-tables");
    let folder = scratch.path();
    run(folder, "R");
    let [of_run, of_recording, of_table] =
        [&["report", "R"][..], &["analyze", "R"], &["analyze", "R.csv"]].map(|arguments| report(folder, arguments));
    assert_eq!(of_run["headline"], "response_time");
    for other in [&of_recording, &of_table] {
        assert_eq!(other["headline"], of_run["headline"]);
        assert_eq!(rows(other), rows(&of_run), "the same requests: those of the measured phase");
    }
    assert_eq!(of_recording["validity"]["verdict"], of_run["validity"]["verdict"]);
    assert_eq!(of_table["validity"]["verdict"], "partial");
    assert!(of_table["warnings"][0].as_str().unwrap().contains("left out"), "{}", of_table["warnings"]);
    let part = report(folder, &["analyze", "R/level-0000/transactions-0000.parquet"]);
    assert_eq!((&part["headline"], rows(&part)), (&of_run["headline"], rows(&of_run)));
}

/// A filter made an INVALID run PARTIAL, and its conditions fail.
#[test]
fn a_filter_does_not_hide_that_a_recorded_run_is_invalid() {
    let scratch = Scratch::new("recorded-tables-invalid");
    let folder = scratch.path();
    ["A", "B"].iter().for_each(|name| run(folder, name));
    changed(folder, "A", |manifest| {
        manifest["levels"][0]["about"]["about"]["validity"] =
            json!({"verdict": "invalid", "valid": false, "reasons": ["it was late"], "invalid_reasons": 1});
    });
    let found = report(folder, &["analyze", "A", "--operation", "getattr"]);
    assert_eq!(found["validity"]["verdict"], "invalid");
    assert_eq!(found["validity"]["reasons"][0], "At 2 clients: it was late");
    let sides = ["compare", "A", "B", "--operation", "getattr", "--fail-if", "mean > 1ns", "--ignore-load"];
    let ended = plimsoll(folder, &sides);
    let text = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(4), "{text}");
    assert!(text.contains("A is INVALID"), "{text}");
    // A level may have many files, and all have the reasons of their level.
    let file = |part: u32| format!("A/level-0000/transactions-{part:04}.parquet");
    fs::copy(folder.join(file(0)), folder.join(file(1))).unwrap();
    changed(folder, "A", |manifest| manifest["levels"][0]["parts"] = json!(2));
    let found = report(folder, &["analyze", &file(0), &file(1)]);
    let reasons = found["validity"]["reasons"].as_array().unwrap();
    let late: Vec<&Value> = reasons.iter().filter(|reason| reason.as_str().unwrap().contains("it was late")).collect();
    assert_eq!(late, [&json!("At 2 clients: it was late")]);
    // The error that ended a run is of none of its levels.
    changed(folder, "B", |manifest| {
        let reasons = json!(["MOUNT: Connection refused"]);
        manifest["validity"] = json!({"verdict": "invalid", "valid": false, "reasons": reasons, "invalid_reasons": 1});
    });
    for arguments in [&["report", "B"][..], &["analyze", "B"], &["analyze", "B", "--operation", "getattr"]] {
        let found = report(folder, arguments);
        let reasons = found["validity"]["reasons"].as_array().unwrap();
        assert!(reasons.contains(&json!("MOUNT: Connection refused")), "{arguments:?}: {reasons:?}");
    }
}

/// A manifest may state any number of files: they are those of the folder.
#[test]
fn a_number_of_files_that_the_folder_does_not_have_is_damage() {
    let scratch = Scratch::new("recorded-tables-files");
    let folder = scratch.path();
    run(folder, "R");
    changed(folder, "R", |manifest| {
        let reasons = json!(["it was late"]);
        manifest["levels"][0]["about"]["about"]["validity"] =
            json!({"verdict": "invalid", "valid": false, "reasons": reasons, "invalid_reasons": 1});
        manifest["levels"][0]["parts"] = json!(2_000_000);
    });
    let ended = plimsoll(folder, &["analyze", "R"]);
    let text = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{text}");
    assert!(
        text.contains("damaged") && text.contains("expected 2000000 files transactions-NNNN.parquet, found 1"),
        "{text}"
    );
    // An existing file still has the verdict of its level.
    let part = report(folder, &["analyze", "R/level-0000/transactions-0000.parquet"]);
    assert_eq!(part["validity"]["reasons"][0], "At 2 clients: it was late");
    // The manifest does not count this file, so it is not part of the recording.
    changed(folder, "R", |manifest| manifest["levels"][0]["parts"] = json!(1));
    fs::copy(
        folder.join("R/level-0000/transactions-0000.parquet"),
        folder.join("R/level-0000/transactions-0001.parquet"),
    )
    .unwrap();
    assert_eq!(report(folder, &["analyze", "R"])["validity"]["verdict"], "invalid");
}

#[test]
fn a_recorded_capture_keeps_its_losses() {
    let Some(capture) = shared_capture("nfs3-snaplen96-stalls.cap") else { return };
    let scratch = Scratch::new("recorded-tables-losses");
    let (folder, capture) = (scratch.path(), capture.to_str().unwrap());
    let of_capture = report(folder, &["analyze", capture, "--record", "R", "--record-transactions", "all"]);
    let of_recording = report(folder, &["analyze", "R"]);
    let missing = |report: &Value| report["unseen"]["share_missing"].clone();
    assert!(missing(&of_capture).as_f64().unwrap() > 0.4, "{}", missing(&of_capture));
    assert_eq!(missing(&of_recording), missing(&of_capture));
    assert_eq!(of_recording["validity"], of_capture["validity"]);
}

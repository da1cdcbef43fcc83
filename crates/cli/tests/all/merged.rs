//! Recordings of captures that differ, and merged recordings that are merged again: if a number lacks data, a reason says so.

use std::path::Path;
use std::process::{Command, Output};

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

fn plimsoll(folder: &Path, arguments: &[&str]) -> Output {
    output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).current_dir(folder).args(arguments).arg("-q"))
}

/// Records the analysis of a capture of the tree.
fn record(folder: &Path, capture: &str, recording: &str, more: &[&str]) {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(capture).join("capture.pcap.zst");
    let done = plimsoll(folder, &[&["analyze", capture.to_str().unwrap(), "--record", recording], more].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Merges, and reads the merged recording again: the exit code, the reasons of both in one text, and the report.
fn merge(folder: &Path, recordings: &[&str], to: &str) -> (Option<i32>, String, Value) {
    let merged = plimsoll(folder, &[&["merge"], recordings, &["--json", "-", "--record", to]].concat());
    let again = plimsoll(folder, &["report", to, "--json", "-"]);
    assert_eq!(again.status.code(), merged.status.code(), "{}", String::from_utf8_lossy(&again.stderr));
    let [merged_report, report] = [&merged, &again].map(|one| crate::only_side(&one.stdout));
    assert_eq!(report["validity"], merged_report["validity"]);
    assert_eq!(report["operations"], merged_report["operations"]);
    assert_eq!(report["breakdown"], merged_report["breakdown"]);
    (merged.status.code(), report["validity"]["reasons"].to_string(), report)
}

/// Requests of all keys.
fn requests(report: &Value) -> u64 {
    report["breakdown"]["rows"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum()
}

#[test]
fn sums_by_other_keys_are_not_merged() {
    let scratch = Scratch::new("merged-by");
    let folder = scratch.path();
    // smb2 was captured first.
    record(folder, "smb2-samba", "smb2", &["--by", "client", "--slowest", "7"]);
    record(folder, "smb2-samba", "plain", &[]);
    for (name, by) in [("more", "client,operation"), ("other", "server"), ("same", "client")] {
        record(folder, "nfs-ganesha", name, &["--by", by, "--slowest", "3"]);
    }
    let report = |name: &str| crate::only_side(&plimsoll(folder, &["report", name, "--json", "-"]).stdout);
    let alone = report("smb2");
    for (name, theirs) in [("more", "client,operation"), ("other", "server")] {
        let (code, reasons, merged) = merge(folder, &["smb2", name], &format!("all-{name}"));
        assert_eq!(code, Some(4), "{reasons}");
        let why = format!("{name} is not merged: it was made with --by {theirs}, not with --by client");
        assert!(reasons.contains(&why), "{reasons}");
        assert_eq!(merged["operations"], alone["operations"]);
    }
    let (code, reasons, _) = merge(folder, &["same", "plain"], "all-plain");
    assert_eq!(code, Some(4));
    assert!(reasons.contains("same is not merged: it was made with --by client, not without --by"), "{reasons}");
    // The same keys: the sums are of all, and the list of the slowest is as long as the shorter one.
    let (code, reasons, all) = merge(folder, &["smb2", "same"], "all-same");
    assert_eq!(code, Some(0), "{reasons}");
    // Eleven minutes lie between the two captures.
    assert!(
        reasons.contains("between the end of a file and the beginning of the next one (from 2026-11-21 "),
        "{reasons}"
    );
    assert_eq!(requests(&all), requests(&alone) + requests(&report("same")));
    assert_eq!(all["slowest"].as_array().unwrap().len(), 3);
}

#[test]
fn a_merge_of_a_merged_recording_has_its_reasons() {
    let scratch = Scratch::new("merged-again");
    let folder = scratch.path();
    record(folder, "smb2-samba", "r1", &["--hand-over-to", "h1"]);
    record(folder, "nfs-ganesha", "r2", &["--hand-over-from", "h1"]);
    record(folder, "netbench-samba", "other", &[]);
    let (code, reasons, _) = merge(folder, &["r2"], "M");
    assert_eq!(code, Some(4), "{reasons}");
    let missing = "the recording of file 1 of a capture is missing";
    assert!(reasons.contains(missing), "{reasons}");
    let (code, reasons, _) = merge(folder, &["M", "other"], "N");
    assert_eq!(code, Some(4), "{reasons}");
    assert_eq!(reasons.matches(&format!("M: {missing}")).count(), 1, "{reasons}");
    // Of a complete one there are none.
    let (code, _, _) = merge(folder, &["r1", "r2"], "whole");
    assert_eq!(code, Some(0));
    let (code, reasons, _) = merge(folder, &["whole", "other"], "all");
    assert_eq!(code, Some(0), "{reasons}");
    assert!(!reasons.contains("whole: "), "{reasons}");
}

//! Encrypted SMB 3 without keys: the report compared with the keys' or the clients' numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plimsoll_testkit::servers::{Samba, Scratch, Share};
use serde_json::Value;

use crate::{alone, available, code_and_text};

/// Maximum relative deviation of the mean: Little's law is exact, and a client's times differ from its tap's by a few microseconds.
const MEAN_WITHIN: f64 = 0.02;

/// Messages that are requests: connection and id, and the times of its first byte and of its response's last byte, ns. Members of a
/// compound are one message.
type Truth = BTreeSet<(String, u64, i64, i64)>;

fn plimsoll(arguments: &[&str]) -> (Option<i32>, String) {
    code_and_text(crate::plimsoll().args(arguments).env("PLIMSOLL_PASSWORD", Samba::PASSWORD))
}

/// The rows of a table that are encrypted messages: all but NEGOTIATE and SESSION_SETUP.
fn truth(table: &Path, skipped: &Truth) -> Truth {
    let text = std::fs::read_to_string(table).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let [procedure, connection, id, compound] = ["procedure", "connection", "id", "compound_position"].map(column);
    let [first, last] = ["request_first_ns", "response_last_ns"].map(column);
    let rows = lines.filter(|row| !matches!(row[procedure], "NEGOTIATE" | "SESSION_SETUP"));
    let rows = rows.filter_map(|row| {
        // Members of a compound have consecutive ids.
        let first_id = row[id].parse::<u64>().ok()? - row[compound].parse::<u64>().unwrap_or(0);
        Some((row[connection].to_owned(), first_id, row[first].parse().ok()?, row[last].parse().ok()?))
    });
    rows.filter(|row| !skipped.contains(row)).collect()
}

/// Interim answers in a table: Samba says so when a session takes more than a millisecond to end.
fn interims(table: &Path) -> u64 {
    let text = std::fs::read_to_string(table).unwrap();
    let at = text.lines().next().unwrap().split(',').position(|column| column == "interim_ns").unwrap();
    text.lines().skip(1).filter(|line| line.split(',').nth(at).is_some_and(|interim| !interim.is_empty())).count()
        as u64
}

/// The report's numbers for the encrypted messages of a capture.
fn encrypted(capture: &Path, folder: &Path) -> Value {
    let report = folder.join("report.json");
    let (_, said) = plimsoll(&["analyze", capture.to_str().unwrap(), "--quiet", "--json", report.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&std::fs::read(&report).unwrap_or_else(|_| panic!("{said}"))).unwrap();
    crate::held_to_schema(&report);
    let mut side = report["sides"][0].clone();
    assert_ne!(side["validity"]["verdict"], "valid", "the numbers lack what was not read");
    side["encrypted"].take()
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() as f64 * share).ceil() as usize).max(1) - 1]
}

/// Holds a report to the truth, and prints the errors of its estimates of p50 and p99.
#[expect(clippy::print_stdout, reason = "docs/encrypted.md has these errors")]
fn hold(found: &Value, (truth, interims): (&Truth, u64), what: &str) {
    let mut times: Vec<f64> = truth.iter().map(|(.., first, last)| (last - first) as f64 / 1e9).collect();
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let all = &found["all"];
    assert_eq!(all["count"], times.len(), "{what}: {found}");
    assert_eq!(found["unanswered"], 0, "{what}: {found}");
    assert_eq!(found["besides"], interims, "{what}: {found}");
    let [low, high] = ["mean_low_s", "mean_high_s"].map(|name| found[name].as_f64().unwrap() / mean - 1.0);
    assert!(low < MEAN_WITHIN && high > -MEAN_WITHIN && low <= high, "{what}: {low} to {high} of {mean} s");
    if interims == 0 {
        assert_eq!(all["mean_s"], found["mean_low_s"], "{what}");
        assert!(low.abs() < MEAN_WITHIN && low == high, "{what}: {low} of {mean} s");
    }
    let of = |name: &str, share: f64| all[name].as_f64().unwrap() / quantile(&times, share) - 1.0;
    let errors = [of("p50_s", 0.5), of("p99_s", 0.99)];
    println!(
        "{what}: {} messages, {interims} interim answers, mean {:+.2} to {:+.2} %, p50 {:+.0} %, p99 {:+.0} %",
        times.len(),
        low * 100.0,
        high * 100.0,
        errors[0] * 100.0,
        errors[1] * 100.0
    );
}

/// Drives a target with encryption through a tap, and compares the tap's numbers with the clients'.
fn driven(folder: &Path, target: &str, dialect: &str, workload: &str, depth: &str) {
    let [tap, table] = ["tap.pcapng", "table.csv"].map(|name| folder.join(name));
    let [tap_name, table_name] = [&tap, &table].map(|path| path.to_str().unwrap());
    let load = ["--depth", depth, "--clients", "2", "--duration", "400ms", "--warmup", "0s"];
    let more = ["--encryption", "--dialect", dialect, "--tap", tap_name, "--transactions", table_name, "--quiet"];
    let (_, said) = plimsoll(&[&["run", workload, "--target", target], &load[..], &more].concat());
    assert!(tap.exists() && table.exists(), "{said}");
    let truth = truth(&table, &Truth::new());
    hold(&encrypted(&tap, folder), (&truth, interims(&table)), &format!("SMB {dialect}, {workload}, depth {depth}"));
}

#[test]
fn means_of_encrypted_runs_are_exact() {
    let _alone = alone();
    let scratch = Scratch::new("encrypted-embedded");
    for (dialect, depth) in [("3.0", "1"), ("3.0.2", "4"), ("3.1.1", "32")] {
        driven(scratch.path(), "embedded:smb", dialect, "blocks-read", depth);
    }
    driven(scratch.path(), "embedded:smb", "3.1.1", "mixed", "8");
}

#[test]
fn means_of_encrypted_samba_are_exact() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&[])) else { return };
    let scratch = Scratch::new("encrypted-samba");
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    for dialect in ["3.0", "3.0.2", "3.1.1"] {
        for depth in ["1", "4", "32"] {
            driven(scratch.path(), &target, dialect, "blocks-read", depth);
        }
    }
    driven(scratch.path(), &target, "3.1.1", "mixed", "8");
    driven(scratch.path(), &target, "3.1.1", "blocks-write", "4");
}

/// Captures of Windows and Samba whose keys are known, with the keys and without.
#[test]
fn hidden_keys_change_no_mean() {
    let scratch = Scratch::new("encrypted-hidden");
    let [with_key, without] = ["with.csv", "without.csv"].map(|name| scratch.path().join(name));
    for (name, key) in [
        ("smb3-aes128ccm-with-known-key.pcapng", "3d00009400480000:28f2847263c83dc00621f742dd3f2e7b"),
        ("smb311-aes128ccm-with-known-key.pcapng", "690000ac1c280000:b25a135fc3dc14269f20d7cbc8716b6b"),
    ] {
        let Some(capture) = plimsoll_testkit::shared_capture(name) else { continue };
        let file = capture.to_str().unwrap();
        plimsoll(&["analyze", file, "--quiet", "--transactions", without.to_str().unwrap()]);
        let flags = ["--smb-session-key", key, "--transactions", with_key.to_str().unwrap()];
        let (_, said) = plimsoll(&[&["analyze", file, "--quiet"], &flags[..]].concat());
        assert!(with_key.exists() && without.exists(), "{said}");
        let plain = truth(&without, &Truth::new());
        hold(&encrypted(&capture, scratch.path()), (&truth(&with_key, &plain), 0), name);
    }
}

/// The terminal report has a section about encrypted messages, but not for plain traffic.
#[test]
fn the_report_tells_what_is_exact() {
    let scratch = Scratch::new("encrypted-report");
    let tap = scratch.path().join("tap.pcapng");
    let tap_name = tap.to_str().unwrap();
    let run = |flags: &[&str]| {
        let load =
            ["run", "blocks-read", "--target", "embedded:smb", "--duration", "100ms", "--warmup", "0s", "--quiet"];
        plimsoll(&[&load[..], &["--tap", tap_name], flags].concat());
        plimsoll(&["analyze", tap_name, "--full"]).1
    };
    let report = run(&["--encryption"]);
    let found: BTreeMap<&str, bool> = ["Encrypted SMB 3 messages, not read:", "Little's law", "Estimated: percentiles"]
        .map(|text| (text, report.split_whitespace().collect::<Vec<_>>().join(" ").contains(text)))
        .into();
    assert!(found.values().all(|is_there| *is_there), "{found:?}\n{report}");
    std::fs::remove_file(&tap).unwrap();
    let report = run(&[]);
    assert!(!report.contains("Encrypted SMB 3 messages, not read"), "{report}");
}

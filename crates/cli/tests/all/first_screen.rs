//! The first screen of `analyze`: its content, its length, and its time zone.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use plimsoll_testkit::{command, shared_capture};

/// Central Europe, for machines without a database of time zones.
const ZONE: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

fn netbench() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/netbench-samba/capture.pcap.zst")
}

/// Analyses a capture from the folder where it lies: a path that is wider than the screen is not broken, and this clone may lie anywhere.
fn analyze(capture: &Path, zone: &str, flags: &[&str]) -> Output {
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    analyze.current_dir(capture.parent().unwrap()).arg("analyze").arg(capture.file_name().unwrap());
    command::output(analyze.args(flags).env("TZ", zone))
}

fn printed(zone: &str, flags: &[&str]) -> String {
    let output = analyze(&netbench(), zone, flags);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A line is broken where it is full: sentences are looked for, not lines.
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refused(zone: &str, flags: &[&str]) -> String {
    let output = analyze(&netbench(), zone, flags);
    assert_eq!(output.status.code(), Some(2), "{flags:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn instants_are_local_or_utc() {
    let local = printed(ZONE, &[]);
    assert!(local.contains("2026-11-21 04:08:18 to 04:08:23 +01:00"), "{local}");
    assert!(local.contains("The first: 2026-11-21 04:08:22 +01:00"), "{local}");
    assert!(local.contains("on 2026-11-21, times +01:00") && local.contains("04:08:22.849"), "{local}");
    for utc in [printed(ZONE, &["--utc"]), printed("UTC", &[])] {
        assert!(utc.contains("2026-11-21 03:08:18 to 03:08:23 UTC") && utc.contains("03:08:22.849"), "{utc}");
        assert!(!utc.contains("+01:00"), "{utc}");
    }
    let whole = printed(ZONE, &["--full"]);
    assert!(whole.contains("2026-11-21 04:08:22.8") && !whole.contains("UTC"), "{whole}");
}

/// A machine with an unknown zone shows UTC, with a note.
#[test]
fn an_unknown_zone_is_said() {
    let output = analyze(&netbench(), "Mars/Phobos", &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("using UTC") && said.lines().count() == 1, "{said}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("03:08:23 UTC"));
    assert!(analyze(&netbench(), "Mars/Phobos", &["--utc"]).stderr.is_empty());
}

#[test]
fn from_and_to_take_a_time_of_day() {
    let count = |zone: &str, flags: &[&str]| {
        let output = analyze(&netbench(), zone, &[flags, &["-q", "--json", "-"]].concat());
        let report = crate::only_side(&output.stdout);
        report["operations"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum::<u64>()
    };
    let wanted = count(ZONE, &["--from", "2026-11-21T03:08:21Z", "--to", "2026-11-21T03:08:22Z"]);
    assert!(wanted > 0 && wanted < count(ZONE, &[]));
    for flags in [
        ["--from", "04:08:21", "--to", "04:08:22"],
        ["--from", "2026-11-21 04:08:21", "--to", "2026-11-21 04:08:22"],
        ["--from", "03:08:21Z", "--to", "2026-11-21 04:08:22 +01:00"],
    ] {
        assert_eq!(count(ZONE, &flags), wanted, "{flags:?}");
    }
    assert_eq!(count(ZONE, &["--utc", "--from", "03:08:21", "--to", "03:08:22"]), wanted);
    let said = refused(ZONE, &["--from", "03:08:21"]);
    assert!(said.contains("covers 2026-11-21 04:08:18 +01:00") && said.contains("outside the capture"), "{said}");
    let said = refused(ZONE, &["--from", "noon"]);
    assert!(said.contains("a time of day (03:08:21)"), "{said}");
}

#[test]
fn one_section_is_printed_alone_and_a_wrong_name_lists_all() {
    let throughput = printed("UTC", &["--section", "throughput"]);
    assert!(throughput.contains("Throughput (file data moved") && !throughput.contains("Diagnosis"), "{throughput}");
    let both = printed("UTC", &["--section", "throughput", "--section", "errors"]);
    assert!(both.contains("Throughput (file") && both.contains("Responses with a status"), "{both}");
    let said = refused("UTC", &["--section", "nonsense"]);
    for name in ["diagnosis", "percentiles", "throughput", "slowest", "unseen"] {
        assert!(said.contains(name), "{name}: {said}");
    }
}

/// Published captures: the first screen answers an administrator's questions.
#[test]
fn first_screens_of_real_captures() {
    for name in ["nfs3-write.pcap", "nfs3-two-sessions.pcap", "smb2-mixed.pcap", "smb3-encrypted-midstream.pcap"] {
        let Some(capture) = shared_capture(name) else { continue };
        let output = analyze(&capture, "UTC", &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for part in ["VALID", " UTC", "Waited", "Slowest requests on 20", "Client", "Frame", "--full"] {
            assert!(text.contains(part), "{name}: no {part} in\n{text}");
        }
    }
}

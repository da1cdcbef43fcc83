//! A capture in several files, each analysed by a separate job that continues the previous one: together they give the same as one
//! analysis of all files, and a failed job is named.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use plimsoll_observe::capture::{Captures, Input};
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Frame, Link, pcap};
use rustix::process::Signal;
use serde_json::Value;

/// Cuts a capture of Ethernet packets into files `00.pcap` and so on. With `swapped`, the packets on both sides of a cut are out of order.
fn cut(capture: &str, files: usize, swapped: bool, folder: &Path) -> Vec<String> {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(capture);
    let mut captures = Captures::open(vec![Input::File(capture)]).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = captures.next().unwrap() {
        assert_eq!(frame.link.registry_number(), Some(1));
        let (bytes, original_len) = (frame.captured.to_vec(), frame.original_len);
        frames.push(Frame { time_ns: frame.time_ns.unwrap(), bytes, original_len });
    }
    let ends: Vec<usize> = (0..=files).map(|file| frames.len() * file / files).collect();
    if swapped {
        ends[1..files].iter().for_each(|&end| frames.swap(end - 1, end));
    }
    let write = |(file, ends): (usize, &[usize])| {
        let name = format!("{file:02}.pcap");
        std::fs::write(folder.join(&name), pcap(Link::Ethernet, &frames[ends[0]..ends[1]])).unwrap();
        name
    };
    ends.windows(2).enumerate().map(write).collect()
}

fn plimsoll(folder: &Path, arguments: &[&str]) -> Output {
    output(&mut command(folder, arguments))
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).args(arguments).arg("--quiet");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Analyses file `at` of these, after the previous one; its recording is `rAT`.
fn job(folder: &Path, files: &[String], at: usize, more: &[&str]) -> Output {
    let [from, to, recording] = [format!("h{}", at.wrapping_sub(1)), format!("h{at}"), format!("r{at}")];
    let mut arguments = vec!["analyze", &files[at], "--record", &recording, "--record-transactions", "all"];
    if at > 0 {
        arguments.extend(["--hand-over-from", &from]);
    }
    if at + 1 < files.len() {
        arguments.extend(["--hand-over-to", &to]);
    }
    plimsoll(folder, &[&arguments, more].concat())
}

fn rows(folder: &Path, recording: &str) -> u64 {
    crate::recorded::manifest(&folder.join(recording))["levels"][0]["transactions"].as_u64().unwrap()
}

fn give_the_whole(capture: &str, swapped: bool) {
    let scratch = Scratch::new("chained");
    let folder = scratch.path();
    // crates/observe/tests/all/hand_over.rs has 64 files in any case, without the command.
    let files = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 64 } else { 16 };
    let files = cut(capture, files, swapped, folder);
    let by = ["--by", "client,operation"];
    for at in 0..files.len() {
        let done = job(folder, &files, at, &by);
        assert!(done.status.success(), "{at}: {}", said(&done));
    }
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let to = ["--json", "whole.json", "--record", "whole", "--record-transactions", "all"];
    let whole = plimsoll(folder, &[&["analyze"], &all[..], &to, &by].concat());
    assert!(whole.status.success(), "{}", said(&whole));
    let mut recordings: Vec<String> = (0..files.len()).map(|at| format!("r{at}")).collect();
    // In any order.
    recordings.reverse();
    let recordings: Vec<&str> = recordings.iter().map(String::as_str).collect();
    let merged =
        plimsoll(folder, &[&["merge"], &recordings[..], &["--json", "merged.json", "--record", "merged"]].concat());
    assert!(merged.status.success(), "{}", said(&merged));
    let [one, other] = ["whole.json", "merged.json"].map(|name| std::fs::read(folder.join(name)).unwrap());
    assert!(one == other, "{}", folder.display());
    assert!(rows(folder, "whole") > 100);
    assert_eq!(rows(folder, "merged"), rows(folder, "whole"));
    let own: u64 = recordings.iter().map(|recording| rows(folder, recording)).sum();
    assert_eq!(own, rows(folder, "whole"), "each row once");
    let intervals = |name: &str| std::fs::read(folder.join(name).join("level-0000/intervals.zst")).unwrap();
    assert!(intervals("merged") == intervals("whole"));
}

#[test]
fn files_of_smb_give_the_whole() {
    give_the_whole("smb2-samba/capture.pcap.zst", false);
}

/// With retransmissions, and with packets that belong to the file before.
#[test]
fn files_of_nfs_with_losses_give_the_whole() {
    give_the_whole("planted/lossy-wire.pcap.zst", true);
}

#[test]
fn a_job_that_is_killed_missing_or_repeated_is_named() {
    let scratch = Scratch::new("chained-faults");
    let folder = scratch.path();
    let files = cut("nfs-ganesha/capture.pcap.zst", 3, false, folder);
    let whole = plimsoll(folder, &["analyze", &files[0], &files[1], &files[2], "--json", "whole.json"]);
    assert!(whole.status.success());
    assert!(job(folder, &files, 0, &[]).status.success());
    let bytes = std::fs::read(folder.join(&files[1])).unwrap();
    let arguments = ["analyze", "-", "--hand-over-from", "h0", "--hand-over-to", "h1", "--record", "r1"];
    let rows_of_all = ["--record-transactions", "all"];
    let (mut killed, mut pipe) =
        Running::start_fed(&mut command(folder, &[&arguments[..], &rows_of_all].concat())).unwrap();
    pipe.write_all(&bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(killed.wait_until(|_| folder.join("r1/manifest.json").exists()), None);
    killed.signal(Signal::KILL);
    assert!(!killed.end().status.success());
    assert!(!folder.join("h1").exists(), "half of a hand-over is none");
    let merge = |recordings: &[&str]| {
        let merged = plimsoll(folder, &[&["merge"], recordings, &["--json", "-"]].concat());
        (merged.status.code(), crate::only_side(&merged.stdout))
    };
    let (code, report) = merge(&["r0", "r1"]);
    assert_eq!((code, &report["validity"]["verdict"]), (Some(4), &Value::from("invalid")));
    let reasons = report["validity"]["reasons"].to_string();
    assert!(reasons.contains("r1 is not merged: the analysis did not finish: its process was killed"), "{reasons}");
    let alone = plimsoll(folder, &["report", "r0", "--json", "-"]);
    assert_eq!(report["operations"], crate::only_side(&alone.stdout)["operations"], "the first is whole");

    for at in [1, 2] {
        let again = job(folder, &files, at, &["--overwrite"]);
        assert!(again.status.success(), "{}", said(&again));
    }
    let (code, report) = merge(&["r0", "r1", "r2"]);
    assert_eq!(code, Some(0));
    assert_eq!(report, crate::only_side(&std::fs::read(folder.join("whole.json")).unwrap()));

    let compared = plimsoll(folder, &["compare", "r0", "r2"]);
    assert!(said(&compared).contains("merge them with `plimsoll merge`"), "{}", said(&compared));
    assert_eq!(compared.status.code(), Some(3));

    let (code, report) = merge(&["r0", "r2"]);
    let reasons = report["validity"]["reasons"].to_string();
    assert_eq!(code, Some(4));
    assert!(
        reasons.contains("the recording of file 2 of a capture is missing (the recording of the previous file is r0)"),
        "{reasons}"
    );

    // The third went on behind another analysis of the second.
    assert!(job(folder, &files, 1, &["--overwrite"]).status.success());
    let (code, report) = merge(&["r0", "r1", "r2"]);
    let reasons = report["validity"]["reasons"].to_string();
    assert_eq!(code, Some(4));
    assert!(reasons.contains("r1 (file 2 of a capture) is not merged"), "{reasons}");
}

#[test]
fn what_cannot_be_handed_over_says_why() {
    let scratch = Scratch::new("chained-usage");
    let folder = scratch.path();
    let files = cut("nfs-ganesha/capture.pcap.zst", 2, false, folder);
    assert!(job(folder, &files, 0, &[]).status.success());
    let good = std::fs::read(folder.join("h0")).unwrap();
    let written = |bytes: &[u8]| std::fs::write(folder.join("h0"), bytes).unwrap();
    let fails = |more: &[&str], code: i32, says: &str| {
        let done = job(folder, &files, 1, &[more, &["--overwrite"]].concat());
        assert_eq!(done.status.code(), Some(code), "{says}: {}", said(&done));
        assert!(said(&done).contains(says), "{says}: {}", said(&done));
    };
    fails(&["--by", "path"], 2, "this file was written with other options (--slowest 20 with --record or --json)");
    fails(&["--client", "10.0.0.1"], 2, "this file was written with other options");
    fails(&["--html", "page.html"], 2, "--html and session keys cannot be used with");
    written(&good[..good.len() - 10]);
    fails(&[], 3, "the file is damaged");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    written(&flipped);
    fails(&[], 3, "the file is damaged");
    written(&[b"plimsoll hand-over 0.0.1 older\n", &good[..]].concat());
    fails(&[], 3, "another build of plimsoll wrote this file (0.0.1 older)");
    written(b"something else\n");
    fails(&[], 3, "expected a file written by --hand-over-to");
    std::fs::remove_file(folder.join("h0")).unwrap();
    fails(&[], 3, "--hand-over-from h0");
    // A full disk: the recording is complete even so.
    let full = ["analyze", &files[0], "--record", "full", "--hand-over-to", "/dev/full"];
    let done = plimsoll(folder, &full);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert!(said(&done).contains("--hand-over-to /dev/full"), "{}", said(&done));
    assert!(plimsoll(folder, &["report", "full"]).status.success());
}

/// Captures that were analysed by themselves: all but the operations across their ends, which are counted.
#[test]
fn captures_without_hand_over_lack_the_operations_across_the_cuts() {
    let scratch = Scratch::new("chained-apart");
    let folder = scratch.path();
    let files = cut("smb2-samba/capture.pcap.zst", 16, false, folder);
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let whole = plimsoll(folder, &[&["analyze"], &all[..], &["--json", "-"]].concat());
    let whole = crate::only_side(&whole.stdout);
    let recordings: Vec<PathBuf> = (0..files.len()).map(|at| PathBuf::from(format!("r{at}"))).collect();
    for (file, recording) in files.iter().zip(&recordings) {
        let done = plimsoll(folder, &["analyze", file, "--record", recording.to_str().unwrap()]);
        assert!(matches!(done.status.code(), Some(0 | 4)), "{}", said(&done));
    }
    let recordings: Vec<&str> = recordings.iter().map(|recording| recording.to_str().unwrap()).collect();
    let merged = plimsoll(folder, &[&["merge"], &recordings[..], &["--json", "-"]].concat());
    let merged = crate::only_side(&merged.stdout);
    assert_eq!(merged["packets"]["total"], whole["packets"]["total"]);
    assert_eq!(merged["packets"]["wire_bytes"], whole["packets"]["wire_bytes"]);
    assert_eq!(merged["span"], whole["span"]);
    let paired = |report: &Value| report["unseen"]["paired"].as_u64().unwrap();
    let halves = |report: &Value| {
        let counts = report["unseen"].as_object().unwrap();
        let kind = |kind: &str| {
            counts
                .iter()
                .filter(|(name, _)| name.starts_with(kind))
                .map(|(_, count)| count.as_u64().unwrap())
                .sum::<u64>()
        };
        (kind("requests_"), kind("responses_"))
    };
    assert_eq!(halves(&whole), (0, 0));
    let (requests, responses) = halves(&merged);
    let across = paired(&whole) - paired(&merged);
    assert!(across > 0 && across <= requests + responses, "{across} across, {requests} and {responses} halves");
    assert!(requests.max(responses) <= across, "{across} across, {requests} and {responses} halves");
    let reasons = merged["validity"]["reasons"].to_string();
    assert!(reasons.contains("Several captures were analysed separately"), "{reasons}");
    // Messages in neither half are in no other number.
    let answered = |report: &Value| -> u64 {
        report["operations"].as_array().unwrap().iter().map(|row| row["answered"].as_u64().unwrap()).sum()
    };
    assert!(answered(&whole) - answered(&merged) <= across + requests + responses);
}

/// Unrelated captures: every number is a sum, and connections stay separate.
#[test]
fn captures_of_other_servers_add_up() {
    let scratch = Scratch::new("chained-others");
    let folder = scratch.path();
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let report = |recording: &str| -> Value {
        let name = captures.join(recording).join("capture.pcap.zst");
        let arguments = ["analyze", name.to_str().unwrap(), "--by", "connection", "--json", "-", "--record", recording];
        crate::only_side(&plimsoll(folder, &arguments).stdout)
    };
    let (one, other) = (report("smb2-samba"), report("nfs-ganesha"));
    let merged = plimsoll(folder, &["merge", "smb2-samba", "nfs-ganesha", "--json", "-"]);
    assert!(merged.status.success(), "{}", said(&merged));
    let merged = crate::only_side(&merged.stdout);
    let number = |of: &Value, at: &str| of.pointer(at).unwrap_or_else(|| panic!("{at}")).as_u64().unwrap();
    let counts = one["packets"].as_object().unwrap().keys().filter(|name| *name != "largest");
    let counts = counts.map(|name| format!("/packets/{name}"));
    for at in counts.chain(["/connections", "/unseen/paired", "/one_way"].map(str::to_owned)) {
        assert_eq!(number(&merged, &at), number(&one, &at) + number(&other, &at), "{at}");
    }
    let largest = [&one, &other].map(|report| number(report, "/packets/largest"));
    assert_eq!(Some(number(&merged, "/packets/largest")), largest.into_iter().max());
    let length = |of: &Value, at: &str| of.pointer(at).and_then(Value::as_array).map_or(0, Vec::len);
    for at in ["/operations", "/breakdown/rows"] {
        assert!(length(&one, at) > 2 && length(&other, at) > 2);
        assert_eq!(length(&merged, at), length(&one, at) + length(&other, at), "{at}");
    }
    // A connection's rows are not mixed with those of the other capture's connection of the same number.
    let requests = |report: &Value| -> Vec<u64> {
        let rows = report["breakdown"]["rows"].as_array().unwrap();
        rows.iter().map(|row| row["count"].as_u64().unwrap()).collect()
    };
    let (mut all, mut expected) = (requests(&merged), [requests(&one), requests(&other)].concat());
    all.sort_unstable();
    expected.sort_unstable();
    assert_eq!(all, expected);
    let waited = |report: &Value| report["slowest"][0]["response_time_s"].as_f64();
    assert_eq!(
        waited(&merged),
        [waited(&one), waited(&other)].into_iter().max_by(|a, b| a.partial_cmp(b).unwrap()).unwrap()
    );
}

/// The same folder, and another analysis of the same capture: each request counts once, and the verdict says it. `report` of the merged
/// recording says it, too.
#[test]
fn no_capture_is_merged_twice() {
    let scratch = Scratch::new("chained-twice");
    let folder = scratch.path();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/smb2-samba/capture.pcap.zst");
    let analyzed = |recording: &str| {
        let done = plimsoll(folder, &["analyze", capture.to_str().unwrap(), "--json", "-", "--record", recording]);
        crate::only_side(&done.stdout)
    };
    let (one, _) = (analyzed("r1"), analyzed("r2"));
    for other in ["r1", "./r1", "r2"] {
        let merged = plimsoll(folder, &["merge", "r1", other, "--json", "-", "--record", "all", "--overwrite"]);
        assert_eq!(merged.status.code(), Some(4), "{other}: {}", said(&merged));
        let merged = crate::only_side(&merged.stdout);
        assert_eq!(merged["operations"], one["operations"], "{other}");
        let reasons = merged["validity"]["reasons"].to_string();
        assert!(reasons.contains(&format!("{other} is not merged: its capture is also in r1")), "{reasons}");
        let again = plimsoll(folder, &["report", "all", "--json", "-"]);
        assert_eq!(crate::only_side(&again.stdout)["validity"], merged["validity"], "{other}");
    }
    let again = plimsoll(folder, &["merge", "r2", "all", "--json", "-"]);
    assert_eq!(again.status.code(), Some(4), "the earlier merged recording has the same capture");
}

/// A ring of capture files has some without a packet, and some without a byte.
#[test]
fn files_without_packets_are_links_of_a_chain() {
    let scratch = Scratch::new("chained-empty");
    let folder = scratch.path();
    let mut files = cut("nfs-ganesha/capture.pcap.zst", 2, false, folder);
    std::fs::write(folder.join("quiet.pcap"), pcap(Link::Ethernet, &[])).unwrap();
    std::fs::write(folder.join("empty.pcap"), b"").unwrap();
    files.splice(1..1, ["quiet.pcap", "empty.pcap"].map(str::to_owned));
    for at in 0..files.len() {
        let done = job(folder, &files, at, &["--json", "last.json"]);
        assert!(done.status.success(), "{}: {}", files[at], said(&done));
    }
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let whole = plimsoll(folder, &[&["analyze"], &all[..], &["--json", "whole.json"]].concat());
    assert!(whole.status.success(), "{}", said(&whole));
    let [one, other] = ["whole.json", "last.json"].map(|name| std::fs::read(folder.join(name)).unwrap());
    assert!(one == other);
}

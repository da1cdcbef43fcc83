//! Lease breaks of a real Samba: `analyze` counts in the capture what tshark finds in it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll_testkit::servers::{Samba, Scratch};
use serde_json::Value;

use crate::{alone, only_side, side_in, text_of};

/// Clients that read, write, create and remove files of the same directories, under leases.
const WORKLOAD: &str = r#"
name = "contended"
description = "Files and listings that several clients use"
[files]
count = 2
directories = 2
depth = 1
size = "64KiB"
shared = "by-all"
seed = 1
[load]
clients = 3
depth = 1
think = "20ms"
warmup = "0s"
duration = "2s"
[script]
caching = "directory-cached"
[[iterations]]
name = "change"
weight = 2
on = "file"
steps = ["open", { read = { size = "4KiB", at = "random" } }, { write = { size = "4KiB", at = "random" } }, "close"]
[[iterations]]
name = "own"
on = "own"
steps = ["create", { write = { size = "4KiB" } }, "close", "remove"]
[[iterations]]
name = "list"
weight = 2
on = "directory"
steps = ["list"]
"#;

fn plimsoll(folder: &Path, arguments: &[&str]) -> String {
    let mut command = crate::plimsoll();
    text_of(command.args(arguments).current_dir(folder).env("PLIMSOLL_PASSWORD", Samba::PASSWORD))
}

/// The breaks of a run: the report of its capture, its text, and notifications, acknowledgements and their times by tshark.
fn broken(samba: &Samba, folder: &Path) -> (Value, String, Option<Breaks>) {
    fs::write(folder.join("contended.toml"), WORKLOAD).unwrap();
    let target = format!("smb://{}@{}/data", Samba::USER, samba.address());
    plimsoll(folder, &["run", "contended.toml", "--target", &target, "--tap", "tap.pcapng", "--seed", "3"]);
    let text = plimsoll(folder, &["analyze", "tap.pcapng", "--json", "report.json", "--html", "page.html", "--full"]);
    (side_in(&folder.join("report.json")), text, tshark(folder, samba.address().port()))
}

/// Notifications, acknowledgements, and the longest time between them.
#[derive(Debug, Default, PartialEq)]
struct Breaks {
    notified: u64,
    acknowledged: u64,
    longest_s: f64,
}

/// tshark's reading: each acknowledgement has the key of a notification before it.
fn tshark(folder: &Path, port: u16) -> Option<Breaks> {
    let mut command = Command::new("tshark");
    command.args(["-r", "tap.pcapng", "-d", &format!("tcp.port=={port},nbss"), "-Y", "smb2.cmd == 18"]);
    let fields = ["frame.time_epoch", "smb2.cmd", "smb2.flags.response", "smb2.msg_id", "smb2.lease.lease_key"];
    command.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field])).current_dir(folder);
    let ran = command.output().ok()?;
    let mut breaks = Breaks::default();
    let mut since: HashMap<String, f64> = HashMap::new();
    for line in String::from_utf8(ran.stdout).unwrap().lines() {
        let [time, commands, responses, ids, keys] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let time: f64 = time.parse().unwrap();
        // A packet may have several messages, and opens have keys, too.
        let keys: Vec<&str> = keys.split(',').collect();
        for ((command, is_response), id) in commands.split(',').zip(responses.split(',')).zip(ids.split(',')) {
            if command != "18" {
                continue;
            }
            if id == u64::MAX.to_string() {
                breaks.notified += 1;
                since.extend(keys.iter().map(|&key| (key.to_owned(), time)));
            } else if matches!(is_response, "0" | "False") {
                breaks.acknowledged += 1;
                let waited = keys.iter().find_map(|&key| since.remove(key));
                let waited = time - waited.unwrap_or_else(|| panic!("nothing demanded {line}"));
                breaks.longest_s = breaks.longest_s.max(waited);
            }
        }
    }
    Some(breaks)
}

fn sum(rows: &[Value], field: &str) -> u64 {
    rows.iter().map(|row| row[field].as_u64().unwrap()).sum()
}

fn compare(side: &Value, text: &str, page: &str, expected: Option<&Breaks>) {
    let found = &side["lease_breaks"];
    let rows = found["rows"].as_array().unwrap();
    assert_eq!((found["notified_left_out"].as_u64(), found["unsolicited"].as_u64()), (Some(0), Some(0)), "{found}");
    for row in rows {
        assert!(row["share"].as_str().unwrap().ends_with(r"\data") && row["client"] == "127.0.0.1", "{row}");
        assert!(row["from"].is_string() && row["to"].is_string() && row["right"] == "lease", "{row}");
        assert!(row["of"] == "file" || row["of"] == "directory", "{row}");
    }
    assert!(text.contains("Lease and oplock breaks") && text.contains("127.0.0.1 on \\\\"), "{text}");
    assert!(page.contains("Lease breaks") && page.contains("file lease RWH to "), "{text}");
    let Some(expected) = expected else { return crate::skip("needs tshark") };
    assert_eq!(sum(rows, "notified"), expected.notified, "{found}");
    assert_eq!(sum(rows, "acknowledged"), expected.acknowledged, "{found}");
    let longest = rows.iter().filter_map(|row| row["acknowledged_max_s"].as_f64()).fold(0.0, f64::max);
    assert!((longest - expected.longest_s).abs() < 1e-5, "{longest} {expected:?}");
}

#[test]
fn the_breaks_of_file_leases_are_those_that_tshark_finds() {
    let _alone = alone();
    let Some(samba) = crate::samba(&[]) else { return };
    let scratch = Scratch::new("broken-leases");
    let (side, text, expected) = broken(&samba, scratch.path());
    let page = fs::read_to_string(scratch.path().join("page.html")).unwrap();
    compare(&side, &text, &page, expected.as_ref());
    let rows = side["lease_breaks"]["rows"].as_array().unwrap();
    let acknowledged = sum(rows, "acknowledged");
    assert!(acknowledged > 0, "clients contend: {text}");
    // Text only where there are breaks.
    let other = env!("CARGO_MANIFEST_DIR").to_owned() + "/../../captures/nfs-ganesha/capture.pcap.zst";
    let text = plimsoll(scratch.path(), &["analyze", &other, "--full", "--json", "none.json"]);
    assert!(!text.contains("Lease and oplock breaks"), "{text}");
    assert!(only_side(&fs::read(scratch.path().join("none.json")).unwrap())["lease_breaks"].is_null());
}

#[test]
#[ignore = "long proof: cargo xtask verify \"directory leases\""]
fn the_breaks_of_directory_leases_are_those_that_tshark_finds() {
    let _alone = alone();
    let Some(samba) = crate::samba(&["smb3 directory leases = yes"]) else { return };
    let scratch = Scratch::new("broken-directory-leases");
    let (side, text, expected) = broken(&samba, scratch.path());
    let page = fs::read_to_string(scratch.path().join("page.html")).unwrap();
    let rows = side["lease_breaks"]["rows"].as_array().unwrap();
    if !rows.iter().any(|row| row["of"] == "directory") {
        return crate::skip("needs samba-4.22 (Debian: bookworm-backports), which grants leases of directories");
    }
    compare(&side, &text, &page, expected.as_ref());
    let directories: Vec<Value> = rows.iter().filter(|row| row["of"] == "directory").cloned().collect();
    println!(
        "directory leases: {} broken, {} acknowledged",
        sum(&directories, "notified"),
        sum(&directories, "acknowledged")
    );
    assert!(text.contains("directory lease RH to none"), "{text}");
}

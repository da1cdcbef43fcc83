//! Real captures against the second opinion: tshark's frame numbers, times and lengths, frame for frame.
//!
//! The captures are not part of the project; where they or tshark are missing the tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::{ClockEstimate, Input};
use super::read;

/// The folder of samples, or none with the reason printed.
fn samples() -> Option<Vec<PathBuf>> {
    let folder = plimsoll_testkit::shared_captures()?;
    let entries = std::fs::read_dir(&folder).unwrap();
    let is_capture =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "cap" || end == "pcap" || end == "pcapng");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_capture).collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no captures", folder.display());
    Some(files)
}

/// tshark's view of each frame: time in nanoseconds, captured length, length. None without tshark.
fn tshark(path: &Path) -> Option<Vec<(i64, usize, u32)>> {
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.cap_len", "-e", "frame.len"];
    // NetMon has local times: both sides take them for UTC. Without protocols it is quick and says less that changes.
    let disable = ["--disable-protocol", "eth", "--disable-protocol", "sll", "--disable-protocol", "null"];
    let output =
        Command::new("tshark").env("TZ", "UTC").args(["-n", "-r"]).arg(path).args(fields).args(disable).output();
    let output = output.ok().filter(|output| output.status.success())?;
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let (second, fraction) = fields.next().unwrap().split_once('.').unwrap();
        let time = second.parse::<i64>().unwrap() * 1_000_000_000 + format!("{fraction:0<9}").parse::<i64>().unwrap();
        (time, fields.next().unwrap().parse().unwrap(), fields.next().unwrap().parse().unwrap())
    };
    Some(String::from_utf8(output.stdout).unwrap().lines().map(line).collect())
}

#[test]
fn tshark_sees_the_same_frames() {
    for path in samples().unwrap_or_default() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(theirs) = tshark(&path) else {
            plimsoll_testkit::skip("needs tshark");
            return;
        };
        let (mut ours, anomalies) = read(vec![Input::File(path)]).unwrap();
        ours.sort_by_key(|frame| frame.number);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        // tshark computes NetXRay's times in floating point, and rounds to microseconds.
        let tolerance_ns = if name.contains("netxray") { 1000 } else { 0 };
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let off = ours.time_ns.unwrap().abs_diff(theirs.0);
            assert!(off <= tolerance_ns, "{name}, frame {}: {} and {}", ours.number, ours.time_ns.unwrap(), theirs.0);
            assert_eq!((ours.captured.len(), ours.original_len), (theirs.1, theirs.2), "{name}, frame {}", ours.number);
        }
        assert_eq!((anomalies.truncated_tail, anomalies.bad_records), (0, 0), "{name}");
    }
}

#[test]
fn clocks_of_real_captures_are_recognised() {
    // Read off the timestamps by hand: two clocks of 10 ms, NetMon's 1 ms, and ordinary ones of a microsecond.
    let expected = [
        ("nfs2-big-endian-pcap.pcap", 10_000_000),
        ("nfs3-two-sessions.pcap", 1_000),
        ("smb1-netmon2.cap", 1_000_000),
        ("smb1-vlan-files.pcap", 10_000_000),
        ("smb2-clean.pcap", 1_000),
    ];
    for path in samples().unwrap_or_default() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut clock = ClockEstimate::new();
        let (frames, _) = read(vec![Input::File(path)]).unwrap();
        frames.iter().filter_map(|frame| frame.time_ns).for_each(|time| clock.observe(time));
        println!("{name}: {:?}", clock.granularity());
        if let Some((_, tick_ns)) = expected.iter().find(|(expected, _)| *expected == name) {
            assert_eq!(clock.granularity().estimate_ns, Some(*tick_ns), "{name}");
        }
    }
}

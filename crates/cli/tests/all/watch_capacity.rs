//! 200,000 packets per second on loopback: a watch drops none, and its processor time and memory stay small.
//!
//! With `PLIMSOLL_EXACT=1` for ten minutes, or as `PLIMSOLL_WATCH_RATE` and `PLIMSOLL_WATCH_SECONDS` say; otherwise a few thousand packets,
//! slowly, which all arrive.
//! `PLIMSOLL_BINARY` is the program that is measured, by default the one that was built with the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_observe::capture::{Captures, Input};
use plimsoll_testkit::command::Running;
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::replay::Replay;
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;

use crate::{available, measured_program};

const PER_SECOND: u64 = 200_000;
const SECONDS: u64 = 600;
/// Most processor time for a packet, and most memory beside the ring.
const PACKET_NS: f64 = 800.0;
const MEMORY: u64 = 64 << 20;
/// A watch keeps five minutes: from this many seconds on its memory is flat, within 2 MiB.
const FULL: u64 = 330;
const GROWTH: u64 = 2 << 20;
/// The generator keeps its rate as far as this.
const RATE_KEPT: f64 = 0.99;

/// Packets per second and seconds, where all of it is wanted.
fn wanted() -> Option<(u64, u64)> {
    std::env::var_os("PLIMSOLL_EXACT")?;
    let number = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    Some((number("PLIMSOLL_WATCH_RATE", PER_SECOND), number("PLIMSOLL_WATCH_SECONDS", SECONDS)))
}

/// The packets of a capture of the project, or one beside it.
fn replay(capture: &str) -> Option<Replay> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(capture);
    if !path.is_file() {
        return None;
    }
    let mut captures = Captures::open(vec![Input::File(path)]).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = captures.next().unwrap() {
        frames.push(frame.captured.to_vec());
    }
    Some(Replay::new(frames.iter().map(Vec::as_slice), &[445, 2049]))
}

/// Processor time of a process in nanoseconds, and the memory that it has in the machine without the ring.
pub(crate) fn used(process: u32) -> (u64, u64) {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let threads = std::fs::read_dir(folder.join("task")).unwrap().flatten();
    let time = |path: &Path| std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
    let busy = threads.filter_map(|thread| time(&thread.path()).split(' ').next()?.parse::<u64>().ok()).sum();
    let mut is_ring = false;
    let mut memory = 0;
    for line in std::fs::read_to_string(folder.join("smaps")).unwrap().lines() {
        if let Some(kib) = line.strip_prefix("Rss:") {
            let kib: u64 = kib.trim().trim_end_matches(" kB").parse().unwrap();
            memory += if is_ring { 0 } else { kib << 10 };
        } else if line.split(' ').next().is_some_and(|first| first.contains('-')) {
            is_ring = line.contains("socket:");
        }
    }
    (busy, memory)
}

/// What was measured after a part of the time.
struct Part {
    packets: u64,
    busy_ns: u64,
    memory: u64,
}

/// Sends these packets to a watch. Its report, the packets that were sent, the seconds that took, and what it used in each tenth.
fn watch(place: &Namespace, replay: &mut Replay, rate: (u64, u64)) -> (serde_json::Value, (u64, f64), Vec<Part>) {
    let scratch = Scratch::new("watch-capacity");
    let json = scratch.path().join("watch.json");
    let mut command = Command::new(measured_program());
    command.args(["watch", "lo", "--lines", "--utc", "--json"]).arg(&json);
    let mut watching = place.within(|| Running::start(&mut command)).unwrap();
    assert_eq!(
        watching.wait_until(|running| running.said()[1].contains("capturing lo")),
        None,
        "{:?}",
        watching.said()
    );
    let process = watching.id();
    let mut parts = vec![Part { packets: 0, busy_ns: used(process).0, memory: 0 }];
    let (sent, took) = place
        .within(|| {
            replay.send("lo", rate, |sent| {
                if sent >= rate.1 * parts.len() as u64 / 10 {
                    let (busy_ns, memory) = used(process);
                    parts.push(Part { packets: sent, busy_ns, memory });
                }
            })
        })
        .unwrap();
    watching.signal(Signal::INT);
    let ended = watching.end();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    (crate::only_side(&std::fs::read(json).unwrap()), (sent, took.as_secs_f64()), parts)
}

#[test]
fn packets_at_a_steady_rate_are_all_captured() {
    let Some(place) = available(Namespace::new()) else { return };
    let _alone = crate::alone();
    let Some(load) = wanted() else {
        let mut replay = replay("captures/smb2-samba/capture.pcap.zst").unwrap();
        // Twice: with other ports in the second pass. All of it has room in the buffer, however slow the watch is.
        let most = 2 * replay.packets() as u64;
        let (report, (sent, _), _) = watch(&place, &mut replay, (5_000, most));
        assert_eq!((crate::watch::lost(&report), report["packets"]["total"].as_u64(), sent), (0, Some(most), most));
        return;
    };
    let shares = [
        ("captures/netbench-samba/capture.pcap.zst", "NetBench over SMB"),
        ("../shared/captures/nfs3-ipv6-op-dense.pcap", "NFS 3, small operations"),
    ];
    let wanted = std::env::var("PLIMSOLL_WATCH_CAPTURE").unwrap_or_default();
    let found: Vec<String> = shares
        .into_iter()
        .filter(|(path, _)| path.contains(&wanted))
        .filter_map(|(path, name)| Some((replay(path)?, name)))
        .flat_map(|(mut replay, name)| judge(&place, &mut replay, name, load))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The program that is measured, within the tree if it is in it: the page of proofs must not depend on where the tree is.
fn shown_program() -> PathBuf {
    let program = measured_program();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    program.strip_prefix(tree).map_or(program.clone(), Path::to_path_buf)
}

/// What is wrong with a watch of these packets.
fn judge(place: &Namespace, replay: &mut Replay, name: &str, (per_second, seconds): (u64, u64)) -> Vec<String> {
    let most = seconds * per_second;
    let (report, (sent, took), parts) = watch(place, replay, (per_second, most));
    let captured = report["packets"]["total"].as_u64().unwrap();
    let operations: u64 = report["operations"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["parent"].is_null())
        .filter_map(|row| row["count"].as_u64())
        .sum();
    let (rate, dropped) = (sent as f64 / took, crate::watch::lost(&report));
    println!(
        "capacity {name}: {} for {took:.0} s: {rate:.0} packets/s of {} bytes, {:.0} operations/s; the filter passes {:.1} %; {dropped} dropped",
        shown_program().display(),
        replay.mean_length(),
        operations as f64 / took,
        (captured + dropped) as f64 / sent as f64 * 100.0
    );
    for pair in parts.windows(2) {
        let cost = (pair[1].busy_ns - pair[0].busy_ns) as f64 / (pair[1].packets - pair[0].packets) as f64;
        println!(
            "capacity {name}: {:>9} packets: {cost:.0} ns a packet, {:.1} MiB beside the ring",
            pair[1].packets,
            pair[1].memory as f64 / f64::from(1 << 20)
        );
    }
    let (first, last) = (&parts[0], parts.last().unwrap());
    let cost = (last.busy_ns - first.busy_ns) as f64 / last.packets as f64;
    let peak = parts.iter().map(|part| part.memory).max().unwrap();
    let full = parts.iter().find(|part| part.packets >= FULL * per_second);
    let grown = full.map(|part| last.memory.saturating_sub(part.memory));
    println!(
        "capacity {name}: {cost:.0} ns a packet, at most {:.1} MiB beside the ring, {}",
        peak as f64 / f64::from(1 << 20),
        grown.map_or("too short to see whether it is flat".to_owned(), |bytes| format!(
            "{bytes} bytes more at the end than after {FULL} s"
        ))
    );
    [
        (rate < per_second as f64 * RATE_KEPT, format!("the generator sent {rate:.0} packets/s alone")),
        (captured + dropped != sent, format!("{captured} packets and {dropped} dropped, of {sent}")),
        (dropped > 0, format!("{dropped} dropped")),
        (cost > PACKET_NS, format!("{cost:.0} ns a packet")),
        (peak > MEMORY, format!("{peak} bytes beside the ring")),
        (grown.is_some_and(|bytes| bytes > GROWTH), format!("memory grew by {grown:?} bytes")),
    ]
    .into_iter()
    .filter(|(is_wrong, _)| *is_wrong)
    .map(|(_, what)| format!("{name}: {what}"))
    .collect()
}

//! A million users of simulated servers in 64 parts, merged: what it costs, and that it is what one process measures.
//!
//! With `PLIMSOLL_EXACT=1` a million, and 64,000 where one process is compared with the parts; otherwise few users in 8 parts.
//! Peaks of memory are those of the process: `--test-threads=1`.
#![allow(clippy::print_stdout, reason = "a test prints its figures")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use plimsoll_model::Names;
use plimsoll_report::findings::Findings;
use plimsoll_results::record::Rows;
use plimsoll_testkit::servers::Scratch;
use plimsoll_workload::{Arrivals, Load};

use super::sameness::{reported, same, states};
use super::simulated::{Simulated, to};
use crate::merge_parts;

/// A user's time between two iterations, ns. An iteration opens a file and reads a block, in up to four requests.
const EVERY_NS: u64 = 10_000_000_000;
/// Warm-up and measured phase, ns.
const TIMES: (u64, u64) = (1_000_000_000, 10_000_000_000);
/// Each iteration opens another file; reads are short, because data say nothing about users.
const REPLACED: [(&str, &str); 2] = [("keep_open = 8", "keep_open = 1"), ("block = \"8KiB\"", "block = \"512B\"")];

fn is_exact() -> bool {
    std::env::var_os("PLIMSOLL_EXACT").is_some()
}

fn count_of_parts() -> u32 {
    if is_exact() { 64 } else { 8 }
}

fn load(users: u32) -> Load {
    Load::Partly { users, every_ns: EVERY_NS, arrivals: Arrivals::Poisson }
}

fn simulated(users: u32) -> Simulated {
    Simulated::new("random-read", users, Rows::None, &REPLACED)
}

/// What a step took.
struct Cost {
    seconds: f64,
    /// The most that was resident, above what was resident before, KiB.
    above_kib: u64,
    /// The most that was resident, KiB.
    peak_kib: u64,
}

/// A number of `/proc/self/status`, KiB.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Does a step, with what it took.
fn costs<T>(step: impl FnOnce() -> T) -> (T, Cost) {
    // 5: the peak begins anew (proc(5)). Where that is not allowed, the peak is that of the whole process.
    let _not_allowed = std::fs::write("/proc/self/clear_refs", "5");
    let (before, begun) = (status("VmRSS:"), Instant::now());
    let done = step();
    let peak_kib = status("VmHWM:");
    let cost = Cost { seconds: begun.elapsed().as_secs_f64(), above_kib: peak_kib.saturating_sub(before), peak_kib };
    (done, cost)
}

/// All parts, one after the other: their folders, the seconds of all, and the largest memory of one.
fn parts(simulated: &Simulated, users: u32, scratch: &Path) -> (Vec<PathBuf>, Cost) {
    let mut all = Cost { seconds: 0.0, above_kib: 0, peak_kib: 0 };
    let count = count_of_parts();
    let folders = (1..=count).map(|number| {
        let spec = simulated.spec(load(users), TIMES, Some(&format!("{number}/{count}")));
        let folder = scratch.join(number.to_string());
        let ((), cost) = costs(|| simulated.record(&spec, &folder, |_, _| ()));
        all.seconds += cost.seconds;
        (all.above_kib, all.peak_kib) = (all.above_kib.max(cost.above_kib), all.peak_kib.max(cost.peak_kib));
        folder
    });
    (folders.collect(), all)
}

/// Requests that were answered in the measured phase.
fn requests(folder: &Path) -> u64 {
    states(folder, &mut Names::default())[0].operations().map(|(_, row)| row.count()).sum()
}

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { bytes(&path) } else { path.metadata().unwrap().len() }).sum()
}

/// Prints what a step took; `in_memory` users were there at the same time.
fn print(what: &str, in_memory: u32, requests: u64, cost: &Cost) {
    let (mib, per_user) = (cost.peak_kib as f64 / 1024.0, cost.above_kib as f64 / f64::from(in_memory));
    let (seconds, per_request) = (cost.seconds, cost.seconds / requests as f64 * 1e6);
    println!(
        "simulation, {what}: {requests} requests, {seconds:.1} s ({per_request:.2} us per request), peak {mib:.0} MiB, {per_user:.2} KiB \
         for each of {in_memory} users"
    );
}

/// Merges the parts of a run, with what it took.
fn merged(folders: &[PathBuf], users: u32, to_folder: &Path) -> Findings {
    let ((findings, recorded), cost) = costs(|| merge_parts(folders, None, Some(to(to_folder, Rows::None))).unwrap());
    recorded.unwrap();
    print(&format!("merge of {} parts", folders.len()), users, requests(to_folder), &cost);
    findings
}

#[test]
fn many_users_in_parts_are_those_of_one_process() {
    let users = if is_exact() { 64_000 } else { 256 };
    let scratch = Scratch::new("million-whole");
    let simulated = simulated(users);
    let (whole, all) = (scratch.path().join("whole"), scratch.path().join("all"));
    let ((), cost) = costs(|| simulated.record(&simulated.spec(load(users), TIMES, None), &whole, |_, _| ()));
    let count = requests(&whole);
    print("one process", users, count, &cost);
    let (folders, cost) = parts(&simulated, users, scratch.path());
    print("all parts, one after the other", users / count_of_parts(), count, &cost);
    merged(&folders, users, &all);
    same(&whole, &all, "parts and whole");
    assert_eq!(reported(&whole).validity, reported(&all).validity);
    assert!(count > u64::from(users), "each user has an iteration in the measured phase, on average: {count} requests");
}

#[test]
fn a_million_users_in_parts() {
    let users = if is_exact() { 1_000_000 } else { 640 };
    let scratch = Scratch::new("million");
    let simulated = simulated(users);
    let (folders, cost) = parts(&simulated, users, scratch.path());
    let counts: u64 = folders.iter().map(|folder| requests(folder)).sum();
    print("all parts, one after the other", users / count_of_parts(), counts, &cost);
    let size: u64 = folders.iter().map(|folder| bytes(folder)).sum();
    println!("simulation, recordings of the parts: {:.0} MiB", size as f64 / f64::from(1 << 20));
    let all = scratch.path().join("all");
    let findings = merged(&folders, users, &all);
    println!("simulation, recording of the whole: {:.0} MiB", bytes(&all) as f64 / f64::from(1 << 20));
    let level = &findings.levels[0];
    assert_eq!((level.count, level.facts.clients), (counts, u64::from(users)));
    assert_eq!(findings.validity.reasons, [""; 0]);
    let (again, cost) = costs(|| reported(&all));
    print("report of the whole", users, counts, &cost);
    assert_eq!(again.levels[0].count, counts);
}

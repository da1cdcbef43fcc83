//! `analyze --threads`: with any number of threads the results are identical, byte for byte.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::command::{output, output_fed};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, pcap, rpc};

use crate::anonymize::{own_captures, shared_captures};

/// Exit code and output of an analysis, and its files: report, page and table.
fn analyzed(capture: &Path, threads: u16, scratch: &Path) -> (Option<i32>, [Vec<u8>; 4]) {
    let [json, page, table] = ["report.json", "report.html", "table.csv"].map(|name| scratch.join(name));
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    analyze.arg("analyze").arg(capture).args(["--full", "--by", "client,operation", "--threads", &threads.to_string()]);
    let analyze = analyze.arg("--json").arg(&json).arg("--html").arg(&page).arg("--transactions").arg(&table);
    let output = output(analyze);
    let [json, page, table] = [json, page, table].map(|file| std::fs::read(file).unwrap());
    assert!(!json.is_empty() && !page.is_empty() && !table.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), [output.stdout, json, page, table])
}

/// At most three threads have work, so 16 do what three do.
const THREADS: [u16; 2] = [2, 16];

/// With `PLIMSOLL_EXACT=1` all captures, otherwise every third one.
fn hold_for_all(captures: Vec<PathBuf>, name: &str) {
    let scratch = Scratch::new(name);
    let step = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 1 } else { 3 };
    for capture in captures.into_iter().step_by(step) {
        let one = analyzed(&capture, 1, scratch.path());
        for threads in THREADS {
            // Not assert_eq: a page is long.
            assert!(analyzed(&capture, threads, scratch.path()) == one, "{}, {threads} threads", capture.display());
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing_of_our_captures() {
    hold_for_all(own_captures(), "threads-own");
}

#[test]
fn the_number_of_threads_changes_nothing_of_others_captures() {
    hold_for_all(shared_captures(), "threads-shared");
}

/// Larger than the queues between threads, so that each of them has to wait for the others.
#[test]
fn a_capture_larger_than_the_queues_gives_the_same() {
    let scratch = Scratch::new("threads-large");
    let capture = scratch.path().join("large.pcap");
    let bytes = large();
    std::fs::write(&capture, &bytes).unwrap();
    let one = analyzed(&capture, 1, scratch.path());
    for threads in [2, 3] {
        assert!(analyzed(&capture, threads, scratch.path()) == one, "{threads} threads");
    }
    // From a pipe: packets are copied.
    let piped = |threads: &str| {
        let mut analyze = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        analyze.args(["analyze", "-", "--json", "-", "--threads", threads]);
        output_fed(&mut analyze, bytes.clone()).stdout
    };
    let one = piped("1");
    assert!(!one.is_empty() && piped("2") == one && piped("3") == one);
}

/// GETATTRs and writes of a few connections at once, of more bytes and operations than wait between threads.
fn large() -> Vec<u8> {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut connections: Vec<Tcp> = (700..708).map(|port| Tcp::between_ports(port, 2049)).collect();
    for tcp in &mut connections {
        traffic.all(&tcp.handshake());
    }
    for xid in 0..12_000u32 {
        let tcp = &mut connections[xid as usize % 8];
        let handle = vec![xid as u8 % 50; 32];
        traffic.send(tcp, Side::Client, &rpc::record(&rpc::getattr(xid, &handle)));
        let result = rpc::words(&vec![0; 200]);
        traffic.send(tcp, Side::Server, &rpc::record(&rpc::reply(xid, &result)));
    }
    pcap(Link::Ethernet, &traffic.frames)
}

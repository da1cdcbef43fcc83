//! Ctrl-C in `plimsoll analyze`: the report covers the data read so far.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdin, Command};

use plimsoll_testkit::command::Running;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};
use rustix::process::Signal;
use serde_json::Value;

/// Operations in the capture: few enough that a pipe holds it all.
const OPERATIONS: u32 = 100;

/// GETATTRs, each answered after a millisecond.
fn capture() -> Vec<u8> {
    let address = |text: &str| -> SocketAddr { text.parse().unwrap() };
    let (mut traffic, mut tcp) =
        (Traffic::new(Link::Ethernet), Tcp::new(address("192.0.2.7:801"), address("192.0.2.1:2049")));
    traffic.all(&tcp.handshake());
    for xid in 1..=OPERATIONS {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
        traffic.time_ns += 1_000_000;
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
    }
    let capture = traffic.pcap();
    assert!(capture.len() < 60 << 10, "a pipe holds 64 KiB");
    capture
}

/// Starts `plimsoll analyze`, which reads a pipe first, and waits until Ctrl-C does not end it any more.
fn analyze(folder: &Path, more: &[&str]) -> (Running, ChildStdin) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).args(["analyze", "-", "--json", "report.json"]).args(more);
    let (mut running, pipe) = Running::start_fed(&mut command).unwrap();
    assert_eq!(running.wait_until(|running| catches(running.id())), None);
    (running, pipe)
}

/// Whether a process has a handler for SIGINT.
pub(crate) fn catches(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
}

/// Whether nothing is left in a pipe.
fn drained(pipe: &ChildStdin) -> bool {
    rustix::io::ioctl_fionread(pipe).unwrap() == 0
}

/// The report, its verdict, and its number of answered requests.
fn report(folder: &Path) -> (Value, String, u64) {
    let report = crate::only_side(&fs::read(folder.join("report.json")).unwrap());
    let verdict = report["validity"]["verdict"].as_str().unwrap().to_owned();
    let count = report["unseen"]["paired"].as_u64().unwrap();
    (report, verdict, count)
}

fn anomaly(report: &Value, label: &str) -> bool {
    report["anomalies"].to_string().contains(label)
}

#[test]
fn a_pipe_whose_writer_goes_on_is_left_and_reported() {
    let scratch = Scratch::new("interrupted-left");
    let (mut running, mut pipe) = analyze(scratch.path(), &["--record", "kept"]);
    let capture = capture();
    // In mid-record.
    pipe.write_all(&capture[..capture.len() - 10]).unwrap();
    assert_eq!(running.wait_until(|_| drained(&pipe)), None);
    running.signal(Signal::INT);
    let ended = running.end();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(said.contains("interrupted") && text.contains("Reading was interrupted"), "{said}\n{text}");
    let (found, verdict, count) = report(scratch.path());
    // The last answer was cut.
    assert_eq!((verdict.as_str(), count), ("partial", u64::from(OPERATIONS) - 1), "{found:#}");
    assert!(anomaly(&found, "reading_interrupted") && !anomaly(&found, "capture_file_truncated"));
    let manifest = fs::read_to_string(scratch.path().join("kept/manifest.json")).unwrap();
    assert!(manifest.contains("\"interrupted\""), "{manifest}");
    drop(pipe);
}

#[test]
fn nothing_is_missing_of_a_pipe_whose_writer_ended_as_well() {
    for signal in [Signal::INT, Signal::TERM] {
        let scratch = Scratch::new("interrupted-ended");
        let (running, mut pipe) = analyze(scratch.path(), &[]);
        // It finds the signal, the rest of the capture and its end at the same time, as after `tcpdump -w - |`.
        running.signal(Signal::STOP);
        pipe.write_all(&capture()).unwrap();
        drop(pipe);
        running.signal(signal);
        running.signal(Signal::CONT);
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
        let (found, verdict, count) = report(scratch.path());
        assert_eq!((verdict.as_str(), count), ("valid", u64::from(OPERATIONS)), "{found:#}");
        assert!(!anomaly(&found, "reading_interrupted"));
    }
}

#[test]
fn what_comes_after_the_pipe_is_not_read() {
    let scratch = Scratch::new("interrupted-next");
    fs::write(scratch.path().join("next.pcap"), capture()).unwrap();
    let (mut running, mut pipe) = analyze(scratch.path(), &["next.pcap", "-q"]);
    pipe.write_all(&capture()).unwrap();
    assert_eq!(running.wait_until(|_| drained(&pipe)), None);
    running.signal(Signal::INT);
    let ended = running.end();
    assert!(ended.status.code() == Some(0) && ended.stdout.is_empty() && ended.stderr.is_empty(), "{ended:?}");
    let (_, verdict, count) = report(scratch.path());
    assert_eq!((verdict.as_str(), count), ("partial", u64::from(OPERATIONS)));
    drop(pipe);
}

/// nohup has its program ignore the hangup of the terminal.
#[test]
fn a_hangup_that_is_ignored_does_not_end_it() {
    let scratch = Scratch::new("interrupted-nohup");
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" analyze - --json report.json";
    command.current_dir(scratch.path()).args(["-c", script, env!("CARGO_BIN_EXE_plimsoll")]);
    let (mut running, mut pipe) = Running::start_fed(&mut command).unwrap();
    let capture = capture();
    let (first, rest) = capture.split_at(24);
    pipe.write_all(first).unwrap();
    // It reads, so it has its handlers.
    assert_eq!(running.wait_until(|_| drained(&pipe)), None);
    running.signal(Signal::HUP);
    pipe.write_all(rest).unwrap();
    drop(pipe);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let (found, verdict, count) = report(scratch.path());
    assert_eq!((verdict.as_str(), count), ("valid", u64::from(OPERATIONS)), "{found:#}");
    assert!(!anomaly(&found, "reading_interrupted"));
}

/// Nobody opens the other end of a named pipe, or writes into a pipe.
#[test]
fn a_pipe_without_a_byte_is_left() {
    let scratch = Scratch::new("interrupted-silent");
    assert!(Command::new("mkfifo").arg(scratch.path().join("fifo")).status().unwrap().success());
    let start =
        |arguments: &[&str]| Running::start_fed(crate::plimsoll().current_dir(scratch.path()).args(arguments)).unwrap();
    for arguments in [["analyze", "fifo"], ["watch", "./fifo"], ["watch", "-"]] {
        let (mut running, pipe) = start(&arguments);
        assert_eq!(running.wait_until(|running| catches(running.id())), None);
        running.signal(Signal::INT);
        let ended = running.end();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(4), "{arguments:?}: {said}");
        assert!(said.contains("interrupted before the first packet: no report"), "{arguments:?}: {said}");
        drop(pipe);
    }
    for input in ["./fifo", "-"] {
        let (running, pipe) = start(&["watch", input, "--duration", "100ms"]);
        let ended = running.end();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(3), "{input}: {said}");
        assert!(said.contains("the capture is empty"), "{input}: {said}");
        drop(pipe);
    }
}

#[test]
fn the_second_ends_it_without_a_report() {
    let scratch = Scratch::new("interrupted-twice");
    fs::write(scratch.path().join("capture.pcap"), capture()).unwrap();
    assert!(Command::new("mkfifo").arg(scratch.path().join("fifo")).status().unwrap().success());
    // Nobody reads the report: it waits forever.
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(scratch.path()).args(["analyze", "capture.pcap", "--json", "fifo"]);
    let mut running = Running::start(&mut command).unwrap();
    assert_eq!(running.wait_until(|running| catches(running.id())), None);
    running.signal(Signal::INT);
    assert_eq!(running.wait_until(|running| running.said()[1].contains("interrupted")), None);
    running.signal(Signal::INT);
    assert_eq!(running.end().status.code(), Some(130));
    let mut left: Vec<_> = fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["capture.pcap", "fifo"], "no temporary file");
}

//! Ctrl-C, once and twice, and SIGTERM.

use plimsoll_testkit::command::output;
use rustix::process::Signal;

use super::command::{Running, Server, made, run, start};

const LONG: [&str; 6] = ["--warmup", "0s", "--duration", "10m", "--clients", "3"];
/// A run prints this after the first signal.
const AGAIN: &str = "press Ctrl-C again to end at once";

fn nfs() -> Server {
    Server::start(&["nfs", "--listen", "127.0.0.1:0"])
}

/// A run that would last for ever, and measures.
fn measuring(server: &Server, more: &[&str]) -> Running {
    let mut running = start(&[&["mixed", "--target", &server.url][..], &LONG, more].concat());
    running.wait_until_it_measures();
    running
}

#[test]
fn the_first_ends_the_phase_and_keeps_what_was_measured() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = nfs();
        let running = measuring(&server, &["--remove-files", "--levels", "2,3,4"]);
        running.signal(signal);
        let ended = running.end();
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
        let levels = ended.report["levels"].as_array().unwrap();
        assert_eq!(levels.len(), 1, "the other levels are not begun");
        assert!(levels[0]["load_name"].as_str().unwrap().ends_with("(stopped early)"));
        assert!(levels[0]["count"].as_u64().unwrap() > 0);
        assert_eq!(levels[0]["interruption"]["planned_s"], 600.0);
        assert!(levels[0]["validity"]["reasons"].to_string().contains("interrupted after"), "{}", ended.reasons());
        assert_ne!(ended.report["validity"]["verdict"], "valid");
        assert_eq!(levels[0]["failures"].as_array().unwrap().len(), 0, "{}", levels[0]["failures"]);
        assert!(ended.report["run"]["facts"].to_string().contains("0 of 3 load levels"));
        recorded(&ended.folder);
        // The files are removed: another run creates them again, and reports this.
        let again = run(&["mixed", "--target", &server.url, "--warmup", "0s", "--duration", "100ms"]);
        assert!(matches!(again.code, Some(0 | 4)), "{}", again.said);
    }
}

/// The recording is complete and readable.
fn recorded(folder: &plimsoll_testkit::servers::Scratch) {
    let tap = folder.path().join("tap.pcapng");
    let mode = std::os::unix::fs::PermissionsExt::mode(&tap.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "a logon is in it");
    let tap = tap.display().to_string();
    let mut analyze = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = output(analyze.args(["analyze", &tap, "-q"]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = super::command::text(&folder.path().join("rows.csv"));
    let columns = rows.lines().next().unwrap().split(',').count();
    assert!(rows.ends_with('\n') && rows.lines().count() > 1);
    assert!(rows.lines().all(|row| row.split(',').count() == columns));
}

#[test]
fn the_second_waits_for_nothing_and_loses_nothing() {
    let server = nfs();
    let mut running = measuring(&server, &["--remove-files"]);
    // The server is stopped, so its answers never come.
    freeze(&server);
    running.signal(Signal::INT);
    // Before the first is handled, a second one would be the same signal.
    running.wait_for("the first signal", |folder| super::command::text(&folder.join("err")).contains(AGAIN));
    running.signal(Signal::INT);
    let ended = running.end();
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
    assert!(ended.level()["count"].as_u64().unwrap() > 0);
    // Neither are its own files and its lease waited for.
    let facts = ended.report["run"]["facts"].to_string();
    assert!(facts.contains("(the server does not answer); the lease expires"), "{facts}");
    recorded(&ended.folder);
}

/// The timeout would hold up each step of the cleanup in turn, and logging off would take a minute.
#[test]
fn one_is_enough_although_the_server_hangs() {
    let server = nfs();
    let running = measuring(&server, &["--timeout", "10m"]);
    freeze(&server);
    let begun = std::time::Instant::now();
    running.signal(Signal::INT);
    let ended = running.end();
    let took = begun.elapsed();
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
    assert!(ended.said.contains(AGAIN), "{}", ended.said);
    // Of these, 10 s are the wait for outstanding responses.
    assert!(took < std::time::Duration::from_secs(60), "{took:?}");
    recorded(&ended.folder);
}

fn freeze(server: &Server) {
    signal(server, Signal::STOP);
}

fn signal(server: &Server, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(server.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Seconds without any answer are reported, whatever the percentiles.
#[test]
fn a_server_that_stands_still_makes_the_run_partial_at_most() {
    let server = nfs();
    let mut running = measuring(&server, &["--think", "2ms"]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    freeze(&server);
    // Where the run itself is held up, its next request begins the silence so much later.
    std::thread::sleep(std::time::Duration::from_secs(5));
    let before = running.tap_bytes();
    signal(&server, Signal::CONT);
    running.wait_for_tap("responses after the silence", before + (128 << 10));
    running.signal(Signal::INT);
    let ended = running.end();
    let silence = &ended.level()["silence"];
    assert!(silence["longest_s"].as_f64() > Some(2.9), "{silence}");
    assert!(silence["without_answer_s"].as_f64() > Some(2.9) && silence["outages"].as_u64() > Some(0), "{silence}");
    assert!(ended.reasons().contains("the server sent no response to any action for"), "{}", ended.reasons());
    assert_ne!(ended.report["validity"]["verdict"], "valid");
}

/// A set that takes long to make.
const LARGE: &str = r#"
name = "large"
description = "Many files"
[files]
count = 200000
directories = 100
depth = 1
size = "1B"
[[iterations]]
name = "look"
on = "file"
steps = ["getattr"]
"#;

#[test]
fn while_files_are_made_nothing_was_measured_and_the_report_says_so() {
    let folder = plimsoll_testkit::servers::Scratch::new("large");
    let workload = folder.path().join("large.toml");
    std::fs::write(&workload, LARGE).unwrap();
    for (remove, left) in [(false, 1), (true, 0)] {
        let files = folder.folder(if remove { "removed" } else { "left" });
        let target = format!("file://{}", files.display());
        let mut arguments = vec![workload.to_str().unwrap(), "--target", &target];
        arguments.extend(remove.then_some("--remove-files"));
        let mut running = start(&arguments);
        running.wait_for("files being made", |_| made(&files) > 0);
        running.signal(Signal::INT);
        let ended = running.end();
        assert_eq!(ended.code, Some(4), "{}", ended.said);
        assert_eq!(ended.report["validity"]["valid"], false);
        assert!(ended.reasons().contains("No operation was measured"), "{}", ended.reasons());
        assert_eq!(std::fs::read_dir(&files).unwrap().count(), left, "removed where that is wanted");
    }
}

//! A server that is killed and restarted during a run: the run continues, and keeps the measurements from before and after.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::faulty::{Faulty, Framing};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Share};
use rustix::process::Signal;

use super::command::{Ended, Server, copy, made, run, start};
use crate::{alone, available};

/// Looking for files and verifying them takes nine connections, the lease one.
const BESIDE: usize = 10;
/// Slow enough that a handful of failures is more than the share that a valid run may have.
const LOAD: [&str; 8] = ["--warmup", "0s", "--clients", "3", "--think", "40ms", "--timeout", "5s"];

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Number of answers on all connections except `but`.
fn answers(proxy: &Faulty, but: usize) -> u64 {
    proxy.seen().iter().skip(but).map(|connection| connection.replies).sum()
}

/// How many attempts to connect have failed on this machine.
fn failed_attempts() -> u64 {
    let counters = std::fs::read_to_string("/proc/net/snmp").unwrap();
    let mut of_tcp = counters.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, numbers) = (of_tcp.next().unwrap(), of_tcp.next().unwrap());
    let at = names.split(' ').position(|name| name == "AttemptFails").unwrap();
    numbers.split(' ').nth(at).unwrap().parse().unwrap()
}

/// Runs `mixed` until well after the server came back, with the server killed under it. The proxy in front of it does nothing
/// but count, and is dead as long as the server is. Before the load come `beside` connections.
fn survives(mut proxy: Faulty, target: &str, beside: usize, mut kill: impl FnMut(), mut again: impl FnMut()) {
    let made = run(&[&["mixed", "--target", target, "--duration", "300ms"][..], &LOAD].concat());
    assert!(matches!(made.code, Some(0 | 4)), "{}", made.said);
    let before = proxy.seen().len();
    let mut running = start(&[&["mixed", "--target", target, "--duration", "10m"][..], &LOAD].concat());
    running.wait_for("results", |_| answers(&proxy, before + beside) > 60);
    let (killed, connections) = (now(), proxy.seen().len());
    kill();
    proxy.down();
    let before = failed_attempts();
    // The attempts of other tests count, too. In this time each client makes four.
    std::thread::sleep(Duration::from_secs(2));
    running.wait_for("refused attempts", |_| failed_attempts() >= before + 3);
    again();
    let back = now();
    proxy.up().unwrap();
    running.wait_for("results after the restart", |_| answers(&proxy, connections) > 120);
    running.signal(Signal::INT);
    went_on(&running.end(), killed, back);
}

fn went_on(ended: &Ended, killed: i64, back: i64) {
    assert_eq!(ended.code, Some(4), "with so many failures it is not valid: {}", ended.report["validity"]);
    assert!(ended.reasons().contains("failed attempts to connect"), "{}", ended.reasons());
    let lost = ended.failures("lost connection: ");
    // At least every client's connection; and every attempt while the server was down.
    assert!(
        lost >= 3 && ended.failures("connection attempt: connection refused") >= 3,
        "{}",
        ended.level()["failures"]
    );
    assert_eq!(ended.level()["fairness"]["starved"], 0);
    let rows = ended.rows();
    let done = |row: &&HashMap<String, String>| row["outcome"] == "succeeded" && row["level"] == "0";
    let at = |row: &HashMap<String, String>| row["response_last_ns"].parse::<i64>().unwrap();
    let before = rows.iter().filter(done).filter(|row| at(row) < killed).count();
    let after = rows.iter().filter(done).filter(|row| at(row) > back).count();
    assert!(before > 10 && after > 10, "{before} before, {after} after");
    // The report's counts equal those of the table for the measured phase.
    let counts = |row: &&HashMap<String, String>| row["group"] != "Session" && row["counted"] == "true";
    let in_phase = rows.iter().filter(|row| row["level"] == "0").filter(counts).count() as u64;
    assert_eq!(ended.level()["count"], in_phase);
}

#[test]
fn samba_dies_and_comes_back() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&[])) else { return };
    let samba = std::cell::RefCell::new(samba);
    let proxy = Faulty::start(samba.borrow().address(), Framing::Smb, Vec::new()).unwrap();
    let target = format!("smb://{}@{}/{}", Samba::USER, proxy.address(), Share::Data.name());
    survives(proxy, &target, BESIDE, || samba.borrow_mut().kill(), || samba.borrow_mut().restart());
}

#[test]
fn ganesha_dies_and_comes_back() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let ganesha = std::cell::RefCell::new(ganesha);
    let (address, mount) = (ganesha.borrow().address(), ganesha.borrow().mount_port());
    let proxy = Faulty::start(address, Framing::Rpc, Vec::new()).unwrap();
    let target = format!("nfs://{}{}?mountport={mount}", proxy.address(), Export::Data.path());
    survives(proxy, &target, BESIDE, || ganesha.borrow_mut().crash(), || ganesha.borrow_mut().restart());
}

/// Killed while files are created: existing files are found or created again, and the set is complete.
#[test]
fn samba_dies_while_files_are_made() {
    let _alone = alone();
    let Some(mut samba) = available(Samba::start(&[])) else { return };
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let folder = samba.folder(Share::Data).unwrap();
    // The preparation waits for the server as long as for a response: longer than a restart takes on any machine.
    let short = ["getattr", "--target", &target, "--warmup", "0s", "--duration", "300ms", "--timeout", "60s"];
    let mut running = start(&short);
    running.wait_for("files being made", |_| made(&folder) > 0);
    samba.restart();
    let ended = running.end();
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
    assert_eq!(ended.level()["errors"], 0);
    let again = run(&[&short[..], &["--remove-files"]].concat());
    assert!(matches!(again.code, Some(0 | 4)), "the set is whole: {}", again.said);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

/// What `plimsoll report` says of a recording: exit code, report, text on standard error.
fn reported(recording: &Path) -> (Option<i32>, serde_json::Value, String) {
    let mut report = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = output(report.arg("report").arg(recording).args(["-q", "--json", "-"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), crate::only_side(&output.stdout), said)
}

/// The run itself is killed, in its first level: everything that was answered until a second before is in its recording.
#[test]
fn a_run_that_is_killed_leaves_what_it_had_measured() {
    let server = Server::start(&["nfs", "--listen", "127.0.0.1:0"]);
    let (before, after) = server.url.split_once("127.0.0.1:").unwrap();
    let (port, path) = after.split_at(after.find('/').unwrap());
    let proxy = Faulty::start(format!("127.0.0.1:{port}").parse().unwrap(), Framing::Rpc, Vec::new()).unwrap();
    let target = format!("{before}{}{path}", proxy.address());
    let load = ["mixed", "--target", &target, "--warmup", "0s", "--clients", "3", "--think", "10ms", "--threads", "1"];
    let made = run(&[&load[..], &["--duration", "100ms"]].concat());
    assert!(matches!(made.code, Some(0 | 4)), "{}", made.said);
    let connections = proxy.seen().len();

    let recordings = plimsoll_testkit::servers::Scratch::new("killed");
    let recording = recordings.path().join("recording");
    let more = ["--duration", "10m", "--timeout", "10m", "--record", recording.to_str().unwrap()];
    let mut running = start(&[&load[..], &more].concat());
    let progress = recording.join("level-0000.partial/progress.zst");
    let has_answers = || reported(&recording).1["levels"][0]["count"].as_u64() > Some(0);
    // A server that stalls may answer nothing before the first one.
    running.wait_for("a checkpoint with answers", |_| progress.exists() && has_answers());
    let (code, while_running, said) = reported(&recording);
    unfinished(code, &while_running, &said);
    let earlier = while_running["levels"][0]["count"].as_u64().unwrap();
    assert!(earlier > 0);

    // The server is stopped, so that the number of answers stays the same at the next checkpoints and at the end. Checkpoints come
    // without an answer.
    stop(&server);
    for _ in 0..3 {
        let (inode, at) = progress.metadata().map(|file| (file.ino(), file.mtime_nsec())).unwrap();
        let replaced = |_: &Path| progress.metadata().is_ok_and(|file| (file.ino(), file.mtime_nsec()) != (inode, at));
        running.wait_for("another checkpoint", replaced);
    }
    running.signal(Signal::KILL);
    running.wait_for_kill();

    let (_, report, _) = reported(&recording);
    let level = &report["levels"][0];
    assert_eq!(report["levels"].as_array().unwrap().len(), 1);
    // The connections of the load are the last ones; each begins with an FSINFO before the phase.
    let seen = proxy.seen();
    let of_load = &seen[seen.len() - 3..];
    let answered = of_load.iter().map(|connection| connection.replies - 1).sum::<u64>();
    assert!(seen.len() > connections + 3 && answered >= earlier);
    assert_eq!(level["count"], answered, "each response is counted once");
    // With the time in which it stood still it may even be invalid.
    assert_ne!(report["validity"]["verdict"], "valid");
    assert!(report["validity"]["reasons"].to_string().contains("the level is unfinished"), "{}", report["validity"]);
    assert!(level["load_name"].as_str().unwrap().ends_with("(not finished)"));
    assert_eq!(level["interruption"]["planned_s"], 600.0);
    assert!(level["silence"]["longest_s"].as_f64() > Some(0.0), "it stood still: {}", level["silence"]);
    assert_eq!(level["queue_depth"]["max"], serde_json::Value::Null);

    // It is a side of no comparison, and that is said.
    let mut compare = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let copied = recordings.path().join("copied");
    copy(&recording, copied.clone());
    let output_of = output(compare.arg("compare").args([&recording, &copied]));
    let said = String::from_utf8_lossy(&output_of.stderr);
    assert!(
        output_of.status.code() != Some(0) && said.contains("no finished load level or analysis to compare"),
        "{said}"
    );

    // Damage is reported, but is not an error.
    std::fs::write(&progress, "no progress").unwrap();
    let (code, report, said) = reported(&recording);
    assert_eq!(code, Some(4), "nothing was measured: {said}");
    assert!(report["warnings"].to_string().contains("it is unreadable"), "{}", report["warnings"]);
    std::fs::remove_file(&progress).unwrap();
    let (_, report, _) = reported(&recording);
    assert!(report["warnings"].to_string().contains("level-0000.partial has no results"), "{}", report["warnings"]);
}

/// The report of a level that goes on, or did when its run was killed.
fn unfinished(code: Option<i32>, report: &serde_json::Value, said: &str) {
    assert!(matches!(code, Some(0 | 4)), "{said}");
    // The machine may have been too busy for a partial one.
    assert_ne!(report["validity"]["verdict"], "valid", "{}", report["validity"]);
    assert!(report["validity"]["reasons"].to_string().contains("the level is unfinished"), "{}", report["validity"]);
    assert!(report["warnings"].to_string().contains("lack queue depth and transaction rows"), "{}", report["warnings"]);
}

/// Killed while the server answers: the report covers the data so far, and is partial. It also shows the finished levels.
#[test]
fn a_level_in_progress_is_shown_after_a_kill_behind_those_that_were_finished() {
    let server = Server::start(&["nfs", "--listen", "127.0.0.1:0"]);
    let recordings = plimsoll_testkit::servers::Scratch::new("levels");
    let recording = recordings.path().join("recording");
    let load = ["mixed", "--target", &server.url, "--warmup", "0s", "--levels", "1..9", "--think", "10ms"];
    let mut running = start(&[&load[..], &["--duration", "3s", "--record", recording.to_str().unwrap()]].concat());
    // Behind a finished level, and not between two.
    let in_progress = || (1..9).any(|n| recording.join(format!("level-{n:04}.partial/progress.zst")).exists());
    loop {
        running.wait_for("a checkpoint", |_| in_progress());
        running.signal(Signal::STOP);
        if in_progress() {
            break;
        }
        running.signal(Signal::CONT);
    }
    running.signal(Signal::KILL);
    running.wait_for_kill();
    let (code, report, said) = reported(&recording);
    unfinished(code, &report, &said);
    let levels = report["levels"].as_array().unwrap();
    let (last, finished) = levels.split_last().unwrap();
    assert!(!finished.is_empty() && finished.iter().all(|level| level["interruption"].is_null()), "{finished:?}");
    assert_eq!(last["load_name"], format!("{} clients (not finished)", levels.len()));
    assert!(levels.iter().all(|level| level["count"].as_u64() > Some(0)));
    assert_eq!(last["interruption"]["planned_s"], 3.0);
}

fn stop(server: &Server) {
    let pid = rustix::process::Pid::from_raw(server.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
}

/// A level that ends leaves nothing of its checkpoints.
#[test]
fn a_finished_level_has_no_other_files_than_before() {
    let server = Server::start(&["nfs", "--listen", "127.0.0.1:0"]);
    let recordings = plimsoll_testkit::servers::Scratch::new("finished");
    let recording = recordings.path().join("recording");
    let load = ["mixed", "--target", &server.url, "--warmup", "0s", "--clients", "2", "--think", "10ms"];
    let mut running = start(&[&load[..], &["--duration", "10m", "--record", recording.to_str().unwrap()]].concat());
    running.wait_for("a checkpoint", |_| recording.join("level-0000.partial/progress.zst").exists());
    running.signal(Signal::INT);
    let ended = running.end();
    let names = |folder: &Path| -> std::collections::BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(&recording), ["manifest.json", "level-0000"].map(str::to_owned).into());
    let files =
        ["statistics.zst", "intervals.zst", "intervals.parquet", "histograms.parquet", "transactions-0000.parquet"];
    assert_eq!(names(&recording.join("level-0000")), files.map(str::to_owned).into());
    let (_, report, _) = reported(&recording);
    assert_eq!(report["levels"], ended.report["levels"]);
}

//! Durable handles on Samba, and persistent ones: connections that are lost with files open, and runs that go on as if they were not.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plimsoll_testkit::command::Running;
use plimsoll_testkit::servers::faulty::{Faulty, Framing, Rule};
use plimsoll_testkit::servers::{Samba, Scratch, Share};
use rustix::process::Signal;
use serde_json::Value;

use crate::{alone, requests, side_in, text_of};

/// What Samba needs to keep files open whose connection is lost, and to tell where further connections go.
const DURABLE: [&str; 5] = [
    "durable handles = yes",
    "kernel oplocks = no",
    "kernel share modes = no",
    "posix locking = no",
    r#"interfaces = "127.0.0.1;capability=RSS,speed=1000000000""#,
];

fn samba(more: &[&str]) -> Option<Samba> {
    crate::samba(&[&DURABLE[..], more].concat())
}

/// A command that drives the server.
fn driving(folder: &Path, target: &str, more: &[&str]) -> Command {
    let run = ["run", "--target", target, "--clients", "3", "--warmup", "0s", "--seed", "3", "--timeout", "20s"];
    let outputs = ["--json", "run.json", "--tap", "tap.pcapng", "--transactions", "run.csv", "--full"];
    let mut command = crate::plimsoll();
    command.args(run).args(outputs).args(more).current_dir(folder).env("PLIMSOLL_PASSWORD", Samba::PASSWORD);
    command
}

/// Drives the server; returns findings and output.
fn drive(folder: &Path, target: &str, more: &[&str]) -> (Value, String) {
    let said = text_of(&mut driving(folder, target, more));
    (findings(folder), said)
}

/// The findings that a run left.
fn findings(folder: &Path) -> Value {
    side_in(&folder.join("run.json"))
}

/// A workload that keeps files open, and changes them.
const WORKLOAD: &str = r#"
name = "open-files"
description = "Reads and writes of open files, and files that come and go"
[files]
count = 6
directories = 2
depth = 1
size = "256KiB"
shared = "by-none"
seed = 1
[load]
clients = 3
depth = 1
think = "5ms"
warmup = "0s"
duration = "1s"
[script]
keep_open = 3
verify = "20%"
caching = "durable"
[[iterations]]
name = "read"
weight = 4
on = "file"
steps = [{ read = { size = "16KiB", at = "random" } }, { write = { size = "4KiB", at = "random" } }]
[[iterations]]
name = "list"
on = "directory"
steps = ["list"]
"#;

/// What cannot be done twice.
const OWN: &str = r#"
[[iterations]]
name = "own"
on = "own"
steps = ["create", { write = { size = "4KiB" } }, "close", "rename", "remove"]
"#;

/// The numbers of the fact of the run that begins so.
fn fact(side: &Value, begin: &str) -> Vec<u64> {
    let facts = side["run"]["facts"].as_array().unwrap().iter().filter_map(Value::as_str);
    let said = facts.filter_map(|fact| fact.strip_prefix(begin)).next().unwrap_or_default();
    said.split([' ', ':', '(']).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn a_reset_with_open_files_fails_nothing() {
    let _alone = alone();
    let Some(samba) = samba(&[]) else { return };
    let workload = [WORKLOAD, OWN].concat();
    let cases = [&[][..], &["--signing"], &["--encryption"], &["--channels", "2"], &["--dialect", "2.1"]];
    for (case, more) in cases.into_iter().enumerate() {
        // Every connection is lost after a few reads: both of a session, too.
        let (side, said) = survives(&samba, &of_case(&workload, case), 60_000, more);
        assert!(fact(&side, "recovered opens: ")[0] >= 1, "{more:?}: {said}");
    }
}

/// Of four messages one opens a file: many a connection is lost with its response. The file is opened anew, and is given back the next
/// time, for nothing is left of the first open.
#[test]
fn an_open_whose_response_is_lost_leaves_nothing_behind() {
    let _alone = alone();
    let Some(samba) = samba(&[]) else { return };
    let small = [WORKLOAD, OWN].concat();
    let small = small.replace("keep_open = 3", "keep_open = 0").replace("16KiB", "512B").replace("4KiB", "512B");
    for (case, more) in [&[][..], &["--channels", "2"], &["--dialect", "2.1"]].into_iter().enumerate() {
        survives(&samba, &of_case(&small, case), 12_000, more);
    }
}

/// The workload with a separate set of files, because the server may still hold opens of another case.
fn of_case(workload: &str, case: usize) -> String {
    workload.replace("open-files", &format!("open-files-{case}"))
}

/// A run whose connections are reset after `bytes` bytes of responses: no action fails, and no file is refused.
fn survives(samba: &Samba, workload: &str, bytes: u64, more: &[&str]) -> (Value, String) {
    let scratch = Scratch::new("durable");
    let folder = scratch.path();
    fs::write(folder.join("w.toml"), workload).unwrap();
    let faulty = Faulty::start(samba.address(), Framing::Smb, Vec::new()).unwrap();
    let target = format!("smb://{}@{}/data", Samba::USER, faulty.address());
    let load = |duration| [&["w.toml", "--depth", "1", "--duration", duration], more].concat();
    drive(folder, &target, &load("100ms"));
    let lossy = |duration: &'static str| {
        faulty.set_rules(vec![Rule::End { connection: None, offset: bytes, reset: true }]);
        drive(folder, &target, &load(duration))
    };
    let (mut side, mut said) = lossy("2s");
    // On a machine that stalls, the phase may end before the connection carries enough bytes for the reset.
    if fact(&side, "recovered sessions: ").is_empty() {
        (side, said) = lossy("20s");
    }
    let level = &side["levels"][0];
    let failures = level["failures"].as_array().unwrap();
    let survived = |failure: &&Value| failure["cause"].as_str().unwrap().contains("(operations continued)");
    let lost: u64 = failures.iter().filter(survived).map(|failure| failure["count"].as_u64().unwrap()).sum();
    assert_eq!(
        (failures.iter().find(|failure| !survived(failure)), &level["failed"]),
        (None, &0.into()),
        "{more:?}: {said}"
    );
    let sessions = fact(&side, "recovered sessions: ");
    assert!(sessions[0] >= 1 && sessions[0] <= lost, "{more:?}: {said}");
    assert_eq!(fact(&side, "recovered opens: ")[1], 0, "{more:?}: {said}");
    // What was sent, and what has no response, is one for one in the capture. (It cannot be read where it is encrypted.)
    if more != ["--encryption"] {
        assert_eq!(
            requests(folder, &crate::without_levels(folder, "run.csv")),
            requests(folder, "tap.pcapng"),
            "{more:?}"
        );
    }
    (side, said)
}

/// The head of the create context with which a client reconnects an open.
const RECONNECT: [u8; 16] = *b"\x10\0\x04\0\0\0\x18\0\x24\0\0\0DH2C";
/// From its end to its flags, of which 2 is a persistent handle.
const FLAGS: usize = 4 + 16 + 16;

/// Samba has durable handles, and a proxy lets them seem persistent. It also resets all connections and refuses new ones for a while, as
/// during a restart of the server. Samba signs what the proxy changes, except for guests.
#[test]
fn a_run_with_persistent_handles_survives_restarts() {
    let _alone = alone();
    let Some(samba) = samba(&[]) else { return };
    let mut faulty = Faulty::start(samba.address(), Framing::Smb, vec![Rule::PersistentHandles]).unwrap();
    let target = format!("smb://guest@{}/{}", faulty.address(), Share::Guest.name());
    let scratch = Scratch::new("persistent");
    let folder = scratch.path();
    // Every file is open at the restarts: Samba does not recognise a repeated open.
    fs::write(folder.join("w.toml"), WORKLOAD.replace("keep_open = 3", "keep_open = 6")).unwrap();
    drive(folder, &target, &["w.toml", "--depth", "1", "--duration", "100ms"]);
    faulty.set_rules(vec![Rule::PersistentHandles]);
    // The test ends it with a signal.
    let mut run =
        Running::start(&mut driving(folder, &target, &["w.toml", "--depth", "1", "--duration", "10m"])).unwrap();
    let mut wait_for = |faulty: &Faulty, replies: u64| {
        let sum = || faulty.seen().iter().map(|seen| seen.replies).sum::<u64>();
        assert_eq!(run.wait_until(|_| sum() >= replies), None, "before {replies} replies: {:?}", run.said());
    };
    for replies in [400, 700, 1_000] {
        wait_for(&faulty, replies);
        faulty.down();
        // Samba is to notice, also on a busy machine, that its clients are gone.
        std::thread::sleep(Duration::from_secs(1));
        faulty.up().unwrap();
    }
    wait_for(&faulty, 2_000);
    run.signal(Signal::INT);
    let ended = run.end();
    let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{said}");
    let side = findings(folder);
    let [requested, granted] = fact(&side, "persistent handles: ")[..] else { panic!("{said}") };
    assert!(granted >= 1 && granted <= requested, "{said}");
    assert_eq!(fact(&side, "durable handles: "), [granted], "{said}");
    assert!(fact(&side, "recovered sessions: ")[0] >= 1, "{said}");
    let [reconnected, refused, ..] = fact(&side, "recovered opens: ")[..] else { panic!("{said}") };
    assert!(reconnected > refused && refused * 10 <= reconnected, "{said}");
    // On a busy machine Samba may still hold an open for the old connection, and refuse it to the new one.
    let failed = side["levels"][0]["failed"].as_u64().unwrap();
    assert!(failed <= refused + requested - granted, "{said}");
    let tap = fs::read(folder.join("tap.pcapng")).unwrap();
    let names = tap.windows(RECONNECT.len()).enumerate().filter(|(_, head)| *head == RECONNECT);
    let flags: Vec<u8> = names.filter_map(|(at, _)| tap.get(at + RECONNECT.len() + FLAGS)).copied().collect();
    assert!(!flags.is_empty() && flags.iter().all(|flags| *flags == 2), "{flags:?}");
}

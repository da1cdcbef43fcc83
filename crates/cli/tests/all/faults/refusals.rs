//! Refusals and missing servers: either the run cannot start, and the message says why, or the failures are counted.

use std::time::Instant;

use plimsoll_testkit::servers::{Export, Ganesha, Samba, Share};
use serde_json::Value;

use super::command::{copy, run, start_with};
use crate::{alone, available, skip};

/// A second is enough for counted failures.
const SHORT: [&str; 8] = ["--warmup", "0s", "--duration", "1s", "--clients", "2", "--think", "10ms"];

/// The whole of a small file is written again and again, by a file set that fits everywhere.
const WRITING: &str = r#"
name = "writing"
description = "One new file after the other"
[files]
count = 4
directories = 1
depth = 1
size = "1KiB"
[load]
clients = 2
[[iterations]]
name = "new file"
on = "own"
steps = ["create", { write = { size = "64KiB", total = "2MiB" } }, "close", "remove"]
"#;

/// A workload file that a test wrote.
fn workload(text: &str) -> (plimsoll_testkit::servers::Scratch, String) {
    let folder = plimsoll_testkit::servers::Scratch::new("workload");
    let file = folder.path().join("w.toml");
    std::fs::write(&file, text).unwrap();
    (folder, file.display().to_string())
}

/// Four attempts would wait four times the timeout: two minutes by default.
#[test]
fn a_server_that_never_answers_is_asked_once() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("smb://u@{}/share", silent.local_addr().unwrap());
    run(&["getattr", "--target", &target, "--timeout", "300ms"]).refused(&["timed out", "another protocol"]);
    silent.set_nonblocking(true).unwrap();
    assert_eq!(std::iter::from_fn(|| silent.accept().ok()).count(), 1);
}

#[test]
fn a_server_that_is_not_there() {
    let since = Instant::now();
    for target in
        ["smb://u@127.0.0.1:1/share", "nfs://127.0.0.1:1/export?mountport=1", "nfs://127.0.0.1:1/export?version=4.1"]
    {
        let ended = run(&["getattr", "--target", target]);
        ended.refused(&["127.0.0.1:1", "refused"]);
        assert!(!ended.said.contains("Looking for files: "), "no progress in an error: {}", ended.said);
    }
    for target in ["smb://u@no-such-host.invalid/share", "nfs://no-such-host.invalid/export"] {
        run(&["getattr", "--target", target]).refused(&["no-such-host.invalid", "check the name of the server"]);
    }
    // A minute would seem like a hang; the resolver may take a quarter of it.
    assert!(since.elapsed().as_secs() < 60);
}

#[test]
fn a_target_without_its_option() {
    for (arguments, says) in [
        (&["mixed", "embedded:smb"][..], "--target embedded:smb"),
        (&["embedded:smb"], "give the server with --target"),
        (&["no-such-workload"], "built-in workloads: mixed"),
        (&["--target", "smb://u@h/s", "--dialect", "2.1", "--encryption"], "SMB 2.1 has no encryption"),
        (&["--target", "nfs://h/e", "--signing"], "only smb:// targets have this option"),
        (&["--target", "file:///", "--tap", "/dev/null"], "capture the connection of the mount"),
    ] {
        let ended =
            std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll")).arg("run").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(2) && said.contains(says), "{arguments:?}: {said}");
    }
}

#[test]
fn what_samba_refuses() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&["server max protocol = SMB3_02", "server smb encrypt = off"])) else {
        return;
    };
    let (user, address) = (Samba::USER, samba.address());
    let target = |share: &str| format!("smb://{user}@{address}/{share}");
    let data = target("data");
    let wrong = start_with(&["getattr", "--target", &data], Some("not-the-password")).end();
    wrong.refused(&["STATUS_LOGON_FAILURE", "SESSION_SETUP", "password", &data]);
    run(&["getattr", "--target", &target("nowhere")]).refused(&["share refused", "STATUS_BAD_NETWORK_NAME"]);
    run(&["mixed", "--target", &target("data/new/dir")]).refused(&["set in new/dir: ", "create this directory"]);
    run(&["mixed", "--target", &target("IPC$")]).refused(&["in the root of the share", "printers have none"]);
    let (signing, encryption) = ("--signing", "--encryption");
    run(&["getattr", "--target", &data, "--dialect", "3.1.1"]).refused(&["not offered", "STATUS_NOT_SUPPORTED"]);
    run(&["getattr", "--target", &data, encryption]).refused(&["not offered"]);
    let guest = format!("smb://nobody-in-particular@{address}/guest");
    start_with(&["getattr", "--target", &guest, signing], Some("any")).end().refused(&["guest logon can neither sign"]);
    // Nothing can be made there; and where files are already, every write is refused, and counted.
    let readonly = target(Share::ReadOnly.name());
    let making = run(&["mixed", "--target", &readonly]);
    making.refused(&["creating plimsoll-mixed", "STATUS_ACCESS_DENIED", "check the permissions of the share"]);
    assert!(matches!(run(&[&["mixed", "--target", &data][..], &SHORT].concat()).code, Some(0 | 4)));
    copy(&samba.folder(Share::Data).unwrap(), samba.folder(Share::ReadOnly).unwrap());
    let reading = run(&[&["mixed", "--target", &readonly][..], &SHORT].concat());
    writes_are_refused(&reading);
    if samba.folder(Share::Small).is_none() {
        return skip("needs root, to mount a small file system");
    }
    fills_up(&target(Share::Small.name()), "STATUS_DISK_FULL");
}

#[test]
fn a_share_that_stores_names_in_upper_case_is_used_twice_and_left_empty() {
    let _alone = alone();
    let upper = ["case sensitive = yes", "default case = upper", "preserve case = no", "short preserve case = no"];
    let Some(samba) = available(Samba::start(&upper)) else { return };
    let folder = samba.folder(Share::Data).unwrap();
    let target = format!("smb://{}@{}/data", Samba::USER, samba.address());
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let load = [&["mixed", "--target", &target][..], &SHORT].concat();
    let first = run(&load);
    assert!(matches!(first.code, Some(0 | 4)), "{}", first.said);
    assert!(names().iter().any(|name| name.starts_with("PLIMSOLL-MIXED-")), "{:?}", names());
    let second = run(&[&load[..], &["--remove-files"]].concat());
    assert!(matches!(second.code, Some(0 | 4)), "{}", second.said);
    assert_eq!(names(), [""; 0], "{}", second.said);
}

#[test]
fn what_ganesha_refuses() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let data = ganesha.target(Export::Data);
    let nowhere = data.replace("/data", "/nowhere");
    run(&["getattr", "--target", &nowhere]).refused(&["cannot mount /nowhere", "MNT3ERR_"]);
    let below = data.replace("/data", "/data/nowhere");
    run(&["getattr", "--target", &below]).refused(&["/nowhere, below the export /data", "NFS3ERR_NOENT"]);
    let readonly = ganesha.target(Export::ReadOnly);
    run(&["mixed", "--target", &readonly]).refused(&[
        "creating plimsoll-mixed",
        "NFS3ERR_ROFS",
        "the share or export is read-only",
    ]);
    let nowhere = ganesha.target_of(Export::Data, "4.1").replace("/data", "/data/no/where");
    run(&["getattr", "--target", &nowhere]).refused(&["cannot find the export /data/no/where at", "NFS4ERR_NOENT"]);
    let sessions = ganesha.target_of(Export::ReadOnly, "4.2");
    run(&["mixed", "--target", &sessions]).refused(&["creating plimsoll-mixed", "NFS4ERR_ROFS"]);
    assert!(matches!(run(&[&["mixed", "--target", &data][..], &SHORT].concat()).code, Some(0 | 4)));
    copy(&ganesha.folder(Export::Data).unwrap(), ganesha.folder(Export::ReadOnly).unwrap());
    writes_are_refused(&run(&[&["mixed", "--target", &readonly][..], &SHORT].concat()));
    if ganesha.folder(Export::Small).is_none() {
        return skip("needs root, to mount a small file system");
    }
    fills_up(&ganesha.target(Export::Small), "NFS3ERR_NOSPC");
}

/// Reads are done and writes are not: an outcome each.
fn writes_are_refused(ended: &super::command::Ended) {
    assert_eq!(ended.code, Some(4), "{}", ended.said);
    assert!(ended.reasons().contains("actions of the workload failed"), "{}", ended.reasons());
    assert!(ended.failures("error status") > 0);
    let read = ended.rows().iter().filter(|row| row["procedure"] == "READ" && row["outcome"] == "succeeded").count();
    assert!(read > 0 && ended.level()["errors"].as_u64().unwrap() > 0);
}

/// A file set that is too large says so; a file that does not fit is a failure, counted by its status, and the run goes on.
fn fills_up(target: &str, status: &str) {
    let (_folder, small) = workload(WRITING);
    let ended = run(&[&[small.as_str(), "--target", target][..], &SHORT].concat());
    assert_eq!(ended.code, Some(4), "{}", ended.said);
    let operations = ended.report["operations"].as_array().unwrap();
    let named = operations.iter().flat_map(|operation| operation["statuses"].as_array().unwrap());
    let of = |named: &&Value| named["name"] == status;
    let full: u64 = named.filter(of).map(|named| named["count"].as_u64().unwrap()).sum();
    assert!(full > 0, "{operations:#?}");
    // There were no other failures, and each of these is in the report.
    let failures = (ended.failures(""), ended.failures("error status"));
    assert_eq!(failures, (full, full), "{} {operations:#?}", ended.level()["failures"]);
    let written =
        ended.rows().iter().filter(|row| row["procedure"] == "WRITE" && row["outcome"] == "succeeded").count();
    assert!(written > 0 && ended.level()["fairness"]["starved"] == 0, "the run goes on");
    // The incomplete set fills the disk: nothing could be created besides it.
    run(&["mixed", "--target", target]).refused(&["plimsoll-mixed", status]);
}

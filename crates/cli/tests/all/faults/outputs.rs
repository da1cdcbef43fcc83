//! Outputs never replace inputs, appear when they are whole, and leave nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use plimsoll_testkit::command;
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;

use crate::{output_in, skip};

/// A folder with a capture.
fn capture(test: &str) -> Scratch {
    let scratch = Scratch::new(test);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/smb2-samba/capture.pcap.zst");
    fs::copy(golden, scratch.path().join("capture.zst")).unwrap();
    scratch
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn evidence_is_not_overwritten() {
    let scratch = capture("outputs-evidence");
    let folder = scratch.path();
    std::os::unix::fs::symlink("capture.zst", folder.join("soft.csv")).unwrap();
    fs::hard_link(folder.join("capture.zst"), folder.join("hard.csv")).unwrap();
    let evidence = fs::read(folder.join("capture.zst")).unwrap();
    for arguments in [
        &["analyze", "capture.zst", "--json", "capture.zst"][..],
        &["analyze", "capture.zst", "--html", "./soft.csv"],
        &["analyze", "soft.csv", "--html", "capture.zst"],
        &["analyze", "capture.zst", "--transactions", "soft.csv"],
        &["analyze", "capture.zst", "--transactions", "hard.csv"],
        &["analyze", "capture.zst", "--json", "same.csv", "--transactions", "same.csv"],
        &["compare", "capture.zst", "hard.csv", "--html", "hard.csv"],
        &["run", "getattr", "--target", "embedded:nfs", "--tap", "new.pcapng", "--html", "new.pcapng"],
    ] {
        let ended = output_in(folder, arguments);
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {}", said(&ended));
        assert_eq!(fs::read(folder.join("capture.zst")).unwrap(), evidence, "{arguments:?}");
        assert_eq!(names(folder), ["capture.zst", "hard.csv", "soft.csv"], "{arguments:?}");
    }
    // The folder does not exist yet.
    let within = output_in(folder, &["analyze", "capture.zst", "--json", "kept/x", "--record", "kept"]);
    assert_eq!((within.status.code(), names(folder).len()), (Some(3), 3), "{}", said(&within));
    let kept = output_in(folder, &["analyze", "capture.zst", "-q", "--record", "kept"]);
    assert!(kept.status.success(), "{}", said(&kept));
    let manifest = fs::read(folder.join("kept/manifest.json")).unwrap();
    for arguments in [["--json", "kept/manifest.json"], ["--export", "kept/new.om"]] {
        let ended = output_in(folder, &[&["report", "kept", "-q"], &arguments[..]].concat());
        assert!(ended.status.code() == Some(2) && said(&ended).contains("input"), "{arguments:?}: {}", said(&ended));
    }
    assert_eq!(fs::read(folder.join("kept/manifest.json")).unwrap(), manifest);
}

/// A file system of 64 KiB; unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&at).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(Self(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_leaves_what_was_there_and_the_other_outputs() {
    let scratch = capture("outputs-full");
    let folder = scratch.path();
    let Some(disk) = Small::mount(folder.join("disk")) else {
        skip("needs the right to mount a tmpfs");
        return;
    };
    for (flag, name) in [("--html", "page.html"), ("--transactions", "rows.csv")] {
        fs::write(disk.0.join(name), "earlier").unwrap();
        // Small files find no room either.
        fs::write(disk.0.join("filler"), vec![1; 56 << 10]).unwrap();
        let file = format!("disk/{name}");
        let ended = output_in(folder, &["analyze", "capture.zst", flag, &file, "--json", "report.json"]);
        let text = said(&ended);
        assert_eq!(ended.status.code(), Some(3), "{text}");
        assert!(text.contains(flag) && text.contains(&file) && text.contains("No space left"), "{text}");
        assert_eq!(fs::read_to_string(disk.0.join(name)).unwrap(), "earlier");
        assert_eq!(names(&disk.0), ["filler", name], "nothing half-written stays");
        assert!(String::from_utf8_lossy(&ended.stdout).contains("READ"), "the report is printed all the same");
        let report = fs::read(folder.join("report.json")).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&report).is_ok());
        fs::remove_file(disk.0.join(name)).unwrap();
    }
}

#[test]
fn what_cannot_be_written_is_found_out_before_the_work() {
    let scratch = capture("outputs-early");
    let folder = scratch.path();
    for arguments in [
        &["run", "getattr", "--target", "nfs://192.0.2.1/export", "--json", "missing/a.json"][..],
        &["run", "getattr", "--target", "nfs://192.0.2.1/export", "--tap", "missing/a.pcapng"],
        &["run", "getattr", "--target", "nfs://192.0.2.1/export", "--transactions", "missing/a.csv"],
        &["report", "nothing", "--export", "missing/a.om"],
        &["demo", "--html", "."],
    ] {
        // A server at this address does not answer: connecting first would wait for a minute.
        let ended = output_in(folder, arguments);
        assert_eq!(ended.status.code(), Some(3), "{arguments:?}: {}", said(&ended));
    }
    assert_eq!(names(folder), ["capture.zst"]);
}

#[test]
fn inputs_of_another_kind_are_named_once_with_a_remedy() {
    let scratch = capture("outputs-inputs");
    fs::write(scratch.path().join("empty.pcap"), "").unwrap();
    for (arguments, says) in [
        (&["report", "capture.zst"][..], "\"capture.zst\" is a file, not a recording; plimsoll analyze reads"),
        (&["history", "capture.zst"], "\"capture.zst\" is a file, not a recording"),
        (&["compare", "capture.zst", "empty.pcap"], "empty.pcap: the capture is empty; check the capture command"),
    ] {
        let ended = output_in(scratch.path(), arguments);
        let text = said(&ended);
        assert_eq!(ended.status.code(), Some(3), "{arguments:?}: {text}");
        assert_eq!(text.matches(says).count(), 1, "{arguments:?}: {text}");
    }
}

#[test]
fn a_demo_needs_no_page_that_nobody_asked_for() {
    let scratch = capture("outputs-demo");
    fs::create_dir(scratch.path().join("plimsoll-demo.html")).unwrap();
    let mut command = crate::plimsoll();
    let mut running = command::Running::start(command.current_dir(scratch.path()).arg("demo")).unwrap();
    let continues = |running: &command::Running| running.said()[1].contains("the demo continues without an HTML page");
    assert_eq!(running.wait_until(continues), None);
    running.kill();
}

#[test]
fn a_signal_leaves_no_temporary_files() {
    let scratch = capture("outputs-signal");
    let folder = scratch.path();
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = crate::plimsoll();
    // It waits for a writer of the pipe.
    command.current_dir(folder).args(["compare", "pipe", "capture.zst", "--json", "a.json", "--html", "a.html"]);
    let mut running = command::Running::start(&mut command).unwrap();
    assert_eq!(running.wait_until(|_| names(folder).len() == 4), None, "both are begun");
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", said(&ended));
    assert_eq!(names(folder), ["capture.zst", "pipe"]);
}

#[test]
fn what_is_no_regular_file_is_written_directly() {
    let scratch = capture("outputs-direct");
    let folder = scratch.path();
    let to = |file: &str| output_in(folder, &["analyze", "capture.zst", "-q", "--json", file]);
    assert!(to("/dev/null").status.success());
    let through = to("/dev/stdout");
    assert!(serde_json::from_slice::<serde_json::Value>(&through.stdout).is_ok(), "{}", said(&through));
    let full = to("/dev/full");
    assert!(full.status.code() == Some(3) && said(&full).contains("No space left"), "{}", said(&full));
    assert_eq!(names(folder), ["capture.zst"]);
}

//! Load on kernels that lack the newer system calls.

use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::system_calls::{FIRST_OF_LINUX_5_1, without};
use serde_json::Value;

use crate::{plimsoll, report_of};

/// The report of a run without the system calls of Linux 5.1 and later.
fn run(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = plimsoll();
    command.args(["run", "--warmup", "20ms", "--duration", "300ms", "--json", "-"]).args(arguments).current_dir(folder);
    report_of(without(&mut command, FIRST_OF_LINUX_5_1))
}

#[test]
fn load_runs_without_the_system_calls_after_linux_5_0() {
    let scratch = Scratch::new("old-kernels");
    let mounted = scratch.path().join("mounted");
    std::fs::create_dir(&mounted).unwrap();
    let local = format!("file://{}", mounted.display());
    for target in ["embedded:smb", "embedded:nfs", &local] {
        for load in [&["--clients", "3", "--think", "1ms"][..], &["--rate", "200", "--clients", "3"]] {
            let report = run(scratch.path(), &[&["mixed", "--target", target], load].concat());
            let operations = report["levels"][0]["response_time"]["count"].as_u64();
            assert!(operations.is_some_and(|count| count > 0), "{target} {load:?}: {operations:?}");
        }
    }
    // A recording and a tap, too.
    let kept = ["getattr", "--target", "embedded:nfs", "--record", "kept", "--tap", "tap.pcapng"];
    run(scratch.path(), &kept);
    assert!(scratch.path().join("kept/manifest.json").exists() && scratch.path().join("tap.pcapng").exists());
}

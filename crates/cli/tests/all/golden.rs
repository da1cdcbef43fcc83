//! The golden captures in `captures/`: recorded by us from real servers, each with the report that it must give.
//!
//! `PLIMSOLL_BLESS=1 cargo test -p plimsoll --test all golden` writes the reports anew: read what changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::{command, workspace};

/// The output of `analyze` for a golden capture: times are in UTC whatever the machine's zone.
fn report(folder: &Path, flags: &[&str]) -> String {
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let arguments = [&["analyze", "capture.pcap.zst", "--utc"], flags].concat();
    let output = command::output(analyze.args(arguments).current_dir(folder));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compares a file with its expected content, or writes it.
fn hold(file: &Path, expected: &str) {
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(file, expected).unwrap();
    }
    let found = std::fs::read_to_string(file).unwrap_or_default();
    let differs = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "{} is not what comes out now (line {:?}); if it should be: PLIMSOLL_BLESS=1 cargo test -p plimsoll --test all golden",
        file.display(),
        differs.map(|line| line + 1)
    );
}

#[test]
fn golden_captures_give_their_reports() {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(workspace().join("captures")).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Captures with a planted cause have a table instead (planted.rs).
    folders.retain(|folder| folder.join("capture.pcap.zst").exists());
    folders.sort();
    assert!(folders.len() >= 3);
    for folder in folders {
        hold(&folder.join("report.txt"), &report(&folder, &["--full"]));
        let screen = report(&folder, &[]);
        assert!(screen.lines().count() <= 40 && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
        hold(&folder.join("screen.txt"), &screen);
    }
}

/// docs/netbench.md shows the report of the shipped NetBench capture, whole and as it comes out today.
#[test]
fn the_documented_report_is_the_real_one() {
    let file = workspace().join("docs/netbench.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once("```text\n").unwrap();
    let (_, after) = rest.split_once("```\n").unwrap();
    hold(
        &file,
        &format!("{before}```text\n{}```\n{after}", report(&workspace().join("captures/netbench-samba"), &["--full"])),
    );
}

/// docs/first-screen.md shows the first screens of the golden captures in order.
#[test]
fn the_documented_screens_are_the_real_ones() {
    let file = workspace().join("docs/first-screen.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let mut parts = page.split("```text\n");
    let mut expected = parts.next().unwrap().to_owned();
    for (part, name) in parts.zip(["netbench-samba", "nfs-ganesha", "nfs-writes", "smb2-samba"]) {
        let (_, after) = part.split_once("```\n").unwrap();
        let screen = report(&workspace().join("captures").join(name), &[]);
        expected.push_str(&format!("```text\n{screen}```\n{after}"));
    }
    hold(&file, &expected);
}

/// README.md shows the diagnosis of the same report.
#[test]
fn the_readme_shows_the_real_diagnosis() {
    let page = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let (_, rest) = page.split_once("```text\n").unwrap();
    let (shown, _) = rest.split_once("```\n").unwrap();
    let report = std::fs::read_to_string(workspace().join("captures/netbench-samba/screen.txt")).unwrap();
    assert!(shown.starts_with("Diagnosis:") && report.contains(shown), "README.md shows another report:\n{shown}");
}

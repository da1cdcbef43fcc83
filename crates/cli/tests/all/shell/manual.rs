use std::process::Command;

use plimsoll_testkit::command::output;

use super::{plimsoll, program, scratch};

/// `plimsoll man --folder` writes a page for each subcommand and theirs, and groff reads them without a warning.
#[test]
fn manual_pages_are_written_and_read() {
    let folder = scratch("manual");
    let pages = folder.path().join("new/man1");
    let done = output(&mut plimsoll(&["man", "--folder", pages.to_str().unwrap()], &[]));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for name in ["plimsoll", "plimsoll-analyze", "plimsoll-man", "plimsoll-workloads", "plimsoll-workloads-show"] {
        assert!(pages.join(format!("{name}.1")).is_file(), "{name}");
    }
    assert!(!pages.join("plimsoll-help.1").exists(), "`plimsoll help` has nothing to say that --help does not");
    let page = std::fs::read(pages.join("plimsoll-run.1")).unwrap();
    assert_eq!(output(&mut plimsoll(&["man", "run"], &[])).stdout, page);
    if Command::new("groff").arg("--version").output().is_err() {
        crate::skip("needs groff");
        return;
    }
    let mut groff = program("groff", &[]);
    groff.args(["-Kutf8", "-Tutf8", "-man", "-ww", "-z"]);
    groff.args(std::fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()));
    let said = output(&mut groff);
    assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
}

use std::process::Stdio;

use plimsoll_testkit::command::output;
use plimsoll_testkit::terminal::session;

use super::{CAPTURE, line, plimsoll};

/// A pipe without a reader.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Runs with its ends of pipes closed; the exit code.
fn code(arguments: &[&str], both: bool) -> Option<i32> {
    let mut command = plimsoll(arguments, &[]);
    command.stdin(Stdio::null()).stdout(closed());
    let mut child = command.stderr(if both { closed() } else { Stdio::piped() }).spawn().unwrap();
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
    }
    assert!(!said.contains("panicked") && !said.contains("pipe"), "{arguments:?}: {said}");
    child.wait().unwrap().code()
}

#[test]
fn nobody_who_reads_is_no_failure() {
    for both in [false, true] {
        for arguments in [
            &["analyze", CAPTURE][..],
            &["analyze", CAPTURE, "--json", "-"],
            &["analyze", CAPTURE, "--full"],
            &["workloads", "show", "mixed"],
            &["completions", "bash"],
            &["--help"],
            &["--version"],
            &["run", "--help"],
        ] {
            assert_eq!(code(arguments, both), Some(0), "{arguments:?}");
        }
        assert_eq!(code(&["analyze", "--no-such-flag"], both), Some(2));
        assert_eq!(code(&["analyze", "/nowhere"], both), Some(3));
    }
}

#[test]
fn the_first_lines_are_the_first_lines() {
    let whole = output(&mut plimsoll(&["analyze", CAPTURE], &[]));
    let first = output(&mut line("{ $PLIMSOLL analyze $CAPTURE; echo \"code $?\" >&2; } | head -n 3", &[]));
    let (whole, first) = (String::from_utf8(whole.stdout).unwrap(), String::from_utf8(first.stdout).unwrap());
    assert!(first.lines().count() == 3 && whole.starts_with(&first), "{first}");
}

/// What cannot be written for another reason is a failure, and no panic.
#[test]
fn a_full_disk_is_a_failure() {
    for arguments in ["--help", "--version", "workloads schema", "completions zsh", "analyze $CAPTURE"] {
        let done = output(&mut line(&format!("$PLIMSOLL {arguments} > /dev/full"), &[]));
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(
            done.status.code() == Some(3) && said.contains("standard output: cannot write: No space left"),
            "{arguments}: {said}"
        );
    }
}

#[test]
fn a_pager_is_left_quietly() {
    if !std::path::Path::new("/usr/bin/less").exists() {
        crate::skip("needs less");
        return;
    }
    // `less` reads its keys from the terminal that controls it: setsid makes ours that.
    let text = "setsid --ctty --wait sh -c '{ $PLIMSOLL analyze $CAPTURE --full; echo $? > \"$CODE\"; } | less'";
    let folder = super::scratch("pager");
    let file = folder.path().join("code");
    let session = session(line(text, &[]).env("CODE", &file), 80, "q");
    assert!(!session.text().contains("panicked") && !session.text().contains("\x1b[1m\x1b"), "{}", session.text());
    assert!(session.text().contains("SMB") || session.text().contains("Plimsoll"), "{}", session.text());
    assert_eq!(std::fs::read_to_string(file).unwrap().trim(), "0");
}

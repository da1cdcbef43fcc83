//! The command in a real terminal and in pipes: colour, columns, characters, progress, ends of pipes, versions, completions.

mod colour;
mod completions;
mod manual;
mod pipes;
mod progress;
mod version;
mod widths;

use std::num::NonZeroU16;
use std::process::Command;

use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::terminal::{Session, session};

/// Variables that a test sets itself, or not at all.
const VARIABLES: [&str; 9] =
    ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "LC_ALL", "LC_CTYPE", "LANG", "COLUMNS", "PLIMSOLL_PASSWORD"];

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/smb2-samba/capture.pcap.zst");
/// A larger one: on a busy machine, its analysis is slow enough for a progress bar.
const LARGE_CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/netbench-samba/capture.pcap.zst");

/// A program that sees this environment alone, of what matters here, in a terminal that can do everything.
fn program(name: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(name);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").envs(environment.iter().copied());
    command
}

fn plimsoll(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_plimsoll"), environment);
    command.args(arguments);
    command
}

/// A line of shell, which finds the command as `$PLIMSOLL` and a capture as `$CAPTURE`.
fn line(text: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = program("sh", environment);
    command.args(["-c", text]).env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll")).env("CAPTURE", CAPTURE);
    command
}

/// Analyses the capture in a terminal.
fn analysed(columns: u16, arguments: &[&str], environment: &[(&str, &str)]) -> Session {
    analysed_capture(CAPTURE, columns, arguments, environment)
}

fn analysed_capture(capture: &str, columns: u16, arguments: &[&str], environment: &[(&str, &str)]) -> Session {
    let session = session(&mut plimsoll(&[&["analyze", capture], arguments].concat(), environment), columns, "");
    assert_eq!(session.status.code(), Some(0), "{}", session.text());
    session
}

/// The visible screen: all output without cleared parts.
fn screen(session: &Session, columns: u16) -> Vec<String> {
    let [rows, wide] = [2_000, columns].map(|count| NonZeroU16::new(count).unwrap());
    let mut parser = vt100::Parser::new(rows, wide, 0);
    parser.process(&session.bytes);
    parser.screen().rows(0, columns).collect()
}

fn scratch(name: &str) -> Scratch {
    Scratch::new(&format!("shell-{name}"))
}

//! `cargo plimsoll`: builds the part of Plimsoll that a command needs, and runs it.
//!
//! A user who reads a capture does not wait for the build of clients, servers and live views. docs/decisions/0018-build-times.md

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Commands that only read captures and recordings: they do not need the feature `load`.
const READERS: [&str; 5] = ["analyze", "anonymize", "compare", "history", "report"];

#[allow(clippy::print_stderr, reason = "a tool for a terminal")]
fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let mut run = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    run.args(["run", "--profile", "quick", "--quiet", "--bin", "plimsoll", "--manifest-path"]).arg(manifest);
    if is_reader(&words) {
        run.arg("--no-default-features");
    }
    match run.arg("--").args(words).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the first word is such a command.
fn is_reader(words: &[OsString]) -> bool {
    words.first().is_some_and(|word| READERS.iter().any(|reader| word == reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_read_need_no_load() {
        let is_reader = |line: &str| super::is_reader(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(is_reader("analyze a.pcap") && is_reader("report DIR"));
        assert!(!is_reader("run mixed") && !is_reader("--help") && !is_reader("watch eth0") && !is_reader(""));
    }
}

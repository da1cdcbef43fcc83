//! `cargo xtask kerberos`: what the feature of that name adds, which no other command compiles.

use crate::{Outcome, process, test};

const CRATES: [&str; 8] =
    ["-p", "plimsoll-client", "-p", "plimsoll-drive", "-p", "plimsoll-cli", "--features", "plimsoll-cli/kerberos"];

/// Clippy and the tests, with a KDC and a Samba of their own.
pub(crate) fn run() -> Outcome {
    let lints = ["--all-targets", "--", "-D", "warnings"];
    process::run(&mut process::cargo(&[&["clippy"][..], &CRATES, &lints].concat()))?;
    let tests = ["--lib", "--test", "all", "kerberos::", "--", "--test-threads", "1"];
    let arguments: Vec<String> = CRATES.iter().chain(&tests).map(|&argument| argument.to_owned()).collect();
    test::run(&arguments)
}

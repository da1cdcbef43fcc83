//! Skips of tests, and the inputs that are not on every machine.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Says why a test does not go on. `cargo xtask test` counts these lines, and refuses those whose reason is not true, so no test may use
/// other words.
#[allow(clippy::print_stdout, reason = "the reason for skipping")]
pub fn skip(reason: impl Display) {
    println!("SKIPPED: {reason}");
}

/// The workspace's folder.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("tests run where they were built")
}

/// The folder of published captures; `None`, and a printed reason, where it is not there.
pub fn shared_captures() -> Option<PathBuf> {
    let folder = workspace().join("../shared/captures");
    if !folder.is_dir() {
        skip("needs ../shared/captures");
        return None;
    }
    Some(folder)
}

/// A published capture; `None`, and a printed reason, where it is not there.
pub fn shared_capture(name: &str) -> Option<PathBuf> {
    let capture = workspace().join("../shared/captures").join(name);
    if !capture.is_file() {
        skip(format_args!("needs ../shared/captures/{name}"));
        return None;
    }
    Some(capture)
}

//! Common parts of the tests with other programs.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Whether these programs are here; says which is not.
pub(crate) fn needs(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        !std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
    });
    if let Some(program) = missing {
        plimsoll_testkit::skip(format_args!("needs {program}"));
    }
    missing.is_none()
}

/// Runs a program to its end.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The output of a successful program.
pub(crate) fn must(output: Output) -> Output {
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}");
    output
}

/// A folder of this test's own.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Bytes that differ from one seed to the next and nowhere repeat within a page.
pub(crate) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = plimsoll_testkit::Random::new(seed);
    (0..length).map(|_| random.bits() as u8).collect()
}

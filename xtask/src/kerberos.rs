//! `cargo xtask kerberos`: what the feature of that name adds, which no other command compiles.

use crate::{Outcome, process, test};

const PACKAGES: [&str; 3] = ["plimsoll-client", "plimsoll-drive", "plimsoll"];
const FEATURE: &str = "plimsoll/kerberos";

/// Runs Clippy and the tests, with a private KDC, Samba and Ganesha.
pub(crate) fn run() -> Outcome {
    let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
    let mut clippy = process::cargo(&["clippy", "--all-targets", "--features", FEATURE]);
    process::run(clippy.args(packages).args(["--", "-D", "warnings"]))?;
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    test::run(&test::Arguments {
        packages: owned(&PACKAGES),
        features: owned(&[FEATURE]),
        lib: true,
        tests: owned(&["all"]),
        filters: owned(&["kerberos::", "gss::"]),
        for_programs: owned(&["--test-threads", "1"]),
        ..test::Arguments::default()
    })
}

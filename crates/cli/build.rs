//! Tells the command which commit it is built from, for `--version`.

use std::path::Path;

#[path = "src/version/commit.rs"]
mod commit;

/// Set by those who build from an archive without a repository.
const COMMIT: &str = "PLIMSOLL_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/version/commit.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let profile = std::env::var("PROFILE").unwrap_or_default();
    let release = profile == "release";
    let said = match std::env::var(COMMIT) {
        Ok(commit) if !commit.is_empty() => commit,
        // A debug build would be compiled again after each commit, only to name it.
        _ if !release => "not recorded in debug builds".to_owned(),
        _ => match commit::commit(Path::new(env!("CARGO_MANIFEST_DIR"))) {
            Some((commit, files)) => {
                files.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
                commit
            }
            None => format!("unknown (built without a repository, and {COMMIT} was not set)"),
        },
    };
    println!("cargo::rustc-env=PLIMSOLL_BUILD_COMMIT={said}");
}

//! Tells the command which commit it is built from, for `--version`, and the linker how to store relocations.

use std::path::Path;

#[path = "build/commit.rs"]
mod commit;

/// Set by those who build from an archive without a repository.
const COMMIT: &str = "PLIMSOLL_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/commit.rs");
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
    pack_relocations();
}

/// Packs the table of pointers to adjust at the start (DT_RELR): each start reads all of it, and 417 kB become 12 kB. Only
/// with musl, which is a part of the program: a program for glibc would not start with versions before 2.36.
fn pack_relocations() {
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "musl") {
        // Without `-Wl,`: compilers pass `-z` on, and a linker that is called directly does not know the prefix.
        println!("cargo::rustc-link-arg-bins=-z");
        println!("cargo::rustc-link-arg-bins=pack-relative-relocs");
    }
}

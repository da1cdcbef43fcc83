//! The program for a platform, and the commit that it is of.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::platform::Platform;
use crate::{process, workspace};

/// The release to package.
#[derive(Clone, Debug)]
pub(super) struct Release {
    pub(super) version: String,
    pub(super) commit: String,
    /// Time of the commit in seconds: the time of all files in packages.
    pub(super) epoch: String,
}

impl Release {
    /// The commit that is checked out.
    pub(super) fn of_commit(allow_dirty: bool) -> Result<Self, String> {
        let git = |arguments: &[&str]| {
            process::output(Command::new("git").args(arguments).current_dir(workspace::root()))
                .map(|text| text.trim().to_owned())
        };
        let changes = git(&["status", "--porcelain"])?;
        if !changes.is_empty() && !allow_dirty {
            return Err(format!("uncommitted changes; commit them, or give --allow-dirty:\n{changes}"));
        }
        Ok(Release {
            version: workspace::version()?,
            commit: git(&["rev-parse", "HEAD"])?,
            epoch: git(&["show", "--no-patch", "--format=%ct", "HEAD"])?,
        })
    }
}

/// Builds the program from a working tree, into the `target` folder there.
pub(super) fn program(tree: &Path, platform: &Platform, profile: &str) -> Result<PathBuf, String> {
    let triple = platform.target;
    let target = if tree == workspace::root() { workspace::target() } else { tree.join("target") };
    // Paths of this machine must not be in the program, or it would differ on the next.
    let remapped = [(tree.to_owned(), "/plimsoll"), (cargo_home().join("registry/src"), "/registry")];
    let flags = remapped.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let flags = flags.chain(platform.rustflags.iter().map(|&flag| flag.to_owned()));
    let flags = flags.map(|flag| format!("'{flag}'")).collect::<Vec<_>>().join(",");
    let mut build = process::cargo(&["build", "--locked", "--profile", profile, "--package", "plimsoll"]);
    build.args(["--target", triple, "--config", &format!("target.{triple}.rustflags=[{flags}]")]);
    build.arg("--target-dir").arg(&target).current_dir(tree);
    // These would replace the flags above.
    build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    build.envs(platform.environment.iter().copied());
    // The allocator contains the time at which C compiled it. Not the commit's time: what an earlier commit left compiled would have another.
    build.env("SOURCE_DATE_EPOCH", "0");
    process::run(&mut build)?;
    let program = target.join(triple).join(profile).join(platform.program);
    if let Some(strip) = platform.strip {
        // Without this variable, it would write the present time into the program.
        process::run(Command::new(strip).arg("--strip-all").arg(&program).env("SOURCE_DATE_EPOCH", "0"))?;
    }
    Ok(program)
}

fn cargo_home() -> PathBuf {
    let default = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(default, PathBuf::from)
}

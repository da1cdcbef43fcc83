//! The workspace: where it is, its packages and its files.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The folder that cargo builds in.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A package of the workspace, as its manifest declares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) benches: Vec<String>,
}

/// A dependency as declared.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// For tests and benches only.
    pub(crate) dev: bool,
}

/// The packages of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>, String> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let metadata = process::output(&mut process::cargo(&arguments))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(list(&metadata, "packages").map(package).collect())
}

fn package(value: &Value) -> Package {
    let dependencies = list(value, "dependencies")
        .map(|dependency| Dependency { name: text(dependency, "name"), dev: text(dependency, "kind") == "dev" });
    let is_bench = |target: &&Value| list(target, "kind").any(|kind| kind == "bench");
    let benches = list(value, "targets").filter(is_bench).map(|target| text(target, "name"));
    Package { name: text(value, "name"), dependencies: dependencies.collect(), benches: benches.collect() }
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The version of the program.
pub(crate) fn version() -> Result<String, String> {
    let metadata = process::output(&mut process::cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let program = list(&metadata, "packages").find(|package| text(package, "name") == "plimsoll");
    program.map(|package| text(package, "version")).ok_or("cargo metadata: no plimsoll in it".to_owned())
}

/// Files that git knows or would add, relative to the root.
pub(crate) fn files() -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let listed = process::output(&mut git)?;
    Ok(listed.lines().filter(|file| root().join(file).is_file()).map(str::to_owned).collect())
}

//! Programs of ours as people run them: release builds.

use std::path::PathBuf;

use serde_json::Value;

use crate::process;

/// Builds `plimsoll` for release; where it is.
pub(crate) fn plimsoll() -> Result<PathBuf, String> {
    build("plimsoll", "plimsoll")
}

/// Builds a program of a package for release; where it is.
pub(crate) fn build(package: &str, program: &str) -> Result<PathBuf, String> {
    process::run(&mut process::cargo(&["build", "--release", "--package", package]))?;
    let metadata = process::output(&mut process::cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let folder = metadata.get("target_directory").and_then(Value::as_str);
    let folder = folder.ok_or("cargo metadata names no target directory")?;
    Ok(PathBuf::from(folder).join("release").join(program))
}

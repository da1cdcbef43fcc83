//! The Python wheel: it carries the program, and no Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::content::Content;
use super::{about, files, trial};
use crate::{Outcome, process};

/// Name in package indexes, where another project has the name `plimsoll`.
const NAME: &str = "plimsoll-files";
/// The same in names of files.
const FILE_NAME: &str = "plimsoll_files";
/// A static program runs with every C library.
const PLATFORMS: [&str; 3] = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"];
const PACK: &str = include_str!("wheel.py");

/// Writes the tree of a wheel, and has Python pack it.
pub(super) fn write(content: &Content, folder: &Path) -> Result<PathBuf, String> {
    let tree = content.scratch.join("wheel");
    files::empty(&tree)?;
    let version = &content.release.version;
    let name = format!("{FILE_NAME}-{version}");
    let (data, info) = (tree.join(format!("{name}.data")), tree.join(format!("{name}.dist-info")));
    files::copy(&content.program, &data.join("scripts/plimsoll"))?;
    content.copy("man", &data.join("data/share/man/man1"))?;
    content.copy("doc", &data.join("data/share/doc/plimsoll"))?;
    content.copy("licences", &info.join("licenses"))?;
    files::copy(&content.sbom(), &info.join("sboms/plimsoll.cdx.json"))?;
    let licences = files::names(&info.join("licenses"))?;
    let licences: String = licences.iter().map(|name| format!("License-File: {name}\n")).collect();
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\nSummary: {}\nLicense-Expression: MIT OR Apache-2.0\n\
         {licences}Description-Content-Type: text/plain\n\n{}\n",
        about::SUMMARY,
        about::DESCRIPTION,
    );
    files::write(&info.join("METADATA"), &metadata)?;
    let platforms = platforms(content);
    let tags: String = platforms.iter().map(|platform| format!("Tag: py3-none-{platform}\n")).collect();
    let wheel = format!("Wheel-Version: 1.0\nGenerator: cargo xtask package\nRoot-Is-Purelib: false\n{tags}");
    files::write(&info.join("WHEEL"), &wheel)?;
    let file = folder.join(format!("{name}-py3-none-{}.whl", platforms.join(".")));
    let mut python = Command::new("python3");
    python.args(["-c", PACK]).arg(&tree).arg(&file).args([format!("{name}.dist-info"), content.release.epoch.clone()]);
    process::output(python.stdin(Stdio::null()))?;
    Ok(file)
}

fn platforms(content: &Content) -> [String; 3] {
    PLATFORMS.map(|system| format!("{system}_{}", content.platform.processor))
}

/// Installs it into a fresh virtual environment, runs it, and removes it.
pub(super) fn try_it(content: &Content, file: &Path) -> Outcome {
    let folder = content.scratch.join("trial/wheel");
    files::empty(&folder)?;
    let begun = Instant::now();
    process::output(Command::new("python3").args(["-m", "venv"]).arg(&folder).stdin(Stdio::null()))?;
    let pip = |arguments: &[&str]| {
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments).stdin(Stdio::null());
        process::output(&mut pip)
    };
    let (name, packages) = (file.display().to_string(), folder.join("packages").display().to_string());
    let program = if content.platform.is_native() {
        pip(&["install", "--no-index", &name])?;
        folder.join("bin/plimsoll")
    } else {
        // For another processor, pip unpacks, and removes nothing.
        let platform = &platforms(content)[0];
        let unpack = ["--no-deps", "--only-binary=:all:", "--platform", platform, "--target", &packages, &name];
        pip(&[&["install", "--no-index"], &unpack[..]].concat())?;
        folder.join("packages/bin/plimsoll")
    };
    trial::same_program(&content.program, &program)?;
    trial::reports(content, &program)?;
    trial::took("from the wheel, with a new environment, to the first report", begun);
    trial::demo(content, &program, &folder)?;
    trial::took("from the wheel, with a new environment, to the end of demo", begun);
    if !content.platform.is_native() {
        return Ok(());
    }
    pip(&["uninstall", "--yes", NAME])?;
    if program.exists() { Err(format!("{}: still there after pip uninstall", program.display())) } else { Ok(()) }
}

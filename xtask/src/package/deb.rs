//! The Debian package. A static program depends on nothing: one package for every Debian and Ubuntu.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::content::Content;
use super::{about, files, trial};
use crate::{Outcome, process};

/// Where Debian's zsh looks for functions of packages.
const ZSH: &str = "zsh/vendor-completions";
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: plimsoll

Files: *
Copyright: The Plimsoll developers
License: MIT or Apache-2.0
 The texts are in LICENSE-MIT and LICENSE-APACHE in this folder. The program
 contains other works: THIRD-PARTY.txt and ECHARTS.txt have their licences.
";

/// Writes the files and dpkg's metadata.
pub(super) fn write(content: &Content, folder: &Path) -> Result<PathBuf, String> {
    let root = content.scratch.join("deb");
    content.installed(&root, ZSH)?;
    files::write(&root.join("usr/share/doc/plimsoll/copyright"), COPYRIGHT)?;
    let size = process::output(
        Command::new("du").args(["--summarize", "--apparent-size", "--block-size=1024"]).arg(root.join("usr")),
    )?;
    let size = size.split_whitespace().next().unwrap_or_default();
    let (version, architecture) = (&content.release.version, content.platform.architecture);
    let control = format!(
        "Package: plimsoll\nVersion: {version}-1\nArchitecture: {architecture}\nMaintainer: {}\nInstalled-Size: {size}\n\
         Section: net\nPriority: optional\nDescription: {}\n{}\n",
        about::MAINTAINER,
        about::SUMMARY,
        about::DESCRIPTION.lines().map(|line| format!(" {line}")).collect::<Vec<_>>().join("\n"),
    );
    files::write(&root.join("DEBIAN/control"), &control)?;
    files::settle(&root, &content.release.epoch)?;
    let file = folder.join(format!("plimsoll_{version}-1_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    // With several threads xz cuts its input otherwise.
    let level = if content.thorough { "-z6" } else { "-z0" };
    build.args(["--root-owner-group", "-Zxz", level, "--threads-max=1", "--build"]).arg(&root).arg(&file);
    process::output(build.env("SOURCE_DATE_EPOCH", &content.release.epoch))?;
    Ok(file)
}

/// Installs it into a root with an empty database of packages, and removes it.
pub(super) fn try_it(content: &Content, file: &Path) -> Outcome {
    let root = content.scratch.join("trial/deb");
    files::empty(&root)?;
    for empty in ["status", "available"] {
        files::write(&root.join("var/lib/dpkg").join(empty), "")?;
    }
    ["info", "updates", "triggers"].iter().try_for_each(|name| files::make(&root.join("var/lib/dpkg").join(name)))?;
    let dpkg = |arguments: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        // Programs for other processors run here, too, but dpkg does not know this.
        dpkg.arg(format!("--root={}", root.display()))
            .args(["--force-not-root", "--force-bad-path", "--force-architecture"])
            .args(arguments);
        process::output(&mut dpkg)
    };
    dpkg(&["--install", &file.display().to_string()])?;
    let listed = dpkg(&["--listfiles", "plimsoll"])?;
    trial::lists(&listed, &content.scratch.join("deb/usr"), "/usr")?;
    trial::same_program(&content.program, &root.join("usr/bin/plimsoll"))?;
    trial::reports_in_an_empty_root(content, &root, "/usr/bin/plimsoll")?;
    dpkg(&["--purge", "plimsoll"])?;
    trial::is_gone(&root)
}

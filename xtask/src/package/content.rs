//! The contents of every package, in any format.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::Release;
use super::platform::Platform;
use super::{files, licences, sbom};
use crate::{Outcome, process, workspace};

/// Shells whose completions are packaged, and the files as each shell looks for them.
const SHELLS: [(&str, &str); 4] =
    [("bash", "plimsoll"), ("zsh", "_plimsoll"), ("fish", "plimsoll.fish"), ("powershell", "plimsoll.ps1")];
/// Where a bundled part of Apache ECharts begins with its notice and licences.
const CHARTS: &str = "crates/report/assets/echarts.min.js";
/// Documents outside of `docs/`: messages of the program name MEASUREMENT.md and pages of `docs/`, which link to the others.
const DOCUMENTS: [&str; 3] = ["README.md", "CHANGELOG.md", "MEASUREMENT.md"];
const SBOM: &str = "sbom.cdx.json";

/// The program, and a folder with what goes beside it.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) release: Release,
    pub(super) platform: &'static Platform,
    pub(super) program: PathBuf,
    /// Manual pages in `man`, completions in `completions`, documents in `doc`, licences in `licences`.
    folder: PathBuf,
    /// For the trees of formats, and trials.
    pub(super) scratch: PathBuf,
    /// The program of this machine, whose reports are those that every program must give.
    pub(super) reference: PathBuf,
    /// For users: compressed as well as it goes, and tried with the demonstration, which takes half a minute.
    pub(super) thorough: bool,
}

impl Content {
    /// Makes what goes beside the program.
    pub(super) fn collect(
        release: &Release,
        platform: &'static Platform,
        (program, reference): (PathBuf, PathBuf),
        scratch: &Path,
    ) -> Result<Self, String> {
        let (scratch, thorough) = (scratch.join(platform.target), true);
        let folder = scratch.join("content");
        files::empty(&folder)?;
        platform.prepare(&program, &scratch)?;
        let release = release.clone();
        let content = Content { release, platform, program, folder, scratch, reference, thorough };
        let man = content.folder.join("man");
        files::make(&man)?;
        process::output(content.command().args(["man", "--folder"]).arg(&man))?;
        for (shell, file) in SHELLS {
            let script = process::output(content.command().args(["completions", shell]))?;
            files::write(&content.folder.join("completions").join(file), &script)?;
        }
        let (doc, notices) = (content.folder.join("doc"), content.folder.join("licences"));
        for name in documents()? {
            files::copy(&workspace::root().join(&name), &doc.join(&name))?;
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            files::copy(&workspace::root().join(name), &notices.join(name))?;
        }
        let crates = licences::crates(platform.target)?;
        files::write(&notices.join("THIRD-PARTY.txt"), &licences::text(&crates)?)?;
        files::write(&notices.join("ECHARTS.txt"), &charts_notice()?)?;
        files::write(&content.sbom(), &sbom::document(&content.release, &crates))?;
        Ok(content)
    }

    fn command(&self) -> Command {
        self.platform.command(&self.program, &self.scratch)
    }

    /// `plimsoll-0.1.0-x86_64-unknown-linux-musl`.
    pub(super) fn full_name(&self) -> String {
        format!("plimsoll-{}-{}", self.release.version, self.platform.target)
    }

    /// The bill of materials.
    pub(super) fn sbom(&self) -> PathBuf {
        self.folder.join(SBOM)
    }

    /// The name of the bill of materials outside of a package.
    pub(super) fn sbom_name(&self) -> String {
        format!("{}.cdx.json", self.full_name())
    }

    /// Unpacked in separate folders, for manual installation.
    pub(super) fn loose(&self, folder: &Path) -> Outcome {
        files::empty(folder)?;
        self.copy("man", &folder.join("man/man1"))?;
        self.copy("completions", &folder.join("completions"))?;
        self.copy("doc", folder)?;
        self.copy_notices(folder)?;
        files::copy(&self.program, &folder.join(self.platform.program))
    }

    /// Where a distribution looks for them; zsh looks in a folder that each distribution names itself.
    pub(super) fn installed(&self, root: &Path, zsh_functions: &str) -> Outcome {
        files::empty(root)?;
        let share = root.join("usr/share");
        files::copy(&self.program, &root.join("usr/bin/plimsoll"))?;
        self.copy("man", &share.join("man/man1"))?;
        for page in files::names(&share.join("man/man1"))? {
            process::output(Command::new("gzip").args(["--best", "--no-name"]).arg(share.join("man/man1").join(page)))?;
        }
        let places = ["bash-completion/completions", zsh_functions, "fish/vendor_completions.d"];
        for ((_, file), place) in SHELLS.iter().zip(places) {
            files::copy(&self.folder.join("completions").join(file), &share.join(place).join(file))?;
        }
        self.copy("doc", &share.join("doc/plimsoll"))?;
        self.copy_notices(&share.join("doc/plimsoll"))?;
        files::settle(root, &self.release.epoch)
    }

    /// Copies the licences and the bill of materials.
    pub(super) fn copy_notices(&self, to: &Path) -> Outcome {
        self.copy("licences", to)?;
        files::copy(&self.sbom(), &to.join(SBOM))
    }

    /// Copies one of the folders.
    pub(super) fn copy(&self, name: &str, to: &Path) -> Outcome {
        files::copy_tree(&self.folder.join(name), to)
    }
}

/// Documents of every package, as paths below the root of this tree: in a package they have the same paths below its folder of documents,
/// so the paths in messages and the links between pages are right there, too.
fn documents() -> Result<Vec<String>, String> {
    let is_document = |file: &String| file.starts_with("docs/") || DOCUMENTS.contains(&file.as_str());
    Ok(workspace::files()?.into_iter().filter(is_document).collect())
}

/// The comment at the start of the charts' library: its notice, and the licences of its parts.
fn charts_notice() -> Result<String, String> {
    let library = workspace::root().join(CHARTS);
    let text = fs::read_to_string(&library).map_err(|error| format!("{CHARTS}: {error}"))?;
    let notice = text.strip_prefix("/*!\n").and_then(|text| text.split_once("*/"));
    notice.map(|(notice, _)| notice.to_owned()).ok_or(format!("{CHARTS}: no notice at its head"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Without this, a remedy in a message names a file that no user has.
    #[test]
    fn packages_have_every_document_that_the_program_names() {
        let is_source = |file: &String| file.starts_with("crates/") && file.ends_with(".rs");
        let is_in_path = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
        let mut named = BTreeSet::new();
        for source in workspace::files().unwrap().into_iter().filter(is_source) {
            let text = files::read(&workspace::root().join(source)).unwrap();
            for (at, _) in text.match_indices("docs/") {
                let path = text[at..].split(|c| !is_in_path(c)).next().unwrap_or_default().trim_end_matches('.');
                if path.ends_with(".md") {
                    named.insert(path.to_owned());
                }
            }
        }
        assert!(named.len() > 20 && named.contains("docs/load-generators.md"), "{named:?}");
        let packed: BTreeSet<String> = documents().unwrap().into_iter().collect();
        let missing: Vec<&String> = named.difference(&packed).collect();
        assert!(missing.is_empty() && packed.contains("MEASUREMENT.md"), "{missing:?}");
    }

    #[test]
    fn the_charts_have_their_notice() {
        let notice = charts_notice().unwrap();
        assert!(notice.contains("The Apache Software Foundation") && notice.contains("zrender: LICENSE"));
    }
}

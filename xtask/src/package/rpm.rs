//! The RPM package, for Fedora, RHEL and SUSE: as the Debian package, a static program that needs nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::content::Content;
use super::{about, files, trial};
use crate::{Outcome, process};

const ZSH: &str = "zsh/site-functions";
/// The folder of documents: the package owns it and the folders in it, so that rpm removes them.
const DOC: &str = "/usr/share/doc/plimsoll";
/// Nothing of this machine or of this hour, no search for dependencies, nothing changed in the files.
const MACROS: [&str; 8] = [
    "_buildhost localhost",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "_build_id_links none",
    "debug_package %{nil}",
    "__os_install_post %{nil}",
    "_binary_payload w6.xzdio",
    "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
];

/// Writes the tree and its spec file, and has rpmbuild pack them.
pub(super) fn write(content: &Content, folder: &Path) -> Result<PathBuf, String> {
    let (root, top) = (content.scratch.join("rpm"), content.scratch.join("rpmbuild"));
    content.installed(&root, ZSH)?;
    files::empty(&top)?;
    let (version, processor) = (&content.release.version, content.platform.processor);
    let packed = files::list(&root)?;
    let folders: BTreeSet<&str> =
        packed.iter().filter(|file| file.starts_with(DOC)).filter_map(|file| Some(file.rsplit_once('/')?.0)).collect();
    let owned = packed.iter().cloned().chain(folders.iter().map(|folder| format!("%dir {folder}")));
    let spec = format!(
        "Name: plimsoll\nVersion: {version}\nRelease: 1\nSummary: {}\nLicense: MIT OR Apache-2.0\nAutoReqProv: no\n\n\
         %description\n{}\n\n%install\ncp -a '{}/.' %{{buildroot}}\n\n%files\n%defattr(-,root,root)\n{}\n",
        about::SUMMARY,
        about::DESCRIPTION,
        root.display(),
        owned.collect::<Vec<_>>().join("\n"),
    );
    files::write(&top.join("plimsoll.spec"), &spec)?;
    let mut build = Command::new("rpmbuild");
    build.args(["--quiet", "-bb", "--target", processor]).arg("--define").arg(format!("_topdir {}", top.display()));
    build.args(MACROS.iter().flat_map(|define| ["--define", define]));
    process::output(build.arg(top.join("plimsoll.spec")).env("SOURCE_DATE_EPOCH", &content.release.epoch))?;
    let name = format!("plimsoll-{version}-1.{processor}.rpm");
    files::copy(&top.join("RPMS").join(&name), &folder.join(&name))?;
    Ok(folder.join(name))
}

/// Installs it into a root with an empty database of packages, and removes it.
pub(super) fn try_it(content: &Content, file: &Path) -> Outcome {
    let root = content.scratch.join("trial/rpm");
    files::empty(&root)?;
    let rpm = |arguments: &[&str]| {
        let mut rpm = Command::new("rpm");
        // Debian's rpm has its database in the home folder otherwise.
        process::output(rpm.arg("--root").arg(&root).args(["--dbpath", "/var/lib/rpm"]).args(arguments))
    };
    rpm(&["--initdb"])?;
    // Programs for other processors run here, too, but rpm does not know this.
    let install: &[&str] = if content.platform.is_native() { &["--install"] } else { &["--install", "--ignorearch"] };
    rpm(&[install, &[&file.display().to_string()]].concat())?;
    let listed = rpm(&["--query", "--list", "plimsoll"])?;
    trial::lists(&listed, &content.scratch.join("rpm/usr"), "/usr")?;
    rpm(&["--verify", "plimsoll"])?;
    trial::same_program(&content.program, &root.join("usr/bin/plimsoll"))?;
    trial::reports_in_an_empty_root(content, &root, "/usr/bin/plimsoll")?;
    rpm(&["--erase", "plimsoll"])?;
    trial::is_gone(&root)
}

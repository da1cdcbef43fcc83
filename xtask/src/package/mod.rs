//! `cargo xtask package`: what users install, in `dist/`, and a trial of each. docs/decisions/0025-packages.md
//!
//! The formats are written by their own tools (tar, dpkg-deb, rpmbuild, Python's zipfile): what a tool is missing for is skipped
//! and named.

mod build;
mod content;
mod deb;
mod files;
mod image;
mod licences;
mod rpm;
mod sbom;
mod tarball;
mod trial;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process, workspace};

use build::Release;
use content::Content;

/// Arguments of `cargo xtask package`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Package uncommitted changes too; the packages still have the date and ID of the last commit
    #[arg(long)]
    allow_dirty: bool,
    /// Build again in a fresh clone at another path, and compare the packages bit by bit
    #[arg(long)]
    reproduce: bool,
}

/// What packages say of the program, in one line and in a few.
const SUMMARY: &str = "measures response time and throughput of SMB and NFS file servers";
const DESCRIPTION: &str = "\
Reads packet captures of SMB and NFS traffic and reports the response time of
every operation, with a diagnosis; drives file servers with load and reports
throughput and response time at each level.";
const MAINTAINER: &str = "The Plimsoll developers";

/// Largest size of a package.
const LARGEST: u64 = 15 * 1000 * 1000;

/// A kind of package.
struct Format {
    name: &'static str,
    /// Programs that write it or try it, each with its Debian package.
    needs: &'static [(&'static str, &'static str)],
    /// Writes it into a folder.
    write: fn(&Content, &Path) -> Result<PathBuf, String>,
    /// Installs it in a place of its own, runs it and removes it.
    try_it: fn(&Content, &Path) -> Outcome,
}

const FORMATS: [Format; 5] = [
    Format { name: "tarball", needs: &[], write: tarball::write, try_it: tarball::try_it },
    Format { name: ".deb", needs: &[("dpkg-deb", "dpkg"), ("dpkg", "dpkg")], write: deb::write, try_it: deb::try_it },
    Format { name: ".rpm", needs: &[("rpmbuild", "rpm"), ("rpm", "rpm")], write: rpm::write, try_it: rpm::try_it },
    Format { name: "wheel", needs: &[("python3", "python3-venv")], write: wheel::write, try_it: wheel::try_it },
    Format { name: "image", needs: &[], write: image::write, try_it: image::try_it },
];

/// Builds, packs, runs what was packed, and writes the checksums.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let release = Release::of_commit(arguments.allow_dirty)?;
    let program = build::program(&workspace::root())?;
    let content = Content::collect(&release, program, &workspace::target().join("package"))?;
    let dist = workspace::root().join("dist");
    let packed = pack(&content, &dist)?;
    // The packing alone is quick enough to be compared each time.
    let again = workspace::target().join("package/again");
    pack(&content, &again)?;
    let sums = same_sums(&dist, &again)?;
    for (format, file) in &packed {
        println!("\n== {}", format.name);
        (format.try_it)(&content, file)?;
    }
    if arguments.reproduce {
        reproduce(&release, &dist)?;
    }
    println!("\n{sums}");
    Ok(())
}

/// Packages of all formats whose tools are here.
fn pack(content: &Content, folder: &Path) -> Result<Vec<(Format, PathBuf)>, String> {
    files::empty(folder)?;
    let mut packed = Vec::new();
    for format in FORMATS {
        let missing = format.needs.iter().find(|(program, _)| process::find(program).is_none());
        if let Some((program, package)) = missing {
            println!("SKIPPED: {} needs {program} (Debian package {package})", format.name);
            continue;
        }
        let file = (format.write)(content, folder)?;
        let size = fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?.len();
        println!("{:>12} bytes  {}", size, file.display());
        if size > LARGEST {
            return Err(format!("{}: {size} bytes, {LARGEST} at the most", file.display()));
        }
        packed.push((format, file));
    }
    files::copy(&content.sbom(), &folder.join(content.sbom_name()))?;
    files::write(&folder.join("SHA256SUMS"), &files::sums(folder)?)?;
    Ok(packed)
}

/// The checksums of two folders, which must be equal.
fn same_sums(one: &Path, other: &Path) -> Result<String, String> {
    let [one, other] = [one, other].map(|folder| files::read(&folder.join("SHA256SUMS")));
    let (one, other) = (one?, other?);
    let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    match differs {
        None if one == other => Ok(one),
        _ => Err(format!("two builds of the same commit differ: {differs:?}")),
    }
}

/// Packages made in another clone by its own `cargo xtask package`'s build step: another path, nothing compiled before.
fn reproduce(release: &Release, dist: &Path) -> Outcome {
    println!("\n== reproduce");
    let clone = workspace::target().join("package/clone");
    files::empty(&clone)?;
    let mut git = Command::new("git");
    process::run(git.args(["clone", "--quiet", "--no-hardlinks"]).arg(workspace::root()).arg(&clone))?;
    process::run(Command::new("git").current_dir(&clone).args(["checkout", "--quiet", &release.commit]))?;
    let program = build::program(&clone)?;
    let content = Content::collect(release, program, &clone.join("target/package"))?;
    let other = clone.join("dist");
    pack(&content, &other)?;
    same_sums(dist, &other).map(|_| println!("a fresh clone gives the same bits"))
}

//! `cargo xtask package`: builds the packages in `dist/`, and tries each. docs/decisions/0025-packages.md
//!
//! Each format's own tool writes it (tar, dpkg-deb, rpmbuild, Python's zipfile): formats without their tool are skipped and named.

mod about;
mod build;
mod content;
mod deb;
mod files;
mod format;
mod image;
mod licences;
mod platform;
mod rpm;
mod sbom;
mod tarball;
mod trial;
mod wheel;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process, workspace};

use build::Release;
use content::Content;
use format::{FORMATS_OF_CHECK, Format, formats_of};
use platform::{PLATFORMS, Platform, TESTED};

/// Arguments of `cargo xtask package`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Package uncommitted changes too; the packages still have the date and ID of the last commit
    #[arg(long)]
    allow_dirty: bool,
    /// Build again in a fresh clone at another path, and compare the packages bit by bit
    #[arg(long)]
    reproduce: bool,
    /// Package only for this platform, e.g. x86_64-pc-windows-gnu; may be repeated [default: all whose tools are here]
    #[arg(long, value_name = "TARGET", value_parser = targets())]
    target: Vec<String>,
    /// Cargo profile of the programs. Only the default is for users
    #[arg(long, default_value = RELEASE)]
    profile: String,
}

fn targets() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(PLATFORMS.iter().map(|platform| platform.target))
}

/// Largest size of a package.
const LARGEST: u64 = 15 * 1000 * 1000;

/// Builds, packs, runs the packed program, and writes the checksums.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let release = Release::of_commit(arguments.allow_dirty)?;
    let wanted = |platform: &&Platform| {
        platform.is_native()
            || arguments.target.is_empty()
            || arguments.target.iter().any(|name| name == platform.target)
    };
    let mut platforms = Vec::new();
    for platform in PLATFORMS.iter().filter(wanted) {
        match platform.missing() {
            None => platforms.push(platform),
            // Other platforms are compared with this one.
            Some(missing) if platform.is_native() || !arguments.target.is_empty() => return Err(missing),
            Some(missing) => println!("SKIPPED: {} {missing}", platform.target),
        }
    }
    let contents = collect(&release, &platforms, &workspace::root(), &arguments.profile)?;
    let dist = workspace::root().join("dist");
    let largest = if arguments.profile == RELEASE { LARGEST } else { u64::MAX };
    let packed = pack(&contents, formats_of, &dist, largest)?;
    // The packing alone is quick enough to be compared each time.
    let again = workspace::target().join("package/again");
    pack(&contents, formats_of, &again, largest)?;
    let sums = same_sums(&dist, &again)?;
    try_all(&packed)?;
    if arguments.reproduce {
        reproduce(&release, (&platforms, &arguments.profile), &dist)?;
    }
    println!("\n{sums}");
    Ok(())
}

/// Cargo's profile for users.
const RELEASE: &str = "dist";
/// Packs the program that the tests have built as tarball and .deb, and runs both: this tests the packaging without compiling anything.
/// Part of `cargo xtask check`.
pub(crate) fn check() -> Outcome {
    if let Some(missing) = TESTED.missing() {
        println!("SKIPPED: {missing}");
        return Ok(());
    }
    let release = Release::of_commit(true)?;
    let scratch = workspace::target().join("package");
    let program = scratch.join("tested/plimsoll");
    files::copy(&workspace::target().join("debug/plimsoll"), &program)?;
    process::run(Command::new("strip").arg("--strip-all").arg(&program))?;
    let mut content = Content::collect(&release, &TESTED, (program.clone(), program), &scratch)?;
    content.thorough = false;
    try_all(&pack(&[content], |_| &FORMATS_OF_CHECK, &scratch.join("check"), u64::MAX)?)
}

/// Builds the programs in a working tree, and makes what goes beside each.
fn collect(
    release: &Release,
    platforms: &[&'static Platform],
    tree: &Path,
    profile: &str,
) -> Result<Vec<Content>, String> {
    let scratch = if tree == workspace::root() { workspace::target() } else { tree.join("target") }.join("package");
    let mut contents: Vec<Content> = Vec::new();
    for platform in platforms {
        let program = build::program(tree, platform, profile)?;
        let reference = contents.first().map_or_else(|| program.clone(), |first| first.program.clone());
        contents.push(Content::collect(release, platform, (program, reference), &scratch)?);
    }
    Ok(contents)
}

/// Packages of all formats whose tools are here.
fn pack<'c>(
    contents: &'c [Content],
    formats: fn(&Platform) -> &'static [Format],
    folder: &Path,
    largest: u64,
) -> Result<Vec<(&'c Content, Format, PathBuf)>, String> {
    files::empty(folder)?;
    let mut packed = Vec::new();
    for content in contents {
        for format in formats(content.platform) {
            let missing = format.needs.iter().find(|(program, _)| process::find(program).is_none());
            if let Some((program, package)) = missing {
                println!("SKIPPED: {} needs {program} (Debian package {package})", format.name);
                continue;
            }
            let file = (format.write)(content, folder)?;
            let size = fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?.len();
            println!("{size:>12} bytes  {}", file.strip_prefix(workspace::root()).unwrap_or(&file).display());
            if size > largest {
                return Err(format!("{}: {size} bytes, {largest} at the most", file.display()));
            }
            packed.push((content, *format, file));
        }
        files::copy(&content.sbom(), &folder.join(content.sbom_name()))?;
    }
    files::write(&folder.join("SHA256SUMS"), &files::sums(folder)?)?;
    Ok(packed)
}

fn try_all(packed: &[(&Content, Format, PathBuf)]) -> Outcome {
    packed.iter().try_for_each(|(content, format, file)| {
        println!("\n== {} for {}", format.name, content.platform.target);
        (format.try_it)(content, file)
    })
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
fn reproduce(release: &Release, (platforms, profile): (&[&'static Platform], &str), dist: &Path) -> Outcome {
    println!("\n== reproduce");
    let clone = workspace::target().join("package/clone");
    files::empty(&clone)?;
    let mut git = Command::new("git");
    process::run(git.args(["clone", "--quiet", "--no-hardlinks"]).arg(workspace::root()).arg(&clone))?;
    process::run(Command::new("git").current_dir(&clone).args(["checkout", "--quiet", &release.commit]))?;
    let contents = collect(release, platforms, &clone, profile)?;
    let other = clone.join("dist");
    pack(&contents, formats_of, &other, u64::MAX)?;
    same_sums(dist, &other).map(|_| println!("a fresh clone gives the same bits"))
}

//! Files of packages: equal bits from equal content.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, process};

pub(super) fn empty(folder: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    make(folder)
}

/// A folder, with those above it.
pub(super) fn make(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Writes a file, and the folders above it.
pub(super) fn write(file: &Path, text: &str) -> Outcome {
    make(file.parent().unwrap_or(file))?;
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The text of a file.
pub(super) fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Copies a file, and makes the folders above it.
pub(super) fn copy(from: &Path, to: &Path) -> Outcome {
    make(to.parent().unwrap_or(to))?;
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// Copies all files below a folder, with the folders in it.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Outcome {
    let files = list(from)?;
    files.iter().map(|file| file.trim_start_matches('/')).try_for_each(|file| copy(&from.join(file), &to.join(file)))
}

/// Names in a folder, in order.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, String> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        listed.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Paths of all files below a folder, each as `/usr/bin/plimsoll`, in order.
pub(super) fn list(root: &Path) -> Result<Vec<String>, String> {
    let found = process::output(Command::new("find").current_dir(root).args([".", "!", "-type", "d"]))?;
    let mut paths: Vec<String> = found.lines().filter_map(|line| line.strip_prefix('.')).map(str::to_owned).collect();
    paths.sort();
    Ok(paths)
}

/// Gives all below a folder the time of the commit, and the usual permissions.
pub(super) fn settle(folder: &Path, epoch: &str) -> Outcome {
    process::output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(folder))?;
    let mut find = Command::new("find");
    find.arg(folder).args(["-exec", "touch", "--no-dereference", &format!("--date=@{epoch}"), "{}", "+"]);
    process::output(&mut find).map(drop)
}

/// Packs names of a folder; compressed if `file` ends in `gz`, as well as it goes or as fast.
pub(super) fn tar(folder: &Path, names: &[&str], file: &Path, epoch: &str, thorough: bool) -> Outcome {
    let mut tar = Command::new("tar");
    // ustar: the format has no fields for details of this machine.
    tar.args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u=rwX,go=rX", &format!("--mtime=@{epoch}")]);
    if file.extension().is_some_and(|end| end == "gz") {
        let level = if thorough { "--best" } else { "--fast" };
        tar.arg(format!("--use-compress-program=gzip {level} --no-name"));
    }
    process::output(tar.arg("--file").arg(file).arg("--directory").arg(folder).args(names)).map(drop)
}

/// Unpacks a tar, compressed or not.
pub(super) fn untar(file: &Path, folder: &Path) -> Outcome {
    make(folder)?;
    let mut tar = Command::new("tar");
    process::output(tar.arg("--extract").arg("--file").arg(file).arg("--directory").arg(folder)).map(drop)
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(file: &Path) -> Result<String, String> {
    let printed = process::output(Command::new("sha256sum").arg("--").arg(file))?;
    Ok(printed.trim_start_matches('\\').chars().take_while(char::is_ascii_hexdigit).collect())
}

/// A file for `sha256sum --check` of all other files in a folder.
pub(super) fn sums(folder: &Path) -> Result<String, String> {
    let names = names(folder)?;
    let others = names.iter().filter(|name| *name != "SHA256SUMS");
    others.map(|name| Ok(format!("{}  {name}\n", sha256(&folder.join(name))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_copied_with_the_folders_in_it() {
        let folder = std::env::temp_dir().join(format!("plimsoll-package-files-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        write(&from.join("docs/decisions/1.md"), "one").unwrap();
        write(&from.join("README.md"), "read").unwrap();
        copy_tree(&from, &to).unwrap();
        let copied = list(&to).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(copied, ["/README.md", "/docs/decisions/1.md"]);
    }
}

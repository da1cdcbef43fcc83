//! The zip for Windows: unpack it anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::content::Content;
use super::{files, trial};
use crate::{Outcome, process};

/// One folder with all files.
pub(super) fn write(content: &Content, folder: &Path) -> Result<PathBuf, String> {
    let (name, parent) = (content.full_name(), content.scratch.join("zip"));
    content.loose(&parent.join(&name))?;
    files::settle(&parent, &content.release.epoch)?;
    let file = folder.join(format!("{name}.zip"));
    let inside: Vec<String> =
        files::list(&parent)?.iter().map(|path| path.trim_start_matches('/').to_owned()).collect();
    let mut zip = Command::new("zip");
    // Without owners; its times have no zone.
    zip.args(["-q", "-9", "-X"]).arg(&file).args(inside).current_dir(&parent).env("TZ", "UTC");
    process::output(&mut zip)?;
    Ok(file)
}

/// Unpacks it, and runs everything that this platform has.
pub(super) fn try_it(content: &Content, file: &Path) -> Outcome {
    let folder = content.scratch.join("trial/zip");
    files::empty(&folder)?;
    let mut python = Command::new("python3");
    process::output(python.args(["-m", "zipfile", "-e"]).arg(file).arg(&folder))?;
    let program = folder.join(content.full_name()).join(content.platform.program);
    trial::same_program(&content.program, &program)?;
    content.platform.prepare(&program, &content.scratch)?;
    trial::reports(content, &program)?;
    trial::drives_nothing(content, &program)
}

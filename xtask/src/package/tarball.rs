//! The tarball: unpack it anywhere, no root needed.

use std::path::{Path, PathBuf};

use super::content::Content;
use super::{files, trial};
use crate::Outcome;

/// One folder with all files.
pub(super) fn write(content: &Content, folder: &Path) -> Result<PathBuf, String> {
    let (name, parent) = (content.full_name(), content.scratch.join("tarball"));
    content.loose(&parent.join(&name))?;
    files::settle(&parent, &content.release.epoch)?;
    let file = folder.join(format!("{name}.tar.gz"));
    files::tar(&parent, &[&name], &file, &content.release.epoch, content.thorough)?;
    Ok(file)
}

/// Unpacks it into an empty root, and runs everything there.
pub(super) fn try_it(content: &Content, file: &Path) -> Outcome {
    let root = content.scratch.join("trial/tarball");
    files::empty(&root)?;
    files::untar(file, &root)?;
    let program = format!("/{}/plimsoll", content.full_name());
    trial::reports_in_an_empty_root(content, &root, &program)?;
    if content.thorough { trial::demo_in_an_empty_root(content, &root, &program) } else { Ok(()) }
}

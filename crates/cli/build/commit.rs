//! The commit that is checked out, read from the repository's files: a build needs neither git nor a network.

use std::fs;
use std::path::{Path, PathBuf};

/// The checked-out commit of the working tree that holds `start`, and the files that say so.
pub(crate) fn commit(start: &Path) -> Option<(String, Vec<PathBuf>)> {
    let dot_git = start.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    let git = match dot_git.is_dir() {
        true => dot_git,
        // A linked working tree: `gitdir: PATH`.
        false => {
            let text = fs::read_to_string(&dot_git).ok()?;
            dot_git.parent()?.join(text.strip_prefix("gitdir:")?.trim())
        }
    };
    // Branches of a linked working tree stand in the repository that it belongs to.
    let common = fs::read_to_string(git.join("commondir")).map_or_else(|_| git.clone(), |text| git.join(text.trim()));
    let head = git.join("HEAD");
    let text = fs::read_to_string(&head).ok()?;
    let Some(branch) = text.trim().strip_prefix("ref: ") else { return Some((id(&text)?, vec![head])) };
    let (loose, packed) = (common.join(branch), common.join("packed-refs"));
    let found = match fs::read_to_string(&loose) {
        Ok(text) => id(&text)?,
        Err(_) => {
            let lines = fs::read_to_string(&packed).ok()?;
            lines.lines().find_map(|line| line.strip_suffix(branch).and_then(id))?
        }
    };
    Some((found, [head, loose, packed].into_iter().filter(|file| file.exists()).collect()))
}

/// A commit's id: 40 or 64 hexadecimal digits.
fn id(text: &str) -> Option<String> {
    let text = text.trim();
    (matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}

//! A folder for the time of a recording.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder that is removed with all that is in it when this goes out of scope.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new folder among the temporary files.
    pub(crate) fn new() -> Result<Self, String> {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().map_err(|error| error.to_string())?;
        // Inside a process namespace our id is always 1: the time tells two recordings apart.
        let name = format!("plimsoll-record-{}-{}", std::process::id(), since.as_nanos());
        let folder = Self(std::env::temp_dir().join(name));
        folder.make("")?;
        Ok(folder)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a folder in it.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Makes a folder in it to which every user may write, as a share has it.
    pub(crate) fn make_public(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.make(name)?;
        fs::set_permissions(&path, Permissions::from_mode(0o777)).map_err(|error| error.to_string())?;
        Ok(path)
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{}: {error}", self.0.display());
        }
    }
}

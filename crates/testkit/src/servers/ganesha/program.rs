//! Which NFS-Ganesha is started: the installed one, or one of another version that was only unpacked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::output;
use crate::servers::{Unavailable, program_exists};

/// The environment variable with the folder into which the packages of another version were unpacked (`dpkg -x`).
const GANESHA_FOLDER: &str = "PLIMSOLL_GANESHA";

/// A ganesha.nfsd, with what it needs to run where it is.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    /// The folders of its libraries if they are not installed.
    libraries: Option<String>,
    /// The folder of its backends if they are not installed.
    backends: Option<PathBuf>,
}

impl Program {
    /// # Panics
    /// The environment names a folder without a Ganesha: the installed one is no substitute.
    pub(super) fn find() -> Result<Self, Unavailable> {
        match std::env::var_os(GANESHA_FOLDER) {
            Some(folder) => Ok(Self::unpacked(Path::new(&folder))),
            None if program_exists("ganesha.nfsd") => {
                Ok(Self { path: "ganesha.nfsd".into(), libraries: None, backends: None })
            }
            None => Err(Unavailable("needs ganesha.nfsd (Debian: nfs-ganesha, nfs-ganesha-vfs, nfs-ganesha-mem)")),
        }
    }

    fn unpacked(folder: &Path) -> Self {
        let (path, libraries) = (folder.join("usr/bin/ganesha.nfsd"), folder.join("usr/lib"));
        assert!(path.is_file(), "{GANESHA_FOLDER}: there is no {}", path.display());
        let holding = |file: &str| {
            let found = folder_with(&libraries, file);
            found.unwrap_or_else(|| panic!("{GANESHA_FOLDER}: there is no {file} below {}", libraries.display()))
        };
        let folders = ["libganesha_nfsd.so", "libntirpc.so"].map(|file| holding(file).display().to_string());
        Self { path, libraries: Some(folders.join(":")), backends: Some(holding("libfsalvfs.so")) }
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.envs(self.libraries.iter().map(|folders| ("LD_LIBRARY_PATH", folders)));
        command
    }

    /// The setting of the folder of its backends, if it needs one.
    pub(super) fn setting(&self) -> String {
        self.backends.as_ref().map_or_else(String::new, |folder| format!("Plugins_Dir = \"{}\";", folder.display()))
    }

    /// Its version, e.g. `4.3`.
    pub(super) fn version(&self) -> String {
        let answer = output(self.command().arg("-v")).stdout;
        let answer = String::from_utf8_lossy(&answer);
        let version = answer.lines().find_map(|line| line.strip_prefix("NFS-Ganesha Release = V"));
        version.unwrap_or_else(|| panic!("ganesha.nfsd -v: {answer}")).trim().to_owned()
    }
}

/// The folder, this one or one below, with a file whose name begins so.
fn folder_with(folder: &Path, file: &str) -> Option<PathBuf> {
    let entries = || fs::read_dir(folder).into_iter().flatten().flatten();
    match entries().any(|entry| entry.file_name().to_string_lossy().starts_with(file)) {
        true => Some(folder.to_owned()),
        false => entries().filter(|entry| entry.path().is_dir()).find_map(|entry| folder_with(&entry.path(), file)),
    }
}

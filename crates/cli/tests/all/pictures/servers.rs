//! The servers of a run, and its private folder.

use std::path::Path;
use std::process::Command;

use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use plimsoll_testkit::workspace;

use super::list::{Run, STAND_INS};

pub(super) struct Servers {
    samba: Option<Samba>,
    ganesha: Option<Ganesha>,
    scratch: Scratch,
}

impl Servers {
    /// Starts the servers that the commands of a run name.
    pub(super) fn start(run: &Run) -> Self {
        // Only for the command that reads its counters: counting takes time.
        let settings: &[&str] = if run.names("SMB_CONF") { &["smbd profiling level = on"] } else { &[] };
        let samba = run.commands.iter().any(|command| command.contains("SAMBA"));
        let samba = samba.then(|| Samba::start(settings).unwrap_or_else(|reason| panic!("{reason}")));
        let ganesha = run.names("GANESHA").then(|| Ganesha::start().unwrap_or_else(|reason| panic!("{reason}")));
        let scratch = Scratch::new("pictures");
        // Pages show the paths that were given.
        std::os::unix::fs::symlink(workspace().join("captures"), scratch.path().join("captures")).unwrap();
        Self { samba, ganesha, scratch }
    }

    /// The folder in which the commands run.
    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub(super) fn password(&self, command: &mut Command) {
        if self.samba.is_some() {
            command.env("PLIMSOLL_PASSWORD", Samba::PASSWORD);
        }
    }

    /// A word of a command, or what it stands for here.
    pub(super) fn word(&self, word: &str) -> String {
        if !STAND_INS.iter().any(|(name, _)| *name == word) {
            return word.to_owned();
        }
        if let Some(version) = word.strip_prefix("GANESHA_") {
            let ganesha = self.ganesha.as_ref().unwrap();
            // NFS 3 alone needs the port of the mount protocol.
            return if version == "3" {
                ganesha.target(Export::Data)
            } else {
                ganesha.target_of(Export::Data, version)
            };
        }
        let samba = self.samba.as_ref().unwrap();
        match word {
            "SAMBA" => format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name()),
            "SMBD" => samba.process_id().unwrap().to_string(),
            "SMB_CONF" => samba.configuration().display().to_string(),
            "SMB_PORT" => samba.address().port().to_string(),
            "EMPTY_CACHES" => {
                let folder = samba.folder(Share::Data).unwrap();
                format!(
                    "sync; find {} -type f -exec dd if={{}} iflag=nocache count=0 status=none \\;",
                    folder.display()
                )
            }
            _ => unreachable!("{word}"),
        }
    }
}

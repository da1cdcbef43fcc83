//! A load file in place of iterations.

use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::digest::{Digest, SHA256, digest};
use toml::Spanned;

use super::WorkloadError;
use super::fileset::{Directory, FileSet, OWN_DIRECTORY};
use super::text::ReplayText;
use crate::dbench::{Account, LoadFile, LoadFileError, MadePaths, Player, Script, Stage};
use crate::scenario::Scenario;

/// A load file in place of iterations.
#[derive(Debug)]
pub(super) struct Replay {
    script: Arc<Script>,
    account: Arc<Account>,
    pub(super) plays: Option<u32>,
    /// SHA-256 of the load file's text.
    pub(super) loadfile: Digest,
}

impl Replay {
    /// Reads the load file that the workload file `file` names in its `text`. Relative paths are relative to the workload file.
    pub(super) fn load(file: &str, text: &str, asked: &Spanned<ReplayText>) -> Result<Self, WorkloadError> {
        let ReplayText { loadfile, plays } = asked.get_ref();
        let path = Path::new(file).parent().unwrap_or(Path::new("")).join(loadfile.get_ref());
        let wrong = |error: LoadFileError, loaded: &str| match error.line {
            // An error of the file as a whole is reported at its name.
            0 => WorkloadError::at(file, text, &loadfile.span(), error.problem),
            line => WorkloadError::in_line(&path.to_string_lossy(), loaded, line, error.problem),
        };
        let LoadFile { text: loaded } = LoadFile::read(&path).map_err(|error| wrong(error, ""))?;
        let script = Script::parse(&loaded).map_err(|error| wrong(error, &loaded))?;
        // 0: over and over.
        let plays = plays.filter(|plays| *plays > 0);
        let loadfile = digest(&SHA256, loaded.as_bytes());
        Ok(Self { script: Arc::new(script), account: Arc::default(), plays, loadfile })
    }

    /// The scenario of one slot of a client, in a private directory.
    pub(super) fn player(&self, files: &FileSet, client_index: u32, slot: u32, seed: u64) -> Box<dyn Scenario> {
        let mut root = String::new();
        let part = files.layout().part_of(client_index);
        files.directory_path(Directory { part, number: 0 }, &mut root);
        root.push_str(&format!("/{OWN_DIRECTORY}{slot}"));
        let (script, account) = (Arc::clone(&self.script), Arc::clone(&self.account));
        let content = Arc::clone(files.content());
        Box::new(Player::new(Stage { script, account, content, root, client_index, seed, plays: self.plays }))
    }

    /// What players can make in their directories.
    pub(super) fn made(&self) -> &Arc<MadePaths> {
        self.script.made()
    }

    /// Files that a slot has open at most.
    pub(super) fn open_files(&self) -> u64 {
        self.script.open_files()
    }

    /// What players have to tell since they were last asked.
    pub(super) fn take_remarks(&self) -> Vec<String> {
        self.account.take(&self.script)
    }
}

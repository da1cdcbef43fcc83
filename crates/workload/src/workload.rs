//! A workload, as callers know it: parsed, and asked for its scenarios.

use std::ops::Range;
use std::sync::Arc;

use plimsoll_client::operation::Caching;

use crate::checked_workload::CheckedWorkload;
use crate::scenario::Scenario;
use crate::{DataSource, Defaults, FileSet, Parameter, WorkloadError};
use crate::{parameters, program, replay, script_runner, text};

/// The largest workload file, bytes.
pub(crate) const LARGEST: usize = 1 << 20;

/// What users do, on which files, how often. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workload {
    pub(crate) work: Arc<CheckedWorkload>,
}

impl Workload {
    /// Takes a workload file apart; `file` is what errors call it.
    ///
    /// # Errors
    /// Where it is wrong, what stands there, and what would do.
    pub fn parse(file: &str, text: &str) -> Result<Self, WorkloadError> {
        Self::parse_with(file, text, &[])
    }

    /// The same with other values of its parameters than the defaults.
    ///
    /// # Errors
    /// As [`Workload::parse`], and if the file has no such parameter, or one of another kind.
    pub fn parse_with(file: &str, text: &str, settings: &[Parameter]) -> Result<Self, WorkloadError> {
        if text.len() > LARGEST {
            return Err(WorkloadError::whole(
                file,
                format!("the workload file is too large: the limit is {LARGEST} bytes"),
            ));
        }
        let filled = parameters::fill(file, text, settings)?;
        let at = |place: &Range<usize>, problem: &str| filled.wrong(file, text, place, problem);
        let read: text::Text = toml::from_str(&filled.text).map_err(|error| match error.span() {
            Some(place) => at(&place, error.message()),
            None => WorkloadError::whole(file, error.message()),
        })?;
        let replay = read.replay.as_ref().map(|asked| replay::Replay::load(file, &filled.text, asked)).transpose()?;
        let mut work =
            CheckedWorkload::check(read, &filled.text, replay).map_err(|(place, problem)| at(&place, &problem))?;
        (work.text, work.parameters) = (text.to_owned(), filled.parameters);
        Ok(Self { work: Arc::new(work) })
    }

    /// What reports call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.work.name
    }

    /// One line about it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.work.description
    }

    /// Its file, as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.work.text
    }

    /// Its parameters with their values, as they are declared.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.work.parameters
    }

    /// SHA-256 of its text with its parameters' values in place (and of its load file's behind it), in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.work.digest
    }

    /// The load that it asks for where no flag says otherwise.
    #[must_use]
    pub fn defaults(&self) -> &Defaults {
        &self.work.defaults
    }

    /// The kinds of iterations with their shares, 0 to 1.
    pub fn iterations(&self) -> impl Iterator<Item = (&str, f64)> {
        let all = self.work.weights.last().copied().unwrap_or(1) as f64;
        self.work.iterations.iter().map(move |iteration| (iteration.name.as_str(), f64::from(iteration.weight) / all))
    }

    /// The first SMB-only step; other targets cannot run this workload.
    #[must_use]
    pub fn smb_alone(&self) -> Option<&str> {
        self.work.iterations.iter().find_map(program::IterationKind::smb_alone)
    }

    /// The first step that only NFS 4.2 has; other targets cannot run this workload.
    #[must_use]
    pub fn nfs_4_2_alone(&self) -> Option<&str> {
        self.work.iterations.iter().find_map(program::IterationKind::nfs_4_2_alone)
    }

    /// Whether the server copies files: SMB does, NFS from version 4.2 on.
    #[must_use]
    pub fn copies(&self) -> bool {
        self.work.iterations.iter().any(program::IterationKind::copies)
    }

    /// Whether an iteration changes the share or the session of its connection, which then must not be shared.
    #[must_use]
    pub fn wants_its_connection_alone(&self) -> bool {
        self.work.iterations.iter().any(program::IterationKind::uses_shares)
    }

    /// Whether slots make files or directories for themselves, which are left behind where they are stopped.
    #[must_use]
    pub fn makes_its_own(&self) -> bool {
        let makes = |kind: &program::IterationKind| kind.on == text::Subject::Own || kind.copies();
        self.work.replay.is_some() || self.work.iterations.iter().any(makes)
    }

    /// Where the server is to take the data that clients read from.
    #[must_use]
    pub fn source(&self) -> DataSource {
        self.work.source
    }

    /// Whether SMB clients ask for leases of directories.
    #[must_use]
    pub fn caches_directories(&self) -> bool {
        self.work.caching == Caching::DirectoryCached
    }

    /// Files that a slot has open at most: those that it keeps open, one of its own, and a copy.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        let of_slot = self.work.keep_open.max(1) as u64 + 1 + u64::from(self.copies());
        self.work.replay.as_ref().map_or(of_slot, replay::Replay::open_files)
    }

    /// What its scenarios have to tell besides their transactions since this was last asked: a fact each, in words.
    #[must_use]
    pub fn take_remarks(&self) -> Vec<String> {
        self.work.replay.as_ref().map_or_else(Vec::new, replay::Replay::take_remarks)
    }

    /// The scenario of one slot of a client on a file set of this workload. It does not depend on other slots, and never ends, except for
    /// a load file with a number of replays.
    #[must_use]
    pub fn scenario(&self, files: &Arc<FileSet>, client_index: u32, slot: u32, seed: u64) -> Box<dyn Scenario> {
        match &self.work.replay {
            Some(replay) => replay.player(files, client_index, slot, seed),
            None => {
                Box::new(script_runner::ScriptRunner::new(self.work.clone(), files.clone(), client_index, slot, seed))
            }
        }
    }
}

//! Checks whether a file set exists.

use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_client::operation::{Access, Caching, Disposition, Done, Failure, FileKey, Operation, Reply};
use plimsoll_model::Symbol;

use super::job::{FileSetError, Job, JobProgress, LOOKING, Tally};
use super::names::MANIFEST;
use super::{FileSet, manifest};
use crate::scenario::{Scenario, ScenarioStep, Verdict};

/// What stands where a file set should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: create it.
    Nothing,
    /// A set without its manifest: its creation or removal was interrupted. Remove it, then create it.
    Incomplete,
    /// The set: verify it, then use it.
    Set,
}

/// Checks whether a file set exists. One slot does this, all other slots finish at once.
#[derive(Debug)]
pub struct Look {
    files: Arc<FileSet>,
    tally: Tally,
    found: Mutex<Option<Found>>,
}

impl Look {
    /// Checks this set.
    #[must_use]
    pub fn new(files: Arc<FileSet>) -> Arc<Self> {
        Arc::new(Self { files, tally: Tally::of(1), found: Mutex::new(None) })
    }

    /// What there is.
    ///
    /// # Errors
    /// What went wrong first, or that the directory holds another set than its name says.
    pub fn outcome(&self) -> Result<Found, FileSetError> {
        self.tally.outcome()?;
        let found = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.ok_or(FileSetError::Ended { done: 0, total: 1, cause: None })
    }

    fn found(&self, found: Found) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        self.tally.finished_one();
    }
}

impl Job for Look {
    fn scenario(self: Arc<Self>) -> Box<dyn Scenario> {
        Box::new(Looker { job: self, doing: Doing::Idle, seen: false, text: Vec::new(), path: String::new() })
    }

    fn progress(&self) -> JobProgress {
        self.tally.progress()
    }
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Idle,
    /// Is the root in the base?
    ListingBase,
    /// Is the manifest in the root?
    ListingRoot,
    Opening,
    Reading(FileKey),
    Closing(FileKey),
    Over,
}

#[derive(Debug)]
struct Looker {
    job: Arc<Look>,
    doing: Doing,
    seen: bool,
    text: Vec<u8>,
    path: String,
}

impl Looker {
    fn over(&mut self, found: Found) -> Doing {
        self.job.found(found);
        Doing::Over
    }

    /// The server said no. A name that differs only in its case names nothing of this set where the server distinguishes case.
    fn failed(&mut self, failure: &Failure) -> Verdict {
        let found = match self.doing {
            Doing::ListingRoot => Some(Found::Nothing),
            Doing::Opening => Some(Found::Incomplete),
            _ => None,
        };
        if let Some(found) = found.filter(|_| failure.is_not_there()) {
            self.doing = self.over(found);
            return Verdict::Expected;
        }
        let doing = match self.doing {
            Doing::ListingBase => LOOKING,
            Doing::ListingRoot => "listing",
            _ => "reading",
        };
        let (path, failure) = (self.path.clone(), failure.clone());
        self.job.tally.fail(FileSetError::Failed { doing, path, failure });
        self.doing = Doing::Over;
        Verdict::AsAnswered
    }

    fn compare(&mut self) -> Doing {
        if manifest::facts(&self.text) == manifest::facts(self.job.files.manifest.as_bytes()) {
            return self.over(Found::Set);
        }
        let root = self.job.files.root.clone();
        self.job.tally.fail(FileSetError::OtherSet { path: self.path.clone(), root });
        Doing::Over
    }
}

impl Scenario for Looker {
    fn next(&mut self) -> ScenarioStep<'_> {
        if let Doing::Idle = self.doing {
            if self.job.tally.claim().is_none() {
                return ScenarioStep::Finished;
            }
            self.doing = Doing::ListingBase;
        }
        self.path.clear();
        let files = &self.job.files;
        let operation = match self.doing {
            Doing::ListingBase => {
                self.path.push_str(&files.base);
                Operation::List { path: &self.path }
            }
            Doing::ListingRoot => {
                self.path.push_str(&files.root);
                Operation::List { path: &self.path }
            }
            Doing::Opening => {
                self.path.push_str(&files.manifest_path());
                let (access, disposition) = (Access::Read, Disposition::Open);
                Operation::Open { path: &self.path, access, disposition, caching: Caching::None }
            }
            Doing::Reading(file) => {
                self.path.push_str(&files.manifest_path());
                Operation::Read { file, offset: 0, length: manifest::LARGEST, keep: true }
            }
            Doing::Closing(file) => {
                self.path.push_str(&files.manifest_path());
                Operation::Close { file }
            }
            Doing::Idle | Doing::Over => return ScenarioStep::Finished,
        };
        ScenarioStep::Act(operation, Symbol::NONE)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        let reply = match &done.result {
            Ok(reply) => reply,
            Err(failure) => return self.failed(failure),
        };
        let seen = std::mem::take(&mut self.seen);
        self.doing = match (self.doing, reply) {
            (Doing::ListingBase, _) if seen => Doing::ListingRoot,
            (Doing::ListingBase, _) => self.over(Found::Nothing),
            (Doing::ListingRoot, _) if seen => Doing::Opening,
            (Doing::ListingRoot, _) => self.over(Found::Incomplete),
            (Doing::Opening, Reply::Opened { file, .. }) => Doing::Reading(*file),
            (Doing::Reading(file), _) => Doing::Closing(file),
            (Doing::Closing(_), _) => self.compare(),
            _ => Doing::Over,
        };
        Verdict::AsAnswered
    }

    fn data(&mut self, _offset: u64, piece: &[u8]) {
        let room = (manifest::LARGEST as usize).saturating_sub(self.text.len());
        self.text.extend_from_slice(piece.get(..room).unwrap_or(piece));
    }

    fn entry(&mut self, name: &str) {
        let wanted = match self.doing {
            Doing::ListingBase => self.job.files.name.as_str(),
            _ => MANIFEST,
        };
        // A share may store names in upper case.
        self.seen |= name.eq_ignore_ascii_case(wanted);
    }

    fn reconnected(&mut self) {
        if !matches!(self.doing, Doing::Idle | Doing::Over) {
            (self.doing, self.seen) = (Doing::ListingBase, false);
            self.text.clear();
        }
    }
}

//! Removes a file set, also an incomplete one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_client::operation::{Done, Failure, Operation};
use plimsoll_model::Symbol;

use super::job::{FileSetError, Job, JobProgress, Patience, Tally, WAIT, again};
use super::names::{MANIFEST, OWN_DIRECTORY, folded};
use super::{FileSet, Named, Sweep, Swept};
use crate::scenario::{Scenario, ScenarioStep, Verdict};

/// Removes a file set, also an incomplete one: first its manifest, so that the rest never seems complete.
///
/// It removes only names from the set's manifest at their places, and names of slots' private objects. If a directory was replaced by a
/// link to elsewhere and the server follows links, that directory is listed, but its objects have other names and stay.
///
/// A share may store names in upper case. Even then, each object is removed by the name that the manifest gives it: where the server
/// distinguishes case, that is no other object.
#[derive(Debug)]
pub struct Remove {
    files: Arc<FileSet>,
    tally: Tally,
    work: Mutex<Work>,
}

/// Known objects at a place.
#[derive(Debug)]
struct Work {
    /// Directories that were not listed yet.
    to_list: Vec<String>,
    /// Private directories of slots: each is removed with its contents.
    trees: Vec<String>,
    /// Files to remove. At most those of one listing per slot, because a slot lists only when there are none.
    files: Vec<String>,
    /// Listed directories, deepest first: to be removed after all other objects.
    emptied: Vec<String>,
    /// Directories that listed only names in upper case.
    folded: BTreeSet<String>,
    /// Items that slots are at.
    busy: u64,
}

#[derive(Clone, Debug)]
enum Item {
    List(String),
    File(String),
    Directory(String),
    Tree(String),
}

enum Claim {
    Item(Item),
    Wait,
    Nothing,
}

impl Remove {
    /// Removes this set.
    #[must_use]
    pub fn new(files: &Arc<FileSet>) -> Arc<Self> {
        let (to_list, folded) = (vec![files.root.clone()], BTreeSet::new());
        let work = Work { to_list, trees: Vec::new(), files: Vec::new(), emptied: Vec::new(), folded, busy: 0 };
        // The root: listed, then removed.
        Arc::new(Self { files: Arc::clone(files), tally: Tally::of(1), work: Mutex::new(work) })
    }

    /// The result.
    ///
    /// # Errors
    /// The first error, or the run was stopped before the end.
    pub fn outcome(&self) -> Result<(), FileSetError> {
        self.tally.outcome()
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job for Remove {
    fn scenario(self: Arc<Self>) -> Box<dyn Scenario> {
        let (names, folded, patience) = (Vec::new(), Vec::new(), Patience::default());
        let (item, sweep, foreign) = (None, None, None);
        Box::new(Remover { job: self, item, sweep, over: false, foreign, names, folded, attempts: 0, patience })
    }

    fn progress(&self) -> JobProgress {
        self.tally.progress()
    }
}

impl Work {
    fn claim(&mut self) -> Claim {
        let item = if let Some(file) = self.files.pop() {
            Item::File(file)
        } else if let Some(tree) = self.trees.pop() {
            Item::Tree(tree)
        } else if let Some(directory) = self.to_list.pop() {
            Item::List(directory)
        } else if self.busy > 0 {
            // Other slots' work may add objects, and must end before the directory can be removed.
            return Claim::Wait;
        } else if let Some(directory) = self.emptied.pop() {
            Item::Directory(directory)
        } else {
            return Claim::Nothing;
        };
        self.busy += 1;
        Claim::Item(item)
    }

    /// Adds the objects of a listing.
    fn listed(&mut self, files: &FileSet, directory: String, names: &mut Vec<String>) {
        for name in names.drain(..) {
            let path = format!("{directory}/{name}");
            match files.named(&path) {
                Some(Named::Directory) => self.to_list.push(path),
                None if name.starts_with(OWN_DIRECTORY) => self.trees.push(path),
                _ => self.files.push(path),
            }
        }
        // The last one is taken first.
        if let Some(at) = self.files.iter().position(|path| path.ends_with(&format!("/{MANIFEST}"))) {
            let manifest = self.files.remove(at);
            self.files.push(manifest);
        }
        self.emptied.push(directory);
        self.emptied.sort_by_key(|path| path.matches('/').count());
    }

    /// The path as it was listed, if that was in upper case.
    fn as_listed(&self, path: &str) -> Option<String> {
        let (directory, name) = path.rsplit_once('/')?;
        self.folded.contains(directory).then(|| format!("{directory}/{}", name.to_ascii_uppercase()))
    }
}

/// One slot.
#[derive(Debug)]
struct Remover {
    job: Arc<Remove>,
    item: Option<Item>,
    /// The item is a tree.
    sweep: Option<Sweep>,
    over: bool,
    foreign: Option<String>,
    names: Vec<String>,
    /// Those that were listed in upper case, as Plimsoll wrote them.
    folded: Vec<String>,
    /// Of the item.
    attempts: u32,
    patience: Patience,
}

impl Remover {
    /// An operation of a tree ended; `None` where the item is none.
    fn swept(&mut self, done: &Done) -> Option<Verdict> {
        let sweep = self.sweep.as_mut()?;
        let swept = sweep.done(done);
        if sweep.is_over() {
            (self.sweep, self.item, self.over) = (None, None, true);
            self.job.work().busy -= 1;
            match &swept {
                Swept::Failed(error) => self.job.tally.fail(error.clone()),
                _ => self.job.tally.finished_one(),
            }
        }
        Some(swept.verdict())
    }

    fn listed(&mut self, directory: String) {
        let folded = std::mem::take(&mut self.folded);
        if self.names.is_empty() && !folded.is_empty() {
            self.names = folded;
            self.job.work().folded.insert(directory.clone());
        } else if let Some(other) = folded.first() {
            // A share that stores names in upper case does so with all of them.
            self.foreign.get_or_insert_with(|| other.to_ascii_uppercase());
        }
        if let Some(name) = self.foreign.take() {
            self.job.tally.fail(FileSetError::Foreign(format!("{directory}/{name}")));
        }
        self.job.tally.found(self.names.len() as u64);
        self.job.work().listed(&self.job.files, directory, &mut self.names);
    }

    /// The error if an item could not be removed.
    fn error(&self, item: Item, failure: &Failure) -> FileSetError {
        let listed = match &item {
            Item::List(path) | Item::File(path) if failure.is_not_there() => self.job.work().as_listed(path),
            _ => None,
        };
        match (listed, item) {
            // The server distinguishes case: the listed name is another one.
            (Some(listed), _) => FileSetError::Foreign(listed),
            (None, Item::List(path) | Item::File(path) | Item::Directory(path) | Item::Tree(path)) => {
                FileSetError::Failed { doing: "removing", path, failure: failure.clone() }
            }
        }
    }
}

impl Scenario for Remover {
    fn next(&mut self) -> ScenarioStep<'_> {
        if std::mem::take(&mut self.over) {
            return ScenarioStep::IterationOver;
        }
        if self.job.tally.stopped() {
            return ScenarioStep::Finished;
        }
        if self.item.is_none() {
            let claim = self.job.work().claim();
            match claim {
                Claim::Item(item) => self.item = Some(item),
                Claim::Wait if self.patience.lasts(self.job.tally.answers()) => return ScenarioStep::Think(WAIT),
                Claim::Wait | Claim::Nothing => return ScenarioStep::Finished,
            }
        }
        let operation = match &self.item {
            Some(Item::List(path)) => Operation::List { path },
            Some(Item::File(path)) => Operation::Remove { path },
            Some(Item::Directory(path)) => Operation::Rmdir { path },
            Some(Item::Tree(path)) => {
                return self.sweep.get_or_insert_with(|| self.job.files.sweep_own(path)).step();
            }
            None => return ScenarioStep::Finished,
        };
        ScenarioStep::Act(operation, Symbol::NONE)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        if done.result.is_ok() {
            self.job.tally.answered();
        }
        if let Some(verdict) = self.swept(done) {
            return verdict;
        }
        let Some(item) = self.item.take() else { return Verdict::AsAnswered };
        if let Err(failure) = &done.result
            && again(failure, self.attempts + 1)
        {
            self.attempts += 1;
            self.names.clear();
            self.folded.clear();
            self.item = Some(item);
            return Verdict::AsAnswered;
        }
        let attempts = std::mem::take(&mut self.attempts);
        match (&done.result, item) {
            // A set that was never created counts as removed.
            (Err(failure), Item::List(path)) if path == self.job.files.root && failure.is_not_there() => {
                self.job.tally.finished_one();
            }
            // Removed the time before; the answer was lost with its connection.
            (Err(failure), Item::File(_) | Item::Directory(_)) if attempts > 0 && failure.is_not_there() => {
                self.job.tally.finished_one();
            }
            (Err(failure), item) => self.job.tally.fail(self.error(item, failure)),
            (Ok(_), Item::List(path)) => self.listed(path),
            (Ok(_), Item::File(_) | Item::Directory(_) | Item::Tree(_)) => self.job.tally.finished_one(),
        }
        self.over = true;
        self.job.work().busy -= 1;
        Verdict::AsAnswered
    }

    fn entry(&mut self, name: &str) {
        if let Some(sweep) = &mut self.sweep {
            sweep.entry(name);
            return;
        }
        let Some(Item::List(directory)) = &self.item else { return };
        let files = &self.job.files;
        if files.owns(directory, name) {
            self.names.push(name.to_owned());
        } else if let Some(own) = folded(name).filter(|own| files.owns(directory, own)) {
            self.folded.push(own);
        } else {
            self.foreign.get_or_insert_with(|| name.to_owned());
        }
    }

    fn reconnected(&mut self) {
        if let Some(sweep) = &mut self.sweep {
            sweep.reconnected();
        }
    }
}

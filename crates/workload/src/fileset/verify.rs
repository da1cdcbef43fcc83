//! Looks whether a file set is as it should be.

use std::sync::Arc;

use plimsoll_client::operation::{Done, Failure, Operation, Reply};
use plimsoll_model::Symbol;

use super::job::{FileSetError, Job, JobProgress, Tally, again};
use super::names::{OWN_DIRECTORY, folded, is_own};
use super::{FileSet, Sweep, Swept};
use crate::scenario::{Scenario, ScenarioStep, Verdict};

/// The most leftovers that are removed from one directory: more stay for the next time.
const MOST_LEFTOVERS: usize = 65_536;

/// Checks that every file of a set exists with its size, and removes the remains of interrupted runs.
///
/// No other run may use the set meanwhile.
#[derive(Debug)]
pub struct Verify {
    files: Arc<FileSet>,
    /// Whether the set itself is looked at.
    whole: bool,
    tally: Tally,
}

impl Verify {
    /// Checks this set.
    #[must_use]
    pub fn new(files: Arc<FileSet>) -> Arc<Self> {
        let tally = Tally::of(files.directories() + files.files());
        Arc::new(Self { files, whole: true, tally })
    }

    /// Only removes the remains of slots: after a run, whose slots were stopped in the middle of their iterations.
    #[must_use]
    pub fn leftovers(files: Arc<FileSet>) -> Arc<Self> {
        let tally = Tally::of(files.directories());
        Arc::new(Self { files, whole: false, tally })
    }

    /// The result.
    ///
    /// # Errors
    /// The first deviation, or the run was stopped before the end.
    pub fn outcome(&self) -> Result<(), FileSetError> {
        self.tally.outcome()
    }

    /// Names of the set that a directory must hold.
    fn expected(&self, place: u64) -> u64 {
        let layout = &self.files.layout;
        match place {
            0 => 1 + layout.entries_of_root(),
            _ => layout.entries(layout.directory_in_order(place)),
        }
    }
}

impl Job for Verify {
    fn scenario(self: Arc<Self>) -> Box<dyn Scenario> {
        Box::new(Verifier {
            job: self,
            item: None,
            attempts: 0,
            listing: Listing::default(),
            folded: Listing::default(),
            folds: false,
            sweep: None,
            path: String::new(),
        })
    }

    fn progress(&self) -> JobProgress {
        self.tally.progress()
    }
}

#[derive(Clone, Copy, Debug)]
enum Item {
    Directory(u64),
    Leftovers(u64),
    File(u64),
    Over,
}

/// What a directory holds.
#[derive(Debug, Default)]
struct Listing {
    /// Number of names of the set.
    counted: u64,
    leftovers: Vec<String>,
}

impl Listing {
    fn add(&mut self, files: &FileSet, directory: &str, name: &str) {
        if is_own(name) {
            if self.leftovers.len() < MOST_LEFTOVERS {
                self.leftovers.push(name.to_owned());
            }
        } else if files.named(&format!("{directory}/{name}")).is_some() {
            self.counted += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.counted == 0 && self.leftovers.is_empty()
    }
}

/// One slot.
#[derive(Debug)]
struct Verifier {
    job: Arc<Verify>,
    item: Option<Item>,
    attempts: u32,
    /// The directory that is being listed.
    listing: Listing,
    /// Its names in upper case, as Plimsoll wrote them: a share may store them so.
    folded: Listing,
    /// The directory listed only such names.
    folds: bool,
    /// The last leftover is a directory that is being removed.
    sweep: Option<Sweep>,
    path: String,
}

impl Verifier {
    fn claim(&mut self) -> Option<Item> {
        let place = self.job.tally.claim()?;
        let item = match place.checked_sub(self.job.files.directories()) {
            None => Item::Directory(place),
            Some(file) => Item::File(file),
        };
        (self.item, self.attempts) = (Some(item), 0);
        Some(item)
    }

    fn damaged(&self, path: String, problem: String) {
        let root = self.job.files.root.clone();
        self.job.tally.fail(FileSetError::Damaged { path, problem, root });
    }

    fn listed(&mut self, place: u64) -> Item {
        let (expected, folded) = (self.job.expected(place), std::mem::take(&mut self.folded));
        // A share that stores names in upper case does so with all of them.
        self.folds = self.listing.is_empty();
        if self.folds {
            self.listing = folded;
        }
        let counted = self.listing.counted;
        if self.job.whole && counted != expected {
            let problem = format!("contains {counted} of {expected} expected names");
            self.damaged(self.path.clone(), problem);
        }
        Item::Leftovers(place)
    }

    fn failed(&mut self, item: Item, failure: &Failure) {
        self.attempts += 1;
        if again(failure, self.attempts) {
            self.restart(item);
        } else {
            let (path, failure) = (self.path.clone(), failure.clone());
            self.job.tally.fail(FileSetError::Failed { doing: "verifying", path, failure });
        }
    }

    /// Begins with the last leftover, if it is a directory: objects in a slot's private directory are private, too.
    fn sweep_leftover(&mut self, item: Item) {
        let Item::Leftovers(place) = item else { return };
        let own = self.listing.leftovers.last().filter(|name| self.sweep.is_none() && name.starts_with(OWN_DIRECTORY));
        let Some(name) = own else { return };
        let mut path = String::new();
        self.job.files.directory_path_in_order(place, &mut path);
        let path = format!("{path}/{name}");
        self.sweep = Some(self.job.files.sweep_own(&path));
    }

    fn swept(&mut self, done: &Done) -> Verdict {
        let Some(sweep) = &mut self.sweep else { return Verdict::AsAnswered };
        let swept = sweep.done(done);
        if sweep.is_over() {
            self.sweep = None;
            self.listing.leftovers.pop();
        }
        if let Swept::Failed(error) = &swept {
            self.job.tally.fail(error.clone());
        }
        swept.verdict()
    }

    fn restart(&mut self, item: Item) {
        (self.listing, self.folded) = (Listing::default(), Listing::default());
        self.sweep = None;
        if let Item::Leftovers(place) = item {
            self.item = Some(Item::Directory(place));
        }
    }
}

impl Scenario for Verifier {
    fn next(&mut self) -> ScenarioStep<'_> {
        if self.job.tally.stopped() {
            return ScenarioStep::Finished;
        }
        let Some(mut item) = self.item.or_else(|| self.claim()) else { return ScenarioStep::Finished };
        if matches!(item, Item::Leftovers(_)) && self.listing.leftovers.is_empty() {
            self.job.tally.finished_one();
            item = Item::Over;
        }
        self.sweep_leftover(item);
        if let Some(sweep) = &self.sweep {
            return sweep.step();
        }
        let files = &self.job.files;
        self.path.clear();
        let (operation, symbol) = match item {
            Item::Directory(place) => {
                (self.listing, self.folded) = (Listing::default(), Listing::default());
                files.directory_path_in_order(place, &mut self.path);
                (Operation::List { path: &self.path }, files.symbol(files.files() + place))
            }
            Item::Leftovers(place) => {
                files.directory_path_in_order(place, &mut self.path);
                let name = self.listing.leftovers.last().map_or("", String::as_str);
                self.path.push('/');
                self.path.push_str(name);
                (Operation::Remove { path: &self.path }, Symbol::NONE)
            }
            Item::File(file) => {
                files.file_path(file, &mut self.path);
                (Operation::Getattr { path: &self.path }, files.symbol(file))
            }
            Item::Over => {
                self.item = None;
                return ScenarioStep::IterationOver;
            }
        };
        ScenarioStep::Act(operation, symbol)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        let Some(item) = self.item else { return Verdict::AsAnswered };
        if self.sweep.is_some() {
            return self.swept(done);
        }
        match (item, &done.result) {
            // The server distinguishes case: the listed name is another one.
            (Item::Leftovers(_), Err(failure)) if self.folds && failure.is_not_there() => {
                self.listing.leftovers.pop();
            }
            (_, Err(failure)) => self.failed(item, failure),
            (Item::Directory(place), Ok(_)) => self.item = Some(self.listed(place)),
            (Item::Leftovers(_), Ok(_)) => {
                self.listing.leftovers.pop();
            }
            (Item::File(file), Ok(Reply::Attributes { size, directory })) => {
                let expected = self.job.files.size(file);
                if *directory || *size != expected {
                    let problem = match *directory {
                        true => "is a directory, not a file".to_owned(),
                        false => format!("has {size} bytes, not {expected}"),
                    };
                    self.damaged(self.path.clone(), problem);
                }
                self.job.tally.finished_one();
                self.item = Some(Item::Over);
            }
            (Item::File(_) | Item::Over, Ok(_)) => self.item = Some(Item::Over),
        }
        Verdict::AsAnswered
    }

    fn entry(&mut self, name: &str) {
        if let Some(sweep) = &mut self.sweep {
            return sweep.entry(name);
        }
        self.listing.add(&self.job.files, &self.path, name);
        if let Some(own) = folded(name) {
            self.folded.add(&self.job.files, &self.path, &own);
        }
    }

    fn reconnected(&mut self) {
        if let Some(item) = self.item {
            self.restart(item);
        }
    }
}

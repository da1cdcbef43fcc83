//! Makes a file set.

use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition, Done, FileKey, Operation, Reply};
use plimsoll_model::Symbol;

use super::job::{CREATING, FileSetError, Job, JobProgress, Patience, Tally, WAIT, again};
use super::{FileSet, manifest};
use crate::scenario::{Scenario, ScenarioStep, Verdict, WrongData};

/// Bytes a write, as large as servers commonly take.
const CHUNK: u64 = 1 << 20;

/// Creates a file set: directories level by level, then files, and last the manifest, so that a set with a manifest is complete.
#[derive(Debug)]
pub struct Create {
    files: Arc<FileSet>,
    manifest: Arc<Content>,
    tally: Tally,
}

impl Create {
    /// Creates this set.
    #[must_use]
    pub fn new(files: Arc<FileSet>) -> Arc<Self> {
        let tally = Tally::of(files.directories() + files.files() + files.links() + 1);
        let manifest = Arc::new(Content::holding(files.manifest.as_bytes()));
        Arc::new(Self { files, manifest, tally })
    }

    /// The result.
    ///
    /// # Errors
    /// The first error, or the run was stopped before the end.
    pub fn outcome(&self) -> Result<(), FileSetError> {
        self.tally.outcome()
    }

    fn item(&self, place: u64) -> Item {
        match place.checked_sub(self.files.directories()) {
            None => Item::Directory(place),
            Some(file) if file < self.files.files() => Item::File(file),
            Some(after) => match after - self.files.files() {
                link if link < self.files.links() => Item::Link(link),
                _ => Item::Manifest,
            },
        }
    }

    /// Number of items that must exist before this one.
    fn needed_before(&self, item: Item) -> u64 {
        match item {
            Item::Directory(place) => self.files.layout.needed_before(place),
            Item::File(_) | Item::Link(_) => self.files.directories(),
            Item::Manifest => self.files.directories() + self.files.files() + self.files.links(),
        }
    }
}

impl Job for Create {
    fn scenario(self: Arc<Self>) -> Box<dyn Scenario> {
        Box::new(Creator {
            job: self,
            item: None,
            doing: Doing::Waiting(Patience::default()),
            attempts: 0,
            without_links: false,
            path: String::new(),
            text: String::new(),
        })
    }

    fn progress(&self) -> JobProgress {
        self.tally.progress()
    }
}

#[derive(Clone, Copy, Debug)]
enum Item {
    Directory(u64),
    File(u64),
    Link(u64),
    Manifest,
}

#[derive(Debug)]
enum Doing {
    /// Waiting for items that must exist first.
    Waiting(Patience),
    Making,
    Writing(FileKey, u64),
    Closing(FileKey),
    Over,
}

/// One slot.
#[derive(Debug)]
struct Creator {
    job: Arc<Create>,
    item: Option<Item>,
    doing: Doing,
    attempts: u32,
    /// The protocol has no symbolic links.
    without_links: bool,
    path: String,
    /// The target of a link.
    text: String,
}

impl Creator {
    /// Takes the next item on.
    fn claim(&mut self) -> Option<Item> {
        let item = self.job.item(self.job.tally.claim()?);
        self.path.clear();
        match item {
            Item::Directory(place) => self.job.files.directory_path_in_order(place, &mut self.path),
            Item::File(file) => self.job.files.file_path(file, &mut self.path),
            Item::Link(link) => {
                self.job.files.link_path(link, &mut self.path);
                self.text = self.job.files.layout.text_of_link(link);
            }
            Item::Manifest => self.path.push_str(&self.job.files.manifest_path()),
        }
        self.doing = Doing::Waiting(Patience::default());
        self.attempts = 0;
        self.item = Some(item);
        Some(item)
    }

    /// Size and content of the file that is being made.
    fn file(&self) -> (u64, &Arc<Content>, u64) {
        match self.item {
            Some(Item::File(file)) => (self.job.files.size(file), &self.job.files.content, file),
            Some(Item::Link(link)) => (0, &self.job.files.content, link),
            _ => (self.job.files.manifest.len() as u64, &self.job.manifest, Content::HELD),
        }
    }

    fn after(&mut self, reply: &Reply) -> Result<(), WrongData> {
        self.job.tally.answered();
        self.doing = match (&self.doing, reply) {
            (Doing::Making, Reply::Opened { file, .. }) => Doing::Writing(*file, 0),
            (Doing::Writing(_, _), Reply::Written { bytes: 0 }) => return Err(WrongData),
            (Doing::Writing(file, offset), Reply::Written { bytes }) => {
                Doing::Writing(*file, offset + u64::from(*bytes))
            }
            _ => Doing::Over,
        };
        if let Doing::Writing(file, offset) = self.doing
            && offset >= self.file().0
        {
            self.doing = Doing::Closing(file);
        }
        if matches!(self.doing, Doing::Over) {
            self.job.tally.finished_one();
        }
        Ok(())
    }
}

impl Scenario for Creator {
    fn next(&mut self) -> ScenarioStep<'_> {
        if self.job.tally.stopped() {
            return ScenarioStep::Finished;
        }
        let Some(item) = self.item.or_else(|| self.claim()) else { return ScenarioStep::Finished };
        if let Doing::Waiting(patience) = &mut self.doing {
            if self.job.tally.done() < self.job.needed_before(item) {
                if patience.lasts(self.job.tally.answers()) {
                    return ScenarioStep::Think(WAIT);
                }
                let JobProgress { done, total } = self.job.tally.progress();
                self.job.tally.fail(FileSetError::Ended { done, total, cause: None });
                return ScenarioStep::Finished;
            }
            self.doing = Doing::Making;
        }
        let symbol = match item {
            Item::File(file) => self.job.files.symbol(file),
            Item::Directory(place) => self.job.files.symbol(self.job.files.files() + place),
            Item::Link(link) => self.job.files.link_symbol(link),
            Item::Manifest => Symbol::NONE,
        };
        let path = &self.path;
        let operation = match (&self.doing, item) {
            (Doing::Making, Item::Directory(_)) => Operation::Mkdir { path },
            (Doing::Making, Item::Link(_)) if !self.without_links => Operation::Symlink { path, text: &self.text },
            (Doing::Waiting(_) | Doing::Making, _) => {
                // Items that a broken connection left incomplete are created again.
                let disposition = Disposition::OverwriteOrCreate;
                Operation::Open { path, access: Access::Write, disposition, caching: Caching::None }
            }
            (Doing::Writing(file, offset), _) => {
                let (size, content, key) = self.file();
                let length = (size - offset).min(CHUNK) as u32;
                Operation::Write { file: *file, offset: *offset, length, content, key }
            }
            (Doing::Closing(file), _) => Operation::Close { file: *file },
            (Doing::Over, _) => {
                self.item = None;
                return ScenarioStep::IterationOver;
            }
        };
        ScenarioStep::Act(operation, symbol)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        let failure = match &done.result {
            Ok(reply) => return self.after(reply).into(),
            Err(failure) => failure,
        };
        if failure.cause == Cause::Unsupported && matches!(self.item, Some(Item::Link(_))) && !self.without_links {
            // An empty file replaces the link, and the client reports this.
            self.without_links = true;
            return Verdict::Excused;
        }
        if self.attempts > 0 && failure.is_there() && matches!(self.item, Some(Item::Directory(_) | Item::Link(_))) {
            // Made the time before; the answer was lost with its connection.
            return self.after(&Reply::Nothing).into();
        }
        self.attempts += 1;
        if again(failure, self.attempts) {
            self.doing = Doing::Making;
            return Verdict::AsAnswered;
        }
        let doing = match self.doing {
            Doing::Waiting(_) | Doing::Making => CREATING,
            Doing::Writing(..) => "writing",
            Doing::Closing(_) | Doing::Over => "closing",
        };
        let (path, failure) = (self.path.clone(), failure.clone());
        self.job.tally.fail(FileSetError::Failed { doing, path, failure });
        Verdict::AsAnswered
    }

    fn reconnected(&mut self) {
        if !matches!(self.doing, Doing::Over | Doing::Waiting(_)) {
            self.doing = Doing::Making;
        }
    }
}

const _: () = assert!(manifest::LARGEST as usize <= plimsoll_client::content::PERIOD);

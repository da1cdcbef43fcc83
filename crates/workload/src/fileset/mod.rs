//! File sets: the files that exist before a measurement.
//!
//! A set is one directory, `plimsoll-<workload>-<digest>`, below the target's path. Its contents follow from the workload's `[files]`:
//! paths, sizes and content are pure functions of a file's number. Its manifest, written last, identifies it; the digest is the
//! manifest's, so workloads that differ only in their iterations share a set.
//!
//! Scenarios look for, create, verify and remove sets ([`Look`], [`Create`], [`Verify`], [`Remove`]): jobs that any number of slots of an
//! engine share, each with a [`Job::scenario`]. Run a job in a closed loop until every scenario has finished, then query its outcome.

mod create;
mod job;
mod layout;
mod look;
mod manifest;
mod names;
mod remove;
mod sweep;
#[cfg(test)]
mod tests;
mod verify;

use std::sync::Arc;

use plimsoll_model::{Names, Symbol};

pub use create::Create;
pub use job::{FileSetError, Job, JobProgress};
pub(super) use layout::{Directory, Layout, check};
pub use look::{Found, Look};
pub(super) use names::{COPY, OWN_DIRECTORY, OWN_FILE, is_of_a_set};
pub use remove::Remove;
pub(crate) use sweep::{Sweep, Swept, Tree};
pub use verify::Verify;

use plimsoll_client::content::Content;

use self::names::MANIFEST;
use crate::dbench::MadePaths;
use crate::hexadecimal::hexadecimal;
use crate::text::Files;

/// The kind of object at a path of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// A file, or a link.
    File,
    Directory,
}

/// The files of a workload on a target.
#[derive(Debug)]
pub struct FileSet {
    /// Directory of the target in which the set stands; empty for the share or export itself.
    base: String,
    /// The set's own name.
    name: String,
    /// Path of its root, relative to the share or export.
    root: String,
    layout: Layout,
    content: Arc<Content>,
    manifest: String,
    /// The paths that the load file creates in its players' directories; `None` if slots create files, and only empty directories.
    made: Option<Arc<MadePaths>>,
    /// Symbols of all files, then of all directories in order, then of all links.
    symbols: Vec<Symbol>,
}

impl FileSet {
    /// The files of a workload of this `name`, below `base`, for so many clients; `made` by the players of its load file, if it has one.
    pub(super) fn of(
        (name, called): (&str, Option<&str>),
        files: &Files,
        load_file: Option<(&[u8], &Arc<MadePaths>)>,
        base: &str,
        clients: u32,
        names: &mut Names,
    ) -> Result<Self, FileSetError> {
        let layout = Layout::new(files, clients).map_err(FileSetError::TooMany)?;
        let digest_of_load_file = load_file.map(|(digest, _)| hexadecimal(digest));
        let decisive = manifest::decisive(name, files, &layout, digest_of_load_file.as_deref());
        let digest = manifest::digest(&decisive);
        let called = called.map_or_else(String::new, |called| format!("-{called}"));
        let name = format!("plimsoll-{name}-{}{called}", digest.get(..8).unwrap_or(&digest));
        let base = base.trim_matches('/').to_owned();
        let root = if base.is_empty() { name.clone() } else { format!("{base}/{name}") };
        let manifest = manifest::text(&decisive, &layout);
        let content = Arc::new(Content::new(u64::from(files.seed)));
        let made = load_file.map(|(_, made)| Arc::clone(made));
        let mut set = Self { base, name, root, layout, content, manifest, made, symbols: Vec::new() };
        set.symbols = set.intern(names);
        Ok(set)
    }

    fn intern(&self, names: &mut Names) -> Vec<Symbol> {
        let mut path = String::new();
        let mut symbol = |append: &dyn Fn(&mut String)| {
            path.clear();
            append(&mut path);
            names.intern(&path)
        };
        let files = (0..self.files()).map(|file| symbol(&|path| self.file_path(file, path))).collect::<Vec<_>>();
        let directories = (0..self.directories())
            .map(|place| symbol(&|path| self.directory_path_in_order(place, path)))
            .collect::<Vec<_>>();
        let links = (0..self.links()).map(|link| symbol(&|path| self.link_path(link, path))).collect::<Vec<_>>();
        [files, directories, links].concat()
    }

    /// Path of its root, relative to the share or export.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// How many files there are.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.layout.files()
    }

    /// How many symbolic links there are; where the protocol has none, empty files take their places.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.layout.links()
    }

    /// How many directories there are, the root included.
    #[must_use]
    pub fn directories(&self) -> u64 {
        self.layout.all_directories()
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
    }

    /// The content of the files: a file's key is its number.
    #[must_use]
    pub fn content(&self) -> &Arc<Content> {
        &self.content
    }

    /// Size of a file, bytes.
    #[must_use]
    pub fn size(&self, file: u64) -> u64 {
        self.layout.size(file)
    }

    /// Appends the path of a file, relative to the share or export.
    pub fn file_path(&self, file: u64, path: &mut String) {
        path.push_str(&self.root);
        self.layout.file_path(file, path);
    }

    pub(super) fn link_path(&self, link: u64, path: &mut String) {
        path.push_str(&self.root);
        self.layout.link_path(link, path);
    }

    /// Appends the path of one of the names that a client's iterations are about.
    pub(super) fn name_of_a_part(&self, client_index: u32, name: u64, path: &mut String) {
        path.push_str(&self.root);
        self.layout.name_of_a_part(self.layout.part_of(client_index), name, path);
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn directory_path(&self, directory: Directory, path: &mut String) {
        path.push_str(&self.root);
        self.layout.directory_path(directory, path);
    }

    /// The path of a directory in the order in which they are made; 0 is the root.
    fn directory_path_in_order(&self, place: u64, path: &mut String) {
        path.push_str(&self.root);
        if place > 0 {
            self.layout.directory_path(self.layout.directory_in_order(place), path);
        }
    }

    /// Path of its lease, beside it.
    #[must_use]
    pub fn lease_path(&self) -> String {
        format!("{}.lease", self.root)
    }

    /// What its manifest says of a path: `None` where the set has nothing there.
    fn named(&self, path: &str) -> Option<Named> {
        let below = path.strip_prefix(&self.root)?.strip_prefix('/')?;
        let name = below.rsplit('/').next()?;
        let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<u64>().ok();
        let mut expected = String::new();
        let named = if below == MANIFEST {
            return Some(Named::File);
        } else if let Some(file) = number("f").filter(|file| *file < self.files()) {
            self.file_path(file, &mut expected);
            Named::File
        } else if let Some(link) = number("l").filter(|link| *link < self.links()) {
            self.link_path(link, &mut expected);
            Named::File
        } else {
            let part = below.split('/').next()?.strip_prefix('s').map_or(Some(0), |part| part.parse().ok())?;
            let directory = Directory { part, number: number("d").or_else(|| number("s").map(|_| 0))? };
            if !self.layout.has(directory) {
                return None;
            }
            self.directory_path(directory, &mut expected);
            Named::Directory
        };
        // Other spellings of a number are other names.
        (expected == path).then_some(named)
    }

    /// Whether Plimsoll made what has this name in a directory of the set.
    fn owns(&self, directory: &str, name: &str) -> bool {
        names::is_own(name) || self.named(&format!("{directory}/{name}")).is_some()
    }

    /// Removes a directory that a slot made for itself.
    fn sweep_own(&self, path: &str) -> Sweep {
        match &self.made {
            Some(made) => Sweep::tree(path.to_owned(), Tree { root: path.to_owned(), made: Arc::clone(made) }),
            None => Sweep::empty(path.to_owned()),
        }
    }

    fn manifest_path(&self) -> String {
        format!("{}/{MANIFEST}", self.root)
    }

    /// The symbol of a file's path.
    pub(super) fn symbol(&self, file: u64) -> Symbol {
        usize::try_from(file).ok().and_then(|file| self.symbols.get(file)).copied().unwrap_or(Symbol::NONE)
    }

    /// The symbol of a link's path.
    pub(super) fn link_symbol(&self, link: u64) -> Symbol {
        self.symbol(self.files() + self.directories() + link)
    }

    /// The symbol of a directory's path.
    pub(super) fn directory_symbol(&self, directory: Directory) -> Symbol {
        self.symbol(self.files() + self.layout.place_in_order(directory))
    }
}

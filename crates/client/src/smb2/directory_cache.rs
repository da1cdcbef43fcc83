//! Listings that the client caches under leases of directories, as real clients do: a listed directory stays open for some time, and is not
//! listed again while the server promises that it has not changed. Requests avoided are counted.
//!
//! Only names are kept, no sizes or times. The client drops a listing when the server breaks the lease, and whenever it changes the
//! directory itself: the server does not break a lease for an open that names it as its ParentLeaseKey.
//!
//! Spec: MS-SMB2 3.2.4.3.8, 3.2.5.19.2, 3.3.4.7

use std::collections::HashMap;

use plimsoll_model::add_fields;
use plimsoll_wire::smb2::pattern::is_pattern;
use plimsoll_wire::smb2::{FileId, create};

use crate::operation::{Disposition, Operation, Reply};

/// Time for which an unused directory stays open, ns: DirectoryCacheLifetime of Windows is 10 s.
const LATE_NS: i64 = 10_000_000_000;
/// Maximum number of directories that stay open.
const MOST: usize = 1_000;
/// Maximum number of names of a listing; longer listings are not kept.
const NAMES: usize = 10_000;
/// Rights that a directory's lease needs for caching.
pub(super) const NEEDED: u32 = create::LEASE_READ | create::LEASE_HANDLE;

/// Counts of leases of directories, over all clients of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectoryLeases {
    /// Opens that asked for a lease.
    pub asked: u64,
    /// Opens that got one.
    pub granted: u64,
    /// Leases that the server broke.
    pub broken: u64,
    /// Listings and searches without a request.
    pub answered: u64,
}

impl DirectoryLeases {
    /// Adds the counts of another client.
    pub(super) fn add(&mut self, other: &Self) {
        add_fields!(self, other; asked, granted, broken, answered);
    }

    /// The counts as a fact for the report.
    #[must_use]
    pub fn fact(&self) -> Option<String> {
        let Self { asked, granted, broken, answered } = *self;
        let text = || {
            format!(
                "directory leases: {asked} requested, {granted} granted, {broken} broken; \
                 {answered} listings and searches answered from the cache"
            )
        };
        (asked > 0).then(text)
    }
}

/// The cached directories.
#[derive(Debug, Default)]
pub(super) struct DirectoryCache {
    directories: HashMap<Box<str>, Directory>,
    /// Number of own changes of names so far: a listing during which there was one is not kept.
    changes: u64,
    /// A file was opened that its CLOSE deletes, so a CLOSE may change any directory.
    deletes_on_close: bool,
    /// Requests that were not sent.
    pub(super) avoided: u64,
    pub(super) counts: DirectoryLeases,
}

/// A directory that stays open under its lease.
#[derive(Debug)]
struct Directory {
    id: FileId,
    lease: create::Lease,
    /// Its names, and the number of requests that they took; `None` if they are unknown.
    names: Option<(Vec<Box<str>>, u64)>,
    /// An operation is listing it.
    in_use: bool,
    /// Time of its last use, ns.
    used_at: i64,
}

/// A listing in progress that is to be kept.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) path: Box<str>,
    /// The lease's key; `None` if the directory was open before.
    pub(super) key: Option<[u8; 16]>,
    names: Vec<Box<str>>,
    requests: u64,
    /// It has too many names.
    is_too_long: bool,
    /// Own changes when it began.
    changes: u64,
}

impl Listing {
    /// A response with names came.
    pub(super) fn add(&mut self, name: &str) {
        if self.names.len() < NAMES {
            self.names.push(name.into());
        } else {
            self.is_too_long = true;
        }
    }

    /// A response came.
    pub(super) fn count(&mut self) {
        self.requests += 1;
    }
}

/// The directories whose names an operation changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Changed {
    #[default]
    Nothing,
    In(Vec<Box<str>>),
    Anywhere,
}

impl DirectoryCache {
    /// The answer of an operation that need not be sent; `tell` gets each name.
    pub(super) fn answer(&mut self, operation: &Operation<'_>, now: i64, tell: &mut dyn FnMut(&str)) -> Option<Reply> {
        let (path, pattern) = match *operation {
            Operation::List { path } | Operation::ListNames { path } => (path, "*"),
            // Servers differ in how they compare names with patterns, so the cache answers only these two kinds.
            Operation::Find { path, pattern, .. } if pattern == "*" || !is_pattern(pattern) => (path, pattern),
            _ => return None,
        };
        let directory = self.directories.get_mut(path)?;
        if directory.lease.state & create::LEASE_READ == 0 {
            return None;
        }
        let (names, requests) = directory.names.as_ref()?;
        let mut entries = 0;
        for name in names.iter().filter(|name| pattern == "*" || ***name == *pattern) {
            tell(name);
            entries += 1;
        }
        let is_search = matches!(operation, Operation::Find { .. });
        // The server has a status for a search without a match.
        if is_search && entries == 0 {
            return None;
        }
        directory.used_at = now;
        // CREATE and CLOSE, and the requests in between.
        self.avoided += 2 + if is_search { 1 } else { *requests };
        self.counts.answered += 1;
        Some(Reply::Listed { entries })
    }

    /// Begins a listing that is to be kept; `key` is for a directory that is not open. Returns the handle of a directory that is.
    pub(super) fn begin(&mut self, path: &str, key: [u8; 16]) -> Option<(Listing, Option<FileId>)> {
        let (names, requests, is_too_long, changes) = (Vec::new(), 0, false, self.changes);
        let listing = |key| Listing { path: path.into(), key, names, requests, is_too_long, changes };
        let is_full = self.directories.len() >= MOST;
        match self.directories.get_mut(path) {
            // Its position belongs to another listing, or its handle is to be closed.
            Some(open) if open.in_use || open.lease.state & NEEDED != NEEDED => None,
            Some(open) => {
                open.in_use = true;
                self.avoided += 2;
                Some((listing(None), Some(open.id)))
            }
            None if is_full => None,
            None => {
                self.counts.asked += 1;
                Some((listing(Some(key)), None))
            }
        }
    }

    /// The directory of a listing is open.
    pub(super) fn opened(&mut self, path: &str, id: FileId, lease: create::Lease, now: i64) {
        if lease.state & NEEDED == NEEDED && !self.directories.contains_key(path) {
            self.counts.granted += 1;
            let directory = Directory { id, lease, names: None, in_use: true, used_at: now };
            self.directories.insert(path.into(), directory);
        }
    }

    /// A listing ended: whether its directory stays open.
    pub(super) fn keeps_open(&mut self, id: FileId, now: i64) -> bool {
        let Some(open) = self.directories.values_mut().find(|open| open.id == id) else { return false };
        (open.in_use, open.used_at) = (false, now);
        let keeps = open.lease.state & NEEDED == NEEDED;
        if !keeps {
            self.remove(id);
        }
        keeps
    }

    /// A directory is closed.
    pub(super) fn remove(&mut self, id: FileId) {
        self.directories.retain(|_, open| open.id != id);
    }

    /// Keeps the names of a complete listing, if they are still right.
    pub(super) fn learn(&mut self, listing: Listing) {
        if listing.changes != self.changes || listing.is_too_long {
            return;
        }
        if let Some(open) = self.directories.get_mut(&listing.path)
            && !open.in_use
            && open.lease.state & create::LEASE_READ != 0
        {
            open.names = Some((listing.names, listing.requests));
        }
    }

    /// Own requests change names: listings of these directories are wrong.
    pub(super) fn note_changes(&mut self, changed: &Changed) {
        match changed {
            Changed::Nothing => return,
            Changed::In(paths) => {
                for path in paths {
                    if let Some(open) = self.directories.get_mut(path) {
                        open.names = None;
                    }
                }
            }
            Changed::Anywhere => self.directories.values_mut().for_each(|open| open.names = None),
        }
        self.changes += 1;
    }

    /// The directories whose names an operation changes.
    pub(super) fn changed(&mut self, operation: &Operation<'_>) -> Changed {
        match *operation {
            Operation::OpenEntry { delete_on_close: true, .. } => self.deletes_on_close = true,
            Operation::Close { .. } if self.deletes_on_close => return Changed::Anywhere,
            _ => {}
        }
        match changed_names(operation) {
            [None, None] => Changed::Nothing,
            names => Changed::In(names.into_iter().flatten().map(|path| parent(path).into()).collect()),
        }
    }

    /// Closes unused directories that the operation removes or renames, that have lost their lease, or that are unused for too long.
    pub(super) fn clear_the_way(&mut self, operation: &Operation<'_>, now: i64) -> Vec<FileId> {
        let moved = match *operation {
            Operation::Rmdir { path } => [Some(path), None],
            Operation::Rename { from, to } => [Some(from), Some(to)],
            Operation::OpenEntry { path, delete_on_close: true, .. } => [Some(path), None],
            _ => [None, None],
        };
        let is_late = |open: &Directory| {
            now.saturating_sub(open.used_at) >= LATE_NS || open.lease.state & create::LEASE_HANDLE == 0
        };
        let mut closing = Vec::new();
        self.directories.retain(|path, open| {
            let closes = !open.in_use && (is_late(open) || moved.iter().flatten().any(|moved| is_below(path, moved)));
            if closes {
                closing.push(open.id);
            }
            !closes
        });
        closing
    }

    pub(super) fn lease(&self, key: [u8; 16]) -> Option<create::Lease> {
        self.directories.values().map(|open| open.lease).find(|lease| lease.key == key)
    }

    /// Handles a lease break, after which these rights remain. Returns the handle if it is to be closed now. In a secondary session it cannot
    /// be; it is closed later.
    pub(super) fn broken(&mut self, lease: create::Lease, in_secondary_context: bool) -> Option<FileId> {
        let open = self.directories.values_mut().find(|open| open.lease.key == lease.key)?;
        self.counts.broken += 1;
        open.lease.state &= lease.state;
        if lease.state & create::LEASE_READ == 0 {
            open.names = None;
        }
        let closes = !open.in_use && open.lease.state & create::LEASE_HANDLE == 0 && !in_secondary_context;
        let id = open.id;
        if closes {
            self.remove(id);
        }
        closes.then_some(id)
    }

    /// The lease of a file is broken: another client may delete the file, which then goes when this client closes it. That breaks no lease
    /// of its directory, because the open named it.
    pub(super) fn file_broken(&mut self) {
        self.deletes_on_close = true;
        self.note_changes(&Changed::Anywhere);
    }

    /// The lease key of the directory that a file is in.
    pub(super) fn parent_key(&self, path: &str) -> Option<[u8; 16]> {
        let open = self.directories.get(parent(path))?;
        (open.lease.state != 0).then_some(open.lease.key)
    }

    /// Drops everything, because the connection is lost.
    pub(super) fn clear(&mut self) {
        self.directories.clear();
        self.changes += 1;
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Whether a path is this directory, or below it.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The names that an operation may add, remove or replace.
fn changed_names<'a>(operation: &Operation<'a>) -> [Option<&'a str>; 2] {
    match *operation {
        Operation::Open { path, disposition, .. } if disposition != Disposition::Open => [Some(path), None],
        Operation::OpenEntry { path, disposition, delete_on_close, .. }
            if delete_on_close || disposition != Disposition::Open =>
        {
            [Some(path), None]
        }
        Operation::Mkdir { path }
        | Operation::Rmdir { path }
        | Operation::Remove { path }
        | Operation::Symlink { path, .. } => [Some(path), None],
        Operation::Rename { from, to } => [Some(from), Some(to)],
        Operation::Link { to, .. } => [Some(to), None],
        _ => [None, None],
    }
}

//! Facts that the client caches under leases, as real clients do: a closed file stays open for some time, its size is known, and data are
//! not read twice. Requests avoided are counted.
//!
//! Bytes themselves are not kept: a read whose data are wanted is sent. Writes go to the server at once. Directories have
//! their own cache ([`super::directory_cache`]). Nothing is kept while another share or session than the primary one is in use.
//!
//! Spec: MS-SMB2 3.2.4.3.8, 3.2.5.19.2

use std::collections::{BTreeSet, HashMap};

use plimsoll_wire::smb2::{FileId, create};

use super::files::Files;
use super::jobs::{Job, Kind};
use crate::operation::{Access, Caching, Disposition, FileKey, Operation, Reply};

/// Time for which an unused file stays open, ns.
const LATE_NS: i64 = 10_000_000_000;
/// Maximum number of unused files that stay open.
const MOST: usize = 1_000;
/// Maximum number of separate known ranges per file; the client reads other ranges again.
const PIECES: usize = 64;
/// Rights that a lease needs for caching.
const NEEDED: u32 = create::LEASE_READ | create::LEASE_HANDLE;

/// The cached files.
#[derive(Debug, Default)]
pub(super) struct LeaseCache {
    files: HashMap<FileId, File>,
    paths: HashMap<Box<str>, FileId>,
    /// Unused files by the time since which they are unused.
    idle: BTreeSet<(i64, FileId)>,
    /// Requests that were not sent.
    avoided: u64,
}

/// A cached file.
#[derive(Debug)]
struct File {
    key: FileKey,
    path: Box<str>,
    access: Access,
    /// Time since which it is unused.
    idle_since: Option<i64>,
    /// Its size; `None` where that is not known any more.
    size: Option<u64>,
    /// Ranges that were read or written (start, end); they neither overlap nor touch.
    pieces: Vec<(u64, u64)>,
}

impl LeaseCache {
    fn of(&mut self, path: &str) -> Option<(FileId, &mut File)> {
        let id = *self.paths.get(path)?;
        Some((id, self.files.get_mut(&id)?))
    }

    fn forget(&mut self, id: FileId) {
        if let Some(file) = self.files.get_mut(&id) {
            file.size = None;
            file.pieces.clear();
        }
    }

    fn remove(&mut self, id: FileId) -> Option<File> {
        let file = self.files.remove(&id)?;
        self.paths.remove(&file.path);
        if let Some(since) = file.idle_since {
            self.idle.remove(&(since, id));
        }
        Some(file)
    }

    /// Requests that were not sent.
    pub(super) fn requests_avoided(&self) -> u64 {
        self.avoided
    }

    /// Drops everything, because the connection is lost.
    pub(super) fn clear(&mut self) {
        *self = Self { avoided: self.avoided, ..Self::default() };
    }
}

impl File {
    /// Whether the whole range, up to the end of the file, was read or written before.
    fn has(&self, from: u64, length: u32) -> Option<u32> {
        let until = from.saturating_add(length.into()).min(self.size?);
        let bytes = u32::try_from(until.saturating_sub(from)).unwrap_or(length);
        (bytes == 0 || self.pieces.iter().any(|piece| piece.0 <= from && until <= piece.1)).then_some(bytes)
    }

    /// These bytes are known from now on.
    fn add(&mut self, mut from: u64, bytes: u32) {
        let mut until = from.saturating_add(bytes.into());
        if bytes == 0 {
            return;
        }
        self.pieces.retain(|piece| {
            let touches = piece.0 <= until && from <= piece.1;
            if touches {
                (from, until) = (from.min(piece.0), until.max(piece.1));
            }
            !touches
        });
        if self.pieces.len() < PIECES {
            self.pieces.push((from, until));
        }
    }
}

impl LeaseCache {
    /// The answer of an operation that need not be sent.
    pub(super) fn answer(&mut self, operation: &Operation<'_>, open: &Files, max_read: u32, now: i64) -> Option<Reply> {
        if self.files.is_empty() {
            return None;
        }
        let (reply, avoided) = match *operation {
            Operation::Open { path, access, disposition, caching: Caching::LeaseCached | Caching::DirectoryCached } => {
                (self.opened_again(path, access, disposition, open)?, 2)
            }
            // Its CLOSE is sent later, or becomes unnecessary through the next open.
            Operation::Close { file } => (self.closed_late(file, open, now)?, 0),
            Operation::GetattrOpen { file } => {
                let id = self.vouched(open, file, create::LEASE_READ)?;
                (attributes(self.files.get(&id)?)?, 1)
            }
            Operation::Getattr { path } => {
                let (_, file) = self.of(path)?;
                let (key, reply) = (file.key, attributes(file)?);
                self.vouched(open, key, create::LEASE_READ)?;
                (reply, 3)
            }
            Operation::Read { file, offset, length, keep: false } => {
                let id = self.vouched(open, file, create::LEASE_READ)?;
                let bytes = self.files.get(&id)?.has(offset, length)?;
                (Reply::Read { bytes }, u64::from(length.div_ceil(max_read.max(1)).max(1)))
            }
            _ => return None,
        };
        self.avoided += avoided;
        Some(reply)
    }

    /// A cached file, if its lease has all of `rights`.
    fn vouched(&self, open: &Files, file: FileKey, rights: u32) -> Option<FileId> {
        let open = open.get(file)?;
        let held = open.lease.is_some_and(|lease| lease.state & rights == rights);
        (held && self.files.contains_key(&open.id)).then_some(open.id)
    }

    fn opened_again(&mut self, path: &str, access: Access, disposition: Disposition, open: &Files) -> Option<Reply> {
        if !matches!(disposition, Disposition::Open | Disposition::OpenOrCreate) {
            return None;
        }
        let (_, file) = self.of(path)?;
        let (key, size) = (file.key, file.size?);
        if file.access != access || file.idle_since.is_none() {
            return None;
        }
        let id = self.vouched(open, key, NEEDED)?;
        let since = self.files.get_mut(&id)?.idle_since.take()?;
        self.idle.remove(&(since, id));
        Some(Reply::Opened { file: key, size: Some(size) })
    }

    fn closed_late(&mut self, file: FileKey, open: &Files, now: i64) -> Option<Reply> {
        let id = self.vouched(open, file, NEEDED)?;
        self.files.get_mut(&id)?.idle_since = Some(now);
        self.idle.insert((now, id));
        Some(Reply::Nothing)
    }

    /// Removes files that conflict with the next operation, and files that are unused for too long. Returns the files to close.
    pub(super) fn clear_the_way(&mut self, operation: &Operation<'_>, open: &mut Files, now: i64) -> Vec<FileId> {
        let mut closing = Vec::new();
        if self.files.is_empty() {
            return closing;
        }
        for path in changed(operation).into_iter().flatten() {
            let Some((id, file)) = self.of(path) else { continue };
            match file.idle_since {
                Some(_) => closing.extend(self.evict(id, open)),
                // The file is in use: its user sends requests again.
                None => self.forget(id),
            }
        }
        match *operation {
            Operation::Close { file } => {
                let id = open.get(file).map(|open| open.id);
                id.and_then(|id| self.remove(id));
            }
            Operation::Truncate { file, .. } | Operation::Copy { to: file, .. } => {
                let id = open.get(file).map(|open| open.id);
                id.into_iter().for_each(|id| self.forget(id));
            }
            _ => {}
        }
        while let Some(&(since, id)) = self.idle.first() {
            if now.saturating_sub(since) < LATE_NS && self.idle.len() <= MOST {
                break;
            }
            closing.extend(self.evict(id, open));
        }
        closing
    }

    /// Removes an unused file, which must then be closed.
    fn evict(&mut self, id: FileId, open: &mut Files) -> Option<FileId> {
        let file = self.remove(id)?;
        open.remove(file.key);
        Some(id)
    }

    /// Handles a lease break: unused files are closed. Returns the files to close. `in_secondary_context`: while another session is in use,
    /// the file cannot be closed; it is not reused, and closed later.
    pub(super) fn broken(&mut self, key: [u8; 16], open: &mut Files, in_secondary_context: bool) -> Option<FileId> {
        let broken = open.iter_mut().find(|open| open.lease.is_some_and(|lease| lease.key == key))?;
        let (id, state) = (broken.id, broken.lease?.state);
        let idle = self.files.get(&id).is_some_and(|file| file.idle_since.is_some());
        if state & create::LEASE_READ == 0 {
            self.forget(id);
        }
        let closes = idle && state & create::LEASE_HANDLE == 0 && !in_secondary_context;
        if closes { self.evict(id, open) } else { None }
    }

    /// Caches the results of a completed operation.
    pub(super) fn learn(&mut self, job: &Job, open: &Files) {
        match &job.kind {
            Kind::Open { keeps: Some((path, access)), opened: Some((key, size)), .. } if job.failure.is_none() => {
                let Some(open) = open.get(*key).copied() else { return };
                let granted = open.lease.is_some_and(|lease| lease.state & NEEDED == NEEDED);
                if granted && !self.paths.contains_key(path) {
                    let (path, size, pieces) = (path.clone(), Some(*size), Vec::new());
                    self.paths.insert(path.clone(), open.id);
                    let file = File { key: *key, path, access: *access, idle_since: None, size, pieces };
                    self.files.insert(open.id, file);
                }
            }
            Kind::Read { transfer, .. } if job.failure.is_none() => {
                if let Some(file) = self.files.get_mut(&transfer.file) {
                    file.add(transfer.from, transfer.moved);
                }
            }
            Kind::Write { transfer, .. } if job.failure.is_none() => {
                if let Some(file) = self.files.get_mut(&transfer.file) {
                    file.add(transfer.from, transfer.moved);
                    let end = transfer.from.saturating_add(transfer.moved.into());
                    file.size = file.size.map(|size| size.max(end));
                }
            }
            Kind::Write { transfer, .. } => self.forget(transfer.file),
            _ => {}
        }
    }
}

fn attributes(file: &File) -> Option<Reply> {
    Some(Reply::Attributes { size: file.size?, directory: false })
}

/// The paths whose files an operation changes, or opens in a way that conflicts with the cached open.
fn changed<'a>(operation: &Operation<'a>) -> [Option<&'a str>; 2] {
    match *operation {
        Operation::Open { path, .. }
        | Operation::OpenEntry { path, .. }
        | Operation::Setattr { path, .. }
        | Operation::Remove { path }
        | Operation::Rmdir { path }
        | Operation::Symlink { path, .. } => [Some(path), None],
        Operation::Rename { from, to } | Operation::Link { from, to } => [Some(from), Some(to)],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64) -> File {
        let (path, pieces) = ("f".into(), Vec::new());
        File { key: FileKey(0), path, access: Access::Read, idle_since: None, size: Some(size), pieces }
    }

    #[test]
    fn what_was_read_is_known_to_the_byte() {
        let mut file = file(100);
        assert_eq!(file.has(0, 1), None);
        file.add(10, 10);
        file.add(30, 10);
        assert_eq!((file.has(10, 10), file.has(9, 2), file.has(15, 20), file.has(19, 2)), (Some(10), None, None, None));
        file.add(20, 10);
        assert_eq!((file.has(10, 30), file.pieces.as_slice()), (Some(30), &[(10, 40)][..]));
        // The end of the file ends a read.
        file.add(90, 10);
        assert_eq!((file.has(95, 50), file.has(100, 5), file.has(200, 5)), (Some(5), Some(0), Some(0)));
    }

    #[test]
    fn pieces_are_bounded() {
        let mut file = file(1 << 20);
        (0..1000).for_each(|n| file.add(n * 10, 1));
        assert_eq!(file.pieces.len(), PIECES);
        assert_eq!((file.has(0, 1), file.has(9_990, 1)), (Some(1), None));
        file.add(0, 1 << 20);
        assert_eq!(file.pieces, [(0, 1 << 20)]);
    }
}

//! What the client keeps under leases, as the clients do that people work with: a file that is closed stays open for a while,
//! its size is known, and what was read of it is not read again. Requests that this makes unnecessary are counted.
//!
//! Bytes themselves are not kept: a read whose data are wanted is sent. Writes go to the server at once. Nothing is kept of
//! directories, and nothing while another share or session than the standing one is in use.
//!
//! Spec: MS-SMB2 3.2.4.3.8, 3.2.5.19.2

use std::collections::{BTreeSet, HashMap};

use plimsoll_wire::smb2::{FileId, close, create};

use super::client::SmbClient;
use super::jobs::{Job, JobId, Kind};
use super::step::Step;
use crate::operation::{Access, Caching, Disposition, FileKey, Operation, Reply};
use crate::outbox::Outbox;

/// So long a file stays open that nobody uses, ns.
const LATE_NS: i64 = 10_000_000_000;
/// So many files stay open that nobody uses, at most.
const MOST: usize = 1_000;
/// Pieces of a file that are known apart, at most; what is read beyond that will be read again.
const PIECES: usize = 64;
/// What must have been granted for a file to be kept.
const NEEDED: u32 = create::LEASE_READ | create::LEASE_HANDLE;

/// The files that are kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    files: HashMap<FileId, File>,
    /// The file of a path.
    paths: HashMap<Box<str>, FileId>,
    /// Since when nobody uses a file, of those that nobody uses.
    idle: BTreeSet<(i64, FileId)>,
    /// Requests that were not sent.
    pub(super) spared: u64,
}

/// A file that is kept.
#[derive(Debug)]
struct File {
    key: FileKey,
    path: Box<str>,
    access: Access,
    /// Since when nobody uses it.
    idle_since: Option<i64>,
    /// Its size; `None` where that is not known any more.
    size: Option<u64>,
    /// What was read or written, from and until before; no two touch each other.
    pieces: Vec<(u64, u64)>,
}

impl Kept {
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

    /// Forgets everything: the connection is gone.
    pub(super) fn clear(&mut self) {
        *self = Self { spared: self.spared, ..Self::default() };
    }
}

impl File {
    /// Whether all of it was read or written before, as far as there is something.
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

impl SmbClient {
    /// The answer of an operation that need not be sent.
    pub(super) fn known(&mut self, operation: &Operation<'_>, now: i64) -> Option<Reply> {
        if self.kept.files.is_empty() || self.is_away() {
            return None;
        }
        let (reply, spared) = match *operation {
            Operation::Open { path, access, disposition, caching: Caching::Kept } => {
                (self.opened_again(path, access, disposition)?, 2)
            }
            // It is closed later, or its CLOSE is spared with the next CREATE.
            Operation::Close { file } => (self.closed_late(file, now)?, 0),
            Operation::GetattrOpen { file } => {
                let id = self.vouched(file, create::LEASE_READ)?;
                (attributes(self.kept.files.get(&id)?)?, 1)
            }
            Operation::Getattr { path } => {
                let (_, file) = self.kept.of(path)?;
                let (key, reply) = (file.key, attributes(file)?);
                self.vouched(key, create::LEASE_READ)?;
                (reply, 3)
            }
            Operation::Read { file, offset, length, keep: false } => {
                let id = self.vouched(file, create::LEASE_READ)?;
                let bytes = self.kept.files.get(&id)?.has(offset, length)?;
                (Reply::Read { bytes }, u64::from(length.div_ceil(self.limits.max_read.max(1)).max(1)))
            }
            _ => return None,
        };
        self.kept.spared += spared;
        Some(reply)
    }

    /// Another share or session is in use for a while: what is kept belongs to the standing ones.
    pub(super) fn is_away(&self) -> bool {
        self.standing.is_some() || self.session.before.is_some()
    }

    /// A file that is kept, as long as its lease has all of `rights`.
    fn vouched(&self, file: FileKey, rights: u32) -> Option<FileId> {
        let open = self.files.get(file)?;
        let held = open.lease.is_some_and(|lease| lease.state & rights == rights);
        (held && self.kept.files.contains_key(&open.id)).then_some(open.id)
    }

    fn opened_again(&mut self, path: &str, access: Access, disposition: Disposition) -> Option<Reply> {
        if !matches!(disposition, Disposition::OpenExisting | Disposition::OpenOrCreate) {
            return None;
        }
        let (_, file) = self.kept.of(path)?;
        let (key, size) = (file.key, file.size?);
        if file.access != access || file.idle_since.is_none() {
            return None;
        }
        let id = self.vouched(key, NEEDED)?;
        let since = self.kept.files.get_mut(&id)?.idle_since.take()?;
        self.kept.idle.remove(&(since, id));
        Some(Reply::Opened { file: key, size: Some(size) })
    }

    fn closed_late(&mut self, file: FileKey, now: i64) -> Option<Reply> {
        let id = self.vouched(file, NEEDED)?;
        self.kept.files.get_mut(&id)?.idle_since = Some(now);
        self.kept.idle.insert((now, id));
        Some(Reply::Nothing)
    }

    /// Closes what stands in the way of an operation that is about to be sent, and what nobody has used for long.
    pub(super) fn clear_the_way(&mut self, operation: &Operation<'_>, now: i64, out: &mut Outbox) {
        if self.kept.files.is_empty() || self.is_away() {
            return;
        }
        for path in changed(operation).into_iter().flatten() {
            let Some((id, file)) = self.kept.of(path) else { continue };
            match file.idle_since {
                Some(_) => self.close_kept(id, now, out),
                // Whoever uses it asks again.
                None => self.kept.forget(id),
            }
        }
        match *operation {
            Operation::Close { file } => {
                let id = self.files.get(file).map(|open| open.id);
                id.and_then(|id| self.kept.remove(id));
            }
            Operation::Truncate { file, .. } | Operation::Copy { to: file, .. } => {
                let id = self.files.get(file).map(|open| open.id);
                id.into_iter().for_each(|id| self.kept.forget(id));
            }
            _ => {}
        }
        self.close_the_oldest(now, out);
    }

    fn close_the_oldest(&mut self, now: i64, out: &mut Outbox) {
        while let Some(&(since, id)) = self.kept.idle.first() {
            if now.saturating_sub(since) < LATE_NS && self.kept.idle.len() <= MOST {
                return;
            }
            self.close_kept(id, now, out);
        }
    }

    /// Closes a file that nobody uses.
    fn close_kept(&mut self, id: FileId, now: i64, out: &mut Outbox) {
        let Some(file) = self.kept.remove(id) else { return };
        self.files.remove(file.key);
        self.outgoing.clear();
        // It has no variable part that could be too long.
        if self.outgoing.add(Step::Close, &close::Close { file: id, attributes: false }).is_ok() {
            self.submit(JobId::NONE, now, out);
        }
    }

    /// A lease was taken back: somebody else wants the file, and who does not use it closes it.
    pub(super) fn broken_lease(&mut self, key: [u8; 16], now: i64, out: &mut Outbox) {
        let broken = self.files.iter_mut().find(|open| open.lease.is_some_and(|lease| lease.key == key));
        let Some((id, state)) = broken.and_then(|open| Some((open.id, open.lease?.state))) else { return };
        let idle = self.kept.files.get(&id).is_some_and(|file| file.idle_since.is_some());
        if state & create::LEASE_READ == 0 {
            self.kept.forget(id);
        }
        // While another session is in use it cannot be closed; it is not opened again either, and closed in its time.
        if idle && state & create::LEASE_HANDLE == 0 && !self.is_away() {
            self.close_kept(id, now, out);
        }
    }

    /// Keeps what an operation told that ended.
    pub(super) fn keep(&mut self, job: &Job) {
        match &job.kind {
            Kind::Open { keeps: Some((path, access)), opened: Some((key, size)), .. } if job.failure.is_none() => {
                let Some(open) = self.files.get(*key).copied() else { return };
                let granted = open.lease.is_some_and(|lease| lease.state & NEEDED == NEEDED);
                if granted && !self.kept.paths.contains_key(path) {
                    let (path, size, pieces) = (path.clone(), Some(*size), Vec::new());
                    self.kept.paths.insert(path.clone(), open.id);
                    let file = File { key: *key, path, access: *access, idle_since: None, size, pieces };
                    self.kept.files.insert(open.id, file);
                }
            }
            Kind::Read { transfer, .. } if job.failure.is_none() => {
                if let Some(file) = self.kept.files.get_mut(&transfer.file) {
                    file.add(transfer.from, transfer.moved);
                }
            }
            Kind::Write { transfer, .. } if job.failure.is_none() => {
                if let Some(file) = self.kept.files.get_mut(&transfer.file) {
                    file.add(transfer.from, transfer.moved);
                    let end = transfer.from.saturating_add(transfer.moved.into());
                    file.size = file.size.map(|size| size.max(end));
                }
            }
            Kind::Write { transfer, .. } => self.kept.forget(transfer.file),
            _ => {}
        }
    }
}

fn attributes(file: &File) -> Option<Reply> {
    Some(Reply::Attributes { size: file.size?, directory: false })
}

/// The paths whose files an operation changes, or opens for other than what they are open for.
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

//! Operations that NFS has from 4.2 on: COPY, CLONE, ALLOCATE, DEALLOCATE, SEEK. (READ_PLUS is a READ with other results.)
//!
//! Spec: RFC 7862 15

use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::copy::{CloneRange, CopyRange, Ranges};
use plimsoll_wire::nfs::v4::putfh::PutHandle;
use plimsoll_wire::nfs::v4::sparse::{Allocate, Deallocate, Seek};
use plimsoll_wire::nfs::v4::{FileHandle, Save};
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::found::Found;
use super::job::{Copying, Goal, Job, OnRange, Transfer};
use super::requests::Calling;
use super::sending::Moved;
use super::shapes;
use crate::operation::{FileKey, Operation, Reply};

/// The first minor version with these operations.
const FIRST: u32 = 2;

impl Nfs4Client {
    /// The goal of an operation of 4.2; `None` if it is another one, if the version is older, or if the file is not open.
    pub(super) fn goal_of_minor_2(&self, operation: &Operation<'_>) -> Option<Goal> {
        if self.options.minor_version < FIRST {
            return None;
        }
        let handle = |file| self.opens.files.get(file).map(|file| file.handle);
        let on_range = |file, range, what| Some(Goal::OnRange { file, handle: handle(file)?, range, what });
        match *operation {
            Operation::Copy { from, to, length } => self.copying(from, to, length.into(), false),
            Operation::Clone { from, to, length } => self.copying(from, to, length, true),
            Operation::Allocate { file, offset, length } => on_range(file, (offset, length), OnRange::Allocate),
            Operation::Deallocate { file, offset, length } => on_range(file, (offset, length), OnRange::Deallocate),
            Operation::SeekData { file, offset } => on_range(file, (offset, 0), OnRange::SeekData),
            Operation::SeekHole { file, offset } => on_range(file, (offset, 0), OnRange::SeekHole),
            Operation::ReadPlus { file, offset, length, keep } => {
                Some(Goal::Read { file, transfer: Transfer::new(handle(file)?, offset, length)?, keep, plus: true })
            }
            _ => None,
        }
    }

    fn copying(&self, from: FileKey, to: FileKey, length: u64, clones: bool) -> Option<Goal> {
        let place = |file| self.opens.files.get(file).map(|open| (file, open.handle));
        Some(Goal::Copy(Box::new(Copying { from: place(from)?, to: place(to)?, done: 0, length, clones })))
    }

    /// Handles the response to an operation of 4.2.
    pub(super) fn settle_minor_2(&mut self, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        if matches!(job.goal, Goal::OnRange { .. }) { ranged(job, found) } else { self.copied(job, found) }
    }

    /// Handles the response to a COPY or CLONE.
    fn copied(&mut self, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let Goal::Copy(copying) = &mut job.goal else { return Err(Malformed) };
        if copying.clones {
            job.reply = Some(Reply::Nothing);
            return Ok(());
        }
        let copied = found.copied.ok_or(Malformed)?;
        // If a short copy was not made in order, the client cannot know which bytes are missing.
        let part = copied.count > 0 && copied.count < copying.left();
        if copied.count > copying.left() || part && !copied.consecutive {
            return Err(Malformed);
        }
        copying.done += copied.count;
        if copied.committed == Stable::Unstable
            && copied.count > 0
            && let Some(file) = self.opens.files.get_mut(copying.to.0)
        {
            let changed = file.unstable.written(copied.verifier);
            file.uncommitted.add_unknown();
            self.guarantees.saw_verifier(changed);
        }
        // A server may copy less than it was asked for, but nothing only at the end of the source.
        if copied.count == 0 || copying.left() == 0 {
            // Operation::Copy has a 32-bit length.
            job.reply = Some(Reply::Written { bytes: u32::try_from(copying.done).unwrap_or(u32::MAX) });
        }
        Ok(())
    }
}

/// The result of an ALLOCATE, DEALLOCATE or SEEK.
fn ranged(job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
    let Goal::OnRange { range: (from, _), what, .. } = job.goal else { return Err(Malformed) };
    if matches!(what, OnRange::Allocate | OnRange::Deallocate) {
        job.reply = Some(Reply::Nothing);
        return Ok(());
    }
    let found = found.found.ok_or(Malformed)?;
    // The end of a file is a hole, so there is one, whatever the server says of the end.
    let ends = found.eof && what == OnRange::SeekData;
    if !ends && found.offset < from {
        return Err(Malformed);
    }
    job.reply = Some(Reply::Found { offset: (!ends).then_some(found.offset) });
    Ok(())
}

impl Calling<'_> {
    /// The next COPY, or the CLONE. Nothing is sent to copy nothing, because a length of 0 means the rest of the file.
    pub(super) fn copy(&mut self, job: &mut Job) -> bool {
        let Goal::Copy(copying) = &job.goal else { return false };
        let Copying { from, to, done: offset, clones, .. } = **copying;
        let count = copying.left();
        if count == 0 && !clones {
            job.reply = Some(Reply::Written { bytes: 0 });
            return false;
        }
        let states = [from, to].map(|(file, _)| self.client.opens.state_of(file));
        let files = [from, to].map(|(_, handle): (_, FileHandle)| Some(self.identity(&handle)));
        let moved = Moved { files, ..Moved::default() };
        let shape = if clones { shapes::CLONE_FILE } else { shapes::COPY_FILE };
        let (path, intended, [of_from, of_to]) = (job.path, job.intended, states);
        self.send_about(shape, path, intended, moved, |compound| {
            compound.add(&PutHandle(&from.1)).add(&Save).add(&PutHandle(&to.1));
            let ranges = Ranges { from: of_from, to: of_to, from_offset: offset, to_offset: offset, count };
            match clones {
                true => compound.add(&CloneRange(ranges)),
                false => compound.add(&CopyRange(ranges)),
            };
        })
    }

    /// An operation on a range of a file.
    pub(super) fn on_range(&mut self, job: &Job) -> bool {
        let Goal::OnRange { file, handle, range: (offset, length), what } = job.goal else { return false };
        let state = self.client.opens.state_of(file);
        let shape = match what {
            OnRange::Allocate => shapes::ALLOCATE_RANGE,
            OnRange::Deallocate => shapes::DEALLOCATE_RANGE,
            OnRange::SeekData | OnRange::SeekHole => shapes::SEEK_IN_FILE,
        };
        self.about(shape, &handle, job, |compound| {
            match what {
                OnRange::Allocate => compound.add(&Allocate { state, offset, length }),
                OnRange::Deallocate => compound.add(&Deallocate { state, offset, length }),
                OnRange::SeekData => compound.add(&Seek { state, offset, hole: false }),
                OnRange::SeekHole => compound.add(&Seek { state, offset, hole: true }),
            };
        })
    }
}

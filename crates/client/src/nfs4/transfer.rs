//! File data: the requests of READ and WRITE, and the effect of the responses to READ, WRITE and COMMIT.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::FileHandle;
use plimsoll_wire::nfs::v4::putfh::PutHandle;
use plimsoll_wire::nfs::v4::read::Read;
use plimsoll_wire::nfs::v4::read_plus::{ReadPlus, Segment};
use plimsoll_wire::nfs::v4::write::Write;
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::found::Found;
use super::job::{Goal, Job};
use super::request_context::RequestContext;
use super::requests::Calling;
use super::sending::Moved;
use super::shapes;
use super::uncommitted::Piece;
use crate::calls::Call;
use crate::client::Events;
use crate::nfs::durability;
use crate::operation::{Cause, Failure, FileKey, Reply, Tag};
use crate::rpc::Data;

/// Maximum number of repeats of a flush whose data the server loses each time.
const MOST_REWRITES: u32 = 3;

impl Calling<'_> {
    /// The next request of a transfer.
    pub(super) fn transfer(&mut self, job: &mut Job) -> bool {
        let (path, intended) = (job.path, job.intended);
        let agreed = self.client.agreed;
        let (Goal::Read { file, .. } | Goal::Write { file, .. }) = job.goal else { return false };
        // If the file was closed in the meantime, read the rest with the anonymous state ID.
        let state = self.client.opens.state_of(file);
        match &mut job.goal {
            Goal::Read { transfer, keep, plus, .. } => {
                let Some((offset, count)) = transfer.take(agreed.read) else { return false };
                let files = [Some(self.identity(&transfer.handle)), None];
                let moved = Moved { files, offset, count, keep: *keep, data: None };
                let (shape, plus) = if *plus { (shapes::READ_PLUS, true) } else { (shapes::READ_DATA, false) };
                self.send_about(shape, path, intended, moved, |compound| {
                    compound.add(&PutHandle(&transfer.handle));
                    match plus {
                        true => compound.add(&ReadPlus { state, offset, count }),
                        false => compound.add(&Read { state, offset, count }),
                    };
                })
            }
            Goal::Write { transfer, content, key, stable, .. } => {
                let Some((offset, count)) = transfer.take(agreed.write) else { return false };
                let data = Some(Data { content, key: *key, offset, length: count });
                let files = [Some(self.identity(&transfer.handle)), None];
                let (moved, stable) = (Moved { files, offset, count, keep: false, data }, *stable);
                self.send_about(shapes::WRITE_DATA, path, intended, moved, |compound| {
                    compound.add(&PutHandle(&transfer.handle)).add(&Write { state, offset, count, stable });
                })
            }
            _ => false,
        }
    }

    /// Repeats a write that the server has lost.
    pub(super) fn rewrite(&mut self, file: FileKey, handle: &FileHandle, pieces: &[Piece], job: &Job) -> bool {
        let Some(Piece { offset, length, key, content }) = pieces.last() else { return false };
        let (offset, count) = (*offset, (*length).min(self.client.agreed.write));
        let state = self.client.opens.state_of(file);
        let data = Some(Data { content, key: *key, offset, length: count });
        let moved = Moved { files: [Some(self.identity(handle)), None], offset, count, keep: false, data };
        self.send_about(shapes::WRITE_DATA, job.path, job.intended, moved, |compound| {
            compound.add(&PutHandle(handle)).add(&Write { state, offset, count, stable: Stable::Unstable });
        })
    }
}

/// Passes data on, and the zeros of a hole.
fn pass_on(piece: Segment<'_>, tag: Tag, events: &mut dyn Events) {
    const ZEROS: [u8; 4_096] = [0; 4_096];
    match piece {
        Segment::Data { offset, bytes } => events.data(tag, offset, bytes),
        Segment::Hole { offset, length } => {
            // A piece ends within the range that was asked for.
            for at in (offset..offset.saturating_add(length)).step_by(ZEROS.len()) {
                let left = offset.saturating_add(length) - at;
                let zeros = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
                events.data(tag, at, &ZEROS[..zeros]);
            }
        }
    }
}

impl Job {
    /// Handles the response to a READ, or a READ_PLUS, whose holes count as their zeros.
    pub(super) fn read(
        &mut self,
        call: &Call<RequestContext>,
        found: &Found<'_>,
        events: &mut dyn Events,
    ) -> Result<(), Malformed> {
        let Goal::Read { transfer, keep, plus, .. } = &mut self.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.context;
        let tag = self.tag.filter(|_| *keep);
        let (bytes, eof) = if *plus {
            let contents = found.contents.ok_or(Malformed)?;
            // Wrong contents are not passed on in part.
            let bytes = contents.read(offset, count, |_| {})?;
            if let Some(tag) = tag {
                contents.read(offset, count, |piece| pass_on(piece, tag, events))?;
            }
            (bytes, contents.ends_by(offset, count))
        } else {
            let data = found.data.filter(|data| data.count <= count).ok_or(Malformed)?;
            if *keep && data.kept.len() != data.count as usize {
                return Err(Malformed);
            }
            if let Some(tag) = tag {
                events.data(tag, offset, data.kept);
            }
            (data.count, data.eof)
        };
        // A server may return fewer bytes than it has; only its EOF flag marks the end of the file.
        transfer.moved(offset, count, bytes, eof);
        if self.pending <= 1 && transfer.is_over() {
            self.reply = Some(Reply::Read { bytes: transfer.bytes() });
        }
        Ok(())
    }
}

impl Nfs4Client {
    /// Handles the response to a WRITE.
    pub(super) fn written(
        &mut self,
        call: &Call<RequestContext>,
        job: &mut Job,
        found: &Found<'_>,
    ) -> Result<(), Malformed> {
        let Goal::Write { file, transfer, stable, content, key } = &mut job.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.context;
        let written = found.written.ok_or(Malformed)?;
        // The server must write at least one byte and at most the requested number, and at least as durably as requested.
        let durable = *stable != Stable::FileSync || written.committed == Stable::FileSync;
        if written.count > count || written.count == 0 && count > 0 || !durable {
            return Err(Malformed);
        }
        transfer.moved(offset, count, written.count, false);
        if written.committed == Stable::Unstable
            && let Some(file) = self.opens.files.get_mut(*file)
        {
            let changed = file.unstable.written(written.verifier);
            file.uncommitted.add(Piece { offset, length: written.count, key: *key, content: content.clone() });
            self.guarantees.saw_verifier(changed);
        }
        self.guarantees.wrote(durability(*stable), durability(written.committed));
        if job.pending <= 1 && transfer.is_over() {
            job.reply = Some(Reply::Written { bytes: transfer.bytes() });
        }
        Ok(())
    }

    /// Handles the response to a COMMIT.
    pub(super) fn committed(&mut self, job: &mut Job, verifier: [u8; 8]) {
        let Goal::Flush(file, handle, times) = job.goal else { return };
        job.reply = Some(Reply::Nothing);
        let Some(found) = self.opens.files.get_mut(file) else { return };
        let (kept, pieces) = (found.unstable.committed(verifier), found.uncommitted.take());
        if kept {
            return;
        }
        self.guarantees.saw_verifier(true);
        if pieces.is_empty() || times >= MOST_REWRITES {
            let procedure = Some(shapes::about(shapes::COMMIT_FILE));
            job.fail(Failure { procedure, status: Some(0), outcome: Outcome::Failed, cause: Cause::LostWrites });
        } else {
            job.reply = None;
            job.goal = Goal::Rewrite { file, handle, pieces, times: times + 1 };
        }
    }

    /// Handles the response to a repeated write.
    pub(super) fn rewritten(
        &mut self,
        call: &Call<RequestContext>,
        job: &mut Job,
        found: &Found<'_>,
    ) -> Result<(), Malformed> {
        let Goal::Rewrite { file, handle, pieces, times } = &mut job.goal else { return Err(Malformed) };
        let written = found.written.ok_or(Malformed)?;
        let piece = pieces.last_mut().ok_or(Malformed)?;
        if written.count > call.context.count || written.count == 0 && call.context.count > 0 {
            return Err(Malformed);
        }
        let done = Piece { length: written.count, ..piece.clone() };
        piece.offset += u64::from(written.count);
        piece.length -= written.count;
        if piece.length == 0 {
            pieces.pop();
        }
        if let Some(open) = self.opens.files.get_mut(*file).filter(|_| written.committed == Stable::Unstable) {
            open.unstable.written(written.verifier);
            open.uncommitted.add(done);
        }
        self.recovering.counts.rewritten += 1;
        if pieces.is_empty() {
            job.goal = Goal::Flush(*file, *handle, *times);
        }
        Ok(())
    }
}

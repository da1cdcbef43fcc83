//! Data that is moved in one or more requests.

use plimsoll_model::{Durability, Outcome};
use plimsoll_wire::nfs::v3::write::{self, Stable};
use plimsoll_wire::nfs::v3::{Answer, FileHandle, read};
use plimsoll_wire::xdr::Malformed;

use super::client::{NfsClient, RequestContext};
use super::job::{Goal, Job};
use crate::calls::Call;
use crate::client::Events;
use crate::operation::{Cause, Failure, Reply};

/// Data of one file that is moved in one or more requests.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) handle: FileHandle,
    /// Where the next request begins.
    next: u64,
    /// Where the last one ends.
    end: u64,
    /// Nothing was asked for yet: then even a transfer of nothing asks once.
    fresh: bool,
    /// Offsets and lengths of what an answer left out.
    again: Vec<(u64, u32)>,
    /// Bytes that were moved.
    bytes: u32,
}

impl Transfer {
    /// `None` where the end is beyond all offsets.
    pub(super) fn new(handle: FileHandle, offset: u64, length: u32) -> Option<Self> {
        let end = offset.checked_add(u64::from(length))?;
        Some(Self { handle, next: offset, end, fresh: true, again: Vec::new(), bytes: 0 })
    }

    /// Takes at most `most` bytes off: offset and length of the next request; `None` where nothing is left.
    pub(super) fn take(&mut self, most: u32) -> Option<(u64, u32)> {
        if let Some(left) = self.again.pop() {
            return Some(left);
        }
        if self.is_over() {
            return None;
        }
        let offset = self.next;
        let length = u32::try_from(self.end.saturating_sub(offset)).unwrap_or(u32::MAX).min(most);
        self.next += u64::from(length);
        self.fresh = false;
        Some((offset, length))
    }

    /// So many of the bytes that were asked for were moved; the rest is asked for again, unless nothing moves, or the
    /// file ends there: then nothing behind it is asked for either.
    pub(super) fn moved(&mut self, offset: u64, asked: u32, count: u32, end: bool) {
        self.bytes = self.bytes.saturating_add(count);
        if end {
            self.next = self.end;
        } else if count > 0 && count < asked {
            self.again.push((offset + u64::from(count), asked - count));
        }
    }

    /// Bytes that were moved.
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Whether nothing is left to ask for.
    pub(super) fn is_over(&self) -> bool {
        !self.fresh && self.next >= self.end && self.again.is_empty()
    }
}

impl Job {
    /// An answer to a READ.
    pub(super) fn read(
        &mut self,
        call: &Call<RequestContext>,
        answer: Answer<read::Data<'_>>,
        events: &mut dyn Events,
    ) -> Result<u32, Malformed> {
        let Goal::Read { transfer, keep } = &mut self.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.what;
        let data = match answer {
            Answer::Done(data) if data.count > count => return Err(Malformed),
            Answer::Done(data) => data,
            Answer::Refused(status) => return Ok(status),
        };
        // A server may answer with less than is there; the end of the file is what it says to be the end.
        transfer.moved(offset, count, data.count, data.eof);
        if *keep {
            if data.kept.len() != data.count as usize {
                return Err(Malformed);
            }
            events.data(self.tag, offset, data.kept);
        }
        if self.pending <= 1 && transfer.is_over() {
            self.reply = Some(Reply::Read { bytes: transfer.bytes() });
        }
        Ok(0)
    }
}

fn durability(stable: Stable) -> Durability {
    match stable {
        Stable::Unstable => Durability::Unstable,
        Stable::DataSync => Durability::DataSync,
        Stable::FileSync => Durability::FileSync,
    }
}

impl NfsClient {
    /// An answer to a WRITE.
    pub(super) fn written(
        &mut self,
        call: &Call<RequestContext>,
        job: &mut Job,
        answer: Answer<write::Written>,
    ) -> Result<u32, Malformed> {
        let Goal::Write { file, transfer, stable, .. } = &mut job.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.what;
        let written = match answer {
            // Neither more than there was, nor nothing of it and no error.
            Answer::Done(written) if written.count > count || written.count == 0 && count > 0 => {
                return Err(Malformed);
            }
            // A server may do more than it is asked for, and never less (RFC 1813 3.3.7).
            Answer::Done(written) if *stable == Stable::FileSync && written.committed != *stable => {
                return Err(Malformed);
            }
            Answer::Done(written) => written,
            Answer::Refused(status) => return Ok(status),
        };
        transfer.moved(offset, count, written.count, false);
        if written.committed == Stable::Unstable
            && let Some(file) = self.files.get_mut(*file)
        {
            let changed = file.written(written.verifier);
            self.guarantees.saw_verifier(changed);
        }
        self.guarantees.wrote(durability(*stable), durability(written.committed));
        if job.pending <= 1 && transfer.is_over() {
            job.reply = Some(Reply::Written { bytes: transfer.bytes() });
        }
        Ok(0)
    }

    /// A COMMIT was done.
    pub(super) fn committed(&mut self, call: &Call<RequestContext>, job: &mut Job, verifier: [u8; 8]) {
        let Goal::Flush(file, _) = job.goal else { return };
        job.reply = Some(Reply::Nothing);
        if self.files.get_mut(file).is_some_and(|file| !file.committed(verifier)) {
            self.guarantees.saw_verifier(true);
            let (procedure, status, outcome) = (Some(call.procedure), Some(0), Outcome::Failed);
            job.fail(Failure { procedure, status, outcome, cause: Cause::LostWrites });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_transfers_take_several_requests_and_empty_ones_take_one() {
        let handle = FileHandle::new(&[1]).unwrap();
        let mut transfer = Transfer::new(handle, 10, 25).unwrap();
        let taken: Vec<_> = std::iter::from_fn(|| transfer.take(10)).collect();
        assert_eq!(taken, [(10, 10), (20, 10), (30, 5)]);
        let mut empty = Transfer::new(handle, 7, 0).unwrap();
        assert_eq!((empty.take(10), empty.take(10)), (Some((7, 0)), None));
        assert!(Transfer::new(handle, u64::MAX, 1).is_none());
    }

    #[test]
    fn what_an_answer_leaves_out_is_asked_for_again() {
        let mut transfer = Transfer::new(FileHandle::new(&[1]).unwrap(), 0, 20).unwrap();
        let _ = (transfer.take(10), transfer.take(10));
        transfer.moved(0, 10, 4, false);
        transfer.moved(10, 10, 10, false);
        assert!(!transfer.is_over());
        assert_eq!((transfer.take(10), transfer.take(10)), (Some((4, 6)), None));
        transfer.moved(4, 6, 3, true);
        assert_eq!((transfer.is_over(), transfer.bytes()), (true, 17));
        let mut ended = Transfer::new(FileHandle::new(&[1]).unwrap(), 0, 30).unwrap();
        let _ = (ended.take(10), ended.take(10));
        ended.moved(10, 10, 2, true);
        assert!(ended.is_over(), "nothing is asked for behind the end of the file");
        ended.moved(0, 10, 9, false);
        assert_eq!((ended.take(10), ended.bytes()), (Some((9, 1)), 11), "but before it");
        transfer.moved(7, 3, 0, false);
        assert!(transfer.is_over(), "what does not move is not asked for for ever");
    }
}

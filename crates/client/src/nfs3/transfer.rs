//! Answers to READ, WRITE and COMMIT.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::v3::write::{self, Stable};
use plimsoll_wire::nfs::v3::{Answer, read};
use plimsoll_wire::xdr::Malformed;

use super::client::{NfsClient, RequestContext};
use super::job::{Goal, Job};
use crate::calls::Call;
use crate::client::Events;
use crate::nfs::durability;
use crate::operation::{Cause, Failure, Reply};

impl Job {
    /// An answer to a READ.
    pub(super) fn read(
        &mut self,
        call: &Call<RequestContext>,
        answer: Answer<read::Data<'_>>,
        events: &mut dyn Events,
    ) -> Result<u32, Malformed> {
        let Goal::Read { transfer, keep } = &mut self.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.context;
        let data = match answer {
            Answer::Done(data) if data.count > count => return Err(Malformed),
            Answer::Done(data) => data,
            Answer::Refused(status) => return Ok(status),
        };
        // A server may return less than the file has; only `eof` marks its end.
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

impl NfsClient {
    /// An answer to a WRITE.
    pub(super) fn written(
        &mut self,
        call: &Call<RequestContext>,
        job: &mut Job,
        answer: Answer<write::Written>,
    ) -> Result<u32, Malformed> {
        let Goal::Write { file, transfer, stable, .. } = &mut job.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.context;
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
            let changed = file.unstable.written(written.verifier);
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
        if self.files.get_mut(file).is_some_and(|file| !file.unstable.committed(verifier)) {
            self.guarantees.saw_verifier(true);
            let (procedure, status, outcome) = (Some(call.procedure), Some(0), Outcome::Failed);
            job.fail(Failure { procedure, status, outcome, cause: Cause::LostWrites });
        }
    }
}

//! Reads and writes, split into as many requests as the length needs.
//!
//! Spec: MS-SMB2 3.2.4.6, 3.2.4.7

use plimsoll_wire::smb2::{header, read, write};

use super::super::client::SmbClient;
use super::super::connection::{CREDIT, Data, Protection};
use super::super::jobs::{Job, JobId, Kind};
use super::super::options::Dialect;
use super::super::request_kind::RequestKind;
use super::super::transfer::Transfer;
use super::super::waiting::Waiting;
use crate::operation::{Cause, FileKey, Operation, Ticket};
use crate::outbox::Outbox;

impl SmbClient {
    /// A transfer from or to an open file.
    pub(super) fn transfer_of(&mut self, file: FileKey, offset: u64, length: u32) -> Result<Transfer, Cause> {
        let open = self.files.get(file).ok_or(Cause::Unsupported)?;
        Transfer::new(open.id, offset, length).ok_or(Cause::Unsupported)
    }

    /// A single write goes through only if it is unbuffered, too, because files are opened with buffering. Dialects before 3.0.2 have no
    /// flag for that: their servers refuse the write, or (2.0.2) would ignore the request.
    ///
    /// Spec: MS-SMB2 2.2.21, 3.3.5.13
    pub(super) fn write_flags(&self, operation: &Operation<'_>) -> Result<u32, Cause> {
        if !matches!(operation, Operation::WriteThrough { .. }) {
            return Ok(0);
        }
        match self.connection.limits.dialect >= Dialect::V302 {
            true => Ok(write::FLAG_WRITE_THROUGH | write::FLAG_WRITE_UNBUFFERED),
            false => Err(Cause::NoWriteThrough),
        }
    }

    pub(super) fn begin_transfer(&mut self, kind: Kind, ticket: &Ticket, file: FileKey, now: i64, out: &mut Outbox) {
        let file = self.files.get(file).and_then(|open| open.file);
        let job = self.jobs.add(Job::new(ticket, kind).about(file));
        self.transfer(job, now, out);
    }

    /// Sends requests of a transfer, or lets it wait for credits.
    pub(in super::super) fn transfer(&mut self, id: JobId, now: i64, out: &mut Outbox) {
        if self.waiting.is_empty() && self.next_chunks(id, now, out) {
            return;
        }
        if let Some(job) = self.jobs.get(id) {
            job.queued = true;
            self.waiting.push_back(Waiting { job: id, since: now, outgoing: None, again: None });
        }
    }

    /// Sends as many requests of a transfer as are left and credits allow. Returns false if the transfer must wait for credits.
    pub(in super::super) fn next_chunks(&mut self, id: JobId, now: i64, out: &mut Outbox) -> bool {
        if let Some(job) = self.jobs.get(id)
            && let Kind::Read { transfer, .. } | Kind::Write { transfer, .. } = &job.kind
            && job.queued
            && transfer.is_begun()
        {
            // It waited for credits, which a response has just granted, perhaps to another operation.
            job.due_at(now);
        }
        loop {
            let (max_read, max_write, multi) = (
                self.connection.limits.max_read,
                self.connection.limits.max_write,
                self.connection.limits.multi_credit,
            );
            let (available, window) = self.credits();
            let Some(job) = self.jobs.get(id) else { return true };
            let pending = job.pending;
            let (transfer, most, sequential) = match &mut job.kind {
                // Data for the caller must be reported in order.
                Kind::Read { transfer, keep } => (transfer, max_read, *keep),
                Kind::Write { transfer, .. } => (transfer, max_write, false),
                _ => return true,
            };
            if !transfer.has_more() || sequential && pending > 0 {
                job.queued = false;
                return true;
            }
            // A server that grants few credits is asked for little at a time.
            let most = most.min(window.clamp(1, u32::MAX / CREDIT) * CREDIT);
            let charge = if multi { u32::from(header::charge(transfer.next_length(most))) } else { 1 };
            if charge > available {
                return false;
            }
            let (offset, length) = transfer.take(most);
            let file = transfer.file;
            // The next request of a sequential transfer waits for the response of this one.
            let is_last = sequential || !transfer.has_more();
            if is_last {
                job.queued = false;
            }
            self.outgoing.clear();
            let built = match &job.kind {
                Kind::Write { content, key, flags, .. } => {
                    let flags = *flags;
                    let data = Data { content: content.clone(), key: *key, offset, length };
                    self.outgoing.data = Some(data);
                    let call = write::Write { file, offset, length, flags };
                    self.outgoing.add(RequestKind::Write, &call).map(|member| member.payload = Some(u64::from(length)))
                }
                _ => {
                    let call = read::Read { file, offset, length, minimum: 0, flags: 0 };
                    self.outgoing.add(RequestKind::Read, &call).map(|_| ())
                }
            };
            // Neither has a variable part that could be too long.
            debug_assert!(built.is_ok());
            self.launch(id, Protection::Usual, now, out);
            if is_last {
                return true;
            }
        }
    }
}

//! Operations that may wait by design, and their cancellation.
//!
//! Spec: MS-SMB2 3.2.4.19, 3.2.4.24

use plimsoll_model::Outcome;
use plimsoll_wire::smb2::lock::{Element, FLAG_EXCLUSIVE, FLAG_FAIL_IMMEDIATELY, FLAG_SHARED, FLAG_UNLOCK, LockFlags};
use plimsoll_wire::smb2::{cancel, lock};

use super::super::client::SmbClient;
use super::super::connection::RequestContext;
use super::super::jobs::{Directory, JobId, Kind};
use super::super::request_kind::RequestKind;
use super::super::waiting::Waiting;
use crate::calls::Call;
use crate::client::Events;
use crate::operation::{Cause, Failure, FileKey, Tag};
use crate::outbox::Outbox;

/// Gives a range back.
pub(super) const UNLOCK: LockFlags = LockFlags(FLAG_UNLOCK);

/// Takes a range.
pub(super) fn lock_flags(exclusive: bool, wait: bool) -> LockFlags {
    let kind = if exclusive { FLAG_EXCLUSIVE } else { FLAG_SHARED };
    LockFlags(if wait { kind } else { kind | FLAG_FAIL_IMMEDIATELY })
}

impl SmbClient {
    /// Builds the request.
    pub(super) fn lock(&mut self, file: FileKey, offset: u64, length: u64, flags: LockFlags) -> Result<Kind, Cause> {
        let may_repeat = self.channels.is_some() || self.durable.is_some();
        let open = self.files.get_mut(file).ok_or(Cause::Unsupported)?;
        let sequence = if may_repeat { open.next_lock() } else { 0 };
        let file = open.id;
        let elements = [Element { offset, length, flags }];
        let call = lock::Lock { file, sequence, elements: &elements };
        let member = self.outgoing.add(RequestKind::Lock, &call).map_err(|_| Cause::Unsupported)?;
        member.may_wait = flags.waits();
        Ok(Kind::Plain)
    }

    /// Cancels a long-lived operation; no effect on other or completed operations.
    pub(super) fn cancel(&mut self, tag: Tag, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let Some(id) = self.jobs.first(|job| job.tag == tag) else { return };
        if let Some((channel, message_id, async_id)) = self.held_by(id) {
            self.outgoing.clear();
            // A CANCEL has no variable part that could be too long.
            let built = self.outgoing.add(RequestKind::Cancel, &cancel::Cancel { async_id });
            debug_assert!(built.is_ok());
            let outgoing = std::mem::take(&mut self.outgoing);
            let connection = self.on_mut(channel);
            connection.send_cancel(&outgoing, message_id, async_id.is_some(), out.channel(channel));
            self.outgoing = outgoing;
            return;
        }
        self.cancel_early(id, now, events);
    }

    /// The long-lived request of an operation: its channel, its ID, and the async ID of its interim response.
    fn held_by(&self, id: JobId) -> Option<(u32, u64, Option<u64>)> {
        let holds = |call: &&Call<RequestContext>| {
            call.context.job == id
                && (call.context.kind == RequestKind::Watch
                    || call.context.kind == RequestKind::Lock && call.context.may_wait)
        };
        let mut held = (0..).zip(self.connections()).filter_map(|(channel, connection)| {
            connection.waiting().find(holds).map(|call| (channel, call.id, call.context.async_id))
        });
        held.next()
    }

    /// Cancels an operation whose long-lived request has not been sent yet, or must be sent again.
    fn cancel_early(&mut self, id: JobId, now: i64, events: &mut dyn Events) {
        let Some(job) = self.jobs.get(id) else { return };
        let waits = self.waiting.iter().position(|waiting| waiting.job == id);
        let delayed = self.delayed.iter().position(|(_, waiting)| waiting.job == id);
        let holds = match &job.kind {
            Kind::Watch { directory: Directory::Opening | Directory::Open(_) } => true,
            Kind::Plain => waits.is_some() || delayed.is_some(),
            _ => false,
        };
        if !holds {
            return;
        }
        job.fail(Failure { procedure: None, status: None, outcome: Outcome::Cancelled, cause: Cause::Ended });
        let removed = waits.and_then(|place| self.waiting.remove(place));
        let removed = removed.or_else(|| delayed.map(|place| self.delayed.remove(place).1));
        if let Some(Waiting { again, .. }) = removed {
            job.pending = job.pending.saturating_sub(again.map_or(0, |again| again.left));
            self.settle_without_sending(id, now, events);
        }
    }
}

//! A request whose connection was lost.

use plimsoll_model::{FileIdentity, Outcome};

use super::request_context::RequestContext;
use super::shapes::{self, Shape};
use crate::calls::Call;
use crate::nfs::JobId;
use crate::operation::{Cause, Failure};
use crate::rpc::xid_of;

/// A request whose connection was lost before the response arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parted {
    pub(super) job: JobId,
    pub(super) shape: Shape,
    /// Offset and length, if it belongs to a transfer.
    pub(super) data: (u64, u32),
    /// Its slot.
    pub(super) slot: Option<u32>,
    pub(super) session: u32,
    pub(super) xid: u32,
    /// Identities of the files of its handles.
    pub(super) files: [Option<FileIdentity>; 2],
    /// Time at which it was first sent, ns.
    pub(super) since: i64,
    /// At least one byte was sent.
    pub(super) sent: bool,
    /// It was sent again before, and counted.
    pub(super) resent: bool,
}

impl Parted {
    pub(super) fn of(call: &Call<RequestContext>) -> Self {
        let RequestContext { job, shape, offset, count, queued, slot, session, resent, files, .. } = call.what;
        let since = call.sent.map_or(queued, |(first, _)| first);
        let (xid, sent) = (xid_of(call.id, &call.what), call.sent.is_some());
        Self { job, shape, data: (offset, count), slot, session, xid, files, since, sent, resent }
    }

    /// Whether this request of a job, which is about to be sent, is the same one.
    pub(super) fn is(&self, job: JobId, shape: Shape, data: (u64, u32), files: &[Option<FileIdentity>; 2]) -> bool {
        (self.job, self.shape, self.data, &self.files) == (job, shape, data, files)
    }

    /// The failure of its operation if the request is not sent again.
    pub(super) fn failure(&self, cause: Cause) -> Failure {
        let outcome = if self.sent { Outcome::Unanswered } else { Outcome::NeverSent };
        Failure { procedure: Some(shapes::about(self.shape)), status: None, outcome, cause }
    }
}

//! A request that has lost its connection.

use plimsoll_model::Outcome;

use super::shapes::{self, Shape};
use crate::nfs::JobId;
use crate::operation::{Cause, Failure};

/// A request whose connection was lost before its answer came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parted {
    pub(super) job: JobId,
    pub(super) shape: Shape,
    /// Of a transfer: where its data stand, and how many.
    pub(super) data: (u64, u32),
    /// Its slot, and the session's number.
    pub(super) slot: Option<u32>,
    pub(super) session: u32,
    pub(super) xid: u32,
    /// When it was sent the first time, ns.
    pub(super) since: i64,
    /// A byte of it went out.
    pub(super) sent: bool,
}

impl Parted {
    /// Why its operation fails where it is not sent again.
    pub(super) fn failure(&self, cause: Cause) -> Failure {
        let outcome = if self.sent { Outcome::Unanswered } else { Outcome::NeverSent };
        Failure { procedure: Some(shapes::about(self.shape)), status: None, outcome, cause }
    }
}

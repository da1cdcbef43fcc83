//! A call that waits for its reply: its job and step.

use plimsoll_model::FileIdentity;

use super::shapes::{self, Shape};
use crate::nfs::JobId;
use crate::rpc::Context;

/// What a call needs when its reply comes, except the fields of its transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestContext {
    pub(super) job: JobId,
    pub(super) shape: Shape,
    /// Of a transfer: where its data stand.
    pub(super) offset: u64,
    /// Of a transfer: bytes that it moves at most.
    pub(super) count: u32,
    /// Of a read: its data are wanted.
    pub(super) keep: bool,
    /// When it was put into the outbox, ns.
    pub(super) queued: i64,
    /// The slot that it takes.
    pub(super) slot: Option<u32>,
    /// The number of the slot's session.
    pub(super) session: u32,
    /// It was sent before, on a connection that was lost, with the same slot and number.
    pub(super) resent: bool,
    /// The files that its handles stand for, in order.
    pub(super) files: [Option<FileIdentity>; 2],
}

impl Context for RequestContext {
    /// Drop the data that a READ returns.
    fn results_kept(&self) -> Option<usize> {
        (self.shape == shapes::READ_DATA && !self.keep).then_some(shapes::BEFORE_DATA)
    }

    fn queued(&self) -> i64 {
        self.queued
    }
}

//! The context of an outstanding call: its job and step.

use plimsoll_model::FileIdentity;

use super::owners::OwnerRequest;
use super::shapes::{self, Shape};
use crate::jobs::JobId;
use crate::rpc::Context;

/// Data for handling the response of a call, without the fields of its transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestContext {
    pub(super) job: JobId,
    pub(super) shape: Shape,
    /// Position of its main operation in [`RequestContext::operations`].
    pub(super) principal: u8,
    /// Offset, if the call belongs to a transfer.
    pub(super) offset: u64,
    /// Maximum number of bytes, if the call belongs to a transfer.
    pub(super) count: u32,
    /// Whether the caller needs the data of a read.
    pub(super) keep: bool,
    /// Time at which it was put into the outbox, ns.
    pub(super) queued: i64,
    pub(super) slot: Option<u32>,
    /// The number of the slot's session.
    pub(super) session: u32,
    /// It was sent before with the same slot and sequence ID, on a connection that was lost.
    pub(super) resent: bool,
    /// The xid that it had on a lost connection, in 4.0.
    pub(super) earlier_xid: Option<u32>,
    /// The request of an owner that it carries, in 4.0.
    pub(super) owned: Option<OwnerRequest>,
    /// Identities of the files of its handles, in order.
    pub(super) files: [Option<FileIdentity>; 2],
}

impl RequestContext {
    /// The operations of its compound: without SEQUENCE if it has no slot.
    pub(super) fn operations(&self) -> Shape {
        if self.slot.is_some() { self.shape } else { shapes::without_session(self.shape) }
    }

    /// Offset and length of its part of a transfer; 0 otherwise.
    pub(super) fn data(&self) -> (u64, u32) {
        (self.offset, self.count)
    }

    /// Whether it only asks if the server has used the sequence ID of a slot.
    pub(super) fn is_probe(&self) -> bool {
        self.resent && self.shape == shapes::RENEWAL
    }
}

impl Context for RequestContext {
    /// Drop the data that a READ returns.
    fn results_kept(&self) -> Option<usize> {
        (self.shape == shapes::READ_DATA && !self.keep).then_some(match self.slot {
            Some(_) => shapes::BEFORE_DATA,
            None => shapes::BEFORE_DATA - shapes::SEQUENCE_RESULT,
        })
    }

    fn queued(&self) -> i64 {
        self.queued
    }

    fn earlier_xid(&self) -> Option<u32> {
        self.earlier_xid
    }
}

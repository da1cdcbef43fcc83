//! Responses to calls of the server. It may recall delegations; the client has no layouts.
//!
//! Spec: RFC 8881 20, RFC 5531 9

use plimsoll_wire::nfs::status::{
    NFS4ERR_BADSESSION, NFS4ERR_BADXDR, NFS4ERR_INVAL, NFS4ERR_NOTSUPP, NFS4ERR_OP_NOT_IN_SESSION,
};
use plimsoll_wire::nfs::v4::recall_any::RecallAny;
use plimsoll_wire::nfs::v4::{CompoundCall, PROCEDURE_COMPOUND, PROCEDURE_NULL};
use plimsoll_wire::rpc::Call;
use plimsoll_wire::xdr::Emit;

use super::client::Nfs4Client;
use crate::operation::Cause;
use crate::outbox::Outbox;

const CB_RECALL: u32 = 4;
const CB_RECALL_ANY: u32 = 8;
const CB_RECALL_SLOT: u32 = 10;
const CB_SEQUENCE: u32 = 11;

/// Accepted replies: success, and two kinds of refusal.
const SUCCESS: u32 = 0;
const PROCEDURE_UNAVAILABLE: u32 = 3;
const GARBAGE_ARGUMENTS: u32 = 4;

/// Maximum number of operations that are read in a callback: [`super::session::BACK`] allows fewer.
const MOST: usize = 16;

/// Maximum size of replies that the kernel has not taken yet, bytes. A correct server leaves far fewer: the session has one slot for its
/// calls, and the next call of a slot follows the reply to the one before.
const MOST_UNSENT: u64 = 1 << 20;

/// The replies to calls of the server that the kernel has not taken yet.
#[derive(Debug, Default)]
pub(super) struct UnsentReplies {
    bytes: u64,
    /// End of the last one in the stream of the connection.
    end: u64,
}

impl UnsentReplies {
    /// Whether another reply has room.
    fn have_room(&mut self, out: &Outbox) -> bool {
        if out.sent() >= self.end {
            self.bytes = 0;
        }
        self.bytes < MOST_UNSENT
    }

    fn add(&mut self, bytes: u64, out: &Outbox) {
        self.bytes += bytes;
        self.end = out.end();
    }
}

impl Nfs4Client {
    /// Answers a call of the server; false if the message is not a call.
    ///
    /// # Errors
    /// The server calls again and again without reading the replies.
    pub(super) fn called_back(&mut self, message: &[u8], now: i64, out: &mut Outbox) -> Result<bool, Cause> {
        let Some(call) = Call::new(message) else { return Ok(false) };
        if !self.unsent_replies.have_room(out) {
            return Err(Cause::Malformed);
        }
        let (mut results, mut verdict) = (Vec::new(), SUCCESS);
        match (call.procedure(), call.arguments()) {
            (PROCEDURE_NULL, _) => {}
            (PROCEDURE_COMPOUND, Some(arguments)) => {
                self.compound(&CompoundCall::callback(arguments), now, &mut results);
            }
            (PROCEDURE_COMPOUND, None) => verdict = GARBAGE_ARGUMENTS,
            _ => verdict = PROCEDURE_UNAVAILABLE,
        }
        let (xid, before) = (call.xid(), out.end());
        out.write(|bytes| {
            // The results of this number of operations always fit into a fragment.
            bytes.put_u32(0x8000_0000 | (24 + results.len()) as u32);
            // A reply, accepted, with an empty verifier.
            [xid, 1, 0, 0, 0, verdict].iter().for_each(|&word| bytes.put_u32(word));
            bytes.put_fixed(&results);
        });
        self.unsent_replies.add(out.end() - before, out);
        Ok(true)
    }

    fn compound(&mut self, call: &CompoundCall<'_>, now: i64, out: &mut Vec<u8>) {
        let (mut status, mut count) = (0, 0_u32);
        let mut results = Vec::new();
        let mut operations = call.operations();
        for _ in 0..MOST {
            // The number of the operation precedes its arguments.
            let arguments = operations.rest().get(4..).unwrap_or_default();
            let Some(operation) = operations.next() else { break };
            let slot = operation.facts.slot;
            status = match (operation.code, slot) {
                (CB_SEQUENCE, Some(slot)) if count == 0 && slot.session == self.session.id => 0,
                (CB_SEQUENCE, _) => NFS4ERR_BADSESSION,
                _ if count == 0 => NFS4ERR_OP_NOT_IN_SESSION,
                (CB_RECALL, _) => self.recalled(&operation, now),
                (CB_RECALL_ANY, _) => self.recalled_any(arguments),
                (CB_RECALL_SLOT, _) => 0,
                _ => NFS4ERR_NOTSUPP,
            };
            count += 1;
            results.put_u32(operation.code);
            results.put_u32(status);
            if let (CB_SEQUENCE, 0, Some(slot)) = (operation.code, status, slot) {
                results.put_fixed(slot.session);
                // Sequence ID and slot of the call; the session has one back-channel slot, so the highest and the target slot are 0.
                [slot.sequence, slot.slot, 0, 0].iter().for_each(|&word| results.put_u32(word));
            }
            if status != 0 {
                break;
            }
        }
        out.put_u32(status);
        out.put_opaque(call.tag.unwrap_or_default());
        out.put_u32(count);
        out.put_fixed(&results);
    }

    /// CB_RECALL_ANY: the server wants some delegations back. Returns the status of the response. The returns follow at once
    /// ([`Nfs4Client::return_due`]).
    fn recalled_any(&mut self, arguments: &[u8]) -> u32 {
        let Ok(recall) = RecallAny::parse(arguments) else { return NFS4ERR_BADXDR };
        if !recall.is_defined() {
            return NFS4ERR_INVAL;
        }
        if let Some(delegations) = self.opens.delegations.as_mut().filter(|_| recall.limits_read_delegations()) {
            delegations.keep_at_most(recall.keep as usize);
        }
        0
    }
}

//! SEQUENCE: the slot that a compound takes, and how far its numbers are. It also renews the lease.
//!
//! Spec: RFC 8881 18.46, RFC 8881 2.10.6

use super::Call;
use crate::xdr::{Malformed, Strict};

/// A session's id.
pub type SessionId = [u8; 16];

/// The number of a session in transactions, which have 64 bits for it: a hash of the ID, never 0. (Some servers distinguish their sessions
/// by the first half of the ID, others by the second.)
#[must_use]
pub fn session_number(id: &SessionId) -> u64 {
    // Digits of pi, from the fraction on.
    const SALT: u128 = 0x243F_6A88_85A3_08D3_1319_8A2E_0370_7344;
    let salted = u128::from_be_bytes(*id) ^ SALT;
    let product = u128::from(salted as u64) * (salted >> 64);
    ((product as u64) ^ (product >> 64) as u64).max(1)
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Sequence {
    /// Which session.
    pub session: SessionId,
    /// One more than the slot's last request had.
    pub sequence: u32,
    /// Which slot.
    pub slot: u32,
    /// The highest slot that is in use.
    pub highest: u32,
    /// The server keeps the answer, to send it again if it is lost.
    pub cache: bool,
}

call!(Sequence, OPERATION = 53: session, sequence, slot, highest, cache);

/// The server's data about the slot and the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceReply {
    /// The session again.
    pub session: SessionId,
    /// The sequence id again.
    pub sequence: u32,
    /// The slot again.
    pub slot: u32,
    /// The highest slot that the server remembers.
    pub highest: u32,
    /// The highest slot that it wants to be used.
    pub target: u32,
    /// What happened to the client's state.
    pub flags: u32,
}

#[inline]
pub(super) fn parse(reader: &mut Strict<'_>) -> Result<SequenceReply, Malformed> {
    Ok(SequenceReply {
        session: reader.array()?,
        sequence: reader.u32()?,
        slot: reader.u32()?,
        highest: reader.u32()?,
        target: reader.u32()?,
        flags: reader.u32()?,
    })
}

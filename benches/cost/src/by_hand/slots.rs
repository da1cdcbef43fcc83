//! The slots of an NFS 4.1 session, for the loop by hand.

use std::error::Error;

use super::{MARK, put, word};

/// The slots of a session.
pub struct Slots {
    /// Where SEQUENCE has its sequence id in a request; the slot and the highest slot in use are behind it.
    at: usize,
    /// The last sequence id of each slot.
    sequences: Vec<u32>,
    /// Slots without a request.
    pub free: Vec<u32>,
}

/// As many as Plimsoll asks for.
const SLOTS: u32 = 64;
/// Where the results of a compound begin in an accepted answer with an empty verifier: status, tag, number of operations; SEQUENCE, its
/// status, the session's id of 16 bytes, the sequence id, and the slot (RFC 8881 16.2, 18.46).
pub const RESULTS: usize = MARK + 24;

impl Slots {
    /// From a request of the client's that was not sent: the other slots of a client that never had two requests at once are unused.
    pub fn of(request: &[u8]) -> Result<Self, Box<dyn Error>> {
        // RFC 5531 9: xid, CALL, three versions, the procedure, the flavor, and the length of the credential; its verifier is empty.
        let credential = word(request, MARK + 28)? as usize;
        // Behind the tag, the minor version, the number of operations, and SEQUENCE's own number and session.
        let at = MARK + 32 + credential + 8 + 16 + 16;
        let mut sequences = vec![0; SLOTS as usize];
        let slot = word(request, at + 4)? as usize;
        *sequences.get_mut(slot).ok_or("no such slot")? = word(request, at)?.wrapping_sub(1);
        Ok(Self { at, sequences, free: (0..SLOTS).rev().collect() })
    }

    /// Gives the request at `start` a slot and its next sequence id.
    pub fn stamp(&mut self, out: &mut [u8], start: usize) -> Result<(), Box<dyn Error>> {
        let slot = self.free.pop().ok_or("no slot is free")?;
        let sequence = self.sequences.get_mut(slot as usize).ok_or("no such slot")?;
        *sequence = sequence.wrapping_add(1);
        let words = [*sequence, slot, SLOTS - 1].map(u32::to_be_bytes).concat();
        put(out, start + self.at, &words)
    }
}

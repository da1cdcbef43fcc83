//! LOCK, LOCKT, LOCKU: locks on ranges of bytes.
//!
//! Spec: RFC 8881 18.10, RFC 8881 18.11, RFC 8881 18.12

use super::{Call, StateId};
use crate::xdr::{Emit, Malformed, Strict};

/// Bytes of an owner, at most (NFS4_OPAQUE_LIMIT).
const LONGEST_OWNER: usize = 1_024;

/// Kind of a lock (`nfs_lock_type4`): READ_LT and WRITE_LT, or those with W of a client that asks again when it is denied.
#[inline]
fn kind(exclusive: bool, waits: bool) -> u32 {
    1 + u32::from(exclusive) + 2 * u32::from(waits)
}

/// Whose lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// An owner without a lock of this file: the open, the client's id, and the owner.
    New {
        /// The open.
        open: StateId,
        /// Sequence IDs of the open-owner and of the new owner in 4.0; 0 in later versions.
        sequences: (u32, u32),
        /// The client's id.
        client: u64,
        /// The owner's name, unique within this client.
        owner: &'a [u8],
    },
    /// An owner with a lock of this file: its locks, and its sequence ID in 4.0; 0 in later versions.
    Known(StateId, u32),
}

/// LOCK.
#[derive(Clone, Copy, Debug)]
pub struct Lock<'a> {
    /// For writing.
    pub exclusive: bool,
    /// The client will wait and repeat the request.
    pub waits: bool,
    /// The client had the lock before the server restarted.
    pub reclaim: bool,
    /// The first byte.
    pub offset: u64,
    /// How many; all ones for all that there will be.
    pub length: u64,
    /// Whose.
    pub owner: Owner<'a>,
}

impl Call for Lock<'_> {
    const OPERATION: u32 = 12;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(kind(self.exclusive, self.waits));
        out.put_u32(u32::from(self.reclaim));
        out.put_u64(self.offset);
        out.put_u64(self.length);
        match self.owner {
            Owner::New { open, sequences, client, owner } => {
                out.put_u32(1);
                out.put_u32(sequences.0);
                open.emit(out);
                out.put_u32(sequences.1);
                out.put_u64(client);
                out.put_opaque(owner);
            }
            Owner::Known(state, sequence) => {
                out.put_u32(0);
                state.emit(out);
                out.put_u32(sequence);
            }
        }
    }
}

/// LOCKT: would it be granted?
#[derive(Clone, Copy, Debug)]
pub struct TestLock<'a> {
    /// For writing.
    pub exclusive: bool,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub length: u64,
    /// The client's id.
    pub client: u64,
    /// The requester.
    pub owner: &'a [u8],
}

impl Call for TestLock<'_> {
    const OPERATION: u32 = 13;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(kind(self.exclusive, false));
        out.put_u64(self.offset);
        out.put_u64(self.length);
        out.put_u64(self.client);
        out.put_opaque(self.owner);
    }
}

/// LOCKU.
#[derive(Clone, Copy, Debug)]
pub struct Unlock {
    /// The locks of this owner.
    pub state: StateId,
    /// Sequence ID of the owner in 4.0; 0 in later versions.
    pub sequence: u32,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub length: u64,
}

impl Call for Unlock {
    const OPERATION: u32 = 14;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        // Any kind will do (RFC 8881 18.12.3).
        out.put_u32(kind(true, false));
        out.put_u32(self.sequence);
        self.state.emit(out);
        out.put_u64(self.offset);
        out.put_u64(self.length);
    }
}

/// Whose lock is in the way (`LOCK4denied`): offset, length, kind, client, owner.
pub(super) fn skip_denied(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    reader.fixed(28)?;
    reader.opaque(LONGEST_OWNER).map(|_| ())
}

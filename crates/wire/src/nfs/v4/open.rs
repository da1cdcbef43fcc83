//! OPEN: a file, which may be made by it.
//!
//! Spec: RFC 7530 16.16, RFC 8881 18.16

use super::attributes::{Mask, SetAttributes};
use super::reply::skip_change;
use super::{Call, StateId};
use crate::xdr::{Emit, Malformed, Strict};

/// Bytes of an owner, at most (NFS4_OPAQUE_LIMIT).
const LONGEST_OWNER: usize = 1_024;

/// OPEN4_SHARE_ACCESS_READ.
pub const READ: u32 = 1;
/// OPEN4_SHARE_ACCESS_WRITE.
pub const WRITE: u32 = 2;
/// OPEN4_SHARE_ACCESS_WANT_READ_DELEG, from 4.1 on.
pub const READ_DELEGATION: u32 = 0x0100;
/// OPEN4_SHARE_ACCESS_WANT_NO_DELEG, from 4.1 on.
pub const NO_DELEGATION: u32 = 0x0400;

/// What opening does where the file is or is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It must be there.
    Existing,
    /// Creates the file if it does not exist (UNCHECKED4). Of an existing file it sets only the size, and only to 0.
    Unchecked(SetAttributes),
    /// It must not be there (GUARDED4).
    Guarded(SetAttributes),
}

/// Which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim<'a> {
    /// The file with this name in the current directory (CLAIM_NULL).
    Name(&'a [u8]),
    /// The current file handle (CLAIM_FH), from 4.1 on.
    Current,
    /// The current file handle, which this client had open when the server restarted, without a delegation (CLAIM_PREVIOUS).
    Previous,
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Open<'a> {
    /// Access mode and delegation wishes. Other opens are not restricted (OPEN4_SHARE_DENY_NONE).
    pub access: u32,
    /// Sequence ID of the open-owner in 4.0; 0 in later versions, whose sessions have sequence IDs (RFC 8881 8.8).
    pub sequence: u32,
    /// The client's id.
    pub client: u64,
    /// The open-owner, unique within this client.
    pub owner: &'a [u8],
    /// What opening does.
    pub how: How,
    /// Which file.
    pub claim: Claim<'a>,
}

impl Call for Open<'_> {
    const OPERATION: u32 = 18;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.sequence);
        out.put_u32(self.access);
        out.put_u32(0);
        out.put_u64(self.client);
        out.put_opaque(self.owner);
        match self.how {
            How::Existing => out.put_u32(0),
            How::Unchecked(attributes) => {
                out.put_u32(1);
                out.put_u32(0);
                attributes.emit(out);
            }
            How::Guarded(attributes) => {
                out.put_u32(1);
                out.put_u32(1);
                attributes.emit(out);
            }
        }
        match self.claim {
            Claim::Name(name) => {
                out.put_u32(0);
                out.put_opaque(name);
            }
            Claim::Current => out.put_u32(4),
            // OPEN_DELEGATE_NONE.
            Claim::Previous => out.put_u64(1 << 32),
        }
    }
}

/// A file that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The open.
    pub state: StateId,
    /// The server asks for OPEN_CONFIRM, in 4.0 (OPEN4_RESULT_CONFIRM).
    pub unconfirmed: bool,
    /// A delegation that came with it, wanted or not.
    pub delegation: Option<Delegation>,
}

/// A delegation of a file to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// Its state.
    pub state: StateId,
    /// The server recalls it already.
    pub recalled: bool,
    /// It is for writing, too (OPEN_DELEGATE_WRITE).
    pub writes: bool,
}

pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Opened, Malformed> {
    let state = StateId::parse(reader)?;
    skip_change(reader)?;
    let unconfirmed = reader.u32()? & 2 != 0;
    Mask::parse(reader)?;
    Ok(Opened { state, unconfirmed, delegation: parse_delegation(reader)? })
}

/// `open_delegation4`.
fn parse_delegation(reader: &mut Strict<'_>) -> Result<Option<Delegation>, Malformed> {
    let kind = reader.u32()?;
    match kind {
        0 => return Ok(None),
        1 | 2 => {}
        // OPEN_DELEGATE_NONE_EXT: why not; of contention and resources also whether the server will say when.
        3 => {
            if matches!(reader.u32()?, 1 | 2) {
                reader.boolean()?;
            }
            return Ok(None);
        }
        _ => return Err(Malformed),
    }
    let (state, recalled) = (StateId::parse(reader)?, reader.boolean()?);
    let writes = kind == 2;
    if writes {
        // nfs_space_limit4: its kind, and eight bytes whichever that is.
        reader.fixed(12)?;
    }
    // nfsace4: type, flags, mask, who.
    reader.fixed(12)?;
    reader.opaque(LONGEST_OWNER)?;
    Ok(Some(Delegation { state, recalled, writes }))
}

//! WRITE and COMMIT: file data, and its way to stable storage.
//!
//! Spec: RFC 8881 18.32, RFC 8881 18.3

use super::{Call, StateId};
use crate::nfs::v3::write::Stable;
use crate::xdr::{Emit, Malformed, Strict};

/// WRITE, up to its data: `count` bytes and their padding follow, so that it is the last of its compound.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// The open that it belongs to.
    pub state: StateId,
    /// From which byte on.
    pub offset: u64,
    /// How many bytes.
    pub count: u32,
    /// How durable.
    pub stable: Stable,
}

impl Call for Write {
    const OPERATION: u32 = 38;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.state.emit(out);
        out.put_u64(self.offset);
        out.put_u32(self.stable as u32);
        // The length of the data that follows.
        out.put_u32(self.count);
    }
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many bytes.
    pub count: u32,
    /// How durable they are.
    pub committed: Stable,
    /// The server's verifier: a different one means that the server has lost data that was not durable.
    pub verifier: [u8; 8],
}

#[inline]
pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Written, Malformed> {
    Ok(Written { count: reader.u32()?, committed: Stable::parse(reader)?, verifier: reader.array()? })
}

/// COMMIT, of the whole file.
#[derive(Clone, Copy, Debug)]
pub struct Commit;

impl Call for Commit {
    const OPERATION: u32 = 5;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_u64(0);
        out.put_u32(0);
    }
}

//! COPY and CLONE: the server copies from the saved file to the current one.
//!
//! Spec: RFC 7862 15.2, RFC 7862 15.13

use super::{Call, StateId};
use crate::nfs::v3::write::Stable;
use crate::xdr::{Emit, Malformed, Strict};

/// A range of the source, and its place in the destination.
#[derive(Clone, Copy, Debug)]
pub struct Ranges {
    /// The open of the source.
    pub from: StateId,
    /// The open of the destination.
    pub to: StateId,
    /// Where the range begins in the source.
    pub from_offset: u64,
    /// Where the copy begins in the destination.
    pub to_offset: u64,
    /// How many bytes; 0: to the end of the source.
    pub count: u64,
}

impl Ranges {
    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.from.emit(out);
        self.to.emit(out);
        [self.from_offset, self.to_offset, self.count].iter().for_each(|&number| out.put_u64(number));
    }
}

/// COPY on one server: in order, and complete when the response comes.
#[derive(Clone, Copy, Debug)]
pub struct CopyRange(pub Ranges);

impl Call for CopyRange {
    const OPERATION: u32 = 60;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.0.emit(out);
        // Consecutive and synchronous; the source is on this server.
        [1, 1, 0].iter().for_each(|&word| out.put_u32(word));
    }
}

/// The result of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// How many bytes.
    pub count: u64,
    /// How durable they are.
    pub committed: Stable,
    /// The server's verifier: a different one means that the server has lost data that was not durable.
    pub verifier: [u8; 8],
    /// They are the first ones of the range; otherwise any of it.
    pub consecutive: bool,
}

/// Reads the results of a copy that was to be complete: the ID of a copy that goes on violates the specification.
pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Copied, Malformed> {
    if reader.u32()? != 0 {
        return Err(Malformed);
    }
    let (count, committed, verifier) = (reader.u64()?, Stable::parse(reader)?, reader.array()?);
    let (consecutive, synchronous) = (reader.boolean()?, reader.boolean()?);
    if synchronous { Ok(Copied { count, committed, verifier, consecutive }) } else { Err(Malformed) }
}

/// `copy_requirements4`, after NFS4ERR_OFFLOAD_NO_REQS: the server cannot copy as it was asked to. It says how it can.
pub(super) fn skip_requirements(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    reader.boolean()?;
    reader.boolean().map(|_| ())
}

/// CLONE: source and destination share the range until one of them changes.
#[derive(Clone, Copy, Debug)]
pub struct CloneRange(pub Ranges);

call!(CloneRange, OPERATION = 71: 0);

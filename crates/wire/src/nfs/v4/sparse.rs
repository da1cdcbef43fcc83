//! ALLOCATE, DEALLOCATE and SEEK: space of a file, and holes in it.
//!
//! Spec: RFC 7862 15.1, RFC 7862 15.4, RFC 7862 15.11

use super::{Call, StateId};
use crate::xdr::{Emit, Malformed, Strict};

/// A call for a range of an open file.
#[derive(Clone, Copy, Debug)]
pub struct OnRange<const OPERATION: u32> {
    /// The open that it belongs to.
    pub state: StateId,
    /// Where the range begins.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// ALLOCATE: reserves space, so that writes to the range do not fail for lack of it.
pub type Allocate = OnRange<59>;
/// DEALLOCATE: makes a hole.
pub type Deallocate = OnRange<62>;

impl<const OPERATION: u32> Call for OnRange<OPERATION> {
    const OPERATION: u32 = OPERATION;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.state.emit(out);
        out.put_u64(self.offset);
        out.put_u64(self.length);
    }
}

/// SEEK: the next data, or the next hole.
#[derive(Clone, Copy, Debug)]
pub struct Seek {
    /// The open that it belongs to.
    pub state: StateId,
    /// Where the search begins.
    pub offset: u64,
    /// The next hole, and not the next data.
    pub hole: bool,
}

call!(Seek, OPERATION = 69: state, offset, hole);

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file ends before it: there is none.
    pub eof: bool,
    /// Where it begins.
    pub offset: u64,
}

#[inline]
pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Found, Malformed> {
    Ok(Found { eof: reader.boolean()?, offset: reader.u64()? })
}

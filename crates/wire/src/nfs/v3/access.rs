//! ACCESS: the user's permissions.
//!
//! Spec: RFC 1813 3.3.4

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use crate::xdr::Malformed;

/// Every right there is: READ, LOOKUP, MODIFY, EXTEND, DELETE, EXECUTE.
pub const ALL_RIGHTS: u32 = 0x3F;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The file.
    pub object: &'a FileHandle,
    /// The rights asked for.
    pub rights: u32,
}

call!(Access<'_>, PROCEDURE = 4: object, rights);

/// Reads the results: the rights that would be granted.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<u32>, Malformed> {
    answer(
        bytes,
        |reader| {
            skip_attributes(reader)?;
            reader.u32()
        },
        refused_with_attributes,
    )
}

//! LOOKUP: from a name in a directory to a handle.
//!
//! Spec: RFC 1813 3.3.3

use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use super::{Attributes, FileHandle, Place};
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// Where to look.
    pub what: Place<'a>,
}

call!(Lookup<'_>, PROCEDURE = 3: what);

/// The object that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its handle.
    pub object: FileHandle,
    /// Its attributes, where the server tells.
    pub attributes: Option<Attributes>,
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<Found>, Malformed> {
    answer(
        bytes,
        |reader| {
            let object = FileHandle::parse(reader)?;
            let attributes = Attributes::parse_optional(reader)?;
            skip_attributes(reader)?;
            Ok(Found { object, attributes })
        },
        refused_with_attributes,
    )
}

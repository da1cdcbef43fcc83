//! READLINK: the target of a symbolic link.
//!
//! Spec: RFC 1813 3.3.5

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use crate::xdr::Malformed;

/// Bytes of a link's text, at most. The specification has no limit; Linux' PATH_MAX is 4,096.
pub const MAX_TEXT: usize = 16 << 10;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct ReadLink<'a> {
    /// The link.
    pub link: &'a FileHandle,
}

call!(ReadLink<'_>, PROCEDURE = 5: link);

/// Reads the results: the text.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<&[u8]>, Malformed> {
    answer(
        bytes,
        |reader| {
            skip_attributes(reader)?;
            reader.opaque(MAX_TEXT)
        },
        refused_with_attributes,
    )
}

//! COMMIT: makes unstable writes durable.
//!
//! Spec: RFC 1813 3.3.21

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_change};
use super::attributes::skip_change;
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    /// The file.
    pub file: &'a FileHandle,
    /// From which byte on.
    pub offset: u64,
    /// How many bytes; 0 means to the end of the file.
    pub count: u32,
}

call!(Commit<'_>, PROCEDURE = 21: file, offset, count);

/// Reads the results: the server's verifier. If it differs from that of the writes, the server has lost data that was not durable.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<[u8; 8]>, Malformed> {
    answer(
        bytes,
        |reader| {
            skip_change(reader)?;
            reader.array()
        },
        refused_with_change,
    )
}

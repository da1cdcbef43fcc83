//! COMMIT: makes unstable writes durable.
//!
//! Spec: RFC 1813 3.3.21

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_change};
use super::attributes::skip_change;
use crate::xdr::{Emit, Malformed};

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

impl Call for Commit<'_> {
    const PROCEDURE: u32 = 21;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.file.emit(out);
        out.put_u64(self.offset);
        out.put_u32(self.count);
    }
}

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

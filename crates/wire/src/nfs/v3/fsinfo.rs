//! FSINFO: how large reads and writes may be.
//!
//! Spec: RFC 1813 3.3.19

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct FsInfo<'a> {
    /// The file system's root.
    pub root: &'a FileHandle,
}

call!(FsInfo<'_>, PROCEDURE = 19: root);

/// The server's limits, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A READ's count, at most.
    pub read_max: u32,
    /// A READ's count that it likes.
    pub read_preferred: u32,
    /// A WRITE's count, at most.
    pub write_max: u32,
    /// A WRITE's count that it likes.
    pub write_preferred: u32,
    /// A READDIR's count that it likes.
    pub directory_preferred: u32,
    /// A file, at most.
    pub file_max: u64,
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<Limits>, Malformed> {
    answer(
        bytes,
        |reader| {
            skip_attributes(reader)?;
            let (read_max, read_preferred, _multiple) = (reader.u32()?, reader.u32()?, reader.u32()?);
            let (write_max, write_preferred, _multiple) = (reader.u32()?, reader.u32()?, reader.u32()?);
            let (directory_preferred, file_max) = (reader.u32()?, reader.u64()?);
            // Granularity of time, and properties.
            reader.fixed(12)?;
            Ok(Limits { read_max, read_preferred, write_max, write_preferred, directory_preferred, file_max })
        },
        refused_with_attributes,
    )
}

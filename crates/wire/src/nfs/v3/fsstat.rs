//! FSSTAT: how full a file system is.
//!
//! Spec: RFC 1813 3.3.18

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct FsStat<'a> {
    /// The file system's root.
    pub root: &'a FileHandle,
}

call!(FsStat<'_>, PROCEDURE = 18: root);

/// How full it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Size, bytes.
    pub total: u64,
    /// Free, bytes.
    pub free: u64,
    /// Free for this user, bytes.
    pub available: u64,
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<Space>, Malformed> {
    answer(
        bytes,
        |reader| {
            skip_attributes(reader)?;
            let space = Space { total: reader.u64()?, free: reader.u64()?, available: reader.u64()? };
            // The same of files, and for how long it holds.
            reader.fixed(28)?;
            Ok(space)
        },
        refused_with_attributes,
    )
}

//! READDIRPLUS: names in a directory, with handles and attributes.
//!
//! Spec: RFC 1813 3.3.17

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use super::handle::parse_optional;
use super::readdir::{Entry, Page, page};
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct ReadDirPlus<'a> {
    /// The directory.
    pub directory: &'a FileHandle,
    /// The last entry had this cookie; 0 begins.
    pub cookie: u64,
    /// The verifier that came with it; 0 begins.
    pub verifier: [u8; 8],
    /// Bytes of names and cookies, at most.
    pub directory_count: u32,
    /// Bytes of the results, at most.
    pub count: u32,
}

call!(ReadDirPlus<'_>, PROCEDURE = 17: directory, cookie, verifier, directory_count, count);

/// Reads the results, handing each entry to `entry` as it comes. Its attributes and handle are stepped over.
#[inline]
pub fn parse<'a>(bytes: &'a [u8], entry: impl FnMut(Entry<'a>)) -> Result<Answer<Page>, Malformed> {
    answer(
        bytes,
        |reader| {
            page(reader, entry, |reader| {
                skip_attributes(reader)?;
                parse_optional(reader).map(|_| ())
            })
        },
        refused_with_attributes,
    )
}

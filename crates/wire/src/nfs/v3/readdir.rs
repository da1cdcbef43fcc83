//! READDIR: names in a directory.
//!
//! Spec: RFC 1813 3.3.16

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use crate::xdr::{Malformed, Strict};

/// Bytes of a name, at most. The specification has no limit; 255 is what file systems have, in characters of up to four.
pub const MAX_NAME: usize = 1_024;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct ReadDir<'a> {
    /// The directory.
    pub directory: &'a FileHandle,
    /// The last entry had this cookie; 0 begins.
    pub cookie: u64,
    /// The verifier that came with it; 0 begins.
    pub verifier: [u8; 8],
    /// Bytes of the results, at most.
    pub count: u32,
}

call!(ReadDir<'_>, PROCEDURE = 16: directory, cookie, verifier, count);

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Number of the file.
    pub file_id: u64,
    /// Its name.
    pub name: &'a [u8],
    /// Where the next entry begins.
    pub cookie: u64,
}

/// A page of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// To be sent with the next call.
    pub verifier: [u8; 8],
    /// The last entry's cookie, where there was one.
    pub cookie: Option<u64>,
    /// The directory ends here.
    pub eof: bool,
}

/// Reads the results, handing each entry to `entry` as it comes. Where the results turn out to be malformed some were
/// handed over already.
#[inline]
pub fn parse<'a>(bytes: &'a [u8], entry: impl FnMut(Entry<'a>)) -> Result<Answer<Page>, Malformed> {
    answer(bytes, |reader| page(reader, entry, |_| Ok(())), refused_with_attributes)
}

/// A page, of whose entries `rest` steps over what follows the cookie.
pub(super) fn page<'a>(
    reader: &mut Strict<'a>,
    mut entry: impl FnMut(Entry<'a>),
    mut rest: impl FnMut(&mut Strict<'a>) -> Result<(), Malformed>,
) -> Result<Page, Malformed> {
    skip_attributes(reader)?;
    let verifier = reader.array()?;
    let mut last = None;
    while reader.boolean()? {
        let (file_id, name, cookie) = (reader.u64()?, reader.opaque(MAX_NAME)?, reader.u64()?);
        rest(reader)?;
        last = Some(cookie);
        entry(Entry { file_id, name, cookie });
    }
    Ok(Page { verifier, cookie: last, eof: reader.boolean()? })
}

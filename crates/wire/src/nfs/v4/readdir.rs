//! READDIR: names in a directory, and attributes of the named objects.
//!
//! Spec: RFC 8881 18.23

use super::Call;
use super::attributes::{Attributes, Mask};
use crate::nfs::v3::readdir::MAX_NAME;
use crate::xdr::{Malformed, Strict};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct ReadDir {
    /// The last entry had this cookie; 0 begins.
    pub cookie: u64,
    /// The verifier that came with it; 0 begins.
    pub verifier: [u8; 8],
    /// Bytes of names and cookies, at most: a hint.
    pub directory_count: u32,
    /// Bytes of the results, at most.
    pub count: u32,
    /// Attributes of the entries.
    pub attributes: Mask,
}

call!(ReadDir, OPERATION = 26: cookie, verifier, directory_count, count, attributes);

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Where the next entry begins.
    pub cookie: u64,
    /// Attributes of the named object.
    pub attributes: Attributes,
}

/// A page of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// To be sent with the next call.
    pub verifier: [u8; 8],
    /// The last entry's cookie, where there was one.
    pub cookie: Option<u64>,
    /// The directory ends here.
    pub eof: bool,
    /// The entries, which were read once.
    entries: &'a [u8],
}

impl<'a> Page<'a> {
    /// The entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let mut reader = Strict::new(self.entries);
        std::iter::from_fn(move || entry(&mut reader).ok().flatten())
    }
}

/// The next entry; `None` behind the last one.
fn entry<'a>(reader: &mut Strict<'a>) -> Result<Option<Entry<'a>>, Malformed> {
    if !reader.boolean()? {
        return Ok(None);
    }
    let (cookie, name) = (reader.u64()?, reader.opaque(MAX_NAME)?);
    Ok(Some(Entry { name, cookie, attributes: Attributes::parse(reader)? }))
}

pub(super) fn parse<'a>(reader: &mut Strict<'a>) -> Result<Page<'a>, Malformed> {
    let verifier = reader.array()?;
    let entries = reader.rest();
    let mut cookie = None;
    while let Some(entry) = entry(reader)? {
        cookie = Some(entry.cookie);
    }
    let entries = entries.get(..entries.len() - reader.rest().len()).unwrap_or_default();
    Ok(Page { verifier, cookie, eof: reader.boolean()?, entries })
}

//! LINK: gives a file another name.
//!
//! Spec: RFC 1813 3.3.15

use super::answer::{Answer, Call, answer};
use super::attributes::{skip_attributes, skip_change};
use super::{FileHandle, Place};
use crate::xdr::{Malformed, Strict};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The file.
    pub file: &'a FileHandle,
    /// Its new name.
    pub place: Place<'a>,
}

call!(Link<'_>, PROCEDURE = 15: file, place);

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<()>, Malformed> {
    answer(bytes, both, both)
}

fn both(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    skip_attributes(reader)?;
    skip_change(reader)
}

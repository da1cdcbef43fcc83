//! CREATE: makes a file.
//!
//! Spec: RFC 1813 3.3.8

use super::answer::{Answer, Call, answer, refused_with_change};
use super::attributes::skip_change;
use super::handle::parse_optional;
use super::{Attributes, FileHandle, Place, SetAttributes};
use crate::xdr::{Emit, Malformed, Strict};

/// `createhow3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// UNCHECKED: an existing file is not an error.
    Unchecked(SetAttributes),
    /// GUARDED: an existing file is an error.
    Guarded(SetAttributes),
    /// EXCLUSIVE: likewise, unless this verifier made it.
    Exclusive([u8; 8]),
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Create<'a> {
    /// Its place.
    pub place: Place<'a>,
    /// How.
    pub how: How,
}

impl Call for Create<'_> {
    const PROCEDURE: u32 = 8;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.place.emit(out);
        match &self.how {
            How::Unchecked(attributes) => {
                out.put_u32(0);
                attributes.emit(out);
            }
            How::Guarded(attributes) => {
                out.put_u32(1);
                attributes.emit(out);
            }
            How::Exclusive(verifier) => {
                out.put_u32(2);
                out.put_fixed(verifier);
            }
        }
    }
}

/// The new object of CREATE, MKDIR, SYMLINK or MKNOD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its handle, where the server tells.
    pub object: Option<FileHandle>,
    /// Its attributes, where the server tells.
    pub attributes: Option<Attributes>,
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<Made>, Malformed> {
    answer(bytes, made, refused_with_change)
}

#[inline]
fn made(reader: &mut Strict<'_>) -> Result<Made, Malformed> {
    let object = parse_optional(reader)?;
    let attributes = Attributes::parse_optional(reader)?;
    skip_change(reader)?;
    Ok(Made { object, attributes })
}

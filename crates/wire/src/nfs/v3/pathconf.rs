//! PATHCONF: what names may be like.
//!
//! Spec: RFC 1813 3.3.20

use super::FileHandle;
use super::answer::{Answer, Call, answer, refused_with_attributes};
use super::attributes::skip_attributes;
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct PathConf<'a> {
    /// A file or directory.
    pub object: &'a FileHandle,
}

impl Call for PathConf<'_> {
    const PROCEDURE: u32 = 20;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.object.emit(out);
    }
}

/// What names may be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naming {
    /// Hard links of a file, at most.
    pub link_max: u32,
    /// Bytes of a name, at most.
    pub name_max: u32,
    /// Names that are too long are refused, not cut.
    pub no_truncation: bool,
    /// Only a privileged user may give files away.
    pub ownership_restricted: bool,
    /// `a` and `A` are the same name.
    pub case_insensitive: bool,
    /// Names keep their case.
    pub case_preserving: bool,
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<Naming>, Malformed> {
    answer(
        bytes,
        |reader| {
            skip_attributes(reader)?;
            Ok(Naming {
                link_max: reader.u32()?,
                name_max: reader.u32()?,
                no_truncation: reader.boolean()?,
                ownership_restricted: reader.boolean()?,
                case_insensitive: reader.boolean()?,
                case_preserving: reader.boolean()?,
            })
        },
        refused_with_attributes,
    )
}

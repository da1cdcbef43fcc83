//! GETATTR: a file's attributes.
//!
//! Spec: RFC 1813 3.3.1

use super::answer::{Answer, Call, answer};
use super::{Attributes, FileHandle};
use crate::nfs::Facts;
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct GetAttr<'a> {
    /// The file.
    pub object: &'a FileHandle,
}

impl Call for GetAttr<'_> {
    const PROCEDURE: u32 = 1;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.object.emit(out);
    }

    #[inline]
    fn facts<'a>(&'a self, _: &'a [u8]) -> Facts<'a> {
        Facts { handle: Some(self.object.as_bytes()), ..Facts::default() }
    }
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<Attributes>, Malformed> {
    answer(bytes, Attributes::parse, |_| Ok(()))
}

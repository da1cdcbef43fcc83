//! SETATTR: sets attributes, the size among them. Without a guard.
//!
//! Spec: RFC 1813 3.3.2

use super::answer::{Answer, Call, changed};
use super::{FileHandle, SetAttributes};
use crate::xdr::{Emit, Malformed};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct SetAttr<'a> {
    /// The file.
    pub object: &'a FileHandle,
    /// What to set.
    pub attributes: SetAttributes,
}

impl Call for SetAttr<'_> {
    const PROCEDURE: u32 = 2;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.object.emit(out);
        self.attributes.emit(out);
        // sattrguard3: FALSE.
        out.put_u32(0);
    }
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<()>, Malformed> {
    changed(bytes, 1)
}

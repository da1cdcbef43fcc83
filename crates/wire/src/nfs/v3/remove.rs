//! REMOVE: removes a file.
//!
//! Spec: RFC 1813 3.3.12

use super::Place;
use super::answer::{Answer, Call, changed};
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Remove<'a> {
    /// What to remove.
    pub object: Place<'a>,
}

impl Call for Remove<'_> {
    const PROCEDURE: u32 = 12;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.object.emit(out);
    }
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<()>, Malformed> {
    changed(bytes, 1)
}

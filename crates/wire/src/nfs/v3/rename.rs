//! RENAME: gives a file or directory another place.
//!
//! Spec: RFC 1813 3.3.14

use super::Place;
use super::answer::{Answer, Call, changed};
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Rename<'a> {
    /// Where it is.
    pub from: Place<'a>,
    /// Where it shall be.
    pub to: Place<'a>,
}

impl Call for Rename<'_> {
    const PROCEDURE: u32 = 14;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.from.emit(out);
        self.to.emit(out);
    }
}

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<()>, Malformed> {
    changed(bytes, 2)
}

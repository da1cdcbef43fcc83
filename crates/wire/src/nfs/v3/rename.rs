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

call!(Rename<'_>, PROCEDURE = 14: from, to);

/// Reads the results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<Answer<()>, Malformed> {
    changed(bytes, 2)
}

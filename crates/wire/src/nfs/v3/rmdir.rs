//! RMDIR: removes an empty directory.
//!
//! Spec: RFC 1813 3.3.13

use super::Place;
use super::answer::{Answer, Call, changed};
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct RemoveDir<'a> {
    /// What to remove.
    pub object: Place<'a>,
}

impl Call for RemoveDir<'_> {
    const PROCEDURE: u32 = 13;

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

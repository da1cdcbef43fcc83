//! REMOVE and RMDIR: removes a file, or an empty directory.
//!
//! Spec: RFC 1813 3.3.12, RFC 1813 3.3.13

use super::Place;
use super::answer::{Answer, Call, changed};
use crate::xdr::Malformed;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Removal<'a, const PROCEDURE: u32> {
    /// What to remove.
    pub object: Place<'a>,
}

/// REMOVE.
pub type Remove<'a> = Removal<'a, 12>;
/// RMDIR.
pub type RemoveDir<'a> = Removal<'a, 13>;

impl<const PROCEDURE: u32> Call for Removal<'_, PROCEDURE> {
    const PROCEDURE: u32 = PROCEDURE;

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

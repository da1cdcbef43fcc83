//! NULL: no arguments, no results.
//!
//! Spec: RFC 1813 3.3.0

use super::answer::Call;
use crate::xdr::{Malformed, Strict};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Null;

impl Call for Null {
    const PROCEDURE: u32 = 0;

    #[inline]
    fn emit(&self, _out: &mut Vec<u8>) {}
}

/// Checks that there are no results.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<(), Malformed> {
    Strict::new(bytes).end()
}

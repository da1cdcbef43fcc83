//! SYMLINK: makes a symbolic link.
//!
//! Spec: RFC 1813 3.3.10

use super::answer::Call;
use super::{Place, SetAttributes};
use crate::xdr::Emit;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct SymLink<'a> {
    /// Its place.
    pub place: Place<'a>,
    /// Its attributes.
    pub attributes: SetAttributes,
    /// The link's target.
    pub text: &'a [u8],
}

impl Call for SymLink<'_> {
    const PROCEDURE: u32 = 10;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.place.emit(out);
        self.attributes.emit(out);
        out.put_opaque(self.text);
    }
}

pub use super::create::parse;

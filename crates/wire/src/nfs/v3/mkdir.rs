//! MKDIR: makes a directory.
//!
//! Spec: RFC 1813 3.3.9

use super::answer::Call;
use super::{Place, SetAttributes};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct MakeDir<'a> {
    /// Its place.
    pub place: Place<'a>,
    /// Its attributes.
    pub attributes: SetAttributes,
}

impl Call for MakeDir<'_> {
    const PROCEDURE: u32 = 9;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.place.emit(out);
        self.attributes.emit(out);
    }
}

pub use super::create::parse;

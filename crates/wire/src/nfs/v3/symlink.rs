//! SYMLINK: makes a symbolic link.
//!
//! Spec: RFC 1813 3.3.10

use super::answer::Call;
use super::{Place, SetAttributes};

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

call!(SymLink<'_>, PROCEDURE = 10: place, attributes, text);

pub use super::create::parse;

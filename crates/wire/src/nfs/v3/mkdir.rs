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

call!(MakeDir<'_>, PROCEDURE = 9: place, attributes);

pub use super::create::parse;

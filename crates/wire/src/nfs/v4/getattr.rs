//! GETATTR and SETATTR: attributes of the current file handle.
//!
//! Spec: RFC 8881 18.7, RFC 8881 18.30

use super::attributes::{Mask, SetAttributes};
use super::{Call, StateId};

/// GETATTR.
#[derive(Clone, Copy, Debug)]
pub struct GetAttributes(
    /// The attributes that are asked for.
    pub Mask,
);

impl Call for GetAttributes {
    const OPERATION: u32 = 9;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.0.emit(out);
    }
}

/// SETATTR.
#[derive(Clone, Copy, Debug)]
pub struct ChangeAttributes {
    /// The open that a new size needs; [`StateId::ANONYMOUS`] without one.
    pub state: StateId,
    /// The attributes to set.
    pub attributes: SetAttributes,
}

impl Call for ChangeAttributes {
    const OPERATION: u32 = 34;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.state.emit(out);
        self.attributes.emit(out);
    }
}

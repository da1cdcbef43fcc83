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

call!(GetAttributes, OPERATION = 9: 0);

/// SETATTR.
#[derive(Clone, Copy, Debug)]
pub struct ChangeAttributes {
    /// The open that a new size needs; [`StateId::ANONYMOUS`] without one.
    pub state: StateId,
    /// The attributes to set.
    pub attributes: SetAttributes,
}

call!(ChangeAttributes, OPERATION = 34: state, attributes);

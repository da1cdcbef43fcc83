//! CLOSE, DELEGRETURN and FREE_STATEID: state that is given back.
//!
//! Spec: RFC 8881 18.2, RFC 8881 18.6, RFC 8881 18.38

use super::{Call, StateId};

/// CLOSE: of the current file handle.
#[derive(Clone, Copy, Debug)]
pub struct Close {
    /// The open.
    pub state: StateId,
    /// Sequence ID of the open-owner in 4.0; 0 in later versions.
    pub sequence: u32,
}

call!(Close, OPERATION = 4: sequence, state);

/// DELEGRETURN: of the current file handle.
#[derive(Clone, Copy, Debug)]
pub struct ReturnDelegation {
    /// The delegation.
    pub state: StateId,
}

call!(ReturnDelegation, OPERATION = 8: state);

/// FREE_STATEID: of a state that the server has revoked, from 4.1 on.
#[derive(Clone, Copy, Debug)]
pub struct FreeState {
    /// The revoked state.
    pub state: StateId,
}

call!(FreeState, OPERATION = 45: state);

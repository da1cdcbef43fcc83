//! CLOSE, DELEGRETURN and FREE_STATEID: state that is given back.
//!
//! Spec: RFC 8881 18.2, RFC 8881 18.6, RFC 8881 18.38

use super::{Call, StateId};
use crate::xdr::Emit;

/// CLOSE: of the current file handle.
#[derive(Clone, Copy, Debug)]
pub struct Close {
    /// The open.
    pub state: StateId,
    /// Sequence ID of the open-owner in 4.0; 0 in later versions.
    pub sequence: u32,
}

impl Call for Close {
    const OPERATION: u32 = 4;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.sequence);
        self.state.emit(out);
    }
}

/// DELEGRETURN: of the current file handle.
#[derive(Clone, Copy, Debug)]
pub struct ReturnDelegation {
    /// The delegation.
    pub state: StateId,
}

impl Call for ReturnDelegation {
    const OPERATION: u32 = 8;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.state.emit(out);
    }
}

/// FREE_STATEID: of a state that the server has revoked, from 4.1 on.
#[derive(Clone, Copy, Debug)]
pub struct FreeState {
    /// The revoked state.
    pub state: StateId,
}

impl Call for FreeState {
    const OPERATION: u32 = 45;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.state.emit(out);
    }
}

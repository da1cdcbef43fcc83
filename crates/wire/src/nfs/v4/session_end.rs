//! The first and the last operations of a session: RECLAIM_COMPLETE, DESTROY_SESSION, DESTROY_CLIENTID.
//!
//! Spec: RFC 8881 18.51, RFC 8881 18.37, RFC 8881 18.50

use super::Call;
use super::sequence::SessionId;
use crate::xdr::Emit;

/// RECLAIM_COMPLETE: nothing from before a restart of the server is claimed, or nothing more.
#[derive(Clone, Copy, Debug)]
pub struct ReclaimComplete;

impl Call for ReclaimComplete {
    const OPERATION: u32 = 58;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        // Of all file systems.
        out.put_u32(0);
    }
}

/// DESTROY_SESSION.
#[derive(Clone, Copy, Debug)]
pub struct DestroySession(
    /// Which.
    pub SessionId,
);

call!(DestroySession, OPERATION = 44: 0);

/// DESTROY_CLIENTID.
#[derive(Clone, Copy, Debug)]
pub struct DestroyClient(
    /// Its id.
    pub u64,
);

call!(DestroyClient, OPERATION = 57: 0);

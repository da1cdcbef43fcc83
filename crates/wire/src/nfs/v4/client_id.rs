//! What NFSv4.0 has in place of sessions: SETCLIENTID, SETCLIENTID_CONFIRM and RENEW for the client, OPEN_CONFIRM for an open-owner.
//!
//! Spec: RFC 7530 16.33, RFC 7530 16.34, RFC 7530 16.29, RFC 7530 16.18

use super::{Call, StateId};
use crate::xdr::{Emit, Malformed, Strict};

/// Bytes of a network id and of an address, at most. The specification has no limit.
const LONGEST: usize = 1_024;

/// SETCLIENTID, of a client that the server cannot call.
#[derive(Clone, Copy, Debug)]
pub struct SetClientId<'a> {
    /// Another one than before, and the server forgets the state that this owner had.
    pub verifier: [u8; 8],
    /// Which client this is, among all that the server has.
    pub owner: &'a [u8],
    /// Program number of callbacks.
    pub callback: u32,
}

impl Call for SetClientId<'_> {
    const OPERATION: u32 = 35;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_fixed(&self.verifier);
        out.put_opaque(self.owner);
        out.put_u32(self.callback);
        // An address that the server cannot call, so it grants no delegations (RFC 7530 16.33.5).
        out.put_opaque(b"tcp");
        out.put_opaque(b"0.0.0.0.0.0");
        out.put_u32(1);
    }
}

/// The server's answer to SETCLIENTID: SETCLIENTID_CONFIRM repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// The client's id.
    pub client: u64,
    /// Proof that the client has seen the answer.
    pub verifier: [u8; 8],
}

call!(Unconfirmed, OPERATION = 36: client, verifier);

/// RENEW: the lease of a client.
#[derive(Clone, Copy, Debug)]
pub struct Renew(
    /// Its id.
    pub u64,
);

call!(Renew, OPERATION = 30: 0);

/// OPEN_CONFIRM: the first open of an owner that the server did not know.
#[derive(Clone, Copy, Debug)]
pub struct ConfirmOpen {
    /// The open.
    pub state: StateId,
    /// Of the open-owner.
    pub sequence: u32,
}

call!(ConfirmOpen, OPERATION = 20: state, sequence);

pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Unconfirmed, Malformed> {
    Ok(Unconfirmed { client: reader.u64()?, verifier: reader.array()? })
}

/// Who has the name (`clientaddr4`): network id and address.
pub(super) fn skip_user(reader: &mut Strict<'_>) -> Result<(), Malformed> {
    reader.opaque(LONGEST)?;
    reader.opaque(LONGEST).map(|_| ())
}

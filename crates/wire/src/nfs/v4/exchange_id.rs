//! EXCHANGE_ID: identities of client and server.
//!
//! Spec: RFC 8881 18.35

use super::Call;
use crate::xdr::{Emit, Malformed, Strict};

/// EXCHGID4_FLAG_USE_NON_PNFS.
pub const WITHOUT_PNFS: u32 = 0x0001_0000;
/// Bytes of owners, scopes and names, at most (NFS4_OPAQUE_LIMIT).
const LONGEST: usize = 1_024;

/// The call. Only the client's credential protects its state (SP4_NONE).
#[derive(Clone, Copy, Debug)]
pub struct ExchangeId<'a> {
    /// Another one than before, and the server forgets the state that this owner had.
    pub verifier: [u8; 8],
    /// Which client this is, among all that the server has.
    pub owner: &'a [u8],
    /// Its capabilities.
    pub flags: u32,
}

impl Call for ExchangeId<'_> {
    const OPERATION: u32 = 42;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_fixed(&self.verifier);
        out.put_opaque(self.owner);
        out.put_u32(self.flags);
        // SP4_NONE, and no description of the implementation.
        out.put_u64(0);
    }
}

/// The server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client<'a> {
    /// The client's id.
    pub id: u64,
    /// The sequence id of the CREATE_SESSION that follows.
    pub sequence: u32,
    /// What both can do.
    pub flags: u32,
    /// The server's name for its implementation, where it says.
    pub implementation: Option<&'a [u8]>,
}

impl Client<'_> {
    /// The server knew this client, with a session, before it was asked (EXCHGID4_FLAG_CONFIRMED_R).
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.flags & 0x8000_0000 != 0
    }
}

pub(super) fn parse<'a>(reader: &mut Strict<'a>) -> Result<Client<'a>, Malformed> {
    let (id, sequence, flags) = (reader.u64()?, reader.u32()?, reader.u32()?);
    // The request was for SP4_NONE.
    if reader.u32()? != 0 {
        return Err(Malformed);
    }
    // server_owner4, and the scope of the owner.
    reader.u64()?;
    reader.opaque(LONGEST)?;
    reader.opaque(LONGEST)?;
    let implementation = match reader.u32()? {
        0 => None,
        1 => {
            reader.opaque(LONGEST)?;
            let name = reader.opaque(LONGEST)?;
            reader.fixed(12)?;
            Some(name)
        }
        _ => return Err(Malformed),
    };
    Ok(Client { id, sequence, flags, implementation })
}

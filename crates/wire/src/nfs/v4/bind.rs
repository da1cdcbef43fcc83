//! BIND_CONN_TO_SESSION: one more connection of a session, or the next one after a loss.
//!
//! Spec: RFC 8881 18.34

use super::Call;
use super::sequence::SessionId;
use crate::xdr::{Emit, Malformed, Strict};

/// CDFC4_FORE_OR_BOTH: requests of the client, and, if the server agrees, requests of the server.
const FORE_OR_BOTH: u32 = 3;
/// CDFS4_FORE, CDFS4_BACK, CDFS4_BOTH.
const DIRECTIONS: std::ops::RangeInclusive<u32> = 1..=3;
/// The bit of the back channel among them.
const BACK: u32 = 2;

/// The call. It stands alone in its compound.
#[derive(Clone, Copy, Debug)]
pub struct BindConnection(
    /// Which session.
    pub SessionId,
);

impl Call for BindConnection {
    const OPERATION: u32 = 41;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_fixed(&self.0);
        out.put_u32(FORE_OR_BOTH);
        // Not in RDMA mode.
        out.put_u32(0);
    }
}

/// The use of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The session again.
    pub session: SessionId,
    /// The server may call on the connection.
    pub back_channel: bool,
}

pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Bound, Malformed> {
    let (session, direction) = (reader.array()?, reader.u32()?);
    reader.boolean()?;
    let back_channel = direction & BACK != 0;
    DIRECTIONS.contains(&direction).then_some(Bound { session, back_channel }).ok_or(Malformed)
}

//! State ids, which identify a client's opens, locks and delegations on the server.
//!
//! Spec: RFC 8881 3.3.12 (`stateid4`), RFC 8881 8.2

use crate::xdr::{Emit, Malformed, Strict};

/// `stateid4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId {
    /// Counts the changes of the state; 0 means the latest (RFC 8881 8.2.2).
    pub sequence: u32,
    /// Which state.
    pub other: [u8; 12],
}

impl StateId {
    /// No state: reads and writes with it belong to no open (RFC 8881 8.2.3).
    pub const ANONYMOUS: Self = Self { sequence: 0, other: [0; 12] };

    /// The same state, however often it changed meanwhile.
    #[must_use]
    pub fn latest(self) -> Self {
        Self { sequence: 0, ..self }
    }

    /// Reads it.
    ///
    /// # Errors
    /// The bytes end before.
    #[inline]
    pub fn parse(reader: &mut Strict<'_>) -> Result<Self, Malformed> {
        Ok(Self { sequence: reader.u32()?, other: reader.array()? })
    }

    /// Appends it.
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.sequence);
        out.put_fixed(&self.other);
    }
}

//! ACCESS: the caller's permissions.
//!
//! Spec: RFC 8881 18.1

use super::Call;
use crate::xdr::{Malformed, Strict};

/// READ, LOOKUP, MODIFY, EXTEND, DELETE, EXECUTE.
pub const ALL_RIGHTS: u32 = 0x3F;

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The rights that are asked about.
    pub rights: u32,
}

call!(Access, OPERATION = 3: rights);

/// Permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The rights that the server can tell of.
    pub supported: u32,
    /// Those that the caller has.
    pub granted: u32,
}

#[inline]
pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Granted, Malformed> {
    Ok(Granted { supported: reader.u32()?, granted: reader.u32()? })
}

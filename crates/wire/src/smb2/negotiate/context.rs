//! Negotiate contexts of dialect 3.1.1: their numbers.
//!
//! Spec: MS-SMB2 2.2.3.1, 2.2.4.1

/// Contexts begin at multiples of this, counted from the message's header.
pub(super) const ALIGNMENT: usize = 8;
/// ContextType u16, DataLength u16, reserved u32.
pub(super) const HEADER_LEN: usize = 8;

/// SMB2_PREAUTH_INTEGRITY_CAPABILITIES.
pub const PREAUTH_INTEGRITY: u16 = 1;
/// SMB2_ENCRYPTION_CAPABILITIES.
pub const ENCRYPTION: u16 = 2;
/// SMB2_NETNAME_NEGOTIATE_CONTEXT_ID.
pub const NETNAME: u16 = 5;
/// SMB2_SIGNING_CAPABILITIES.
pub const SIGNING: u16 = 8;

/// The only preauthentication hash.
pub const HASH_SHA512: u16 = 1;

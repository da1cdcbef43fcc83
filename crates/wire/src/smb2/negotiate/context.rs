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
/// SMB2_COMPRESSION_CAPABILITIES.
pub const COMPRESSION: u16 = 3;
/// SMB2_NETNAME_NEGOTIATE_CONTEXT_ID.
pub const NETNAME: u16 = 5;
/// SMB2_SIGNING_CAPABILITIES.
pub const SIGNING: u16 = 8;

/// The only preauthentication hash.
pub const HASH_SHA512: u16 = 1;

/// Ciphers: AES-128-CCM.
pub const CIPHER_AES128_CCM: u16 = 1;
/// AES-128-GCM.
pub const CIPHER_AES128_GCM: u16 = 2;
/// AES-256-CCM.
pub const CIPHER_AES256_CCM: u16 = 3;
/// AES-256-GCM.
pub const CIPHER_AES256_GCM: u16 = 4;

/// Signing algorithms: HMAC-SHA256.
pub const SIGN_HMAC_SHA256: u16 = 0;
/// AES-CMAC.
pub const SIGN_AES_CMAC: u16 = 1;
/// AES-GMAC.
pub const SIGN_AES_GMAC: u16 = 2;

//! Where the fields of a create context lie, and the names that there are.
//!
//! Spec: MS-SMB2 2.2.13.2, 2.2.14.2

/// Next, u32: from this context on, 0 in the last.
pub(super) const NEXT: usize = 0;
/// NameOffset and NameLength, u16 each.
pub(super) const NAME_OFFSET: usize = 4;
/// DataOffset u16, DataLength u32.
pub(super) const DATA_OFFSET: usize = 10;
/// Where senders have the name: behind the fixed part.
pub(super) const NAME_AT: usize = 16;
/// Contexts, and their data, begin at multiples of this.
pub(super) const ALIGNMENT: usize = 8;

/// SMB2_CREATE_REQUEST_LEASE, of either version.
pub const LEASE: [u8; 4] = *b"RqLs";
/// SMB2_CREATE_DURABLE_HANDLE_REQUEST.
pub const DURABLE: [u8; 4] = *b"DHnQ";
/// SMB2_CREATE_DURABLE_HANDLE_RECONNECT.
pub const RECONNECT: [u8; 4] = *b"DHnC";
/// SMB2_CREATE_DURABLE_HANDLE_REQUEST_V2.
pub const DURABLE_2: [u8; 4] = *b"DH2Q";
/// SMB2_CREATE_DURABLE_HANDLE_RECONNECT_V2.
pub const RECONNECT_2: [u8; 4] = *b"DH2C";
/// SMB2_CREATE_QUERY_MAXIMAL_ACCESS_REQUEST.
pub const MAXIMAL_ACCESS: [u8; 4] = *b"MxAc";
/// SMB2_CREATE_QUERY_ON_DISK_ID.
pub const DISK_ID: [u8; 4] = *b"QFid";
/// SMB2_CREATE_ALLOCATION_SIZE.
pub const ALLOCATION_SIZE: [u8; 4] = *b"AlSi";
/// SMB2_CREATE_TIMEWARP_TOKEN.
pub const TIMEWARP: [u8; 4] = *b"TWrp";

/// SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET.
pub(super) const LEASE_PARENT_SET: u32 = 0x0000_0004;
/// SMB2_DHANDLE_FLAG_PERSISTENT.
pub(super) const FLAG_PERSISTENT: u32 = 0x0000_0002;

//! Wire formats of SMB and ONC RPC/NFS: bytes to messages, no I/O and no clock

pub mod ntlmssp;
pub mod text;

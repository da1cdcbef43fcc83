//! Wire formats of SMB and ONC RPC/NFS: bytes to messages, no I/O and no clock

pub mod marks;
pub mod nbss;
pub mod nfs;
pub mod ntlmssp;
pub mod pipe;
pub mod rpc;
pub mod smb1;
pub mod smb2;
pub mod text;
pub mod xdr;

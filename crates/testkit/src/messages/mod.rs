//! Messages, minimal but valid.

pub mod nfs4;
pub mod rpc;
pub mod smb1;
pub mod smb2;

/// A message behind its NetBIOS session (or direct TCP) prefix.
///
/// Spec: MS-SMB2 2.1
pub fn nbss(message: &[u8]) -> Vec<u8> {
    let mut bytes = (message.len() as u32 & 0x00ff_ffff).to_be_bytes().to_vec();
    bytes.extend(message);
    bytes
}

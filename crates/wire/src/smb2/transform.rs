//! Messages that are not plain: encrypted (`FD 'SMB'`) and compressed (`FC 'SMB'`).
//!
//! Spec: MS-SMB2 2.2.41, 2.2.42

use super::draft::set;
use super::header;

/// First four bytes of an encrypted message.
pub const ENCRYPTED_MAGIC: [u8; 4] = *b"\xFDSMB";
/// First four bytes of a compressed message.
pub const COMPRESSED_MAGIC: [u8; 4] = *b"\xFCSMB";

/// TRANSFORM_HEADER: Signature, 16 bytes.
pub const SIGNATURE: usize = 4;
/// Nonce, 16 bytes of which the cipher uses the first 11 or 12.
pub const NONCE: usize = 20;
/// OriginalMessageSize, u32.
pub const ORIGINAL_MESSAGE_SIZE: usize = 36;
/// Flags (3.1.1: 1 is encrypted) or EncryptionAlgorithm (3.0), u16.
pub const ENCRYPTION_FLAGS: usize = 42;
/// SessionId, u64.
pub const ENCRYPTED_SESSION_ID: usize = 44;
/// Length of the TRANSFORM_HEADER.
pub const ENCRYPTED_LEN: usize = 52;

/// The kind of a transport message, by its first four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One or more plain messages.
    Plain,
    /// Encrypted: the session is visible, the rest is not.
    Encrypted,
    /// Compressed, in whole or behind a plain beginning.
    Compressed,
}

impl Kind {
    /// None if there are fewer than four bytes, or if they have another magic (SMB1 has `FF 'SMB'`).
    #[inline]
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match *bytes.first_chunk::<4>()? {
            header::MAGIC => Some(Self::Plain),
            ENCRYPTED_MAGIC => Some(Self::Encrypted),
            COMPRESSED_MAGIC => Some(Self::Compressed),
            _ => None,
        }
    }
}

/// A borrowed TRANSFORM_HEADER.
#[derive(Clone, Copy, Debug)]
pub struct Encrypted<'a> {
    bytes: &'a [u8],
}

impl<'a> Encrypted<'a> {
    /// None unless the bytes begin with the encrypted magic.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        (Kind::of(bytes)? == Kind::Encrypted).then_some(Self { bytes })
    }

    /// Length of the message inside, in bytes.
    #[must_use]
    pub fn original_message_size(&self) -> Option<u32> {
        array(self.bytes, ORIGINAL_MESSAGE_SIZE).map(u32::from_le_bytes)
    }

    /// The session whose keys encrypted it.
    #[must_use]
    pub fn session_id(&self) -> Option<u64> {
        array(self.bytes, ENCRYPTED_SESSION_ID).map(u64::from_le_bytes)
    }
}

/// The fields of a TRANSFORM_HEADER to write. The dialects 3.0 call its Flags the EncryptionAlgorithm, AES-128-CCM: the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// 16 bytes, of which the cipher uses the first 11 or 12.
    pub nonce: [u8; 16],
    /// Length of the message inside, in bytes.
    pub original_message_size: u32,
    /// The session whose keys seal it.
    pub session_id: u64,
}

/// Flags: encrypted.
pub const FLAG_ENCRYPTED: u16 = 1;

impl Sealed {
    /// Writes the header with a zero signature: the cipher's tag goes to [`SIGNATURE`]. The cipher authenticates the header from
    /// [`NONCE`] on.
    pub fn emit(&self, header: &mut [u8; ENCRYPTED_LEN]) {
        header.fill(0);
        set(header, 0, ENCRYPTED_MAGIC);
        set(header, NONCE, self.nonce);
        set(header, ORIGINAL_MESSAGE_SIZE, self.original_message_size.to_le_bytes());
        set(header, ENCRYPTION_FLAGS, FLAG_ENCRYPTED.to_le_bytes());
        set(header, ENCRYPTED_SESSION_ID, self.session_id.to_le_bytes());
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    #[test]
    fn kinds_by_their_first_bytes() {
        assert_eq!(Kind::of(b"\xFESMB\x40"), Some(Kind::Plain));
        assert_eq!(Kind::of(b"\xFDSMB"), Some(Kind::Encrypted));
        assert_eq!(Kind::of(b"\xFCSMB"), Some(Kind::Compressed));
        assert_eq!(Kind::of(b"\xFFSMB"), None);
        assert_eq!(Kind::of(b"\xFES"), None);
    }

    /// Hand-assembled from 2.2.41.
    #[test]
    fn a_sealed_header_reads_as_it_was_said() {
        let mut header = [0xEE; ENCRYPTED_LEN];
        let sealed = Sealed { nonce: [7; 16], original_message_size: 300, session_id: 0x1122_3344_5566_7788 };
        sealed.emit(&mut header);
        let view = Encrypted::new(&header).unwrap();
        assert_eq!((view.original_message_size(), view.session_id()), (Some(300), Some(sealed.session_id)));
        let fixed = Message::structure().put(b"\xFDSMB").put(&[0; 16]).put(&[7; 16]).u32(300).u16(0).u16(1);
        assert_eq!(header[..], fixed.u64(sealed.session_id).bytes());
    }

    /// Hand-assembled from 2.2.41.
    #[test]
    fn encrypted_header() {
        let mut bytes = ENCRYPTED_MAGIC.to_vec();
        bytes.extend([0xAA; 16]);
        bytes.extend([0xBB; 16]);
        bytes.extend(0x0000_0168_u32.to_le_bytes());
        bytes.extend([0, 0, 1, 0]);
        bytes.extend(0x0000_0400_0000_0001_u64.to_le_bytes());
        assert_eq!(bytes.len(), ENCRYPTED_LEN);
        truncations(&bytes, |bytes| Encrypted::new(bytes)?.session_id());
        let view = Encrypted::new(&bytes).unwrap();
        assert_eq!(view.original_message_size(), Some(0x168));
        assert_eq!(view.session_id(), Some(0x400_0000_0001));
    }
}

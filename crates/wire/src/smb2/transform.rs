//! Messages that are not plain: encrypted (`FD 'SMB'`) and compressed (`FC 'SMB'`).
//!
//! Spec: MS-SMB2 2.2.41, 2.2.42

use super::draft::set;
use super::fields::to_len;
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

/// COMPRESSION_TRANSFORM_HEADER: OriginalCompressedSegmentSize, u32.
pub const ORIGINAL_SEGMENT_SIZE: usize = 4;
/// CompressionAlgorithm, u16: of everything, or of the first payload of a chain.
pub const ALGORITHM: usize = 8;
/// Flags, u16, at the same place in both forms, so that it tells them apart.
pub const COMPRESSION_FLAGS: usize = 10;
/// Unchained: Offset, u32, the length of the plain bytes that precede the compressed ones.
pub const OFFSET: usize = 12;
/// Unchained: length of the header.
pub const UNCHAINED_LEN: usize = 16;
/// Chained: the first payload header begins here.
pub const CHAIN: usize = 8;
/// Chained: Length, u32, within a payload header; counts what follows it.
pub const PAYLOAD_LENGTH: usize = 4;
/// Chained: length of a payload header without OriginalPayloadSize.
pub const PAYLOAD_HEADER_LEN: usize = 8;
/// SMB2_COMPRESSION_FLAG_CHAINED.
pub const FLAG_CHAINED: u16 = 1;

/// What a transport message holds, by its first four bytes.
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
    /// None when fewer than four bytes are there, or others (SMB1 has `FF 'SMB'`).
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

/// What a TRANSFORM_HEADER says, to be written. The dialects 3.0 call its Flags the EncryptionAlgorithm, AES-128-CCM:
/// the same number.
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
    /// Writes the header, its signature zero: the cipher's tag goes to [`SIGNATURE`]. What the cipher authenticates is
    /// the header from [`NONCE`] on.
    pub fn emit(&self, header: &mut [u8; ENCRYPTED_LEN]) {
        header.fill(0);
        set(header, 0, ENCRYPTED_MAGIC);
        set(header, NONCE, self.nonce);
        set(header, ORIGINAL_MESSAGE_SIZE, self.original_message_size.to_le_bytes());
        set(header, ENCRYPTION_FLAGS, FLAG_ENCRYPTED.to_le_bytes());
        set(header, ENCRYPTED_SESSION_ID, self.session_id.to_le_bytes());
    }
}

/// How a payload was compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Not at all: the bytes are plain.
    None,
    /// LZNT1.
    Lznt1,
    /// LZ77.
    Lz77,
    /// LZ77 with Huffman coding.
    Lz77Huffman,
    /// One byte repeated.
    PatternV1,
    /// LZ4.
    Lz4,
    /// A number that the specification does not name.
    Unknown(u16),
}

impl Algorithm {
    /// From the number on the wire.
    #[must_use]
    pub const fn from_code(code: u16) -> Self {
        match code {
            0 => Self::None,
            1 => Self::Lznt1,
            2 => Self::Lz77,
            3 => Self::Lz77Huffman,
            4 => Self::PatternV1,
            5 => Self::Lz4,
            other => Self::Unknown(other),
        }
    }
}

/// A borrowed COMPRESSION_TRANSFORM_HEADER of either form.
#[derive(Clone, Copy, Debug)]
pub struct Compressed<'a> {
    bytes: &'a [u8],
}

impl<'a> Compressed<'a> {
    /// None unless the bytes begin with the compressed magic.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        (Kind::of(bytes)? == Kind::Compressed).then_some(Self { bytes })
    }

    /// Unchained: length of the compressed part once decompressed, without the plain beginning. Chained: length of the
    /// whole message.
    #[must_use]
    pub fn original_segment_size(&self) -> Option<u32> {
        array(self.bytes, ORIGINAL_SEGMENT_SIZE).map(u32::from_le_bytes)
    }

    /// True when payloads follow one another, each with its own algorithm (dialect 3.1.1 with chained compression).
    #[must_use]
    pub fn is_chained(&self) -> Option<bool> {
        let flags = array(self.bytes, COMPRESSION_FLAGS).map(u16::from_le_bytes)?;
        Some(flags & FLAG_CHAINED != 0)
    }

    /// Of everything (unchained), or of the first payload (chained).
    #[must_use]
    pub fn algorithm(&self) -> Option<Algorithm> {
        array(self.bytes, ALGORITHM).map(|code| Algorithm::from_code(u16::from_le_bytes(code)))
    }

    /// Length of the whole message once decompressed, in bytes.
    #[must_use]
    pub fn original_message_size(&self) -> Option<u64> {
        let segment = u64::from(self.original_segment_size()?);
        if self.is_chained()? {
            return Some(segment);
        }
        let plain: u32 = array(self.bytes, OFFSET).map(u32::from_le_bytes)?;
        Some(segment + u64::from(plain))
    }

    /// What was captured of the plain bytes that the message begins with; often the SMB2 header, which is all that
    /// pairing needs. Empty when compression begins with the first byte.
    #[must_use]
    pub fn plain_start(&self) -> Option<&'a [u8]> {
        if self.is_chained()? {
            return match self.payloads().next()? {
                Payload { algorithm: Algorithm::None, bytes, .. } => Some(bytes),
                _ => Some(&[]),
            };
        }
        let len = to_len(array(self.bytes, OFFSET).map(u32::from_le_bytes)?)?;
        let bytes = self.bytes.get(UNCHAINED_LEN..)?;
        Some(bytes.get(..len).unwrap_or(bytes))
    }

    /// The payloads of the chained form; none in the unchained form.
    #[must_use]
    pub fn payloads(&self) -> Payloads<'a> {
        let rest = match self.is_chained() {
            Some(true) => self.bytes.get(CHAIN..).unwrap_or_default(),
            _ => &[],
        };
        Payloads { rest }
    }
}

/// One payload of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// How it was compressed.
    pub algorithm: Algorithm,
    /// Length of what follows its header, in bytes, with what was not captured. In LZ algorithms the first four of
    /// these bytes are the length once decompressed.
    pub len: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
}

/// Iterates over the payloads of a chain as far as they were captured. Each takes at least its header, so any input
/// ends it.
#[derive(Clone, Debug)]
pub struct Payloads<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Payloads<'a> {
    type Item = Payload<'a>;

    fn next(&mut self) -> Option<Payload<'a>> {
        let algorithm = Algorithm::from_code(array(self.rest, 0).map(u16::from_le_bytes)?);
        let len = array(self.rest, PAYLOAD_LENGTH).map(u32::from_le_bytes)?;
        let bytes = self.rest.get(PAYLOAD_HEADER_LEN..)?;
        let (bytes, rest) = bytes.split_at_checked(to_len(len)?).unwrap_or((bytes, &[]));
        self.rest = rest;
        Some(Payload { algorithm, len, bytes })
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::header::Header;
    use crate::smb2::testing::{Message, truncations};
    use proptest::prelude::*;

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
        assert!(Compressed::new(&bytes).is_none());
    }

    /// Hand-assembled from 2.2.42.1: a READ response, its header and fixed body plain, 4096 bytes compressed.
    #[test]
    fn unchained_shows_the_plain_header() {
        let mut bytes = COMPRESSED_MAGIC.to_vec();
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend([3, 0, 0, 0]);
        bytes.extend(80_u32.to_le_bytes());
        bytes.extend(Message::response(8, 0).message_id(9).fill(16).bytes());
        bytes.extend([0xCC; 40]);
        let view = Compressed::new(&bytes).unwrap();
        assert_eq!(view.is_chained(), Some(false));
        assert_eq!(view.algorithm(), Some(Algorithm::Lz77Huffman));
        assert_eq!(view.original_message_size(), Some(4176));
        let plain = view.plain_start().unwrap();
        assert_eq!(plain.len(), 80);
        assert_eq!(Header::new(plain).unwrap().message_id(), Some(9));
        assert_eq!(view.payloads().count(), 0);
        assert_eq!(Compressed::new(&bytes[..50]).unwrap().plain_start().unwrap().len(), 34);
    }

    /// Hand-assembled from 2.2.42.2: plain header, a run of zeros, then LZ77.
    #[test]
    fn chained_payloads() {
        let mut bytes = COMPRESSED_MAGIC.to_vec();
        bytes.extend(8272_u32.to_le_bytes());
        bytes.extend([0, 0, 1, 0, 80, 0, 0, 0]);
        bytes.extend(Message::response(8, 0).message_id(11).fill(16).bytes());
        bytes.extend([4, 0, 0, 0, 8, 0, 0, 0]);
        bytes.extend([0, 0, 0, 0, 0, 16, 0, 0]);
        bytes.extend([2, 0, 0, 0, 10, 0, 0, 0]);
        bytes.extend([0, 16, 0, 0, 1, 2, 3, 4, 5, 6]);
        let view = Compressed::new(&bytes).unwrap();
        assert_eq!(view.is_chained(), Some(true));
        assert_eq!(view.original_message_size(), Some(8272));
        assert_eq!(Header::new(view.plain_start().unwrap()).unwrap().message_id(), Some(11));
        let seen: Vec<_> = view.payloads().map(|p| (p.algorithm, p.len, p.bytes.len())).collect();
        assert_eq!(seen, [(Algorithm::None, 80, 80), (Algorithm::PatternV1, 8, 8), (Algorithm::Lz77, 10, 10)]);
    }

    proptest! {
        #[test]
        fn any_bytes_read(rest: Vec<u8>, chained: bool) {
            let mut bytes = [&COMPRESSED_MAGIC[..], &rest].concat();
            if let Some(flags) = bytes.get_mut(COMPRESSION_FLAGS) {
                *flags = u8::from(chained);
            }
            let view = Compressed::new(&bytes).unwrap();
            prop_assert!(view.payloads().count() <= bytes.len() / PAYLOAD_HEADER_LEN);
            prop_assert!(view.plain_start().is_none_or(|plain| plain.len() < bytes.len()));
            prop_assert!(view.original_message_size().is_none_or(|size| size <= 2 * u64::from(u32::MAX)));
        }
    }
}

//! The four bytes before every SMB message on TCP: the NetBIOS session header, or its direct TCP form.
//! Spec: RFC 1002 4.3.1, MS-SMB2 2.1 (direct TCP: a zero byte and a 24-bit length)

/// Bytes before the message: type, flags or length bits 16 to 23, length bits 0 to 15 (big-endian).
pub const PREFIX_LEN: usize = 4;

/// Session message: SMB follows. The only type that direct TCP has.
pub const MESSAGE: u8 = 0x00;
/// Session request: called and calling NetBIOS names follow.
pub const REQUEST: u8 = 0x81;
/// Positive session response, without a body.
pub const POSITIVE: u8 = 0x82;
/// Negative session response: one byte of error code.
pub const NEGATIVE: u8 = 0x83;
/// Retarget session response: address and port to go to.
pub const RETARGET: u8 = 0x84;
/// Keepalive, without a body.
pub const KEEPALIVE: u8 = 0x85;

/// One session header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type byte, one of the constants of this module (or unknown).
    pub kind: u8,
    /// Bytes after the header: 24 bits for a session message, 17 bits for other types.
    pub length: u32,
}

impl Header {
    /// Reads the first four bytes; `None` if there are fewer. Any type is accepted: see [`Header::is_known`].
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let &[kind, high, middle, low] = bytes.first_chunk::<PREFIX_LEN>()?;
        // NetBIOS has seven reserved flag bits and one length bit here; direct TCP has eight length bits. Both agree
        // on every message that a NetBIOS session can carry, so only session messages take all eight.
        let high = if kind == MESSAGE { high } else { high & 1 };
        Some(Self { kind, length: u32::from_be_bytes([0, high, middle, low]) })
    }

    /// Whether the type is one that RFC 1002 names.
    pub fn is_known(&self) -> bool {
        matches!(self.kind, MESSAGE | REQUEST | POSITIVE | NEGATIVE | RETARGET | KEEPALIVE)
    }

    /// Bytes from this header to the next one.
    pub fn total_len(&self) -> usize {
        PREFIX_LEN + self.length as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_length_has_24_bits() {
        // MS-SMB2 2.1: StreamProtocolLength is three bytes in network order.
        let header = Header::parse(&[0x00, 0x12, 0x34, 0x56, 0xff]).unwrap();
        assert_eq!(header, Header { kind: MESSAGE, length: 0x12_3456 });
        assert_eq!(header.total_len(), 0x12_345a);
    }

    #[test]
    fn other_types_have_17_bits() {
        // RFC 1002 4.3.1: flags bit 7 is the length extension (E), the other bits are reserved.
        let header = Header::parse(&[REQUEST, 0xff, 0x00, 0x44]).unwrap();
        assert_eq!(header.length, 0x1_0044);
        assert!(header.is_known());
    }

    #[test]
    fn unknown_type_is_a_value_and_short_input_is_none() {
        assert!(!Header::parse(&[0x07, 0, 0, 1]).unwrap().is_known());
        for length in 0..PREFIX_LEN {
            assert_eq!(Header::parse(&[0x85, 0, 0, 0][..length]), None);
        }
    }
}

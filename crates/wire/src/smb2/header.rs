//! The 64-byte header of every plain SMB2/3 message, readable from its first 26 captured bytes on.
//!
//! Spec: MS-SMB2 2.2.1

use super::command::Command;

/// First four bytes of a plain message.
pub const MAGIC: [u8; 4] = *b"\xFESMB";
/// StructureSize, u16, always 64.
pub const STRUCTURE_SIZE: usize = 4;
/// CreditCharge, u16 (reserved in dialect 2.0.2).
pub const CREDIT_CHARGE: usize = 6;
/// Status, u32, in responses.
pub const STATUS: usize = 8;
/// ChannelSequence, u16, in requests of dialect 3.0 and later.
pub const CHANNEL_SEQUENCE: usize = 8;
/// Command, u16.
pub const COMMAND: usize = 12;
/// CreditRequest in requests, CreditResponse in responses, u16.
pub const CREDITS: usize = 14;
/// Flags, u32.
pub const FLAGS: usize = 16;
/// NextCommand, u32: offset of the next compound member from this header, 0 in the last.
pub const NEXT_COMMAND: usize = 20;
/// MessageId, u64.
pub const MESSAGE_ID: usize = 24;
/// AsyncId, u64, with [`FLAG_ASYNC`].
pub const ASYNC_ID: usize = 32;
/// TreeId, u32, without [`FLAG_ASYNC`].
pub const TREE_ID: usize = 36;
/// SessionId, u64.
pub const SESSION_ID: usize = 40;
/// Signature, 16 bytes.
pub const SIGNATURE: usize = 48;
/// Length of the header, and the value of StructureSize: the body begins here.
pub const LEN: usize = 64;
/// The smallest number of captured bytes that [`Header`] reads: up to the low 16 bits of the message id. A snap length
/// of 96 captures them, because Ethernet, IPv4, TCP with timestamps and the transport's length take the first 70 bytes.
pub const MIN_CAPTURED: usize = 26;

/// SMB2_FLAGS_SERVER_TO_REDIR: a response.
pub const FLAG_RESPONSE: u32 = 0x0000_0001;
/// SMB2_FLAGS_ASYNC_COMMAND: AsyncId stands where TreeId would.
pub const FLAG_ASYNC: u32 = 0x0000_0002;
/// SMB2_FLAGS_RELATED_OPERATIONS: takes session, tree and file from the member before.
pub const FLAG_RELATED: u32 = 0x0000_0004;
/// SMB2_FLAGS_SIGNED.
pub const FLAG_SIGNED: u32 = 0x0000_0008;
/// Request: sent before, on a connection that was lost (SMB2_FLAGS_REPLAY_OPERATION, dialects 3).
pub const FLAG_REPLAY: u32 = 0x2000_0000;

/// The message id of unsolicited messages of the server (oplock and lease breaks).
pub const UNSOLICITED: u64 = u64::MAX;

/// CreditCharge of a request that sends or asks for `payload` bytes, whichever is more, from dialect 2.1 on: a credit
/// for each 64 KiB that are begun, and one for none (MS-SMB2 3.1.5.2).
#[inline]
#[must_use]
pub const fn charge(payload: u32) -> u16 {
    // At most 65,536: one too many for the field, and for any server's limit.
    let charge = payload.saturating_sub(1) / 65_536 + 1;
    if charge > u16::MAX as u32 { u16::MAX } else { charge as u16 }
}

/// A borrowed header. Fields within the first [`MIN_CAPTURED`] bytes are always present, others may be missing.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    head: &'a [u8; MIN_CAPTURED],
    bytes: &'a [u8],
}

impl<'a> Header<'a> {
    /// `bytes` are the captured part of the message, from its header on. None if there are fewer than [`MIN_CAPTURED`] bytes, or if magic
    /// or structure size are not SMB2's.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.first_chunk::<MIN_CAPTURED>()?;
        let [m0, m1, m2, m3, s0, s1, ..] = *head;
        ([m0, m1, m2, m3] == MAGIC && usize::from(u16::from_le_bytes([s0, s1])) == LEN).then_some(Self { head, bytes })
    }

    /// The command, [`Command::Unknown`] for a code that the specification does not name.
    #[inline]
    #[must_use]
    pub fn command(&self) -> Command {
        Command::from_code(self.command_code())
    }

    /// The command's number on the wire.
    #[inline]
    #[must_use]
    pub fn command_code(&self) -> u16 {
        self.early_u16::<COMMAND>()
    }

    /// NTSTATUS of a response. None in requests, where these bytes have another meaning.
    #[inline]
    #[must_use]
    pub fn status(&self) -> Option<u32> {
        self.is_response().then(|| self.early_u32::<STATUS>())
    }

    /// How often the client had lost a channel, in requests of dialect 3.0 and later; zero before. None in responses.
    #[inline]
    #[must_use]
    pub fn channel_sequence(&self) -> Option<u16> {
        (!self.is_response()).then(|| self.early_u16::<CHANNEL_SEQUENCE>())
    }

    /// All flags, see the `FLAG_` constants.
    #[inline]
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.early_u32::<FLAGS>()
    }

    /// Sent by the server.
    #[inline]
    #[must_use]
    pub fn is_response(&self) -> bool {
        self.flags() & FLAG_RESPONSE != 0
    }

    /// Carries an async id in place of a tree id: an interim answer, a late final answer, or a CANCEL of one.
    #[inline]
    #[must_use]
    pub fn is_async(&self) -> bool {
        self.flags() & FLAG_ASYNC != 0
    }

    /// Whether this compound member is related to the previous one.
    #[inline]
    #[must_use]
    pub fn is_related(&self) -> bool {
        self.flags() & FLAG_RELATED != 0
    }

    /// Carries a signature.
    #[inline]
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.flags() & FLAG_SIGNED != 0
    }

    /// How many consecutive message ids the request uses up; 0 counts as 1 (dialect 2.0.2 has no such field).
    #[inline]
    #[must_use]
    pub fn credit_charge(&self) -> u16 {
        self.early_u16::<CREDIT_CHARGE>()
    }

    /// Credits asked for (request) or granted (response).
    #[inline]
    #[must_use]
    pub fn credits(&self) -> u16 {
        self.early_u16::<CREDITS>()
    }

    /// Offset of the next compound member from this header; 0 in the last or only one. Not validated, see
    /// [`Members`](super::compound::Members).
    #[inline]
    #[must_use]
    pub fn next_command(&self) -> u32 {
        self.early_u32::<NEXT_COMMAND>()
    }

    /// The id that pairs request and response, per connection. [`UNSOLICITED`] in unsolicited breaks.
    #[inline]
    #[must_use]
    pub fn message_id(&self) -> Option<u64> {
        self.u64_at::<MESSAGE_ID>()
    }

    /// The low 16 bits of the message id, there even when the rest of it is not.
    #[inline]
    #[must_use]
    pub fn message_id_low16(&self) -> u16 {
        self.early_u16::<MESSAGE_ID>()
    }

    /// Pairs interim answer, final answer and CANCEL. None when not async, or not captured.
    #[inline]
    #[must_use]
    pub fn async_id(&self) -> Option<u64> {
        if self.is_async() { self.u64_at::<ASYNC_ID>() } else { None }
    }

    /// The connected share. None when async, or not captured.
    #[inline]
    #[must_use]
    pub fn tree_id(&self) -> Option<u32> {
        if self.is_async() {
            return None;
        }
        self.bytes.get(TREE_ID..TREE_ID + 4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// The logon. None when not captured.
    #[inline]
    #[must_use]
    pub fn session_id(&self) -> Option<u64> {
        self.u64_at::<SESSION_ID>()
    }

    /// The captured bytes after the header; may be empty.
    #[inline]
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(LEN..).unwrap_or_default()
    }

    /// All captured bytes, from the header on: the input of the body views.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `AT + 1` is within `head`: checked when compiled.
    #[inline]
    fn early_u16<const AT: usize>(&self) -> u16 {
        const { assert!(AT + 1 < MIN_CAPTURED) };
        u16::from_le_bytes([self.head[AT], self.head[AT + 1]])
    }

    /// `AT + 3` is within `head`: checked when compiled.
    #[inline]
    fn early_u32<const AT: usize>(&self) -> u32 {
        const { assert!(AT + 3 < MIN_CAPTURED) };
        u32::from_le_bytes([self.head[AT], self.head[AT + 1], self.head[AT + 2], self.head[AT + 3]])
    }

    #[inline]
    fn u64_at<const AT: usize>(&self) -> Option<u64> {
        self.bytes.get(AT..AT + 8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::Message;

    #[test]
    fn fields_lie_where_the_specification_has_them() {
        // MS-SMB2 2.2.1.2, each field with distinct bytes.
        let mut bytes = vec![0xFE, b'S', b'M', b'B', 64, 0];
        bytes.extend([0x02, 0x00, 0x16, 0x00, 0x00, 0xC0, 0x08, 0x00, 0x1F, 0x00]);
        bytes.extend([0x0D, 0, 0, 0, 0x70, 0, 0, 0]);
        bytes.extend(0x1122_3344_5566_7788_u64.to_le_bytes());
        bytes.extend([0xFF, 0xFE, 0, 0, 0x05, 0, 0, 0]);
        bytes.extend(0x0000_0400_0000_0019_u64.to_le_bytes());
        bytes.extend([0xAA; 16]);
        bytes.extend([0xBB; 3]);
        let header = Header::new(&bytes).unwrap();
        assert_eq!(header.credit_charge(), 2);
        assert_eq!(header.status(), Some(0xC000_0016));
        assert_eq!(header.channel_sequence(), None);
        assert_eq!(header.command(), Command::Read);
        assert_eq!(header.credits(), 31);
        assert!(header.is_response() && !header.is_async() && header.is_related() && header.is_signed());
        assert_eq!(header.next_command(), 0x70);
        assert_eq!(header.message_id(), Some(0x1122_3344_5566_7788));
        assert_eq!(header.message_id_low16(), 0x7788);
        assert_eq!(header.async_id(), None);
        assert_eq!(header.tree_id(), Some(5));
        assert_eq!(header.session_id(), Some(0x400_0000_0019));
        assert_eq!(header.body(), [0xBB; 3]);
    }

    #[test]
    fn async_header_has_an_async_id_and_no_tree() {
        let bytes = Message::response(8, 0x103).flags(FLAG_ASYNC).async_id(0x1234_5678_9ABC).bytes();
        let header = Header::new(&bytes).unwrap();
        assert_eq!(header.async_id(), Some(0x1234_5678_9ABC));
        assert_eq!(header.tree_id(), None);
    }

    #[test]
    fn each_truncation_takes_only_the_fields_it_cuts() {
        let whole = Message::request(9).message_id(7).tree_id(3).session_id(5).bytes();
        for cut in 0..whole.len() {
            let header = Header::new(&whole[..cut]);
            assert_eq!(header.is_some(), cut >= 26, "{cut}");
            let Some(header) = header else { continue };
            assert_eq!(header.command(), Command::Write);
            assert_eq!(header.message_id_low16(), 7);
            assert_eq!(header.message_id(), (cut >= 32).then_some(7));
            assert_eq!(header.tree_id(), (cut >= 40).then_some(3));
            assert_eq!(header.session_id(), (cut >= 48).then_some(5));
            assert!(header.body().is_empty());
        }
    }

    #[test]
    fn other_magic_or_size_is_no_header() {
        let whole = Message::request(13).bytes();
        for at in 0..6 {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x01;
            assert!(Header::new(&bytes).is_none(), "byte {at}");
        }
    }
}

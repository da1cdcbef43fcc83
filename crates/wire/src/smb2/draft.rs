//! Requests to send: a header and the command's fields, appended to the caller's buffer.
//!
//! Spec: MS-SMB2 2.2.1, 3.2.4.1

use super::command::Command;
use super::header;

/// Header fields of a request besides its command. Other fields are zero; the signature is zero until signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// CreditCharge, see [`header::charge`]; 0 in dialect 2.0.2.
    pub charge: u16,
    /// CreditRequest.
    pub credits: u16,
    /// Flags, see the `FLAG_` constants of [`header`].
    pub flags: u32,
    /// ChannelSequence, in the dialects 3.
    pub channel_sequence: u16,
    /// MessageId.
    pub message_id: u64,
    /// TreeId.
    pub tree_id: u32,
    /// SessionId.
    pub session_id: u64,
}

impl Head {
    /// Sets everything in a header that differs from call to call.
    #[inline]
    pub(super) fn patch(&self, message: &mut [u8]) {
        let Some(head) = message.first_chunk_mut::<{ header::LEN }>() else { return };
        set(head, header::CREDIT_CHARGE, self.charge.to_le_bytes());
        set(head, header::CHANNEL_SEQUENCE, self.channel_sequence.to_le_bytes());
        set(head, header::CREDITS, self.credits.to_le_bytes());
        set(head, header::FLAGS, self.flags.to_le_bytes());
        set(head, header::MESSAGE_ID, self.message_id.to_le_bytes());
        set(head, header::TREE_ID, self.tree_id.to_le_bytes());
        set(head, header::SESSION_ID, self.session_id.to_le_bytes());
    }
}

/// The fields of one command.
pub trait Call {
    /// The command.
    const COMMAND: Command;

    /// Writes everything behind the header.
    ///
    /// # Errors
    ///
    /// Where a variable part is longer than its length field can say.
    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong>;

    /// The larger of the request's payload and the requested payload, bytes, for [`header::charge`].
    fn payload(&self) -> u32 {
        0
    }

    /// Appends the whole request, and nothing where it cannot be said.
    ///
    /// # Errors
    ///
    /// Where a variable part is longer than its length field can say.
    fn emit(&self, head: &Head, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = out.len();
        let mut draft = Draft::new(Self::COMMAND, head, out);
        let said = self.body(&mut draft);
        if said.is_err() {
            out.truncate(start);
        }
        said
    }
}

/// A variable part is longer than its length field can say: the request was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The part, as the specification names it.
    pub field: &'static str,
    /// Its length in bytes.
    pub bytes: usize,
    /// The most that there is room for, in bytes.
    pub most: usize,
}

impl core::fmt::Display for TooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {} bytes; the limit in this message is {} bytes", self.field, self.bytes, self.most)
    }
}

impl std::error::Error for TooLong {}

/// A request being written. Offsets count from its header.
#[derive(Debug)]
pub struct Draft<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Draft<'o> {
    fn new(command: Command, head: &Head, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        let mut bytes = [0; header::LEN];
        set(&mut bytes, 0, header::MAGIC);
        set(&mut bytes, header::STRUCTURE_SIZE, (header::LEN as u16).to_le_bytes());
        set(&mut bytes, header::COMMAND, command.code().to_le_bytes());
        head.patch(&mut bytes);
        out.extend_from_slice(&bytes);
        Self { out, start }
    }

    /// Forgets what stands from `end` on.
    #[inline]
    pub(super) fn cut(&mut self, end: usize) {
        self.out.truncate(self.start + end);
    }

    /// Begins the body: zeros up to `end`, which counts from the header, and its StructureSize.
    #[inline]
    pub(super) fn fixed(&mut self, structure_size: u16, end: usize) {
        self.out.resize(self.start + end, 0);
        self.u16(header::LEN, structure_size);
    }

    /// The request as far as it was written.
    #[inline]
    pub(super) fn message(&mut self) -> &mut [u8] {
        self.out.get_mut(self.start..).unwrap_or_default()
    }

    /// Where the next byte will stand.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.out.len() - self.start
    }

    #[inline]
    pub(super) fn u8(&mut self, at: usize, value: u8) {
        set(self.message(), at, [value]);
    }

    #[inline]
    pub(super) fn u16(&mut self, at: usize, value: u16) {
        set(self.message(), at, value.to_le_bytes());
    }

    #[inline]
    pub(super) fn u32(&mut self, at: usize, value: u32) {
        set(self.message(), at, value.to_le_bytes());
    }

    #[inline]
    pub(super) fn u64(&mut self, at: usize, value: u64) {
        set(self.message(), at, value.to_le_bytes());
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        set(self.message(), at, bytes);
    }

    /// Adds flags to the header's.
    pub(super) fn add_flags(&mut self, flags: u32) {
        if let Some(old) = self.message().get(header::FLAGS..).and_then(|rest| rest.first_chunk()) {
            let old = u32::from_le_bytes(*old);
            self.u32(header::FLAGS, old | flags);
        }
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends zeros until the end stands at a multiple of `alignment`.
    #[inline]
    pub(super) fn align(&mut self, alignment: usize) {
        self.out.resize(self.start + self.end().next_multiple_of(alignment), 0);
    }

    /// Appends text as UTF-16.
    pub(super) fn text(&mut self, text: &str) {
        text.encode_utf16().for_each(|unit| self.out.extend_from_slice(&unit.to_le_bytes()));
    }

    /// Appends a path as UTF-16, with `\` for every `/`: no name on a share can have either.
    pub(super) fn path(&mut self, path: &str) {
        let backslash = |unit| if unit == u16::from(b'/') { u16::from(b'\\') } else { unit };
        path.encode_utf16().for_each(|unit| self.out.extend_from_slice(&backslash(unit).to_le_bytes()));
    }

    /// Says at `at` and `at + 2` where the variable part lies that `write` appends: offset and length, u16 each.
    pub(super) fn variable16(
        &mut self,
        at: usize,
        field: &'static str,
        write: impl FnOnce(&mut Self),
    ) -> Result<(), TooLong> {
        let offset = self.end();
        write(self);
        self.u16(at, fit16(field, offset)?);
        self.u16(at + 2, fit16(field, self.end() - offset)?);
        Ok(())
    }

    /// A body whose StructureSize counts a byte of the variable part has that byte even if it says nothing.
    #[inline]
    pub(super) fn at_least_a_byte(&mut self, fixed_end: usize) {
        if self.end() == fixed_end {
            self.put(&[0]);
        }
    }
}

/// A length or offset as a u16 of the wire.
pub(super) fn fit16(field: &'static str, bytes: usize) -> Result<u16, TooLong> {
    u16::try_from(bytes).map_err(|_| TooLong { field, bytes, most: usize::from(u16::MAX) })
}

/// A length or offset as a u32 of the wire.
pub(super) fn fit32(field: &'static str, bytes: usize) -> Result<u32, TooLong> {
    u32::try_from(bytes).map_err(|_| TooLong { field, bytes, most: u32::MAX as usize })
}

/// Stores bytes at an offset. Every caller names a place within the fixed part that it has made.
#[inline]
pub(super) fn set<const N: usize>(message: &mut [u8], at: usize, bytes: [u8; N]) {
    let place = message.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
    debug_assert!(place.is_some(), "{N} bytes at {at} are outside of the message");
    if let Some(place) = place {
        *place = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::{Header, empty_body};

    #[test]
    fn the_header_says_what_it_was_given() {
        let head = Head {
            charge: 2,
            credits: 31,
            flags: header::FLAG_RELATED | header::FLAG_SIGNED,
            channel_sequence: 7,
            message_id: 0x1122_3344_5566_7788,
            tree_id: 5,
            session_id: 0x400_0000_0019,
        };
        let mut bytes = b"before".to_vec();
        empty_body::Echo.emit(&head, &mut bytes).unwrap();
        let header = Header::new(&bytes[6..]).unwrap();
        assert_eq!(header.command(), Command::Echo);
        assert_eq!((header.credit_charge(), header.credits(), header.flags()), (2, 31, head.flags));
        assert_eq!((header.channel_sequence(), header.message_id()), (Some(7), Some(0x1122_3344_5566_7788)));
        assert_eq!((header.tree_id(), header.session_id()), (Some(5), Some(0x400_0000_0019)));
        assert_eq!((header.next_command(), header.status()), (0, None));
        assert_eq!(header.bytes()[header::SIGNATURE..header::LEN], [0; 16]);
    }

    #[test]
    fn what_cannot_be_said_leaves_nothing_behind() {
        struct Long;
        impl Call for Long {
            const COMMAND: Command = Command::Create;
            fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
                draft.fixed(57, header::LEN + 56);
                draft.variable16(header::LEN + 44, "Name", |draft| draft.text(&"x".repeat(40_000)))
            }
        }
        let mut bytes = b"before".to_vec();
        let refused = Long.emit(&Head::default(), &mut bytes);
        assert_eq!(refused, Err(TooLong { field: "Name", bytes: 80_000, most: 65_535 }));
        assert_eq!(bytes, b"before");
        assert!(refused.unwrap_err().to_string().contains("Name: 80000 bytes"));
    }
}

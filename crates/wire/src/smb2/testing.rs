//! Builds messages for this module's tests, byte by byte as MS-SMB2 lays them out.

use super::draft::{Call, Head};
use super::error::Refusal;
use super::header;
use super::reply::{Buffer, Malformed, Reply};
use super::status::STATUS_ACCESS_DENIED;

/// A message under construction: a complete header, followed by a body.
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn request(command: u16) -> Self {
        let mut bytes = vec![0; header::LEN];
        bytes[..4].copy_from_slice(&header::MAGIC);
        bytes[header::STRUCTURE_SIZE] = 64;
        Self(bytes).u16_at(header::COMMAND, command)
    }

    pub(super) fn response(command: u16, status: u32) -> Self {
        Self::request(command).u32_at(header::STATUS, status).flags(header::FLAG_RESPONSE)
    }

    /// A structure within a message.
    pub(super) fn structure() -> Self {
        Self(Vec::new())
    }

    /// Adds flags.
    pub(super) fn flags(self, flags: u32) -> Self {
        let old = u32::from_le_bytes(*self.0[header::FLAGS..].first_chunk().unwrap());
        self.u32_at(header::FLAGS, old | flags)
    }

    pub(super) fn next(self, next: u32) -> Self {
        self.u32_at(header::NEXT_COMMAND, next)
    }

    pub(super) fn message_id(self, id: u64) -> Self {
        self.u64_at(header::MESSAGE_ID, id)
    }

    pub(super) fn async_id(self, id: u64) -> Self {
        self.u64_at(header::ASYNC_ID, id)
    }

    pub(super) fn tree_id(self, id: u32) -> Self {
        self.u32_at(header::TREE_ID, id)
    }

    pub(super) fn session_id(self, id: u64) -> Self {
        self.u64_at(header::SESSION_ID, id)
    }

    pub(super) fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn u16(self, value: u16) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u32(self, value: u32) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u64(self, value: u64) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn put(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// `len` bytes of 0xEE, which no field should be read from.
    pub(super) fn fill(self, len: usize) -> Self {
        self.put(&vec![0xEE; len])
    }

    pub(super) fn utf16(self, text: &str) -> Self {
        text.encode_utf16().fold(self, Self::u16)
    }

    /// The body of this message behind the header of another.
    pub(super) fn like(mut self, other: &[u8]) -> Vec<u8> {
        self.0[..header::LEN].copy_from_slice(&other[..header::LEN]);
        self.0
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0
    }

    fn u16_at(self, at: usize, value: u16) -> Self {
        self.overwrite(at, &value.to_le_bytes())
    }

    fn u32_at(self, at: usize, value: u32) -> Self {
        self.overwrite(at, &value.to_le_bytes())
    }

    fn u64_at(self, at: usize, value: u64) -> Self {
        self.overwrite(at, &value.to_le_bytes())
    }

    fn overwrite(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }
}

/// Calls `read` on every truncation of `whole`. Each result must be None or that of the whole message: a cut field may be missing, never
/// different.
pub(super) fn truncations<'a, T: PartialEq + core::fmt::Debug>(whole: &'a [u8], read: impl Fn(&'a [u8]) -> Option<T>) {
    let expected = read(whole);
    assert!(expected.is_some(), "the whole message is readable");
    for cut in 0..whole.len() {
        let got = read(&whole[..cut]);
        assert!(got.is_none() || got == expected, "cut at {cut}: {got:?} is not {expected:?}");
    }
}

/// A call with a header that nothing depends on, as it goes over the wire.
pub(super) fn emitted(call: &impl Call) -> Vec<u8> {
    let head = Head { charge: 1, credits: 1, message_id: 7, tree_id: 3, session_id: 5, ..Head::default() };
    let mut bytes = Vec::new();
    call.emit(&head, &mut bytes).unwrap();
    bytes
}

/// An answer of which everything was kept.
pub(super) fn whole(bytes: &[u8]) -> Reply<'_> {
    Reply::new(bytes, bytes.len()).unwrap()
}

/// Checks that apply to the strict reading of every answer, given a valid one: truncations within its fixed part, other commands and
/// other StructureSizes fail, and an ERROR body is a refusal.
pub(super) fn refused(good: &[u8], parse: impl for<'b> Fn(&Reply<'b>) -> Result<Option<Refusal<'b>>, Malformed>) {
    let structure_size = usize::from(u16::from_le_bytes(*good[header::LEN..].first_chunk().unwrap()));
    for cut in header::LEN..header::LEN + (structure_size & !1) {
        assert!(parse(&whole(&good[..cut])).is_err(), "cut at {cut}");
    }
    for at in [header::COMMAND, header::LEN] {
        let mut other = good.to_vec();
        other[at] ^= 0x40;
        assert!(parse(&whole(&other)).is_err(), "another byte at {at}");
    }
    let command = whole(good).command().code();
    let error = Message::response(command, STATUS_ACCESS_DENIED).u16(9).u16(0).u32(0).u8(0).bytes();
    let refusal = Refusal { status: STATUS_ACCESS_DENIED, contexts: 0, data: &[] };
    assert_eq!(parse(&whole(&error)), Ok(Some(refusal)));
}

/// A structure that an answer carried.
pub(super) fn buffer(bytes: &[u8]) -> Buffer<'_> {
    Buffer::of(bytes)
}

/// Every truncation of a structure to fewer than `needed` bytes is an error, and none to more.
pub(super) fn cuts_are_errors<'a, T>(
    bytes: &'a [u8],
    needed: usize,
    parse: impl Fn(Buffer<'a>) -> Result<T, Malformed>,
) {
    for cut in 0..=bytes.len() {
        assert_eq!(parse(buffer(&bytes[..cut])).is_err(), cut < needed, "cut at {cut}");
    }
}

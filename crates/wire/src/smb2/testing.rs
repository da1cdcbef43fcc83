//! Builds messages for this module's tests, byte by byte as MS-SMB2 lays them out.

use super::header;

/// A message under construction: a whole header, then whatever body was pushed.
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

/// Calls `read` on every truncation of `whole`. Each answer must be None or what the whole message says: a field cut
/// short may be missing, never different.
pub(super) fn truncations<'a, T: PartialEq + core::fmt::Debug>(whole: &'a [u8], read: impl Fn(&'a [u8]) -> Option<T>) {
    let expected = read(whole);
    assert!(expected.is_some(), "the whole message is readable");
    for cut in 0..whole.len() {
        let got = read(&whole[..cut]);
        assert!(got.is_none() || got == expected, "cut at {cut}: {got:?} is not {expected:?}");
    }
}

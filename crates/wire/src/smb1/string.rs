//! SMB_STRING: UTF-16LE (aligned to two bytes from the header) or OEM bytes, and where it ends.
//! Spec: MS-CIFS 2.2.1.1

use crate::text::{Latin, Text, Utf16Le};

/// A string as it stands in the message, without its terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmbString<'a> {
    /// The bytes: UTF-16LE if `unicode`, otherwise in the negotiated OEM code page, which is unknown here.
    pub raw: &'a [u8],
    /// Whether `raw` is UTF-16LE.
    pub unicode: bool,
    /// Whether the end was captured. A cut string is a prefix: never take it for the name.
    pub complete: bool,
}

impl<'a> SmbString<'a> {
    /// Whether it has no characters (and none was cut).
    pub fn is_empty(&self) -> bool {
        self.complete && self.raw.is_empty()
    }

    /// The text in the form that the header announced. It is not trusted: escape it before it reaches a terminal.
    pub fn text(&self) -> Text<'a> {
        if self.unicode { Text::Utf16(Utf16Le(self.raw)) } else { Text::Oem(Latin(self.raw)) }
    }

    /// Whether the string starts with `ascii`, ignoring case (share and pipe names are case-insensitive).
    pub fn starts_with_ignore_case(&self, ascii: &str) -> bool {
        let mut characters = self.text().chars();
        ascii.chars().all(|wanted| characters.next().is_some_and(|found| found.eq_ignore_ascii_case(&wanted)))
    }
}

/// A place in a message from which strings and blobs are read one after another, up to a declared end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    message: &'a [u8],
    at: usize,
    end: usize,
    unicode: bool,
}

impl<'a> Reader<'a> {
    /// Reads `message[at..end]`; `end` may lie beyond the captured bytes.
    pub(super) fn new(message: &'a [u8], at: usize, end: usize, unicode: bool) -> Self {
        Self { message, at, end: end.max(at), unicode }
    }

    /// The next byte, stepped over.
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = (self.at < self.end).then(|| self.message.get(self.at).copied())??;
        self.at += 1;
        Some(byte)
    }

    /// Steps over `length` bytes and gives those that were captured.
    pub(super) fn skip(&mut self, length: usize) -> &'a [u8] {
        let length = length.min(self.end - self.at);
        let found = super::fields::clipped(self.message, self.at, length);
        self.at += length;
        found
    }

    /// A terminated string in the form that the header says, after its alignment byte.
    pub(super) fn string(&mut self) -> Option<SmbString<'a>> {
        if self.unicode { self.wide() } else { self.oem() }
    }

    /// A string of `length` bytes in the form that the header says, after its alignment byte. A terminator inside ends it.
    pub(super) fn string_of(&mut self, length: usize) -> Option<SmbString<'a>> {
        let mut inner = *self;
        if self.unicode {
            inner.align();
        }
        let end = inner.at.saturating_add(length);
        if end > inner.end {
            // The length is wrong: the string would reach beyond the message.
            return None;
        }
        inner.end = end;
        self.at = end;
        if length == 0 {
            return Some(SmbString { raw: &[], unicode: self.unicode, complete: true });
        }
        inner.string()
    }

    /// A string after its one-byte buffer format (MS-CIFS 2.2.1.1: 0x04 for an SMB_STRING).
    pub(super) fn formatted(&mut self, format: u8) -> Option<SmbString<'a>> {
        if self.byte()? != format {
            return None;
        }
        self.string()
    }

    /// A terminated string of single bytes, whatever the header's flags.
    pub(super) fn oem(&mut self) -> Option<SmbString<'a>> {
        let rest = self.rest()?;
        let length = rest.iter().position(|byte| *byte == 0);
        Some(self.take(rest, length, 1, false))
    }

    fn wide(&mut self) -> Option<SmbString<'a>> {
        self.align();
        let rest = self.rest()?;
        let length = rest.chunks_exact(2).position(|unit| unit == [0, 0]).map(|units| units * 2);
        Some(self.take(rest, length, 2, true))
    }

    fn align(&mut self) {
        self.at = (self.at + self.at % 2).min(self.end);
    }

    /// The remaining bytes; `None` if the string's first byte was cut off or is beyond the declared end.
    fn rest(&self) -> Option<&'a [u8]> {
        let rest = self.message.get(self.at..self.end.min(self.message.len()))?;
        (!rest.is_empty()).then_some(rest)
    }

    fn take(&mut self, rest: &'a [u8], length: Option<usize>, terminator: usize, unicode: bool) -> SmbString<'a> {
        let complete = length.is_some() || self.end <= self.message.len();
        // A lone byte after the last unit is padding, or half of a unit that was cut: no character either way.
        let raw = &rest[..length.unwrap_or(rest.len() / terminator * terminator)];
        self.at = length.map_or(self.end, |length| self.at + length + terminator);
        SmbString { raw, unicode, complete }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicode_is_aligned_from_the_header() {
        let message = [0x04, 0x00, b'a', 0, b'b', 0, 0, 0, 0x04, 0x00, b'c', 0, 0, 0];
        let mut reader = Reader::new(&message, 0, message.len(), true);
        assert_eq!(reader.formatted(4).unwrap().text().to_string(), "ab");
        assert_eq!(reader.formatted(4).unwrap().text().to_string(), "c");
        assert_eq!(reader.formatted(4), None);
    }

    #[test]
    fn a_cut_string_says_so() {
        let message = *b"\x04path";
        let cut = Reader::new(&message, 0, 9, false).formatted(4).unwrap();
        assert_eq!((cut.raw, cut.complete), (&b"path"[..], false));
        let unterminated = Reader::new(&message, 0, 5, false).formatted(4).unwrap();
        assert!(unterminated.complete, "the declared bytes end here");
        assert_eq!(Reader::new(&message, 5, 9, false).string(), None);
    }

    #[test]
    fn a_length_beyond_the_message_gives_nothing() {
        assert_eq!(Reader::new(b"abcd", 0, 4, false).string_of(5), None);
        assert_eq!(Reader::new(b"abcd", 0, 4, false).string_of(3).unwrap().raw, b"abc");
        assert!(!Reader::new(b"abcd", 0, 8, false).string_of(6).unwrap().complete);
    }

    #[test]
    fn invalid_characters_are_replaced() {
        let lone_surrogate = SmbString { raw: &[0x00, 0xd8, b'x', 0], unicode: true, complete: true };
        assert_eq!(lone_surrogate.text().to_string(), "\u{fffd}x");
        let oem = SmbString { raw: &[b'a', 0x84], unicode: false, complete: true };
        assert_eq!(oem.text().to_string(), "a\u{fffd}");
        assert!(oem.starts_with_ignore_case("A") && !oem.starts_with_ignore_case("ab"));
    }
}

//! Text in messages: borrowed, decoded character by character, never allocated.
//!
//! Nothing here sanitises: control characters, bidirectional marks and terminal escapes in a file name are returned unchanged. Code that
//! prints them must escape them (the report does).

use core::char::REPLACEMENT_CHARACTER;
use core::fmt::{self, Write as _};

/// UTF-16 little-endian text as its bytes. An unpaired surrogate or an odd last byte reads as U+FFFD.
///
/// Control characters are passed through, see the module.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Utf16Le<'a>(pub &'a [u8]);

/// Single-byte text of an unknown code page (SMB1's OEM strings): ASCII is decoded, every other byte becomes U+FFFD.
///
/// The code page is not on the wire, so no letter is guessed. Control characters are returned unchanged, see the module.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Latin<'a>(pub &'a [u8]);

/// Text in the encoding that the message's flags announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Text<'a> {
    /// The Unicode flag was set.
    Utf16(Utf16Le<'a>),
    /// The Unicode flag was clear.
    Oem(Latin<'a>),
}

impl<'a> Utf16Le<'a> {
    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The characters, lossily.
    #[must_use]
    pub fn chars(&self) -> Utf16Chars<'a> {
        let whole = self.0.len() & !1;
        let (units, rest) = self.0.split_at(whole);
        Utf16Chars { decoder: char::decode_utf16(Units(units)), odd_byte: !rest.is_empty() }
    }
}

impl<'a> Latin<'a> {
    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The characters, lossily.
    #[must_use]
    pub fn chars(&self) -> LatinChars<'a> {
        LatinChars(self.0.iter())
    }
}

impl<'a> Text<'a> {
    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Utf16(text) => text.is_empty(),
            Self::Oem(text) => text.is_empty(),
        }
    }

    /// The characters, lossily.
    #[must_use]
    pub fn chars(&self) -> TextChars<'a> {
        match self {
            Self::Utf16(text) => TextChars::Utf16(text.chars()),
            Self::Oem(text) => TextChars::Oem(text.chars()),
        }
    }
}

/// Characters of a [`Utf16Le`].
#[derive(Clone, Debug)]
pub struct Utf16Chars<'a> {
    decoder: core::char::DecodeUtf16<Units<'a>>,
    odd_byte: bool,
}

/// Characters of a [`Latin`].
#[derive(Clone, Debug)]
pub struct LatinChars<'a>(core::slice::Iter<'a, u8>);

/// Characters of a [`Text`].
#[derive(Clone, Debug)]
pub enum TextChars<'a> {
    /// Of UTF-16 text.
    Utf16(Utf16Chars<'a>),
    /// Of single-byte text.
    Oem(LatinChars<'a>),
}

impl Iterator for Utf16Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if let Some(decoded) = self.decoder.next() {
            return Some(decoded.unwrap_or(REPLACEMENT_CHARACTER));
        }
        core::mem::take(&mut self.odd_byte).then_some(REPLACEMENT_CHARACTER)
    }
}

impl Iterator for LatinChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        self.0.next().map(|byte| if byte.is_ascii() { char::from(*byte) } else { REPLACEMENT_CHARACTER })
    }
}

impl Iterator for TextChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self {
            Self::Utf16(chars) => chars.next(),
            Self::Oem(chars) => chars.next(),
        }
    }
}

/// Two bytes at a time, as 16-bit units. Holds an even number of bytes.
#[derive(Clone, Debug)]
struct Units<'a>(&'a [u8]);

impl Iterator for Units<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        let (unit, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*unit))
    }
}

macro_rules! show_by_chars {
    ($($text:ident),*) => {$(
        impl fmt::Display for $text<'_> {
            /// Lossy, and not sanitised: see the module.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.chars().try_for_each(|character| f.write_char(character))
            }
        }

        impl PartialEq<str> for $text<'_> {
            fn eq(&self, other: &str) -> bool {
                self.chars().eq(other.chars())
            }
        }

        impl PartialEq<&str> for $text<'_> {
            fn eq(&self, other: &&str) -> bool {
                self == *other
            }
        }
    )*};
}

show_by_chars!(Utf16Le, Latin, Text);

impl fmt::Debug for Utf16Le<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_quoted(self.chars(), f)
    }
}

impl fmt::Debug for Latin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_quoted(self.chars(), f)
    }
}

fn debug_quoted(chars: impl Iterator<Item = char>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for character in chars {
        write!(f, "{}", character.escape_debug())?;
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn utf16_beyond_the_basic_plane_is_read() {
        assert_eq!(Utf16Le(&utf16("Straße\\𝄞.txt")).to_string(), "Straße\\𝄞.txt");
    }

    #[test]
    fn unpaired_surrogates_and_odd_bytes_become_the_replacement_character() {
        // D834 alone, then 'a', then half a unit.
        assert_eq!(Utf16Le(&[0x34, 0xD8, 0x61, 0x00, 0x62]).to_string(), "\u{FFFD}a\u{FFFD}");
        assert_eq!(Utf16Le(&[0x00, 0xDC]).to_string(), "\u{FFFD}");
        assert_eq!(Utf16Le(&[0x62]).to_string(), "\u{FFFD}");
    }

    #[test]
    fn oem_letters_are_not_guessed() {
        assert_eq!(Latin(b"M\x81ller").to_string(), "M\u{FFFD}ller");
    }

    #[test]
    fn control_characters_pass_display_and_are_escaped_in_debug() {
        assert_eq!(Latin(b"\x1b[2J").to_string(), "\u{1b}[2J");
        assert_eq!(format!("{:?}", Utf16Le(&utf16("\u{1b}\u{202e}"))), "\"\\u{1b}\\u{202e}\"");
    }

    proptest! {
        #[test]
        fn any_text_survives(text: String) {
            let bytes = utf16(&text);
            prop_assert_eq!(Utf16Le(&bytes).to_string(), text.clone());
            prop_assert_eq!(Text::Utf16(Utf16Le(&bytes)), text.as_str());
        }

        #[test]
        fn any_bytes_read(bytes: Vec<u8>) {
            prop_assert!(Utf16Le(&bytes).chars().count() <= bytes.len().div_ceil(2));
            prop_assert_eq!(Latin(&bytes).chars().count(), bytes.len());
        }
    }
}

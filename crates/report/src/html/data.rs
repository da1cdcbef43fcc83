//! Findings and charts as JSON inside the page.

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};
use std::io::{self, Write};

/// JSON that can stand inside a `script` element: it parses to the same value as what `serde_json::to_string` writes, and
/// holds no `<`, `>`, `&` or line separator, so that no text in it can end the element or start another.
pub(super) fn embeddable<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::with_capacity(1 << 16);
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Embeddable))?;
    String::from_utf8(bytes).map_err(|e| serde_json::Error::io(io::Error::new(io::ErrorKind::InvalidData, e)))
}

/// Compact JSON with the characters that mean something to an HTML or script parser as `\u` escapes.
struct Embeddable;

impl Formatter for Embeddable {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| acts(*c)) {
            let (before, after) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            // All of these characters are in the basic plane: one escape each.
            write!(writer, "\\u{:04x}", u32::from(c))?;
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        CompactFormatter.write_char_escape(writer, escape)
    }
}

fn acts(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

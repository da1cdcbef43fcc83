//! Escapes untrusted text for a terminal.
//!
//! The names of files, shares and users in a capture are chosen by the clients. Printed unchanged, they could move the cursor, rename the
//! window, hide lines or reverse the reading direction. All such characters are replaced by a visible escape such as `\u{202e}`.
//!
//! A backslash itself is unchanged (SMB paths are full of them), so a name with the literal text `\u{202e}` looks the same as one with
//! that character. The JSON report has the original names: there the serialiser escapes control characters.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const ELLIPSIS: char = '…';

/// `text` with visible escapes instead of all characters that are invisible or control a terminal.
///
/// Those are C0 and C1 controls (including ESC, newline and tab), bidirectional marks, overrides and isolates, line and paragraph
/// separators, zero-width and other invisible format characters, and language tags.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            // Writing to a String cannot fail.
            let _ = write!(safe, "{}", c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// [`for_terminal`], at most `columns` wide: cuts the end, and marks the cut with an ellipsis.
pub fn fit(text: &str, columns: usize) -> String {
    cut(text, columns, false)
}

/// [`for_terminal`], at most `columns` wide: cuts the start, because the end of a path is the most specific part.
pub fn fit_path(text: &str, columns: usize) -> String {
    cut(text, columns, true)
}

/// `text` as one word of a shell.
pub fn for_shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+=:@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The path of a file as one word of a shell that no program takes for an option; `-` remains standard input.
pub fn file_for_shell(path: &str) -> String {
    if path.starts_with('-') && path != "-" { for_shell(&format!("./{path}")) } else { for_shell(path) }
}

/// [`for_terminal`], at most `columns` wide: cuts the middle, because the ends of a path are the most specific parts. Three quarters of
/// the result are the end.
pub fn fit_middle(text: &str, columns: usize) -> String {
    let safe = for_terminal(text);
    if safe.width() <= columns && safe.chars().count() <= columns.saturating_mul(4) {
        return safe.into_owned();
    }
    let begin = columns.saturating_sub(1) / 4;
    let head = fit(&safe, begin + 1);
    let head = head.trim_end_matches(ELLIPSIS);
    format!("{head}{}", fit_path(&safe, columns.saturating_sub(head.width())))
}

/// Columns that `text` takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            | '\u{180b}'..='\u{180f}'
            // Zero widths and marks; separators, embeddings, overrides; invisible operators, isolates.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn cut(text: &str, columns: usize, keep_end: bool) -> String {
    // A name may be 64 KiB: only as much of it is made safe as could be shown. No character takes less than a byte,
    // and combining marks (no columns) must not make it long either.
    let safe = for_terminal(text);
    if safe.width() <= columns && safe.chars().count() <= columns.saturating_mul(4) {
        return safe.into_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let mut room = columns - 1;
    let mut characters = columns.saturating_mul(4);
    let mut takes = |c: &char| {
        // These variation selectors widen the character before them: a heart becomes an emoji.
        let width = if matches!(*c, '\u{fe01}' | '\u{fe0f}') { 1 } else { c.width().unwrap_or(0) };
        if width > room || characters == 0 {
            return false;
        }
        room -= width;
        characters -= 1;
        true
    };
    let mut kept: Vec<char> = if keep_end {
        safe.chars().rev().take_while(&mut takes).collect()
    } else {
        safe.chars().take_while(&mut takes).collect()
    };
    kept.push(ELLIPSIS);
    if keep_end {
        kept.reverse();
    }
    kept.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in [r"\dir\file.txt", "/home/ü/日本語.txt", "naïve – “quoted”", "", "😀"] {
            assert!(matches!(for_terminal(name), Cow::Borrowed(_)), "{name}");
        }
    }

    #[test]
    fn a_file_is_no_option() {
        let words = ["-x.pcap", "-a b", "-", "a-b", "it's"].map(file_for_shell);
        assert_eq!(words, ["./-x.pcap", "'./-a b'", "-", "a-b", r"'it'\''s'"]);
    }

    #[test]
    fn what_acts_becomes_visible() {
        let nasty = [
            ("\x1b[2J", r"\u{1b}[2J"),
            ("\x1b]0;owned\x07", r"\u{1b}]0;owned\u{7}"),
            ("a\nINVALID", r"a\u{a}INVALID"),
            ("a\r\tb\x08\x7f", r"a\u{d}\u{9}b\u{8}\u{7f}"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("\0", r"\u{0}"),
            ("invoice\u{202e}fdp.exe", r"invoice\u{202e}fdp.exe"),
            ("\u{2066}x\u{2069}\u{200e}\u{200f}\u{61c}", r"\u{2066}x\u{2069}\u{200e}\u{200f}\u{61c}"),
            ("a\u{2028}b\u{2029}c\u{85}", r"a\u{2028}b\u{2029}c\u{85}"),
            ("same\u{200b}name\u{feff}", r"same\u{200b}name\u{feff}"),
            ("\u{e0041}", r"\u{e0041}"),
        ];
        for (name, shown) in nasty {
            assert_eq!(for_terminal(name), shown);
            assert_eq!(for_terminal(&for_terminal(name)), shown, "and stays so");
        }
    }

    #[test]
    fn no_control_character_passes() {
        let all: String = (0..=0x10_ffff).filter_map(char::from_u32).filter(|&c| c.is_control() || acts(c)).collect();
        assert!(for_terminal(&all).bytes().all(|b| (b' '..=b'~').contains(&b)));
    }

    #[test]
    fn cutting_counts_columns_not_bytes() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdef", 5), "abcd…");
        assert_eq!(fit_path("/a/very/long/path", 8), "…ng/path");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…", "a wide character is not halved");
        assert_eq!(fit("abc", 1), "…");
        assert_eq!(fit("abc", 0), "");
        let hearts = "\u{2764}\u{fe0f}".repeat(20);
        for cut in [fit(&hearts, 10), fit_path(&hearts, 10), fit_middle(&hearts, 10)] {
            assert!(columns(&cut) <= 10, "{cut}");
        }
        assert_eq!(fit("\x1b\x1b", 8), r"\u{1b}\…");
    }

    #[test]
    fn the_middle_of_a_path_goes_first() {
        assert_eq!(fit_middle("/home/anna/reports/2026/november.ods", 20), "/hom…26/november.ods");
        assert_eq!(fit_middle("/short", 20), "/short");
        assert_eq!(fit_middle("abcdef", 1), "…");
        assert_eq!(fit_middle("abcdef", 0), "");
        for width in 0..12 {
            assert!(columns(&fit_middle("日本語日本語日本語", width)) <= width, "{width}");
        }
    }

    #[test]
    fn marks_without_width_cannot_flood_a_line() {
        let zalgo = format!("a{}", "\u{301}".repeat(60_000));
        assert!(fit(&zalgo, 10).chars().count() <= 41);
        assert!(columns(&fit(&zalgo, 10)) <= 10);
    }
}

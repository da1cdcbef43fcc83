//! Capabilities of an output's receiver: colour, characters, columns.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

/// Columns of output to a file or a pipe.
const COLUMNS: u16 = 80;
/// Wider lines are hard to follow, however wide the terminal.
const MOST_COLUMNS: u16 = 132;
/// Names of the variables that say which characters a terminal shows, the first one that is set and not empty (locale(7)).
const LOCALE: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

/// Whether to colour standard output.
pub fn colours_output() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Columns of standard output: the terminal's, within reason.
pub fn columns() -> u16 {
    terminal_size::terminal_size_of(io::stdout()).map_or(COLUMNS, |(width, _)| width.0.min(MOST_COLUMNS))
}

/// Whether standard error is a terminal where a line can be redrawn.
pub fn shows_progress() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// Whether the locale is limited to ASCII. If no variable is set, assume UTF-8, as terminals do.
pub fn ascii_only() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = LOCALE.into_iter().find_map(set);
    locale.is_some_and(|locale| !is_utf8(&locale.to_string_lossy()))
}

fn is_utf8(locale: &str) -> bool {
    let charset = locale.split('@').next().and_then(|locale| locale.split_once('.')).map(|(_, charset)| charset);
    charset.is_some_and(|charset| charset.replace('-', "").eq_ignore_ascii_case("utf8"))
}

/// The text in the characters of the locale.
pub fn in_locale(text: String) -> String {
    if ascii_only() { ascii(&text) } else { text }
}

/// The text in ASCII. Characters of reports keep their columns; other characters, in names, become escapes.
fn ascii(text: &str) -> String {
    // Together with their space they take as many columns as before.
    let text = text.replace(" ±", "+-").replace("≥ ", ">=");
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'µ' => plain.push('u'),
            '…' => plain.push('~'),
            '±' => plain.push_str("+-"),
            '≥' => plain.push_str(">="),
            '←' => plain.push('<'),
            '→' => plain.push('>'),
            '↑' => plain.push('^'),
            '↓' => plain.push('v'),
            // Shades of a heat map: with a full block, from few to many.
            '░' => plain.push('.'),
            '▒' => plain.push('+'),
            '▓' => plain.push('*'),
            // Eighths of a bar.
            '▁'..='█' => plain.push(['_', '.', ':', '-', '=', '+', '*', '#'][(c as usize - '▁' as usize).min(7)]),
            c if c.is_ascii() => plain.push(c),
            c => plain.extend(c.escape_unicode()),
        }
    }
    plain
}

/// Prints to standard error; ignores a closed pipe (`2>&1 | head`).
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", in_locale(text.to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charsets_of_locales() {
        for locale in ["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro"] {
            assert!(is_utf8(locale), "{locale}");
        }
        for locale in ["C", "POSIX", "en_US", "de_DE.ISO-8859-1", "ja_JP.eucJP"] {
            assert!(!is_utf8(locale), "{locale}");
        }
    }

    #[test]
    fn ascii_keeps_the_columns_of_a_report() {
        for text in ["12.3 µs  ▁▂▃▄▅▆▇█ 4 ±2 %", "≥ 17.0 kB", "a name t…", "-1 … +2", "░▒▓█  ←→ ↑↓"]
        {
            let plain = ascii(text);
            assert!(plain.is_ascii() && plain.len() == text.chars().count(), "{text}: {plain}");
        }
        assert_eq!(ascii("é"), "\\u{e9}");
    }
}

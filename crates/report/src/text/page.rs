//! Where lines go: colour, wrapping and headings in one place.

use super::Style;
use super::table::Table;
use super::units::TimeScale;
use crate::safe;
use std::fmt;

/// The role of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    Heading,
    Bar,
    Caution,
    Bad,
    Quiet,
}

impl Role {
    fn select_graphic_rendition(self) -> Option<&'static str> {
        match self {
            Role::Plain => None,
            Role::Heading => Some("1"),
            Role::Bar => Some("36"),
            Role::Caution => Some("1;33"),
            Role::Bad => Some("1;31"),
            Role::Quiet => Some("2"),
        }
    }
}

/// The report being written.
pub(super) struct Page<'a> {
    out: &'a mut dyn fmt::Write,
    colour: bool,
    width: usize,
    lines: usize,
    scale: TimeScale,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn fmt::Write, style: &Style) -> Self {
        Self { out, colour: style.colour, width: style.width(), lines: 0, scale: TimeScale::of([]) }
    }

    /// Columns that a line may take.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The common unit of response and service times in this report.
    pub(super) fn scale(&self) -> TimeScale {
        self.scale
    }

    pub(super) fn set_scale(&mut self, scale: TimeScale) {
        self.scale = scale;
    }

    /// Lines written so far.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// `text` as it goes out; colour codes take no columns, so this comes after all alignment.
    pub(super) fn paint(&self, role: Role, text: &str) -> String {
        match role.select_graphic_rendition() {
            Some(code) if self.colour && !text.trim().is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    pub(super) fn blank(&mut self) -> fmt::Result {
        self.lines += 1;
        self.out.write_char('\n')
    }

    /// A line that is already safe and narrow enough.
    pub(super) fn line(&mut self, text: &str) -> fmt::Result {
        self.lines += 1;
        self.out.write_str(text.trim_end())?;
        self.out.write_char('\n')
    }

    /// A blank line, then a heading that says what follows and in which unit.
    pub(super) fn heading(&mut self, text: &str) -> fmt::Result {
        self.blank()?;
        self.paragraph(Role::Heading, "", text)
    }

    /// Wraps a sentence at its spaces; `lead` starts the first line, and later lines are indented by its width.
    pub(super) fn paragraph(&mut self, role: Role, lead: &str, text: &str) -> fmt::Result {
        let indent = safe::columns(lead);
        let room = self.width.saturating_sub(indent).max(1);
        let text = safe::for_terminal(text);
        for (i, part) in wrap(&text, room).iter().enumerate() {
            let start = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
            let painted = self.paint(role, part);
            self.line(&format!("{start}{painted}"))?;
        }
        Ok(())
    }

    /// Wraps a shell command between its words, so that it can be copied: every line but the last ends with a backslash.
    pub(super) fn command(&mut self, lead: &str, command: &str) -> fmt::Result {
        let indent = safe::columns(lead);
        let room = self.width.saturating_sub(indent).max(1);
        let command = safe::for_terminal(command);
        let lines = wrap_command(&command, room);
        let last = lines.len().saturating_sub(1);
        for (i, line) in lines.iter().enumerate() {
            let start = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
            self.line(&format!("{start}{line}{}", if i < last { " \\" } else { "" }))?;
        }
        Ok(())
    }

    pub(super) fn table(&mut self, table: &Table) -> fmt::Result {
        for line in table.lines(self) {
            self.line(&line)?;
        }
        Ok(())
    }
}

/// Units that stay in the line of their number.
const UNITS: [&str; 14] = ["%", "pt", "ns", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "MB/s", "op/s"];

/// The words of a text; a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    let is_number = |word: &str| {
        let digits = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
    };
    let is_unit = |word: &str| UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(number) if is_unit(word) && is_number(number) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks at spaces; a word that is wider than the room is cut into pieces, for nothing is to be lost.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in words(text) {
        let space = usize::from(used > 0);
        if used > 0 && used + space + safe::columns(&word) > room {
            lines.push(String::new());
            used = 0;
        } else if space > 0
            && let Some(line) = lines.last_mut()
        {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let mut buffer = [0; 4];
            let width = safe::columns(c.encode_utf8(&mut buffer));
            if used > 0 && used + width > room {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
                used += width;
            }
        }
    }
    lines
}

/// Breaks between words of a shell; a word wider than the line stays whole, because a part of it has another meaning.
fn wrap_command(command: &str, room: usize) -> Vec<String> {
    /// Columns of a blank and a backslash.
    const CONTINUED: usize = 2;
    let mut words = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in command.chars() {
        match c {
            ' ' if !quoted && !escaped => words.push(String::new()),
            _ => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
        quoted ^= c == '\'' && !escaped;
        escaped = c == '\\' && !quoted && !escaped;
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let reserve = if at + 1 < words.len() { CONTINUED } else { 0 };
        match lines.last_mut() {
            Some(line) if safe::columns(line) + 1 + safe::columns(word) + reserve <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{wrap, wrap_command};

    #[test]
    fn commands_break_between_words_of_the_shell() {
        assert_eq!(wrap_command("one two three", 80), ["one two three"]);
        assert_eq!(wrap_command("one two three", 9), ["one two", "three"]);
        assert_eq!(wrap_command("one two three", 8), ["one", "two", "three"], "a backslash has to follow");
        assert_eq!(wrap_command("a 'b  c d' e", 6), ["a", "'b  c d'", "e"]);
        assert_eq!(wrap_command(r"a 'it'\''s so' b", 80), [r"a 'it'\''s so' b"]);
        assert_eq!(wrap_command(r"a 'it'\''s  so' b", 4), ["a", r"'it'\''s  so'", "b"]);
    }

    #[test]
    fn wraps_at_spaces_and_loses_nothing() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensibilities", 8), ["incompre", "hensibil", "ities"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("less than 0.1 % of it (30.0 s)", 13), ["less than", "0.1 % of it", "(30.0 s)"], "a unit");
        assert_eq!(wrap("client 1 s", 8), ["client", "1 s"]);
        assert_eq!(wrap("level 10 h at", 8), ["level", "10 h at"]);
        assert_eq!(wrap("a  b", 80), ["a b"]);
    }
}

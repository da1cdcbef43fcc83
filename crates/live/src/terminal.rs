//! The terminal of a watch: reads single keys, draws screens, and restores the previous state afterwards.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use plimsoll_console::{interrupt, shell};
use plimsoll_report::safe::fit;

/// Switches to the alternate screen without a cursor, and back. Some terminals keep lines of it after a change of size, so clear it first.
/// Some terminals show characters wider than Unicode says, so lines must not wrap.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[2J\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Terminals that support this mode show all changes at once.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// Previous state of the terminal, while it is changed.
static BEFORE: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    Up,
    Down,
    Left,
    Right,
    Enter,
    Backspace,
}

/// The lines of a screen, and its columns and rows.
#[derive(Default)]
struct Drawing {
    size: (usize, usize),
    lines: Vec<String>,
}

/// A terminal that shows screens.
pub(super) struct Terminal {
    keys: File,
    screens: Option<SyncSender<Drawing>>,
    writer: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Opens the terminal of standard output; `None` without a terminal, or if it cannot read keys, as in the background of a shell.
    pub(super) fn open() -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        if !io::stdout().is_terminal() || dumb {
            return None;
        }
        // Standard input may be a pipe with packets.
        let keys = match io::stdin().is_terminal() {
            true => File::from(io::stdin().as_fd().try_clone_to_owned().ok()?),
            false => OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?,
        };
        if has_other_job(&keys) {
            return None;
        }
        let before = tcgetattr(&keys).ok()?;
        let mut raw = before.clone();
        // Keep Ctrl-C as a signal. Disable Ctrl-Z and Ctrl-\, because a watch that they stop or end would leave its screen in the terminal.
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        raw.special_codes[SpecialCodeIndex::VSUSP] = 0;
        raw.special_codes[SpecialCodeIndex::VQUIT] = 0;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some((keys.try_clone().ok()?, before));
        std::panic::set_hook(Box::new(|panic| {
            restore();
            shell::note(&panic.to_string());
        }));
        interrupt::restore_on_end(restore).ok()?;
        // `Now` keeps keys that were typed before.
        tcsetattr(&keys, OptionalActions::Now, &raw).ok()?;
        let mut out = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
        out.write_all(ENTER.as_bytes()).ok()?;
        // Never wait for a terminal that accepts no output: the kernel's packet buffer would overflow.
        let (screens, shown) = sync_channel::<Drawing>(1);
        let writer = std::thread::spawn(move || {
            let mut before = Drawing::default();
            for now in shown {
                if out.write_all(changes(&before, &now).as_bytes()).is_err() {
                    return;
                }
                before = now;
            }
        });
        Some(Self { keys, screens: Some(screens), writer: Some(writer) })
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        let size = terminal_size::terminal_size_of(&self.keys);
        size.map_or((80, 24), |(columns, rows)| (usize::from(columns.0), usize::from(rows.0)))
    }

    /// Shows a screen of this size, unless the previous one is still being written. Returns whether it does.
    pub(super) fn show(&self, lines: Vec<String>, size: (usize, usize)) -> bool {
        let lines = lines.into_iter().map(|line| in_columns(line, size.0)).collect();
        self.screens.as_ref().is_some_and(|screens| screens.try_send(Drawing { size, lines }).is_ok())
    }

    /// Keys that were typed since the last call.
    pub(super) fn keys(&mut self) -> Vec<Key> {
        if has_other_job(&self.keys) {
            return Vec::new();
        }
        let mut bytes = [0; 64];
        let read = self.keys.read(&mut bytes).unwrap_or(0);
        keys(bytes.get(..read).unwrap_or_default())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.screens = None;
        // The thread may still be writing the last screen.
        self.writer.take().map(JoinHandle::join);
        restore();
    }
}

/// Whether another job of the shell has the terminal: a read, or a change of the settings, would stop this one. A terminal that is not the
/// one of this session has no jobs.
fn has_other_job(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|foreground| foreground != getpgrp())
}

/// Restores the terminal if it was changed.
pub(crate) fn restore() {
    let Some((mut terminal, before)) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    // If the terminal no longer exists, no message can be shown.
    let _ = terminal.write_all(LEAVE.as_bytes());
    if !has_other_job(&terminal) {
        let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
    }
}

/// The line in the characters of the locale. In ASCII, the names in a notice may become longer, so the line is cut again.
fn in_columns(line: String, columns: usize) -> String {
    if !shell::ascii_only() {
        return line;
    }
    // `>=` takes the place of one of the spaces before the number, so that the columns stay.
    let plain = shell::in_locale(line.replace("  \u{2265}", " >="));
    shell::in_locale(fit(&plain, columns))
}

/// Output that changes one screen into another.
fn changes(before: &Drawing, now: &Drawing) -> String {
    let mut out = BEGIN.to_owned();
    // Also after a change of the columns only: the terminal may have wrapped a line of the previous width.
    let is_new = before.size != now.size;
    if is_new {
        out += "\x1b[2J";
    }
    for (row, line) in now.lines.iter().enumerate() {
        if is_new || before.lines.get(row) != Some(line) {
            // Erase first: after a line of all columns, xterm and the Linux console would erase its last character.
            out += &format!("\x1b[{};1H\x1b[K{line}", row + 1);
        }
    }
    out + END
}

fn keys(mut bytes: &[u8]) -> Vec<Key> {
    // An earlier program may have left the cursor keys in application mode.
    let sequences: [(&[u8], Key); 12] = [
        (b"\x1b[A", Key::Up),
        (b"\x1b[B", Key::Down),
        (b"\x1b[C", Key::Right),
        (b"\x1b[D", Key::Left),
        (b"\x1bOA", Key::Up),
        (b"\x1bOB", Key::Down),
        (b"\x1bOC", Key::Right),
        (b"\x1bOD", Key::Left),
        (b"\r", Key::Enter),
        (b"\n", Key::Enter),
        (b"\x7f", Key::Backspace),
        (b"\x08", Key::Backspace),
    ];
    let mut keys = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        if let Some((sequence, key)) = sequences.iter().find(|(sequence, _)| bytes.starts_with(sequence)) {
            keys.push(*key);
            bytes = bytes.get(sequence.len()..).unwrap_or_default();
        } else {
            keys.extend(first.is_ascii_graphic().then_some(Key::Character(first.into())));
            keys.extend((first == b' ').then_some(Key::Character(' ')));
            bytes = rest;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        let expected = [
            Key::Character('q'),
            Key::Up,
            Key::Enter,
            Key::Backspace,
            Key::Left,
            Key::Character(' '),
            Key::Character('['),
        ];
        assert_eq!(keys(b"q\x1b[A\r\x7f\x1b[D \x1b["), expected);
        assert_eq!(keys(b"\x1bOA\x1bOB\x1bOC\x1bOD"), [Key::Up, Key::Down, Key::Right, Key::Left]);
    }

    fn drawing(columns: usize, lines: &[&str]) -> Drawing {
        Drawing { size: (columns, lines.len()), lines: lines.iter().map(|line| (*line).to_owned()).collect() }
    }

    /// The cursor stays in the last column after a line of all columns. Erasing from there would remove the latest second of a chart.
    #[test]
    fn lines_that_stay_are_not_written_again_and_new_ones_keep_their_last_column() {
        let out = changes(&drawing(2, &["a", "b"]), &drawing(2, &["a", "cd"]));
        assert_eq!(out, format!("{BEGIN}\x1b[2;1H\x1b[Kcd{END}"));
    }

    #[test]
    fn a_screen_changes_the_terminal_only_until_its_end() {
        let modes = |text: &str, last: char| -> Vec<String> {
            let parts = text.split("\x1b[?").filter_map(|part| part.split_once(last));
            let mut modes: Vec<String> = parts.map(|(mode, _)| mode.to_owned()).collect();
            modes.sort();
            modes
        };
        assert_eq!(modes(ENTER, 'l'), ["25", "7"], "the cursor, and the wrapping of lines");
        assert_eq!(modes(LEAVE, 'h'), ["25", "7"]);
        assert_eq!((modes(ENTER, 'h'), modes(LEAVE, 'l')), (vec!["1049".to_owned()], vec!["1049".to_owned()]));
    }

    /// A terminal that became narrower while a line was written has wrapped it over the next one, which may be the same as before.
    #[test]
    fn all_lines_are_written_again_after_a_change_of_rows_or_columns() {
        let before = drawing(100, &["a", "b"]);
        let all = format!("{BEGIN}\x1b[2J\x1b[1;1H\x1b[Ka\x1b[2;1H\x1b[Kb");
        assert_eq!(changes(&before, &drawing(90, &["a", "b"])), format!("{all}{END}"));
        assert_eq!(changes(&before, &drawing(100, &["a", "b", "c"])), format!("{all}\x1b[3;1H\x1b[Kc{END}"));
    }
}

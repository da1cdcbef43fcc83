//! The screen of a terminal: when to draw it, and the commands of its keys.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use plimsoll_console::shell;
use plimsoll_model::Names;
use plimsoll_stats::live::Recent;

use super::beside::Beside;
use super::publish::PAGE;
use super::second::latest_ns;
use super::terminal::Terminal;
use super::view::{Asked, View};

/// Interval between two drawings of the same second if no key is pressed. Losses and the state of a run may have changed.
const REDRAW: Duration = Duration::from_secs(1);

/// The view and its terminal.
pub struct Screen {
    terminal: Terminal,
    pub(super) view: View,
    redraw: Instant,
    /// State at the last drawing: the end of the latest second, columns and rows, and whether the input had ended.
    drawn: Option<(i64, (usize, usize), bool)>,
}

impl Screen {
    /// A view of `input` in the terminal, if there is one. It shows `addresses` all the time.
    pub fn open(input: &str, addresses: &[String]) -> Option<Self> {
        let terminal = Terminal::open()?;
        let view = View::new(shell::in_locale(input.to_owned())).with_addresses(addresses);
        Some(Self { terminal, view, redraw: Instant::now(), drawn: None })
    }

    /// Executes the keys that were pressed, and draws. Returns whether the user wants to end the watch.
    pub(super) fn look(&mut self, recent: &Recent, names: &Names, now_ns: i64, beside: &Beside<'_>) -> bool {
        let asked: Vec<Asked> = self.terminal.keys().into_iter().map(|key| self.view.typed(key)).collect();
        let (now, size) = (Instant::now(), self.terminal.size());
        // The numbers change once per second, as soon as the second is complete.
        let drawn = Some((latest_ns(now_ns), size, beside.ended));
        if asked.is_empty() && self.drawn == drawn && now < self.redraw {
            return false;
        }
        self.redraw = now + REDRAW;
        let lines = self.view.lines(recent, names, beside, (now_ns, size));
        if asked.contains(&Asked::Save) {
            self.view.message = Some(save(&without_secrets(&lines)));
        }
        self.drawn = drawn.filter(|_| self.terminal.show(lines, size));
        asked.contains(&Asked::Quit)
    }
}

/// The lines without the address of the page: anybody with its token can open the page.
fn without_secrets(lines: &[String]) -> Vec<String> {
    lines.iter().filter(|line| !line.starts_with(PAGE)).cloned().collect()
}

/// Writes the screen to a new file in the current folder. Returns a message with its name.
fn save(lines: &[String]) -> String {
    for number in 1..1_000 {
        let name = format!("plimsoll-watch-{number}.txt");
        let file = OpenOptions::new().write(true).create_new(true).open(&name);
        let written = match file {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(error) => Err(error),
            Ok(mut file) => file.write_all((lines.join("\n") + "\n").as_bytes()),
        };
        return written.map_or_else(|error| format!("{name}: cannot save: {error}"), |()| format!("Saved to {name}"));
    }
    "Cannot save: too many plimsoll-watch-*.txt files in this folder; delete some".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_screen_has_no_token() {
        let lines = ["interface eth0", "Page: http://127.0.0.1:40535/5f5f/", "Metrics: http://127.0.0.1:9464/metrics"];
        let saved = without_secrets(&lines.map(str::to_owned));
        assert_eq!(saved, [lines[0], lines[2]]);
    }
}

//! The view in a terminal: when it is drawn, and what its keys do.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use plimsoll_observe::Observer;
use plimsoll_report::findings::Source;
use plimsoll_stats::live::LiveLosses;

use super::terminal::Terminal;
use super::view::{Asked, View};
use crate::analysis::Sinks;

/// Between two screens, where no key is typed.
const REDRAW: Duration = Duration::from_millis(250);

/// The view and its terminal.
pub(super) struct Screen {
    terminal: Terminal,
    pub(super) view: View,
    redraw: Instant,
}

impl Screen {
    /// A view of a source in the terminal, if there is one.
    pub(super) fn open(source: &Source) -> Option<Self> {
        let terminal = Terminal::open()?;
        Some(Self { terminal, view: View::new(source.inputs.join(", ")), redraw: Instant::now() })
    }

    /// Carries out the keys that were pressed, and draws. Returns whether the user ended the watch.
    pub(super) fn look(&mut self, observer: &mut Observer<Sinks>, now_ns: i64, losses: LiveLosses) -> bool {
        let asked: Vec<Asked> = self.terminal.keys().into_iter().map(|key| self.view.typed(key)).collect();
        let now = Instant::now();
        if asked.is_empty() && now < self.redraw {
            return false;
        }
        self.redraw = now + REDRAW;
        self.view.losses = losses;
        let (sinks, names) = observer.sink();
        let Some((recent, _)) = sinks.sink.1.as_deref() else { return true };
        let lines = self.view.lines(recent, names, now_ns, self.terminal.size());
        if asked.contains(&Asked::Save) {
            self.view.message = Some(save(&lines));
        }
        self.terminal.show(lines);
        asked.contains(&Asked::Quit)
    }
}

/// Writes the screen to a new file in the present folder; says which.
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
    "Cannot save: there are too many files plimsoll-watch-*.txt".to_owned()
}

//! Live views of a watch or a run: in a terminal, as lines, in browsers, and as metrics.

mod beside;
mod browser;
mod held;
mod http;
mod key_name;
mod lines;
mod metrics;
mod notices;
mod pace;
mod progress_file;
mod publish;
mod run;
mod run_monitor;
mod screen;
mod second;
mod terminal;
mod view;
pub mod watch;

use plimsoll_console::shell;
use plimsoll_model::Names;
use plimsoll_stats::live::Recent;

pub use beside::{Beside, Captured};
pub use browser::Browser;
pub use lines::Lines;
pub use metrics::Metrics;
pub use notices::{OutputState, Silence};
pub use pace::{CHECK_INTERVAL, Pace};
pub use progress_file::ProgressFile;
pub use publish::{Listening, Publish};
pub use run::{RunView, Wanted};
pub use run_monitor::RunMonitor;
pub use screen::Screen;
pub use second::latest_ns;

/// All live views of a watch or a run.
pub struct LiveView {
    shown: Shown,
    browser: Option<Browser>,
    /// Behind `shown`, so that the terminal is restored before these are printed.
    informed: Informed,
}

/// Facts that a screen showed for a moment: printed when the screen is closed.
#[derive(Default)]
struct Informed(Vec<String>);

impl Drop for Informed {
    fn drop(&mut self) {
        self.0.iter().for_each(|text| shell::note(&format!("plimsoll: {text}")));
    }
}

enum Shown {
    Screen(Box<Screen>),
    Lines(Lines),
}

impl LiveView {
    /// A screen in the terminal, or lines without a terminal.
    pub fn new(screen: Option<Screen>, lines: Lines, browser: Option<Browser>) -> Self {
        let shown = screen.map_or(Shown::Lines(lines), |screen| Shown::Screen(Box::new(screen)));
        Self { shown, browser, informed: Informed::default() }
    }

    /// Whether the view stays open after the end of the input.
    pub fn stays(&self) -> bool {
        self.browser.is_some() || matches!(self.shown, Shown::Screen(_))
    }

    /// Shows a message.
    pub fn say(&mut self, text: String) {
        match &mut self.shown {
            Shown::Screen(screen) => screen.view.message = Some(text),
            Shown::Lines(lines) => lines.say(&text),
        }
    }

    /// Shows a fact: on a screen until the next key, and once more behind the screen; as a line unless --quiet is given.
    pub fn inform(&mut self, text: String) {
        match &mut self.shown {
            Shown::Screen(screen) => {
                self.informed.0.push(text.clone());
                screen.view.message = Some(text);
            }
            Shown::Lines(lines) => lines.log(&text),
        }
    }

    /// The clock of the capture was set back: all views go on at `now_ns`, and say so.
    pub fn went_back(&mut self, now_ns: i64, text: Option<String>) {
        if let Some(text) = text {
            self.inform(text);
        }
        if let Some(browser) = &mut self.browser {
            browser.went_back(now_ns);
        }
        if let Shown::Lines(lines) = &mut self.shown {
            lines.went_back(now_ns);
        }
    }

    /// Shows the current activity in views that print lines. A screen shows it all the time.
    pub fn log(&self, text: &str) {
        if let Shown::Lines(lines) = &self.shown {
            lines.log(text);
        }
    }

    /// Shows the latest seconds. Returns whether the user wants an end.
    pub fn look(&mut self, recent: &Recent, names: &Names, now_ns: i64, beside: &Beside<'_>) -> bool {
        if let Some(browser) = &mut self.browser {
            browser.look(recent, names, now_ns, beside);
        }
        match &mut self.shown {
            Shown::Screen(screen) => screen.look(recent, names, now_ns, beside),
            Shown::Lines(lines) => {
                lines.look(recent, names, now_ns, beside);
                false
            }
        }
    }
}

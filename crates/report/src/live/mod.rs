//! The live view of a server: numbers become lines of text.

mod chart;
mod heat;
mod line;
mod moment;
mod page;
mod run;
mod screen;
mod table;
#[cfg(test)]
mod tests;

pub use line::line;
pub use moment::{about, moment};
pub use page::LivePage;
pub use run::{LiveLevel, LiveRun, counters_line};
pub use screen::screen;

use plimsoll_stats::HEAT_ROWS;
use plimsoll_stats::live::{LiveLosses, LiveSum};

use crate::{duration, significant};

/// The numbers of some seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveFigures {
    /// When they began, ns since the Unix epoch.
    pub from_ns: i64,
    /// The seconds by which rates are divided. `None` if the captured part of these seconds is too short for a rate.
    pub seconds: Option<f64>,
    /// Operations that ended.
    pub operations: u64,
    /// Those that were refused or failed.
    pub errors: u64,
    /// File data moved, bytes. `None` if unknown.
    pub bytes: Option<u64>,
    /// Whether `bytes` lacks operations of unknown size.
    pub bytes_at_least: bool,
    /// Response times, ns; none without operations.
    pub p50_ns: Option<u64>,
    /// The same.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
    /// Requests outstanding, mean. `None` if unknown.
    pub queue_depth: Option<f64>,
    /// The requests without a response at the end of these seconds; `None` if unknown.
    pub waiting: Option<LiveWait>,
    /// Number of packets that the capture lost: the other numbers are then incomplete.
    pub lost_packets: u64,
    /// Whether the captured interface was down: the other numbers are then incomplete.
    pub interface_down: bool,
    /// Whether more operations may belong to a selection: the numbers are then of a part of it.
    pub at_least: bool,
}

/// Requests that wait for a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveWait {
    /// Requests; 0 if nobody waits.
    pub requests: u64,
    /// How long the oldest has waited, ns; 0 without any.
    pub oldest_ns: u64,
}

impl LiveWait {
    /// In words.
    fn said(self) -> String {
        match self.requests {
            0 => "0".to_owned(),
            requests => format!("{requests}, oldest {}", duration(self.oldest_ns as f64 / 1e9)),
        }
    }
}

impl LiveFigures {
    /// Whether the numbers lack operations.
    fn is_incomplete(&self) -> bool {
        self.lost_packets > 0 || self.interface_down
    }

    /// File data per second, MB.
    fn megabytes(&self) -> String {
        let least = if self.bytes_at_least { "\u{2265}" } else { "" };
        let rate = self.bytes.and_then(|bytes| self.per_second(bytes));
        rate.map_or_else(|| "-".to_owned(), |rate| format!("{least}{}", significant(rate / 1e6)))
    }

    /// A number of operations per second.
    fn rate(&self, number: u64) -> String {
        self.per_second(number).map_or_else(|| "-".to_owned(), significant)
    }

    fn per_second(&self, number: u64) -> Option<f64> {
        self.seconds.filter(|&seconds| seconds > 0.0).map(|seconds| number as f64 / seconds)
    }
}

/// Times of which a heat map is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveTimes {
    /// Response times.
    #[default]
    Response,
    /// Response times from the intended start: under a schedule they lead.
    FromIntended,
    /// Service times.
    Service,
}

impl LiveTimes {
    /// Their label.
    pub fn label(self) -> &'static str {
        match self {
            LiveTimes::Response => "Response times",
            LiveTimes::FromIntended => "Response times from the intended start",
            LiveTimes::Service => "Service times",
        }
    }
}

/// Everything on a screen.
#[derive(Clone, Debug, Default)]
pub struct LiveScreen {
    /// The input.
    pub input: String,
    /// Live, paused, or ended.
    pub state: String,
    /// Since when the captured interface is down, ns since the Unix epoch; `None` while it is up, or without an interface.
    pub down_since_ns: Option<i64>,
    /// The shown second, and the minute up to it.
    pub now: LiveFigures,
    /// The minute.
    pub lately: LiveFigures,
    /// Second by second.
    pub history: Vec<LiveFigures>,
    /// What times the heat map has.
    pub heat_of: LiveTimes,
    /// Times of these seconds, by the rows of a heat map.
    pub heat: Vec<[u64; HEAT_ROWS]>,
    /// The dimension of the table.
    pub by: String,
    /// The filters of the table, outermost first.
    pub within: Vec<String>,
    /// Its rows; the one without a known key is last.
    pub rows: Vec<LiveScreenRow>,
    /// How many seconds it covers.
    pub table_s: f64,
    /// What clients waited for in all rows, ns.
    pub waited_ns: u64,
    /// The row that Enter takes.
    pub selected: usize,
    /// Requests that may belong there too, as a share of those that do.
    pub unknown_share: f64,
    /// The first sentence of the diagnosis so far.
    pub diagnosis: Option<String>,
    /// Losses of the capture so far; `None` without a capture.
    pub losses: Option<LiveLosses>,
    /// The run that is shown, where it is one.
    pub run: Option<LiveRun>,
    /// Facts about the watch, most important first.
    pub notices: Vec<String>,
    /// In place of the keys.
    pub message: Option<String>,
}

/// A row of the table.
#[derive(Clone, Debug, Default)]
pub struct LiveScreenRow {
    /// The key, unsafe as it was in the traffic; `None` for requests without a known key.
    pub name: Option<String>,
    /// Its requests.
    pub sum: LiveSum,
    /// Whether more requests may belong to the key.
    pub at_least: bool,
}

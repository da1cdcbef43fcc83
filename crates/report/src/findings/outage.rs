//! Silences, requests without an answer and short reads of a load level, which percentiles do not show.

use serde::{Deserialize, Serialize};

/// Times without any answer to an action although a request was outstanding or due, and requests that had none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// The longest, s; null where none lasted 10 ms.
    pub longest_s: Option<f64>,
    /// When it began, ns since the Unix epoch.
    pub longest_at_ns: Option<i64>,
    /// A silence of at least this is an outage, s.
    pub outage_limit_s: f64,
    /// Outages.
    pub outages: u64,
    /// All outages together, s.
    pub without_answer_s: f64,
    /// The longest that an action without an answer had waited, s: a lower bound of its response time, counted as the
    /// headline is. Null where all had one.
    pub unanswered_wait_s: Option<f64>,
}

/// Reads by result. Without those of a load file, which contains the expected result of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortReads {
    /// Reads that succeeded.
    pub reads: u64,
    /// Those that returned fewer bytes than asked for, but some: they ended at the end of the file.
    pub short: u64,
    /// Those that returned nothing: they began at or beyond the end of the file.
    pub empty: u64,
    /// Answered reads whose data were compared with the expected data, from connecting to logging off. Null in older recordings.
    #[serde(default)]
    pub verified: Option<u64>,
}

/// A level that ended before its planned end: the user stopped it, or all clients had given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interruption {
    /// Length of the measurement, s.
    pub after_s: f64,
    /// Length that was planned, s; null where none was.
    pub planned_s: Option<f64>,
}

impl Interruption {
    /// What follows the words of the load of such a level.
    pub const WORDS: &str = " (stopped early)";
}

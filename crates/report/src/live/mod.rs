//! What somebody sees who watches a server: plain numbers become lines of text.

mod line;

pub use line::line;

/// The numbers of some seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveFigures {
    /// When they began, ns since the Unix epoch.
    pub from_ns: i64,
    /// How many seconds.
    pub seconds: f64,
    /// Operations that ended.
    pub operations: u64,
    /// Those that were refused or failed.
    pub errors: u64,
    /// File data moved, bytes; at least.
    pub bytes: u64,
    /// Response times, ns; none without operations.
    pub p50_ns: Option<u64>,
    /// The same.
    pub p99_ns: Option<u64>,
    /// Requests outstanding, mean.
    pub queue_depth: f64,
    /// Packets that the capture lost: the other numbers have only a part of what happened.
    pub lost_packets: u64,
}

impl LiveFigures {
    /// A number of these, per second.
    fn per_second(&self, number: u64) -> f64 {
        if self.seconds > 0.0 { number as f64 / self.seconds } else { 0.0 }
    }
}

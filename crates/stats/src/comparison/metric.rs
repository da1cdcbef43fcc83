//! The metrics of a comparison.

/// A number of a row that has an uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Operations answered, 1/s.
    Throughput,
    /// File data moved, bytes/s.
    Bytes,
    /// Mean response time, s.
    Mean,
    /// Median response time, s.
    P50,
    /// The time that 90 % do not exceed, s.
    P90,
    /// The time that 95 % do not exceed, s.
    P95,
    /// The time that 99 % do not exceed, s.
    P99,
    /// The time that 99.9 % do not exceed, s.
    P999,
    /// Answers with an error status and failures, of all operations; 0..=1.
    Errors,
}

/// The metric of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Operations per second.
    OperationsPerSecond,
    /// Bytes a second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// A part of one, 0..=1.
    Share,
}

plimsoll_model::words! {
    Metric,
    "Every metric, in the order of reports.",
    "The word used in tables, files and flags.":
    Throughput "throughput", Bytes "bytes", Mean "mean", P50 "p50", P90 "p90", P95 "p95", P99 "p99", P999 "p99.9",
    Errors "errors"
}

impl Metric {
    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Throughput => Unit::OperationsPerSecond,
            Metric::Bytes => Unit::BytesPerSecond,
            Metric::Errors => Unit::Share,
            Metric::Mean | Metric::P50 | Metric::P90 | Metric::P95 | Metric::P99 | Metric::P999 => Unit::Seconds,
        }
    }

    /// Whether a user wants it large.
    pub fn more_is_better(self) -> bool {
        matches!(self, Metric::Throughput | Metric::Bytes)
    }

    /// Which percentile of the response times it is, 0..=100.
    pub fn percentile(self) -> Option<f64> {
        match self {
            Metric::P50 => Some(50.0),
            Metric::P90 => Some(90.0),
            Metric::P95 => Some(95.0),
            Metric::P99 => Some(99.0),
            Metric::P999 => Some(99.9),
            _ => None,
        }
    }
}

impl Unit {
    /// The word used in files.
    pub fn label(self) -> &'static str {
        match self {
            Unit::OperationsPerSecond => "1/s",
            Unit::BytesPerSecond => "B/s",
            Unit::Seconds => "s",
            Unit::Share => "share",
        }
    }
}

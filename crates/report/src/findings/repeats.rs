//! Comparison of a load level's repeats.

use serde::{Deserialize, Serialize};

use super::curve::Interval;
use super::load_level::words;

/// Prefix of a curve's name if it is a repeat; a number follows.
pub const REPEAT: &str = "repeat ";

/// The part of a curve's name besides the repeat: the value of the varied parameter, if there is one.
pub fn besides_repeat(curve: &str) -> Option<&str> {
    match curve.rsplit_once(", ") {
        Some((value, last)) if last.starts_with(REPEAT) => Some(value),
        _ => Some(curve).filter(|curve| !curve.starts_with(REPEAT)),
    }
}

/// A load level that was run three times or more, and how much its runs differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedLevel {
    /// The load in words.
    pub load_name: String,
    /// The load curve that it is a point of, whichever repeat; null where the run has one.
    pub curve: Option<String>,
    /// Whether the numbers of all its runs may be used.
    pub valid: bool,
    /// Numbers of the load levels that are its runs.
    pub levels: Vec<u32>,
    /// Requests answered, 1/s.
    pub operations_per_s: Option<Spread>,
    /// Mean response time of all operations together, s; null unless every run has one.
    pub response_mean_s: Option<Spread>,
    /// Their median, s; likewise.
    pub response_p50_s: Option<Spread>,
    /// Their 99th percentile, s; null unless every run has enough requests for one.
    pub response_p99_s: Option<Spread>,
}

impl RepeatedLevel {
    /// Its load in words, and the curve that it is of where the words do not say it.
    pub fn words(&self) -> String {
        words(&self.load_name, self.curve.as_deref())
    }
}

/// A number of each run, over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// The interval of the mean; it includes the variation between runs.
    pub interval: Interval,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_of_a_value_are_of_the_same_value() {
        let of = ["repeat 2", "block 1kB, repeat 2", "block 1kB", "SMB"].map(besides_repeat);
        assert_eq!(of, [None, Some("block 1kB"), Some("block 1kB"), Some("SMB")]);
    }
}

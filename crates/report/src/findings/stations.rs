//! How the server treated its stations, one beside the other.

use serde::{Deserialize, Serialize};

/// Response times and errors of stations beside each other. What is over the mean is over [`StationSpread::mean_s`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationSpread {
    /// Mean of the stations' mean response times, s; null where none did anything.
    pub mean_s: Option<f64>,
    /// Smallest of the stations' mean response times, over the mean.
    pub min: Option<f64>,
    /// Largest, over the mean.
    pub max: Option<f64>,
    /// Standard deviation of the stations' mean response times, over the mean; null for one station.
    pub stddev: Option<f64>,
    /// Stations that stand out; at most [`MOST_STATIONS`], `odd_stations` tells how many there are.
    pub odd: Vec<OddStation>,
    /// How many stations stand out.
    pub odd_stations: u64,
    /// Stations with errors, most errors first; at most [`MOST_STATIONS`].
    pub errors: Vec<StationErrors>,
    /// How many stations have errors.
    pub stations_with_errors: u64,
    /// Stations of which nobody can tell whether the server treats them otherwise: the threads that ran them were not equally on time, or
    /// that is not known, and each has too few stations to be compared with each other.
    #[serde(default)]
    pub unjudged_stations: u64,
}

/// Stations that are listed one by one.
pub const MOST_STATIONS: usize = 64;

/// A station that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OddStation {
    /// Its number, from 0.
    pub station: u32,
    /// slower, quicker or lossy.
    pub how: String,
    /// Its mean response time, s; null where nothing succeeded.
    pub mean_s: Option<f64>,
    /// Median of all stations' mean response times, s.
    pub usual_s: Option<f64>,
    /// Its errors.
    pub errors: u64,
    /// Its actions that succeeded and those that did not.
    pub attempts: u64,
    /// The load generator's thread that ran it, from 0.
    #[serde(default)]
    pub thread: u32,
}

/// Errors of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationErrors {
    /// Its number, from 0.
    pub station: u32,
    /// Its errors.
    pub errors: u64,
    /// Its actions that succeeded and those that did not.
    pub attempts: u64,
}

//! Differences between clients.

use serde::{Deserialize, Serialize};

/// Response times and errors of the clients. Relative values refer to [`ClientSpread::mean_s`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientSpread {
    /// Mean of the clients' mean response times, s; null where none did anything.
    pub mean_s: Option<f64>,
    /// Smallest of the clients' mean response times, over the mean.
    pub min: Option<f64>,
    /// Largest, over the mean.
    pub max: Option<f64>,
    /// Standard deviation of the clients' mean response times, over the mean; null for one client.
    pub stddev: Option<f64>,
    /// Every client, by its number; of more than [`MOST_CLIENT_ROWS`] the first ones.
    #[serde(default)]
    pub clients: Vec<ClientRow>,
    /// Clients that stand out; at most [`MOST_CLIENTS`], `outlier_clients` tells how many there are.
    pub outliers: Vec<OutlierClient>,
    /// How many clients stand out.
    pub outlier_clients: u64,
    /// Clients with errors, most errors first; at most [`MOST_CLIENTS`].
    pub errors: Vec<ClientErrors>,
    /// How many clients have errors.
    pub clients_with_errors: u64,
    /// Clients that cannot be judged: the threads that ran them were not equally on time, or this is unknown, and each thread has too few
    /// clients for a comparison.
    #[serde(default)]
    pub unjudged_clients: u64,
}

/// Clients that are listed one by one because something is wrong with them.
pub const MOST_CLIENTS: usize = 64;

/// Clients of a level that are listed at all: a report of ten levels stays below 2 MB.
pub const MOST_CLIENT_ROWS: usize = 1_024;

/// Operations and response times of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// Its number, from 1.
    pub client: u32,
    /// The load generator's thread that ran it, from 0.
    pub thread: u32,
    /// Iterations that ended.
    pub iterations: u64,
    /// The same over the mean of all clients; null where none ended any.
    pub iterations_ratio: Option<f64>,
    /// Its actions that succeeded.
    pub actions: u64,
    /// Those that did not.
    pub errors: u64,
    /// Its mean response time, s; null where nothing succeeded.
    pub mean_s: Option<f64>,
    /// The same over [`ClientSpread::mean_s`].
    pub mean_ratio: Option<f64>,
}

/// A client that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlierClient {
    /// Its number, from 1.
    pub client: u32,
    /// How it differs.
    pub how: OutlierKind,
    /// Its mean response time, s; null where nothing succeeded.
    pub mean_s: Option<f64>,
    /// Median of all clients' mean response times, s.
    pub usual_s: Option<f64>,
    /// Its errors.
    pub errors: u64,
    /// Its actions that succeeded and those that did not.
    pub attempts: u64,
    /// The load generator's thread that ran it, from 0.
    #[serde(default)]
    pub thread: u32,
}

/// How a client differs from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlierKind {
    /// Its mean response time is longer.
    Slower,
    /// Its mean response time is shorter.
    Quicker,
    /// It has more errors.
    Lossy,
}

plimsoll_model::words! {
    OutlierKind,
    "Every kind.",
    "The word in reports and files.":
    Slower "slower", Quicker "quicker", Lossy "lossy"
}

/// Errors of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientErrors {
    /// Its number, from 1.
    pub client: u32,
    /// Its errors.
    pub errors: u64,
    /// Its actions that succeeded and those that did not.
    pub attempts: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_reports_have_the_same_word_of_a_kind() {
        for kind in OutlierKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.label());
        }
    }
}

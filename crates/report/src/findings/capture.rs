//! Data from packets other than operations and counts: the clock, and missing parts.

use serde::{Deserialize, Serialize};

/// The capture clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Granularity, s.
    pub granularity_s: Option<f64>,
    /// The data only show that it is not coarser.
    pub at_most: bool,
    /// How often time went backwards between frames.
    pub backward_steps: u64,
}

/// Operations with a missing half, or missing completely (`plimsoll_model::Unseen`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each field has the name and meaning of plimsoll_model::Unseen")]
pub struct Unseen {
    pub paired: u64,
    pub requests_after_gap: u64,
    pub responses_after_gap: u64,
    pub requests_after_cut: u64,
    pub responses_after_cut: u64,
    pub requests_one_sided: u64,
    pub responses_one_sided: u64,
    pub requests_waiting: u64,
    pub responses_before_start: u64,
    /// Requests without an answer for an unknown reason: over UDP there is no trace of packets that were not captured.
    pub requests_unexplained: u64,
    /// Responses without a request, likewise; or of a connection whose beginning was captured.
    pub responses_unexplained: u64,
    pub encrypted: u64,
    pub compressed: u64,
    /// Operations that the numbers do not contain, estimated.
    pub missing: u64,
    /// Their share of all operations, 0..=1; null where it cannot be estimated.
    pub share_missing: Option<f64>,
    /// The lower end of its interval (95 %).
    pub share_missing_low: Option<f64>,
    /// The upper end.
    pub share_missing_high: Option<f64>,
    /// Connections with only one captured direction.
    pub one_sided: u64,
    /// The first one-sided connections.
    pub one_sided_connections: Vec<OneSidedConnection>,
}

/// A connection with only one captured direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OneSidedConnection {
    /// Where the captured packets came from, `address:port`.
    pub from: String,
    /// Where they went.
    pub to: String,
    /// Requests seen; 0 where only responses were.
    pub requests: u64,
    /// Responses seen.
    pub responses: u64,
}

/// Operations that waited for TCP retransmissions (`plimsoll_model::Resent`). Null in a run, which has no packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resent {
    /// Operations that waited 3 ms or longer.
    pub operations: Option<u64>,
    /// For how long in all, s.
    pub wait_s: Option<f64>,
    /// Operations that waited less: for packets sent again quickly, or only overtaken.
    pub brief_operations: Option<u64>,
    /// For how long in all, s.
    pub brief_wait_s: Option<f64>,
    /// Answered operations for which this is unknown.
    pub unknown: Option<u64>,
}

/// An anomaly that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnomalyCount {
    /// `plimsoll_model::Anomaly::label`.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// In words.
    pub text: String,
}

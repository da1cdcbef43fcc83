//! Encrypted SMB 3 traffic whose keys are not known.

use serde::{Deserialize, Serialize};

/// Encrypted messages that were not read (`plimsoll_model::Encrypted`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Encrypted {
    /// Connections with a known client.
    pub connections: u64,
    /// Messages from clients.
    pub requests: u64,
    /// Messages to clients.
    pub responses: u64,
    /// Bytes of SMB from clients, headers included.
    pub request_bytes: u64,
    /// Bytes of SMB to clients.
    pub response_bytes: u64,
    /// From the first to the last of these messages, s.
    pub elapsed_s: Option<f64>,
    /// All requests with a response.
    pub all: Waited,
    /// Those that are reads by the sizes of both messages.
    pub reads: Waited,
    /// Those that are writes.
    pub writes: Waited,
    /// Lower bound of the mean response time of all, s; null if unknown.
    pub mean_low_s: Option<f64>,
    /// The same, at most: both are the exact mean where they are equal.
    pub mean_high_s: Option<f64>,
    /// Responses beside those that requests have: interim ones, breaks, and those to requests before the capture.
    pub besides: u64,
    /// Requests left without a response.
    pub unanswered: u64,
    /// Requests that were taken for CANCEL.
    pub cancels: u64,
    /// Number of times that bytes were missing. Requests outstanding then, or sent before the connection was idle again, have no time.
    pub interrupted: u64,
}

/// Times from requests to responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waited {
    /// How many.
    pub count: u64,
    /// Mean, s: exact of all, or null where only its bounds are known; an estimate of reads and writes.
    pub mean_s: Option<f64>,
    /// Estimates that assume responses in the order of their requests, s.
    pub p50_s: Option<f64>,
    /// Likewise.
    pub p90_s: Option<f64>,
    /// Likewise.
    pub p99_s: Option<f64>,
    /// Bytes of file data in them, by their sizes.
    pub data_bytes: u64,
}

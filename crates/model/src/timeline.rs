//! The timestamps of a transaction, and the times computed from them.

use serde::{Deserialize, Serialize};

/// Where the clock stood that gave the instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Vantage {
    /// Capture time of the packets.
    Wire,
    /// The client's clock around its socket.
    Client,
}

crate::words! {
    Vantage,
    "Every vantage; written states hold their places, so new ones go to the end.",
    "The word used in tables and files.":
    Wire "wire", Client "client"
}

/// Instants in nanoseconds since the Unix epoch; what is not known is `None`, never 0.
///
/// ```text
/// intended   request first/last byte   [interim]   response first/last byte
///    │              │           └─ service time ──────┘           │
///    │              └──────────── response time ──────────────────┘
///    └─────────────────── response time from intended ────────────┘
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// When the schedule meant the request to start (load generator only).
    pub intended: Option<i64>,
    /// First byte of the request.
    pub request_first: Option<i64>,
    /// Last byte of the request; at the client's vantage when the kernel was given it.
    pub request_last: Option<i64>,
    /// First interim answer (SMB2 STATUS_PENDING), which ends nothing.
    pub interim: Option<i64>,
    /// First byte of the final response.
    pub response_first: Option<i64>,
    /// Last byte of the final response.
    pub response_last: Option<i64>,
}

impl Timeline {
    /// Last byte of the final response − first byte of the request, ns; the headline (the definition of Swartz 1997).
    /// Negative where the capture shows the answer before the question.
    #[inline]
    pub fn response_time(&self) -> Option<i64> {
        self.response_last?.checked_sub(self.request_first?)
    }

    /// First byte of the final response − last byte of the request, ns: the server's time until it begins its answer.
    #[inline]
    pub fn service_time(&self) -> Option<i64> {
        self.response_first?.checked_sub(self.request_last?)
    }

    /// Last byte of the final response − intended start, ns.
    #[inline]
    pub fn response_time_from_intended(&self) -> Option<i64> {
        self.response_last?.checked_sub(self.intended?)
    }
}

/// Frame numbers, 1-based as tshark counts them, that hold the ends of both messages; 0 is never a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// Frame with the first byte of the request.
    pub request_first: Option<std::num::NonZeroU64>,
    /// Frame that completed the request.
    pub request_last: Option<std::num::NonZeroU64>,
    /// Frame with the first byte of the final response.
    pub response_first: Option<std::num::NonZeroU64>,
    /// Frame that completed the final response.
    pub response_last: Option<std::num::NonZeroU64>,
}

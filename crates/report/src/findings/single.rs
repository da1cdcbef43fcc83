//! Single operations, to look at.

use serde::{Deserialize, Serialize};

use super::headline::Headline;

/// One operation, to look at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// Protocol label.
    pub protocol: String,
    /// Procedure name.
    pub procedure: String,
    /// Response time, or the time waited until the capture ended, s.
    pub response_time_s: f64,
    /// Response time from the intended start, s; null where nothing was scheduled.
    #[serde(default)]
    pub response_time_from_intended_s: Option<f64>,
    /// Service time, s.
    pub service_time_s: Option<f64>,
    /// First byte of the request, ns since the Unix epoch.
    pub at_ns: i64,
    /// Client as address:port.
    pub client: String,
    /// Server as address:port.
    pub server: String,
    /// Share, path, user where known.
    pub share: Option<String>,
    /// Path where known.
    pub path: Option<String>,
    /// User where known.
    pub user: Option<String>,
    /// Status name, where answered.
    pub status: Option<String>,
    /// First frame of the request.
    pub request_frame: Option<u64>,
    /// Last frame of the response.
    pub response_frame: Option<u64>,
    /// Wireshark display filter that shows both messages.
    pub display_filter: String,
}

impl Slow {
    /// The response time that leads, s; of a request without an answer the time that it waited.
    pub fn headline_s(&self, headline: Headline) -> f64 {
        let from_intended = self.response_time_from_intended_s.filter(|_| headline.is_from_intended());
        from_intended.unwrap_or(self.response_time_s)
    }
}

//! Logons and other session requests outside of the measured phase.

use serde::{Deserialize, Serialize};

/// Session requests of one procedure outside of the measured phase; no other number of the clients contains them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRequests {
    /// Procedure name.
    pub procedure: String,
    /// Those that were due before the measured phase: the clients log on, and the warm-up.
    pub before: OutsidePhase,
    /// Those that were due after it: the drain, and the clients log off.
    pub after: OutsidePhase,
}

/// Requests before or after the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutsidePhase {
    /// How many.
    pub requests: u64,
    /// Refused and failed ones.
    pub errors: u64,
    /// Those without an answer.
    pub unanswered: u64,
    /// Mean response time, s; null where none was answered.
    pub response_mean_s: Option<f64>,
    /// The longest response time, s.
    pub response_max_s: Option<f64>,
}

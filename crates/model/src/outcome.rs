//! How a request ended.

use serde::{Deserialize, Serialize};

/// How a request ended, as far as the vantage could tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// Answered, with status 0.
    Succeeded,
    /// Answered, with a status that is part of ordinary work: the end of a file or directory, a step of a logon, no file of
    /// the name that was looked up. No error.
    Expected,
    /// Answered, with an error status: the server did its work and said no.
    Refused,
    /// Answered, but the status is unknown: a short snap length cut it (or the procedure) off, or it is encrypted. It may be an error.
    Unknown,
    /// Not carried out: the server or its resources were in trouble, the connection broke, or the answer made no sense.
    Failed,
    /// No answer was seen: it may have come, unseen, or never. Says nothing about the server by itself.
    Unanswered,
    /// The client took the request back and the server confirmed it.
    Cancelled,
    /// Planned but never put on the wire (load generator only).
    NeverSent,
}

crate::words! {
    Outcome,
    "Every outcome.",
    "The word used in tables and files.":
    Succeeded "succeeded", Expected "expected", Refused "refused", Unknown "unknown", Failed "failed",
    Unanswered "unanswered", Cancelled "cancelled", NeverSent "never_sent"
}

impl Outcome {
    /// Whether reports count it as an error.
    pub fn is_error(self) -> bool {
        matches!(self, Outcome::Refused | Outcome::Failed)
    }
}

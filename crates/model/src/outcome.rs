//! How a request ended.

/// How a request ended, as far as the vantage could tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered, with a status that is no error (NTSTATUS success, information, warning; NFS_OK).
    Succeeded,
    /// Answered, with an error status: the server did its work and said no.
    Refused,
    /// Not carried out: the connection broke or the answer made no sense.
    Failed,
    /// No answer was seen: it may have come, unseen, or never. Says nothing about the server by itself.
    Unanswered,
    /// The client took the request back and the server confirmed it.
    Cancelled,
    /// Planned but never put on the wire (load generator only).
    NeverSent,
}

impl Outcome {
    /// The word used in tables and files.
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
            Outcome::Unanswered => "unanswered",
            Outcome::Cancelled => "cancelled",
            Outcome::NeverSent => "never_sent",
        }
    }

    /// Whether reports count it as an error.
    pub fn is_error(self) -> bool {
        matches!(self, Outcome::Refused | Outcome::Failed)
    }
}

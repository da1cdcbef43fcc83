//! Actions that failed, and the wording that distinguishes other failures from them.

use serde::{Deserialize, Serialize};

/// Suffix of the words for failures before or after the measured phase.
pub const OUTSIDE_THE_PHASE: &str = " (not in the measured phase)";

/// Begins the words of a connection that could not be made: no action.
pub const CONNECTION_ATTEMPT: &str = "connection attempt: ";

/// Prefix of the words for a lost connection, which is not an action, whatever was outstanding on it.
pub const LOST_CONNECTION: &str = "lost connection: ";

/// Follows the words of a lost connection whose client went on with its operations over another one.
pub const KEPT_OPERATIONS: &str = " (operations continued)";

/// Actions that did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureCount {
    /// The cause: an error status, a refused connection, a time-out, wrong data, …
    pub cause: String,
    /// How many.
    pub count: u64,
}

impl FailureCount {
    /// Whether an action of the measured phase failed; other causes concern connections, or another phase.
    pub(crate) fn is_action(&self) -> bool {
        let cause = &self.cause;
        !cause.starts_with(CONNECTION_ATTEMPT)
            && !cause.starts_with(LOST_CONNECTION)
            && !cause.ends_with(OUTSIDE_THE_PHASE)
    }
}

//! Actions that failed, and the wording that distinguishes other failures from them.

use plimsoll_model::Validity;
use serde::{Deserialize, Serialize};

/// Suffix of the words for failures before or after the measured phase.
pub const OUTSIDE_THE_PHASE: &str = " (not in the measured phase)";

/// Begins the words of a connection that could not be made: no action.
pub const CONNECTION_ATTEMPT: &str = "connection attempt: ";

/// Prefix of the words for a lost connection, which is not an action, whatever was outstanding on it.
pub const LOST_CONNECTION: &str = "lost connection: ";

/// Follows the words of a lost connection whose client went on with its operations over another one.
pub const KEPT_OPERATIONS: &str = " (operations continued)";

/// Words in the reason that makes numbers INVALID because too many actions failed.
pub const FAILED_ACTIONS: &str = " actions of the workload failed, ";

/// The reason that makes numbers INVALID because no action succeeded.
pub const NO_SUCCESS: &str = "no action succeeded in the measured phase";

/// Whether numbers are INVALID only because too many actions failed: they still show errors.
#[must_use]
pub fn only_actions_failed(validity: &Validity) -> bool {
    let reasons = validity.invalidating();
    let failed = |reason: &String| reason.contains(FAILED_ACTIONS);
    reasons.iter().any(failed) && reasons.iter().all(|reason| failed(reason) || reason.contains(NO_SUCCESS))
}

/// Actions that did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureCount {
    /// The cause: an error status, a refused connection, a timeout, wrong data, …
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

#[cfg(test)]
mod tests {
    use plimsoll_model::Reason;

    use super::*;

    #[test]
    fn numbers_with_other_faults_show_no_errors() {
        let of = |reasons: &[&str]| {
            only_actions_failed(&Validity::of(reasons.iter().map(|reason| Reason::invalid(*reason))))
        };
        let failed = format!("At 1 client: 9 of 100{FAILED_ACTIONS}9.00 % (limit 1 %)");
        assert!(of(&[&failed]) && of(&[NO_SUCCESS, &failed]));
        assert!(!of(&[]) && !of(&[NO_SUCCESS]) && !of(&[&failed, "the server was away"]));
        let partial = Validity::of([Reason::invalid(failed), Reason::partial("1 action had no response")]);
        assert!(only_actions_failed(&partial));
    }
}

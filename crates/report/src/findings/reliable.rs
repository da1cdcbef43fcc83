//! Whether the reasons against a load level name numbers that are reliable in spite of them.

use super::{Findings, LoadLevel, Validity};

/// Words of a reason that names reliable numbers.
const RELIABLE: [&str; 2] = [" is reliable", " are reliable"];
/// Words of a reason that names none.
const NONE_RELIABLE: &str = "no number of this level";

impl LoadLevel {
    /// Whether this level is INVALID, and every reason for it names reliable numbers.
    pub(crate) fn names_reliable(&self) -> bool {
        names_reliable(&self.facts.validity)
    }
}

impl Findings {
    /// Whether at least one level names reliable numbers although it is INVALID.
    pub(crate) fn name_reliable(&self) -> bool {
        self.levels.iter().any(LoadLevel::names_reliable)
    }
}

fn names_reliable(validity: &Validity) -> bool {
    let names = |reason: &String| !reason.contains(NONE_RELIABLE) && RELIABLE.iter().any(|word| reason.contains(word));
    let invalidating = validity.invalidating();
    !invalidating.is_empty() && invalidating.iter().all(names)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Reason;

    use super::*;

    #[test]
    fn numbers_are_named_as_reliable_only_if_every_reason_names_them() {
        let named =
            |reasons: &[&str]| names_reliable(&Validity::of(reasons.iter().map(|&reason| Reason::invalid(reason))));
        let late = "the load generator was late: without that delay, …; p50, p90 are reliable; use another machine";
        let none = "the load generator was late: without that delay, …; no number of this level is reliable";
        assert!(named(&[late]) && named(&["it was late; p50 is reliable"]));
        assert!(!named(&[none]) && !named(&[late, "4.0 % of the actions failed"]) && !named(&[]));
    }
}

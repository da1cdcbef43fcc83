//! The basis of a level's verdict.

use plimsoll_model::{Reason, Validity, Verdict};
use plimsoll_report::findings::MovedNumber;

/// Reasons against a level's numbers, and their causes. It is not recorded.
#[derive(Default)]
pub(super) struct Judgement {
    pub(super) reasons: Vec<Reason>,
    /// The reason about the generator's lateness, and the same beside another reason that makes the level INVALID.
    pub(super) late: Option<[Reason; 2]>,
    /// Iterations that were begun and had not ended when their user's next one was due, or at all: with those never begun, overload.
    pub(super) late_iterations: u64,
    /// Iterations of users' schedules that were due; `None` without users.
    pub(super) due: Option<u64>,
    /// Actions of the measured phase that sent a request; `None` if unknown.
    pub(super) asked: Option<u64>,
    /// Its numbers if the generator had been on time, provided that lateness is its only fault.
    pub(super) on_time: Option<Vec<MovedNumber>>,
    /// The reason about a client that was too busy.
    pub(super) busy: Option<String>,
    /// The reason about a rate that was not achieved.
    pub(super) behind: Option<String>,
    /// The same, if the load generator may be its only cause.
    pub(super) behind_by_generator: Option<String>,
    /// The reason about iterations that began on time and ended after the phase.
    pub(super) ended_later: Option<String>,
    /// The reason that iterations may be too long for the run, and the share of those due that ended in the phase.
    pub(super) long_iterations: Option<(String, f64)>,
    /// Failures that no lateness of the generator explains.
    pub(super) server_failed: bool,
    /// Failures that are this machine's, and not the server's.
    pub(super) machines_fault: Option<String>,
    /// The level ended early because all clients had given up.
    pub(super) gave_up: bool,
    /// The server may not answer any more.
    pub(super) may_hang: bool,
    /// Faults of the server with which the level misses any objective. Failures in the measured phase are counted apart.
    pub(super) unserved: Vec<String>,
    /// The reasons about the load generator.
    pub(super) of_the_generator: Vec<Reason>,
    /// Why the level must not be used, and no other load would help, such as a lost lease on the files.
    pub(super) unusable: Option<String>,
}

impl Judgement {
    /// The verdict. If another reason makes the level INVALID, the lateness names no number as reliable.
    pub(super) fn validity(&self) -> Validity {
        let Some([alone, beside]) = &self.late else { return Validity::of(self.reasons.clone()) };
        let is_other = |reason: &Reason| reason.verdict == Verdict::Invalid && reason != alone;
        let others = self.reasons.iter().any(is_other);
        let said = |reason: &Reason| if others && reason == alone { beside.clone() } else { reason.clone() };
        Validity::of(self.reasons.iter().map(said))
    }

    /// Whether the load generator alone makes the level INVALID. A generator at its limit does not achieve its rate, so a low rate says
    /// nothing about the server, unless iterations that the generator began never ended.
    pub(super) fn is_invalid_by_generator(&self) -> bool {
        let invalid = || self.reasons.iter().filter(|reason| reason.verdict == Verdict::Invalid);
        let fault = |reason: &Reason| self.of_the_generator.contains(reason);
        let behind = self.behind_by_generator.as_ref();
        invalid().any(fault) && invalid().all(|reason| fault(reason) || behind == Some(&reason.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server died: what the generator's lateness left unmoved describes no server.
    #[test]
    fn lateness_names_no_reliable_number_beside_another_reason_to_be_invalid() {
        let [alone, beside] = [Reason::invalid("it was late; p50 is reliable"), Reason::invalid("it was late")];
        let of = |first: Reason| {
            let late = Some([alone.clone(), beside.clone()]);
            Judgement { reasons: vec![first, alone.clone()], late, ..Judgement::default() }.validity().reasons
        };
        assert_eq!(of(Reason::invalid("the server was away")), ["the server was away", "it was late"]);
        assert_eq!(of(Reason::partial("an outage")), ["it was late; p50 is reliable", "an outage"]);
    }

    #[test]
    fn the_generator_alone_is_at_fault_where_nothing_else_makes_a_level_invalid() {
        let alone_unless = |is_of_the_server: bool, reasons: &[Reason]| {
            let of_the_generator = vec![Reason::invalid("it was busy"), Reason::partial("it was late")];
            let behind_by_generator = (!is_of_the_server).then(|| "the rate was not reached".to_owned());
            Judgement { reasons: reasons.to_vec(), behind_by_generator, of_the_generator, ..Judgement::default() }
                .is_invalid_by_generator()
        };
        let alone = |reasons: &[Reason]| alone_unless(false, reasons);
        let [busy, behind, wrong] = ["it was busy", "the rate was not reached", "wrong data"].map(Reason::invalid);
        let late = Reason::partial("it was late");
        assert!(
            alone(std::slice::from_ref(&busy)) && alone(&[behind.clone(), busy.clone(), Reason::partial("an outage")])
        );
        assert!(!alone_unless(true, &[behind.clone(), busy.clone()]), "iterations that it began never ended");
        assert!(!alone(&[wrong.clone(), busy]) && !alone(&[behind]), "the server may be");
        assert!(!alone(&[wrong, late.clone()]) && !alone(&[late]) && !alone(&[]));
    }
}

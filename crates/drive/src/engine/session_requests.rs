//! Session requests outside of the measured phase.

use plimsoll_model::{Group, Outcome, Transaction};
use plimsoll_stats::Moments;
use serde::{Deserialize, Serialize};

/// Logons and other session requests that were due outside of the measured phase, by procedure. Few procedures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRequests {
    /// Before the phase.
    pub before: Vec<SessionTally>,
    /// After it.
    pub after: Vec<SessionTally>,
}

/// Session requests of one procedure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionTally {
    /// The procedure's name.
    pub procedure: String,
    /// How many.
    pub requests: u64,
    /// Refused and failed ones.
    pub errors: u64,
    /// Those without an answer.
    pub unanswered: u64,
    /// Response times of the answered ones.
    pub responses: Moments,
}

impl SessionRequests {
    /// Counts a request outside of the phase, if it belongs to a session.
    #[cold]
    pub(crate) fn count(&mut self, transaction: &Transaction, after: bool) {
        let counts = transaction.counted && transaction.procedure.row().group == Group::Session;
        if !counts || transaction.outcome == Outcome::NeverSent {
            return;
        }
        let tally = tally(if after { &mut self.after } else { &mut self.before }, transaction.procedure.name());
        tally.requests += 1;
        tally.errors += u64::from(transaction.outcome.is_error());
        tally.unanswered += u64::from(transaction.outcome == Outcome::Unanswered);
        let response = transaction.timeline.response_time().and_then(|ns| u64::try_from(ns).ok());
        if let Some(ns) = response {
            tally.responses.record(ns);
        }
    }

    /// Adds the counts of other clients.
    pub(super) fn add(&mut self, other: &SessionRequests) {
        for (all, part) in [(&mut self.before, &other.before), (&mut self.after, &other.after)] {
            for one in part {
                let tally = tally(all, one.procedure.clone());
                tally.requests += one.requests;
                tally.errors += one.errors;
                tally.unanswered += one.unanswered;
                tally.responses.merge(&one.responses);
            }
        }
    }
}

fn tally(all: &mut Vec<SessionTally>, procedure: String) -> &mut SessionTally {
    let at = all.iter().position(|one| one.procedure == procedure).unwrap_or_else(|| {
        all.push(SessionTally { procedure, ..SessionTally::default() });
        all.len() - 1
    });
    &mut all[at]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};
    use plimsoll_testkit::transaction;

    use super::*;

    fn request(code: u16, took_ns: i64) -> Transaction {
        transaction(Procedure::of(Protocol::Smb2, code), 1000, took_ns)
    }

    #[test]
    fn only_session_requests_count_and_parts_add_up() {
        let (mut one, mut other) = (SessionRequests::default(), SessionRequests::default());
        // SESSION_SETUP, TREE_CONNECT, READ.
        one.count(&request(1, 100), false);
        one.count(&request(8, 100), false);
        other.count(&request(1, 300), false);
        other.count(&request(3, 50), true);
        one.add(&other);
        let [setup] = &one.before[..] else { panic!("{one:?}") };
        assert_eq!(
            (setup.procedure.as_str(), setup.requests, setup.responses.max_ns()),
            ("SESSION_SETUP", 2, Some(300))
        );
        assert_eq!(setup.responses.mean_ns(), Some(200.0));
        let [connect] = &one.after[..] else { panic!("{one:?}") };
        assert_eq!((connect.procedure.as_str(), connect.requests), ("TREE_CONNECT", 1));
    }
}

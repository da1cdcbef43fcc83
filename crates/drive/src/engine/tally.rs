//! Counts of clients, their iterations and the server's answers.

use plimsoll_client::operation::{Cause, Failure};
use plimsoll_model::{Group, Transaction, add_fields};
use plimsoll_stats::Moments;
use serde::{Deserialize, Serialize};

/// One client. Fields count the actions that were intended within the measured phase, except where they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientTally {
    /// Which one, from 0.
    pub client_index: u32,
    /// The worker that ran it: its place in [`Generator::workers`](super::Generator::workers).
    pub worker: u32,
    /// Iterations that ended in the measured phase.
    pub iterations: u64,
    /// Actions that succeeded.
    pub actions: u64,
    /// Actions that sent no request because the client knew the answer: they cannot fail.
    pub without_request: u64,
    /// Failed actions by cause. A short list: one entry per cause.
    pub errors: Vec<(Cause, u64)>,
    /// Failures of `errors` with an error status, by status. If the failing request was due after the phase, no table has its status. At
    /// most `KINDS_IN_WORDS` have words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_statuses: Vec<ErrorCount>,
    /// Failed actions outside of the measured phase (connecting, warm-up, drain). No table has these, so the status is said here. Few
    /// kinds.
    pub errors_outside: Vec<ErrorCount>,
    /// Connections that were lost or could not be made. These are not actions, whatever was outstanding. A short list: one entry per
    /// kind.
    pub connection_failures: Vec<ConnectionFailure>,
    /// Successful reads, except those of scenarios that know the content; the same holds for the next fields.
    pub reads: u64,
    /// Those that returned fewer bytes than asked for, but some.
    pub short_reads: u64,
    /// Those that returned nothing.
    pub empty_reads: u64,
    /// Answered reads whose data were compared with the expected data, whole run.
    #[serde(default)]
    pub verified_reads: u64,
    /// Those whose data were wrong.
    #[serde(default)]
    pub wrong_reads: u64,
    /// Responses in the measured phase that only asked to repeat the request later, by status of NFS 4. A short list: one entry per status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub postponed: Vec<(u32, u64)>,
    /// Response times of the actions that succeeded: from when an operation was begun to its last answer.
    pub responses: Moments,
    /// Iterations of its own schedule that were due in the measured phase (partly open load).
    pub due_iterations: u64,
    /// Iterations that were due and found no slot free (partly open load), in the measured phase.
    pub late_iterations: u64,
    /// Times a connection was made again after a loss, whole run.
    pub reconnects: u64,
    /// It was logged on when the measured phase ended.
    pub connected: bool,
    /// The connections that it gave up before the measured phase ended; `None` if it gave up none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<GivenUp>,
    /// Its account, if there are several and the server refused its logon or the share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_account: Option<String>,
}

/// Kinds of [`ErrorCount`] in a list that say their status.
const KINDS_IN_WORDS: usize = 8;

/// Actions of a client that did not succeed for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The cause.
    pub cause: Cause,
    /// The same in words, with the status and the procedure where the server answered.
    pub words: String,
    /// How often.
    pub count: u64,
}

/// Connections of a client that were lost or could not be made for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionFailure {
    /// The cause.
    pub cause: Cause,
    /// It was up and lost; otherwise it could not be made.
    pub was_up: bool,
    /// It happened in the measured phase.
    pub measured: bool,
    /// Its client kept its operations, and went on with them over another connection.
    #[serde(default)]
    pub kept: bool,
    /// How often.
    pub count: u64,
}

/// Connections that a client gave up: it makes no more load over them. (A connection that it still tries to make does not count.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// When it lost the first of them, ns since the Unix epoch; 0 if that was never up.
    pub since: i64,
    /// How many of the client's slots ended with them.
    pub slots: u32,
}

impl ClientTally {
    /// It got nothing done in the measured phase.
    #[must_use]
    pub fn starved(&self) -> bool {
        self.actions == 0
    }

    /// An action failed in the measured phase.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        let cause = failure.cause;
        match self.errors.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, count)) => *count += 1,
            None => self.errors.push((cause, 1)),
        }
        if cause == Cause::Status {
            count_in_words(&mut self.error_statuses, failure);
        }
    }

    /// An action failed outside of the measured phase.
    pub(crate) fn failed_outside(&mut self, failure: &Failure) {
        count_in_words(&mut self.errors_outside, failure);
    }

    /// A response only asked to repeat the request later.
    pub(crate) fn postponed(&mut self, status: u32) {
        match self.postponed.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => self.postponed.push((status, 1)),
        }
    }

    /// Connections that failed in the measured phase: attempts, and those that were lost with their operations.
    #[must_use]
    pub fn connections_failed(&self) -> [u64; 2] {
        [false, true].map(|was_up| {
            let of = self.connection_failures.iter().filter(|one| one.measured && one.was_up == was_up && !one.kept);
            of.map(|one| one.count).sum()
        })
    }

    /// Actions of the measured phase that sent a request, whatever the answer.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.actions.saturating_sub(self.without_request) + self.error_count()
    }

    /// Actions that failed for this cause, in the measured phase and outside of it.
    #[must_use]
    pub fn count_of(&self, cause: Cause) -> u64 {
        let measured = self.errors.iter().filter(|(known, _)| *known == cause).map(|(_, count)| count);
        let outside = self.errors_outside.iter().filter(|known| known.cause == cause).map(|known| &known.count);
        measured.chain(outside).sum()
    }

    /// Actions of the measured phase that failed.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }
}

/// Counts a failed action. A server that makes up ever new statuses does not fill the memory: after some kinds, the cause alone is said.
fn count_in_words(counts: &mut Vec<ErrorCount>, failure: &Failure) {
    let cause = failure.cause;
    let words = failure.to_string();
    if let Some(known) = counts.iter_mut().find(|known| known.words == words) {
        known.count += 1;
        return;
    }
    let words = if counts.len() >= KINDS_IN_WORDS { cause.label().to_owned() } else { words };
    match counts.iter_mut().find(|known| known.words == words) {
        Some(known) => known.count += 1,
        None => counts.push(ErrorCount { cause, words, count: 1 }),
    }
}

/// The iterations of one kind that were due in the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationTally {
    /// Those that ended.
    pub ended: u64,
    /// Those that were begun and had not ended when the drain was over.
    pub unended: u64,
    /// Iterations with a failed operation.
    pub failed: u64,
    /// Those that ended after the user's next one was due (partly open load only).
    pub late: u64,
    /// Late iterations that began late because the previous one had not ended.
    pub late_from_before: u64,
    /// Sum of the times from due to ended, ns.
    pub duration_sum_ns: u64,
    /// How long after the user's next one was due they ended: sum over the late ones, ns.
    pub overrun_sum_ns: u64,
    /// The longest of these, ns.
    pub overrun_max_ns: u64,
}

impl IterationTally {
    /// Adds the tally of another part of the run.
    pub fn add(&mut self, other: &IterationTally) {
        add_fields!(self, other; all
            ended, unended, failed, late, late_from_before, duration_sum_ns, overrun_sum_ns; largest overrun_max_ns
        );
    }
}

/// A server's work in the measured phase: user requests answered in it, whenever they were due. (A transaction's level follows its due
/// time: if a server falls behind, it answers many of these after the phase.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// How many.
    pub requests: u64,
    /// Those of them that were due before the phase.
    #[serde(default)]
    pub due_before: u64,
    /// File data read, bytes.
    pub read_bytes: u64,
    /// File data written, bytes.
    pub written_bytes: u64,
}

impl Answered {
    /// Counts a request that was answered in the phase, which began at `begin`.
    pub(crate) fn count(&mut self, transaction: &Transaction, begin: i64) {
        let row = transaction.procedure.row();
        if transaction.long_lived || !row.is_asked_for() {
            return;
        }
        self.requests += 1;
        let timeline = &transaction.timeline;
        self.due_before += u64::from(timeline.intended.or(timeline.request_first).is_some_and(|due| due < begin));
        let bytes = transaction.moved_bytes().unwrap_or(0);
        match row.group {
            Group::Read => self.read_bytes += bytes,
            Group::Write => self.written_bytes += bytes,
            _ => {}
        }
    }
}

/// Actions meant for the measured phase that had no answer, and how long they had waited when they were given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// How many.
    pub count: u64,
    /// Those of them that still waited when the drain ended.
    #[serde(default)]
    pub at_end: u64,
    /// The longest wait since the operation was begun, ns.
    pub longest_ns: u64,
    /// The longest wait since the operation was meant to begin, ns.
    pub longest_from_intended_ns: u64,
}

impl Unanswered {
    /// Adds the tally of another worker.
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.at_end += other.at_end;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.longest_from_intended_ns = self.longest_from_intended_ns.max(other.longest_from_intended_ns);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure, Protocol};

    use super::*;

    #[test]
    fn errors_outside_of_the_phase_say_their_status_and_few_of_them() {
        let mut tally = ClientTally::default();
        let listing = Procedure::of(Protocol::Nfs3, 16);
        let refused = |status| Failure {
            procedure: Some(listing),
            status: Some(status),
            outcome: Outcome::Refused,
            cause: Cause::Status,
        };
        tally.failed_outside(&refused(2));
        tally.failed_outside(&refused(2));
        let known =
            ErrorCount { cause: Cause::Status, words: "error status: NFS3ERR_NOENT, READDIR".to_owned(), count: 2 };
        assert_eq!(tally.errors_outside, [known]);
        (1_000..1_100).for_each(|status| tally.failed_outside(&refused(status)));
        tally.failed_outside(&refused(2));
        assert_eq!((tally.errors_outside.len(), tally.errors_outside[0].count), (KINDS_IN_WORDS + 1, 3));
        let last = tally.errors_outside.last().unwrap();
        assert_eq!((last.words.as_str(), last.count), ("error status", 93));
        assert_eq!((tally.count_of(Cause::Status), tally.count_of(Cause::TimedOut)), (103, 0));
    }

    #[test]
    fn errors_in_the_phase_are_counted_by_cause_and_statuses_in_words_too() {
        let mut tally = ClientTally::default();
        let full = Failure {
            procedure: Some(Procedure::of(Protocol::Nfs3, 7)),
            status: Some(28),
            outcome: Outcome::Refused,
            cause: Cause::Status,
        };
        tally.failed(&full);
        tally.failed(&full);
        tally.failed(&Failure::without_answer(Cause::TimedOut));
        assert_eq!(tally.errors, [(Cause::Status, 2), (Cause::TimedOut, 1)]);
        let words = "error status: NFS3ERR_NOSPC, WRITE".to_owned();
        assert_eq!(tally.error_statuses, [ErrorCount { cause: Cause::Status, words, count: 2 }]);
        assert_eq!(tally.count_of(Cause::Status), 2, "each is counted once");
    }
}

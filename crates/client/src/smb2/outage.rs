//! The time in which a client has no service, because its session has lost all connections.

use crate::calls::Call;

/// The outage of a client, and what may be its beginning.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// Time of the last response, ns.
    answered_at: Option<i64>,
    /// Time at which the oldest request was sent that has timed out or lost its connection since then, ns.
    unanswered: Option<i64>,
    /// Its beginning, while it lasts, ns.
    since: Option<i64>,
    /// Time at which the session was recovered, if no operation has ended since then, ns.
    pub(super) recovered_at: Option<i64>,
}

impl Outage {
    /// A response arrived.
    pub(super) fn answered(&mut self, at: i64) {
        (self.answered_at, self.unanswered) = (Some(at), None);
    }

    /// These requests got no response, although they do not wait by design.
    pub(super) fn missed<W>(&mut self, calls: &[Call<W>]) {
        let calls = calls.iter().filter(|call| !call.long_lived);
        let sent = calls.filter_map(|call| call.sent.map(|(first, _)| first));
        self.unanswered = self.unanswered.into_iter().chain(sent).min();
    }

    /// The loss of the last connection was detected. The outage begins with the last response, or when the oldest request without a
    /// response was sent, if that was later. Without such requests nothing was missed before.
    pub(super) fn begin(&mut self, detected: i64) {
        let since = self.unanswered.map(|sent| self.answered_at.map_or(sent, |answered| sent.max(answered)));
        self.since.get_or_insert(since.unwrap_or(detected));
        self.recovered_at = None;
    }

    /// An operation succeeded, or none will any more. Returns the length of the outage, ns.
    pub(super) fn end(&mut self, at: i64) -> u64 {
        self.recovered_at = None;
        self.since.take().map_or(0, |since| u64::try_from(at.saturating_sub(since)).unwrap_or(0))
    }
}

//! The time in which operations wait for a session, for its state or for the end of a grace period.
//!
//! An outage begins once and ends once. A loss before its end belongs to it, and so does a grace period soon after its end.

/// The last outage of a client, and what may be the beginning of the next one.
#[derive(Debug)]
pub(super) struct Outage {
    /// Time of the last response, ns.
    answered_at: i64,
    /// Time at which the oldest request was sent that has timed out since then, ns.
    timed_out: Option<i64>,
    /// Its start, ns.
    since: Option<i64>,
    /// Its end, unless the server refuses another operation in the same grace period, ns.
    until: Option<i64>,
    /// Time at which session and state were recovered, if no operation has failed since then, ns.
    recovered_at: Option<i64>,
    /// Length of the longest outage, ns.
    longest: u64,
}

impl Default for Outage {
    fn default() -> Self {
        let (timed_out, since, until, recovered_at) = (None, None, None, None);
        Self { answered_at: i64::MIN, timed_out, since, until, recovered_at, longest: 0 }
    }
}

impl Outage {
    /// A response arrived.
    pub(super) fn answered(&mut self, at: i64) {
        (self.answered_at, self.timed_out) = (at, None);
    }

    /// Time of the last response, ns.
    pub(super) fn answered_at(&self) -> i64 {
        self.answered_at
    }

    /// A request that was sent at this time has timed out. The oldest one comes first.
    pub(super) fn missed(&mut self, sent: Option<i64>) {
        self.timed_out = self.timed_out.or(sent);
    }

    /// The loss of the connection was detected. The outage begins with the last response, or when the oldest request without a response was
    /// sent, if that was later; also if it has timed out. Without such requests nothing was missed before.
    pub(super) fn begin_unnoticed(&mut self, detected: i64, oldest_sent: Option<i64>) {
        let oldest = self.timed_out.or(oldest_sent);
        self.begin(oldest.map_or(detected, |sent| sent.max(self.answered_at)));
    }

    /// Session, state or connection are lost.
    pub(super) fn begin(&mut self, since: i64) {
        self.recovered_at = None;
        if !self.lasts() {
            (self.since, self.until) = (Some(since), None);
        }
    }

    /// The server refused an operation in its grace period. A period after a loss belongs to the same outage, also if other operations
    /// succeeded before; it is no longer than a lease.
    pub(super) fn go_on(&mut self, at: i64, lease_ns: i64) {
        self.recovered_at = None;
        match (self.since, self.until) {
            (Some(_), Some(until)) if at.saturating_sub(until) <= lease_ns => self.until = None,
            _ => self.begin(at),
        }
    }

    /// Whether an outage has begun, and not ended.
    pub(super) fn lasts(&self) -> bool {
        self.since.is_some() && self.until.is_none()
    }

    /// Session and state are recovered.
    pub(super) fn recovered(&mut self, at: i64) {
        self.recovered_at = Some(at);
    }

    /// An operation failed, so the recovery did not end the outage.
    pub(super) fn failed(&mut self) {
        self.recovered_at = None;
    }

    /// An operation succeeded, or none will any more.
    pub(super) fn end(&mut self, at: i64) {
        let Some(since) = self.since.filter(|_| self.until.is_none()) else { return };
        self.longest = self.longest.max(u64::try_from(at.saturating_sub(since)).unwrap_or(0));
        self.until = Some(at);
    }

    /// The client leaves. If nothing was missed since the recovery, it ended the outage.
    pub(super) fn leave(&mut self, now: i64, missed: bool) {
        self.end(self.recovered_at.filter(|_| !missed).unwrap_or(now));
    }

    /// Length of the longest outage that ended, ns.
    pub(super) fn longest(&self) -> u64 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_once_and_ends_once() {
        let mut outage = Outage::default();
        outage.end(5);
        assert_eq!((outage.lasts(), outage.longest()), (false, 0), "none has begun");
        outage.begin(10);
        outage.begin(20);
        assert!(outage.lasts());
        outage.end(40);
        outage.end(90);
        assert_eq!((outage.lasts(), outage.longest()), (false, 30));
        outage.begin(100);
        outage.end(110);
        assert_eq!(outage.longest(), 30, "the longest one");
    }

    #[test]
    fn a_loss_begins_with_the_first_request_without_a_response() {
        let begun = |timed_out, oldest_sent| {
            let mut outage = Outage::default();
            outage.missed(Some(1));
            outage.answered(10);
            outage.missed(timed_out);
            outage.missed(Some(80).filter(|_| timed_out.is_some()));
            outage.begin_unnoticed(100, oldest_sent);
            outage.end(100);
            outage.longest()
        };
        assert_eq!(begun(None, None), 0, "nothing was missed");
        assert_eq!(begun(None, Some(30)), 70);
        assert_eq!(begun(None, Some(5)), 90, "the response came later");
        assert_eq!(begun(Some(20), Some(30)), 80);
    }

    #[test]
    fn a_grace_period_continues_an_outage_that_has_just_ended() {
        let mut outage = Outage::default();
        outage.begin(10);
        outage.end(20);
        outage.go_on(25, 5);
        outage.end(30);
        assert_eq!(outage.longest(), 20, "from the first loss");
        outage.go_on(36, 5);
        outage.end(46);
        assert_eq!(outage.longest(), 20, "it is another one");
    }

    #[test]
    fn a_recovery_ends_an_outage_of_a_client_that_missed_nothing() {
        let left = |fails, missed| {
            let mut outage = Outage::default();
            outage.begin(10);
            outage.recovered(30);
            if fails {
                outage.failed();
            }
            outage.leave(100, missed);
            outage.longest()
        };
        assert_eq!((left(false, false), left(true, false), left(false, true)), (20, 90, 90));
    }
}

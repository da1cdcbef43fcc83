//! How long clients waited for answers: what a report ranks by.

use plimsoll_model::{Protocol, Transaction};

use crate::state::Counter;

/// The sum of the leading response times, each message's once: the members of a compound or an AndX chain travel together, and
/// clients wait for all of them at the same time. The first stands for the others; of an NFSv4 compound the operation that it is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    ns: u128,
    /// Of those whose service time is known: in all, and the service times.
    split_ns: u128,
    service_ns: u128,
}

impl Waiting {
    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, waited_ns: u64) {
        let alone = t.compound_position.is_none_or(|position| position == 0);
        if !alone && t.procedure.row().protocol != Protocol::Nfs4 {
            return;
        }
        self.ns += u128::from(waited_ns);
        if let Some(service) = t.timeline.service_time().and_then(|ns| u64::try_from(ns).ok()) {
            self.split_ns += u128::from(waited_ns);
            self.service_ns += u128::from(service.min(waited_ns));
        }
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: Waiting) {
        self.ns += other.ns;
        self.split_ns += other.split_ns;
        self.service_ns += other.service_ns;
    }

    /// In all, ns.
    pub fn ns(self) -> u128 {
        self.ns
    }

    /// The part of it that was service time, 0..=1, over the messages whose service time is known; `None` without any.
    pub fn service_share(self) -> Option<f64> {
        (self.split_ns > 0).then(|| self.service_ns as f64 / self.split_ns as f64)
    }
}

crate::state::fields!("waiting", Waiting { ns, split_ns, service_ns } if |waiting| {
    Counter::sum(waiting.ns) && waiting.split_ns <= waiting.ns && waiting.service_ns <= waiting.split_ns
});

#[cfg(test)]
mod tests {
    use plimsoll_model::Procedure;
    use plimsoll_testkit::transaction;

    use super::*;

    /// 100 ns, of which 60 are service time.
    fn waited(protocol: Protocol, position: Option<u16>) -> Waiting {
        let mut t = transaction(Procedure::of(protocol, 1), 0, 100);
        t.compound_position = position;
        (t.timeline.request_last, t.timeline.response_first) = (Some(10), Some(70));
        let mut waiting = Waiting::default();
        waiting.record(&t, 100);
        waiting
    }

    #[test]
    fn a_message_is_waited_for_once() {
        let alone = waited(Protocol::Smb2, None);
        assert_eq!((alone.ns(), alone.service_share()), (100, Some(0.6)));
        assert_eq!(waited(Protocol::Smb2, Some(0)), alone);
        assert_eq!(waited(Protocol::Smb2, Some(1)), Waiting::default());
        assert_eq!(waited(Protocol::Nfs4, Some(3)), alone);
        assert_eq!(Waiting::default().service_share(), None);
    }
}

//! Time that clients waited for answers: the ranking criterion of reports.

use plimsoll_model::{Protocol, Transaction, add_fields};
use serde::{Deserialize, Serialize};

use crate::state::Counter;

/// The sum of the headline response times, once per message: the members of a compound or an AndX chain travel together, and clients wait
/// for all of them at the same time. The first member represents the others; in an NFSv4 compound the main operation does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    ns: u128,
    /// Of those whose service time is known: in all, the service times, and the sending of the requests.
    split_ns: u128,
    service_ns: u128,
    sending_ns: u128,
}

impl Waiting {
    #[inline]
    pub(crate) fn record(&mut self, t: &Transaction, waited_ns: u64, service_ns: Option<u64>) {
        if !Waiting::counts(t) {
            return;
        }
        self.ns += u128::from(waited_ns);
        if let Some(service) = service_ns {
            let sending =
                t.timeline.request_last.zip(t.timeline.request_first).map_or(0, |(last, first)| last.abs_diff(first));
            let service = service.min(waited_ns);
            self.split_ns += u128::from(waited_ns);
            self.service_ns += u128::from(service);
            self.sending_ns += u128::from(sending.min(waited_ns - service));
        }
    }

    /// Whether a transaction stands for its message.
    #[inline]
    pub(crate) fn counts(t: &Transaction) -> bool {
        let alone = t.compound_position.is_none_or(|position| position == 0);
        alone || matches!(t.procedure.row().protocol, Protocol::Nfs4 | Protocol::Nfs4Callback)
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: Waiting) {
        add_fields!(self, other; ns, split_ns, service_ns, sending_ns);
    }

    /// In all, ns.
    pub fn ns(self) -> u128 {
        self.ns
    }

    /// The part of it that was service time, 0..=1, over the messages whose service time is known; `None` without any.
    pub fn service_share(self) -> Option<f64> {
        (self.split_ns > 0).then(|| self.service_ns as f64 / self.split_ns as f64)
    }

    /// The part of it that passed between the first and the last byte of requests, likewise.
    pub fn sending_share(self) -> Option<f64> {
        (self.split_ns > 0).then(|| self.sending_ns as f64 / self.split_ns as f64)
    }
}

crate::state::fields!("waiting"; Waiting { ns, split_ns, service_ns, sending_ns } if |waiting| {
    Counter::sum(waiting.ns) && waiting.split_ns <= waiting.ns
        && waiting.service_ns.checked_add(waiting.sending_ns).is_some_and(|sum| sum <= waiting.split_ns)
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
        waiting.record(&t, 100, Some(60));
        waiting
    }

    #[test]
    fn a_message_is_waited_for_once() {
        let alone = waited(Protocol::Smb2, None);
        assert_eq!((alone.ns(), alone.service_share()), (100, Some(0.6)));
        assert_eq!(waited(Protocol::Smb2, Some(0)), alone);
        assert_eq!(waited(Protocol::Smb2, Some(1)), Waiting::default());
        assert_eq!(waited(Protocol::Nfs4, Some(3)), alone);
        assert_eq!(waited(Protocol::Nfs4Callback, Some(1)), alone);
        assert_eq!(Waiting::default().service_share(), None);
    }
}

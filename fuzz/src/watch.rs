//! An observer with checks: for any input its results must be consistent.

use plimsoll_model::{Anomaly, Names, Outcome, Sink, Transaction};
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_observe::{Observed, Observer};

/// Transactions, checked as they come.
#[derive(Debug, Default)]
pub struct Seen {
    /// All transactions.
    pub transactions: Vec<Transaction>,
}

impl Sink for Seen {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        let (timeline, frames) = (&transaction.timeline, &transaction.frames);
        assert!(timeline.request_first.is_some() && frames.request_first.is_some(), "no request, no transaction");
        assert_eq!(timeline.request_last.is_some(), frames.request_last.is_some());
        assert_eq!(timeline.response_first.is_some(), frames.response_first.is_some());
        assert_eq!(timeline.response_last.is_some(), frames.response_last.is_some());
        assert_eq!(transaction.outcome == Outcome::Unanswered, timeline.response_first.is_none());
        assert!(timeline.response_last.is_none() || timeline.response_first.is_some());
        assert!(transaction.request_packets >= 1);
        assert_ne!(transaction.client, transaction.server);
        for symbol in [transaction.share, transaction.path, transaction.user] {
            assert_eq!(symbol.is_some(), names.text(symbol).is_some());
        }
        self.transactions.push(transaction.clone());
    }
}

/// An observer that checks its results.
pub struct Watch {
    observer: Observer<Seen>,
    frames: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self { observer: Observer::new(Seen::default()), frames: 0 }
    }
}

impl Watch {
    /// Gives the observer the next frame.
    pub fn frame(&mut self, time_ns: Option<i64>, link: LinkType, captured: &[u8], original_len: u32) {
        self.frames += 1;
        self.observer.frame(&Frame { number: self.frames, time_ns, link, captured, original_len });
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Ends the capture and checks the sums.
    pub fn finish(self) -> Observed<Seen> {
        let observed = self.observer.finish();
        let (packets, unseen) = (&observed.coverage.packets, &observed.coverage.unseen);
        assert_eq!(packets.total, self.frames);
        assert_eq!(packets.total, packets.tcp + packets.udp + packets.other);
        assert_eq!(packets.tcp, packets.tcp_data + packets.ack_only + packets.ack_repeated);
        let parts = packets.command_first
            + packets.command_continued_sync
            + packets.command_continued_async
            + packets.command_ack
            + packets.command_retry;
        assert_eq!(packets.commands, parts);
        let answered = observed.sink.transactions.iter().filter(|one| one.outcome != Outcome::Unanswered).count();
        assert!(unseen.paired <= answered as u64, "{} pairs, {answered} answered", unseen.paired);
        // Ambiguous pairs count as unanswered too, but have no row.
        let count = |anomaly| observed.coverage.anomalies.count(anomaly);
        assert_eq!(unseen.unanswered(), count(Anomaly::RequestUnanswered) + count(Anomaly::PairAmbiguous));
        observed
    }
}

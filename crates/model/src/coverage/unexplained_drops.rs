//! Packets that the capture lacks without a gap in the streams: the capturing program lost them, or the interface was down.

use super::{Coverage, ShareMissing};
use crate::Anomaly;

/// Gaps that explain this fraction of the lost packets or more are believed: both numbers are rough.
const EXPLAINED: f64 = 0.5;
/// Lost packets beyond the gaps matter from this fraction of all packets on.
const MATTERS: f64 = 0.01;

impl Coverage {
    /// The share of the operations that the numbers do not contain; `None` if it cannot be estimated.
    pub fn share_missing(&self) -> Option<ShareMissing> {
        self.unseen.share_missing().filter(|_| self.unexplained_drops().is_none() && self.downtime.count == 0)
    }

    /// The number of lost packets that the capturing program reports, if the gaps in the streams are much smaller. A connection that
    /// begins or ends in a time of loss leaves no gap, and the estimate of missing operations would be too low.
    pub fn unexplained_drops(&self) -> Option<u64> {
        let reported = self.anomalies.count(Anomaly::CaptureDropsReported);
        // The reported number counts all packets, the gaps count packets with data of file-server traffic.
        let segments = self.network.data_segments.iter().sum::<u64>() as f64;
        let lost = reported as f64 * segments / self.packets.total.max(1) as f64;
        let gaps = self.packets.dropped_estimate as f64;
        (gaps < EXPLAINED * lost && lost - gaps >= MATTERS * (segments + lost)).then_some(reported)
    }

    /// Whether the capture may lack packets of this time of which nothing else tells. A response that it does not contain may then have
    /// been sent.
    pub fn may_be_blind(&self, span_ns: (i64, i64)) -> bool {
        self.downtime.may_overlap(span_ns) || self.unexplained_drops().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Network, PacketCounts, Unseen};

    /// A capture of 8,000 packets with data and 2,000 without.
    fn capture(reported: u64, dropped_estimate: u64) -> Coverage {
        let mut coverage = Coverage {
            packets: PacketCounts { total: 10_000, dropped_estimate, ..PacketCounts::default() },
            network: Network { data_segments: [4_000, 4_000], ..Network::default() },
            unseen: Unseen { paired: 4_000, ..Unseen::default() },
            ..Coverage::default()
        };
        coverage.anomalies.add_many(Anomaly::CaptureDropsReported, reported);
        coverage
    }

    #[test]
    fn drops_without_gaps_leave_the_missing_share_unknown() {
        assert_eq!(capture(5_000, 20).unexplained_drops(), Some(5_000));
        assert_eq!(capture(5_000, 20).share_missing(), None);
        for (reported, dropped_estimate) in [(0, 0), (5_000, 3_900), (5_000, 2_100), (100, 0)] {
            assert_eq!(capture(reported, dropped_estimate).unexplained_drops(), None, "{reported}, {dropped_estimate}");
        }
        let mut known = capture(5_000, 3_900);
        assert!(known.share_missing().is_some());
        known.downtime.begin(7);
        assert_eq!(known.share_missing(), None, "nobody knows what passed meanwhile");
    }

    #[test]
    fn a_capture_is_blind_while_the_interface_is_down() {
        let mut coverage = Coverage::default();
        assert!(!coverage.may_be_blind((0, 1_000)));
        coverage.downtime.begin(100);
        let blind = |coverage: &Coverage, spans: [(i64, i64); 4]| spans.map(|span| coverage.may_be_blind(span));
        assert_eq!(blind(&coverage, [(0, 100), (0, 101), (100, 200), (300, 400)]), [false, true, true, true]);
        coverage.downtime.end(100, 200);
        assert_eq!(blind(&coverage, [(0, 100), (0, 101), (199, 300), (200, 300)]), [false, true, true, false]);
        coverage.downtime.begin(500);
        coverage.downtime.end(500, 600);
        assert_eq!(blind(&coverage, [(0, 100), (0, 101), (199, 300), (200, 300)]), [false, true, true, true]);
    }
}

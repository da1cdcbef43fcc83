//! What the observer saw of the traffic, and what it knows it did not see.

use crate::Anomalies;

/// Packet counts, named as in seed 1's Appendix A where it has them.
///
/// `total` = `tcp` + `udp` + `other`; `tcp` = `tcp_data` + `ack_only` + `ack_repeated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets read.
    pub total: u64,
    /// TCP packets.
    pub tcp: u64,
    /// TCP packets with data ("IP/TCP").
    pub tcp_data: u64,
    /// TCP packets without data that acknowledge something new, or open or close a connection ("IP/TCP Ack").
    pub ack_only: u64,
    /// TCP packets without data that acknowledge nothing new: duplicates, window updates, keep-alives ("IP/TCP UAk").
    pub ack_repeated: u64,
    /// UDP packets (fragments included).
    pub udp: u64,
    /// Neither TCP nor UDP, or not understood.
    pub other: u64,
    /// TCP data seen before and sent again ("retrans").
    pub retransmitted: u64,
    /// TCP data that came after later data.
    pub out_of_order: u64,
    /// Packets that the capture must have dropped: each hole counts its size over the largest segment seen ("dropped").
    pub dropped_at_least: u64,
    /// Packets that the capture cut short (snaplen).
    pub truncated: u64,
    /// Packets that carry on a message begun in an earlier one, both ways ("Continue").
    pub continued: u64,
    /// Packets from client to server on file-server connections ("Commands"): the sum of the five below.
    pub commands: u64,
    /// … that begin a request ("SMB").
    pub command_first: u64,
    /// … that carry on a request which will be answered ("continue: sync").
    pub command_continued_sync: u64,
    /// … that carry on a request's unanswered part, Write_Raw's block ("continue: async").
    pub command_continued_async: u64,
    /// … without data, acknowledging ("TCP ack").
    pub command_ack: u64,
    /// … sent again, or repeated acknowledgements ("TCP retry").
    pub command_retry: u64,
    /// Bytes captured.
    pub captured_bytes: u64,
    /// Bytes on the wire.
    pub wire_bytes: u64,
}

/// The granularity of the capture clock, estimated from its times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockGranularity {
    /// Smallest step the clock seems to make, ns; `None` with too few packets.
    pub estimate_ns: Option<u64>,
    /// The data only show that it is not coarser than the estimate.
    pub at_most: bool,
    /// How often time went backwards from one frame to the next.
    pub backward_steps: u64,
}

/// Halves of operations: what the capture's holes made unpairable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Requests and responses paired.
    pub paired: u64,
    /// Requests left without an answer on a connection whose answers had holes since.
    pub requests_after_gap: u64,
    /// Responses without a request on a connection whose requests had holes.
    pub responses_after_gap: u64,
    /// Requests without an answer where the capture lost nothing: still waiting when it ended.
    pub requests_waiting: u64,
    /// Responses without a request where the capture lost nothing: it began after the request.
    pub responses_before_start: u64,
}

impl Unseen {
    /// Share (0..=1) of the operations seen at least by half that the capture's holes made unpairable.
    /// Operations of which both halves were lost are not in it: it is a lower bound.
    pub fn share_lost_at_least(&self) -> f64 {
        let lost = self.requests_after_gap + self.responses_after_gap;
        let seen = self.paired + lost;
        if seen == 0 { 0.0 } else { lost as f64 / seen as f64 }
    }
}

/// All of it: what was seen and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Packet counts.
    pub packets: PacketCounts,
    /// Counts of what went wrong.
    pub anomalies: Anomalies,
    /// The capture clock.
    pub clock: ClockGranularity,
    /// Unpaired halves.
    pub unseen: Unseen,
    /// Time of the first packet, ns since the Unix epoch.
    pub first_ns: Option<i64>,
    /// Time of the last packet, ns since the Unix epoch.
    pub last_ns: Option<i64>,
    /// Connections and UDP conversations on which file-server messages were seen.
    pub connections: u64,
    /// One-way messages: oplock and lease breaks, SMB1 and SMB2 CANCEL, and the like.
    pub one_way: u64,
    /// Link types that are not known, by number in the registry of the pcap project, each with its packets. Numbers with the highest
    /// bit set are those of formats that count otherwise.
    pub unknown_links: Vec<(u32, u64)>,
    /// Transactions that filters kept out of all numbers.
    pub filtered_out: u64,
    /// First and last time of the whole capture, ns since the Unix epoch, where filters leave a part of it.
    pub capture_ns: Option<(i64, i64)>,
}

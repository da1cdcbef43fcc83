//! What the observer saw of the traffic, and what it knows it did not see.

use crate::Anomalies;

/// Packet counts, named as in Appendix A of Swartz (1997) where it has them.
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
    /// Packets with data that the capture dropped if all were as large as the largest of their direction.
    pub dropped_at_least: u64,
    /// Packets with data that the capture dropped, estimated: the holes of a direction over the mean size of its packets with data, at
    /// least one each ("dropped").
    pub dropped_estimate: u64,
    /// TCP data bytes that the capture does not have: the sizes of all holes.
    pub missing_bytes: u64,
    /// The largest packet on the wire, bytes: a snap length that cuts nothing.
    pub largest: u64,
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
    /// How often the clock was set back: a packet is more than 100 ms earlier than the one before it in the capture.
    pub backward_steps: u64,
}

/// Operations of which a half or all is not in the capture, or cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Requests and responses paired.
    pub paired: u64,
    /// Requests left without an answer on a connection whose answers had holes since.
    pub requests_after_gap: u64,
    /// Responses without a request on a connection whose requests had holes.
    pub responses_after_gap: u64,
    /// Requests left without an answer where the snap length cut message headers off since.
    pub requests_after_cut: u64,
    /// Responses without a request where the snap length cut message headers off.
    pub responses_after_cut: u64,
    /// Requests on connections of which only the client's packets were captured.
    pub requests_one_sided: u64,
    /// Responses on connections of which only the server's packets were captured.
    pub responses_one_sided: u64,
    /// Requests without an answer where the capture lost nothing: still waiting when it ended.
    pub requests_waiting: u64,
    /// Responses without a request where the capture lost nothing: it began after the request.
    pub responses_before_start: u64,
    /// Requests without an answer that came in datagrams: nothing tells whether the capture has all of them.
    pub requests_unexplained: u64,
    /// Responses without a request: in datagrams, or of a connection of which the beginning was captured and nothing is known to be lost.
    pub responses_unexplained: u64,
    /// Encrypted requests that could not be read, estimated where only their answers were captured.
    pub encrypted: u64,
    /// Compressed requests that could not be read, estimated likewise.
    pub compressed: u64,
    /// Operations that the numbers do not contain, for all of these reasons together.
    pub missing: Missing,
}

/// An estimate of the operations that the numbers do not contain, with its interval (95 %).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The best estimate.
    pub operations: u64,
    /// At least so many.
    pub low: u64,
    /// At most so many, as far as the capture tells.
    pub high: u64,
    /// Connections that lost data of which not one message was recognised: nobody knows how many operations they had.
    pub unknown: u64,
}

/// An estimated share (0..=1) with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareMissing {
    /// The best estimate.
    pub share: f64,
    /// At least so much.
    pub low: f64,
    /// At most so much.
    pub high: f64,
}

impl Missing {
    /// Adds another part of the traffic.
    pub fn add(&mut self, other: &Missing) {
        self.operations = self.operations.saturating_add(other.operations);
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}

impl Unseen {
    /// Adds another part of the traffic.
    #[inline]
    pub fn add(&mut self, other: &Unseen) {
        self.paired += other.paired;
        self.requests_after_gap += other.requests_after_gap;
        self.responses_after_gap += other.responses_after_gap;
        self.requests_after_cut += other.requests_after_cut;
        self.responses_after_cut += other.responses_after_cut;
        self.requests_one_sided += other.requests_one_sided;
        self.responses_one_sided += other.responses_one_sided;
        self.requests_waiting += other.requests_waiting;
        self.responses_before_start += other.responses_before_start;
        self.requests_unexplained += other.requests_unexplained;
        self.responses_unexplained += other.responses_unexplained;
        self.encrypted += other.encrypted;
        self.compressed += other.compressed;
        self.missing.add(&other.missing);
    }

    /// The share of the operations that the numbers do not contain; `None` where it cannot be estimated.
    pub fn share_missing(&self) -> Option<ShareMissing> {
        let Missing { operations, low, high, unknown } = self.missing;
        let share = |missing: u64| missing as f64 / (self.paired as f64 + missing as f64);
        let known = unknown == 0 && (self.paired > 0 || operations > 0);
        known.then(|| ShareMissing {
            share: share(operations),
            low: share(low.min(operations)),
            high: share(high.max(operations)),
        })
    }

    /// Requests without an answer, whatever the cause.
    pub fn unanswered(&self) -> u64 {
        self.requests_after_gap
            + self.requests_after_cut
            + self.requests_one_sided
            + self.requests_waiting
            + self.requests_unexplained
    }

    /// Responses without a request, whatever the cause.
    pub fn orphans(&self) -> u64 {
        self.responses_after_gap
            + self.responses_after_cut
            + self.responses_one_sided
            + self.responses_before_start
            + self.responses_unexplained
    }
}

/// A connection of which only one direction was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneSided {
    /// Where the captured packets came from.
    pub from: crate::Endpoint,
    /// Where they went.
    pub to: crate::Endpoint,
    /// Requests seen; 0 where only responses were.
    pub requests: u64,
    /// Responses seen.
    pub responses: u64,
}

/// How long operations waited for bytes that TCP had to send again. Each SMB compound and AndX chain counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resent {
    /// Operations that waited for [`Resent::LOSS_NS`] or longer.
    pub operations: u64,
    /// For how long in all, ns.
    pub wait_ns: u64,
    /// Operations that waited, but not so long: for packets that were sent again quickly, or were only overtaken.
    pub brief_operations: u64,
    /// For how long in all, ns.
    pub brief_wait_ns: u64,
    /// Answered operations of which it is not known.
    pub unknown: u64,
}

impl Resent {
    /// A gap that is filled sooner than this may be packets that overtook each other, ns. Wireshark draws the line between "out of
    /// order" and "retransmission" at the same 3 ms where it does not know the round trip (packet-tcp.c).
    pub const LOSS_NS: u64 = 3_000_000;

    /// Counts an operation that waited for so long, ns.
    #[inline]
    pub fn add(&mut self, wait_ns: Option<u64>) {
        match wait_ns {
            Some(0) => {}
            None => self.unknown += 1,
            Some(wait_ns) if wait_ns < Self::LOSS_NS => {
                self.brief_operations += 1;
                self.brief_wait_ns = self.brief_wait_ns.saturating_add(wait_ns);
            }
            Some(wait_ns) => {
                self.operations += 1;
                self.wait_ns = self.wait_ns.saturating_add(wait_ns);
            }
        }
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
    /// Waiting for bytes that were sent again.
    pub resent: Resent,
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
    /// Connections of which only one direction was captured.
    pub one_sided: u64,
    /// The first of them.
    pub one_sided_named: Vec<OneSided>,
}

impl Coverage {
    /// Connections of which only one direction was captured that are kept in `one_sided_named`, at most.
    pub const ONE_SIDED_NAMED: usize = 16;
}

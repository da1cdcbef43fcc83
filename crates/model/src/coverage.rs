//! Completeness of the observed traffic: captured and missing parts.

mod slots;
mod sum;
mod unexplained_drops;
mod unfinished;
mod unopened;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Anomalies, ClientPath, Endpoint};

pub use slots::SlotWaits;
pub use unfinished::{Unfinished, WaitEnd};
pub use unopened::Unopened;

/// Packet counts, named as in Appendix A of Swartz (1997) where it has them.
///
/// `total` = `tcp` + `udp` + `other`; `tcp` = `tcp_data` + `ack_only` + `ack_repeated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Number of times that the clock was set back: a packet is more than 100 ms earlier than its predecessor in the capture.
    pub backward_steps: u64,
}

/// Operations of which a half or all is not in the capture, or cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Requests over UDP without an answer: there is no trace of packets that were not captured.
    pub requests_unexplained: u64,
    /// Responses without a request: in datagrams, or of a connection of which nothing is known to be lost, and the beginning was captured
    /// or the first packet came more than a second after the capture's.
    pub responses_unexplained: u64,
    /// Encrypted requests that could not be read, estimated where only their answers were captured.
    pub encrypted: u64,
    /// Compressed requests that could not be read, estimated likewise.
    pub compressed: u64,
    /// Operations that the numbers do not contain, for all of these reasons together.
    pub missing: Missing,
}

/// An estimate of the operations that the numbers do not contain, with its interval (95 %).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The best estimate.
    pub operations: u64,
    /// Lower bound.
    pub low: u64,
    /// Upper bound, from the capture.
    pub high: u64,
    /// Connections with lost data and not one recognised message, or whose beginning was lost while others were captured: their number of
    /// operations is unknown.
    pub unknown: u64,
}

/// An estimated share (0..=1) with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareMissing {
    /// The best estimate.
    pub share: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
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

    /// Requests without an answer, for any cause.
    pub fn unanswered(&self) -> u64 {
        self.requests_after_gap
            + self.requests_after_cut
            + self.requests_one_sided
            + self.requests_waiting
            + self.requests_unexplained
    }

    /// Responses without a request, for any cause.
    pub fn orphans(&self) -> u64 {
        self.responses_after_gap
            + self.responses_after_cut
            + self.responses_one_sided
            + self.responses_before_start
            + self.responses_unexplained
    }
}

/// A connection of which only one direction was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resent {
    /// Operations that waited for [`Resent::LOSS_NS`] or longer.
    pub operations: u64,
    /// For how long in all, ns.
    pub wait_ns: u64,
    /// Operations that waited for a short time: for packets that were retransmitted quickly, or only overtaken.
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

/// What TCP's own headers tell of waiting, over connections with file-server traffic. Of two numbers the first is of what clients
/// send, the second of what servers send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Times that a window of 0 kept an end from sending, and for how long, ns.
    pub zero_windows: [u64; 2],
    /// See `zero_windows`.
    pub zero_window_ns: [u64; 2],
    /// Times that a full window kept an end from sending the rest of a message until an acknowledgement came, and for how long, ns.
    pub small_windows: [u64; 2],
    /// See `small_windows`.
    pub small_window_ns: [u64; 2],
    /// The connection with most of it.
    pub smallest_window: [Option<SmallWindow>; 2],
    /// Times that an end had a part of a message left, waited for the acknowledgement of the rest, and got it late; and for how long, ns.
    pub delayed_acks: [u64; 2],
    /// See `delayed_acks`.
    pub delayed_ack_ns: [u64; 2],
    /// Segments with data.
    pub data_segments: [u64; 2],
    /// Of these, retransmissions of bytes that were captured before and had not been acknowledged.
    pub resent_segments: [u64; 2],
    /// How long before them the first copies were sent, at least, ns. No time of a connection's direction counts twice.
    pub resent_wait_ns: [u64; 2],
    /// The client that has most of these retransmissions, if one has.
    pub most_resent: MostResent,
    /// Connections of which the handshake was captured.
    pub handshakes: u64,
    /// Connections whose SYN or SYN-ACK was retransmitted before the client continued.
    pub late_handshakes: u64,
    /// How long these handshakes took, from the first copy to the next segment without SYN, ns.
    pub late_handshake_ns: u64,
    /// The client whose closed windows kept servers from sending longest over one connection, and for how long, ns.
    pub slow_reader: Option<(std::net::IpAddr, u64)>,
    /// The shortest time from a SYN to its answer: the round trip between the place of the capture and a server, ns.
    pub to_server_ns: Option<u64>,
    /// The shortest from the answer to its acknowledgement: the round trip to a client, ns.
    pub to_client_ns: Option<u64>,
}

/// Waits of one connection for an acknowledgement because the receiver's window was full: it is smaller than what fits into a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmallWindow {
    /// The client.
    pub client: IpAddr,
    /// How often.
    pub waits: u64,
    /// How long, ns.
    pub wait_ns: u64,
    /// The largest window that was full, bytes.
    pub bytes: u32,
}

/// A majority vote (Boyer and Moore 1981) among clients, a vote for each retransmission: it needs no table of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MostResent {
    /// The client that leads.
    pub client: Option<IpAddr>,
    /// It has at least so many retransmissions.
    pub lead: u64,
}

impl MostResent {
    /// The retransmissions of one client.
    pub fn of(client: IpAddr, segments: u64) -> Self {
        Self { client: (segments > 0).then_some(client), lead: segments }
    }

    /// Adds another part: of two clients the one that leads keeps what it leads by.
    fn add(&mut self, other: &MostResent) {
        if self.client == other.client {
            self.lead = self.lead.saturating_add(other.lead);
        } else {
            let client = if other.lead > self.lead { other.client } else { self.client };
            *self = Self { client, lead: self.lead.abs_diff(other.lead) };
        }
    }
}

impl Network {
    /// Adds another connection.
    pub fn add(&mut self, other: &Network) {
        let sum = |mine: &mut [u64; 2], theirs: [u64; 2]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, more)| *mine = mine.saturating_add(more));
        };
        sum(&mut self.zero_windows, other.zero_windows);
        sum(&mut self.zero_window_ns, other.zero_window_ns);
        sum(&mut self.small_windows, other.small_windows);
        sum(&mut self.small_window_ns, other.small_window_ns);
        for (mine, theirs) in self.smallest_window.iter_mut().zip(other.smallest_window) {
            *mine = mine.take().into_iter().chain(theirs).max_by_key(|one| one.wait_ns);
        }
        sum(&mut self.delayed_acks, other.delayed_acks);
        sum(&mut self.delayed_ack_ns, other.delayed_ack_ns);
        sum(&mut self.data_segments, other.data_segments);
        sum(&mut self.resent_segments, other.resent_segments);
        sum(&mut self.resent_wait_ns, other.resent_wait_ns);
        self.most_resent.add(&other.most_resent);
        self.handshakes += other.handshakes;
        self.late_handshakes += other.late_handshakes;
        self.late_handshake_ns = self.late_handshake_ns.saturating_add(other.late_handshake_ns);
        let both = self.slow_reader.into_iter().chain(other.slow_reader);
        self.slow_reader = both.max_by_key(|&(_, closed_ns)| closed_ns);
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        self.to_server_ns = least(self.to_server_ns, other.to_server_ns);
        self.to_client_ns = least(self.to_client_ns, other.to_client_ns);
    }
}

/// Leases and oplocks that servers broke, and opens that waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaks {
    /// Notifications that a lease or oplock is broken.
    pub notified: u64,
    /// Opens during which their server sent one, and which took long.
    pub opens: u64,
    /// How long they took from then on, ns.
    pub wait_ns: u64,
    /// The longest of these waits, ns.
    pub longest_ns: u64,
    /// The client that was asked to give up its lease or oplock in the longest wait.
    pub holder: Option<std::net::IpAddr>,
    /// The file of the longest wait.
    pub path: crate::Symbol,
    /// Whether the longest wait ended although that client had neither acknowledged the break nor closed the file.
    pub is_longest_unanswered: bool,
    /// Opens that waited for 1 s or longer for a break that was not answered until they were.
    pub unanswered: u64,
}

/// Times that an SMB2 client had used up its credits, over connections of which all messages were seen and that had none left for at
/// least a fifth of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    /// Times that it sent its next request as soon as it was given more.
    pub waits: u64,
    /// How long it had none before, ns.
    pub wait_ns: u64,
    /// How long the connections lasted, ns.
    pub connections_ns: u64,
}

impl Credits {
    /// Adds another connection.
    pub fn add(&mut self, other: &Credits) {
        self.waits = self.waits.saturating_add(other.waits);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.connections_ns = self.connections_ns.saturating_add(other.connections_ns);
    }
}

/// A server that closed all its connections, and was connected to again: it restarted, or its service did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// The server.
    pub server: Endpoint,
    /// When it closed the first connection, and the last, ns.
    pub closed_ns: (i64, i64),
    /// Connections that it closed.
    pub connections: u64,
    /// Clients of these connections.
    pub clients: u64,
    /// Number of these clients that connected again.
    pub back: u64,
    /// The shortest and the longest time until a client connected again, ns.
    pub back_after_ns: (u64, u64),
    /// Sum of these times, ns.
    pub away_ns: u64,
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
    /// Waiting that TCP's headers tell of.
    pub network: Network,
    /// The same by client, in no order.
    pub client_paths: Vec<ClientPath>,
    /// Connections of further clients, for which there was no room.
    pub without_path: u64,
    /// Servers that restarted, in the order of the first closed connection; at most [`Coverage::RESTARTS`].
    pub restarts: Vec<Restart>,
    /// Names that hosts asked DNS servers for and waited, in the order of the first question; at most [`Coverage::LOOKUPS`].
    pub name_lookups: Vec<crate::NameLookup>,
    /// The DNS servers, at most as many.
    pub name_servers: Vec<crate::NameServer>,
    /// Opens that waited for other clients' leases and oplocks.
    pub breaks: Breaks,
    /// Waiting for SMB2 credits.
    pub credits: Credits,
    /// Waiting for slots of NFSv4.1 sessions, by client; at most [`Coverage::SLOT_CLIENTS`], those that waited longest.
    pub slots: Vec<SlotWaits>,
    /// Connections with requests that got no response, in the order of their ends; at most [`Coverage::UNFINISHED`].
    pub unfinished: Vec<Unfinished>,
    /// Connections that clients could not open, by client and server; at most [`Coverage::UNOPENED`].
    pub unopened: Vec<Unopened>,
    /// Encrypted messages that were not read.
    pub encrypted: crate::Encrypted,
    /// RPC over TLS, which was not read.
    pub rpc_tls: crate::RpcTls,
    /// Time of the first packet, ns since the Unix epoch.
    pub first_ns: Option<i64>,
    /// Time of the last packet, ns since the Unix epoch.
    pub last_ns: Option<i64>,
    /// Connections and UDP conversations on which file-server messages were seen.
    pub connections: u64,
    /// One-way messages: for example oplock and lease breaks, SMB1 and SMB2 CANCEL.
    pub one_way: u64,
    /// Unknown link types, by number in the registry of the pcap project, each with its number of packets. Numbers with the highest bit
    /// set belong to formats with other numbers.
    pub unknown_links: Vec<(u32, u64)>,
    /// Transactions that filters kept out of all numbers.
    pub filtered_out: u64,
    /// First and last time of the whole capture, ns since the Unix epoch, if filters select a part of it.
    pub capture_ns: Option<(i64, i64)>,
    /// Connections of which only one direction was captured.
    pub one_sided: u64,
    /// The first one-sided connections.
    pub one_sided_named: Vec<OneSided>,
}

impl Coverage {
    /// Connections of which only one direction was captured that are kept in `one_sided_named`, at most.
    pub const ONE_SIDED_NAMED: usize = 16;
    /// Names that are kept in `name_lookups`, at most.
    pub const LOOKUPS: usize = 1024;
    /// Restarts that are kept, at most.
    pub const RESTARTS: usize = 16;
    /// Clients that are kept in `slots`, at most.
    pub const SLOT_CLIENTS: usize = 64;
    /// Connections that are kept in `unfinished`, at most.
    pub const UNFINISHED: usize = 1024;
    /// Pairs of client and server that are kept in `unopened`, at most.
    pub const UNOPENED: usize = 256;
}

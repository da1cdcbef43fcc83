//! Completeness of the observed traffic: captured and missing parts.

mod delegations;
mod downtime;
mod file_gaps;
mod last_responses;
mod late_requests;
mod lease_breaks;
mod network;
mod resets;
mod slots;
mod sum;
mod unexplained_drops;
mod unfinished;
mod unopened;
mod unseen;

use serde::{Deserialize, Serialize};

use crate::add_fields;
use crate::{Anomalies, ClientPath, Endpoint};

pub use delegations::{Delegations, DelegationsLeftOut, PartialPairs};
pub use downtime::Downtime;
pub use file_gaps::FileGaps;
pub use late_requests::LateRequests;
pub use lease_breaks::{CachingRight, LeaseBreaks};
pub use network::{MostResent, Network, Resent, SmallWindow};
pub use resets::Resets;
pub use slots::{SessionSlots, SlotsLeftOut};
pub use unfinished::{Unfinished, WaitEnd};
pub use unopened::Unopened;
pub use unseen::{Missing, OneSided, ShareMissing, Unseen};

/// Packet counts, named as in Appendix A of Swartz (1997) where it has them. The names of the fields are those of a report's JSON.
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
    /// Packets with data that the capture dropped if all were as large as the largest of their direction, at least one for each hole.
    pub dropped_at_least: u64,
    /// Packets with data that the capture dropped, estimated: the holes of a direction over the mean size of its packets with data, at
    /// least one each ("dropped").
    pub dropped_estimate: u64,
    /// TCP data bytes that the capture does not have: the sizes of all holes.
    pub missing_bytes: u64,
    /// The largest packet on the wire, bytes: a snap length that cuts nothing.
    pub largest: u64,
    /// Packets that the snap length of the capture cut short.
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
    /// Acknowledgements of clients that no known notification demanded.
    pub unsolicited: u64,
    /// Acknowledgements of which it is not known whether a notification demanded them.
    pub unmatched: u64,
}

/// Times that an SMB2 client had used up its credits, over connections of which all messages were seen and that had none left for at
/// least a fifth of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    /// Times that it sent its next request as soon as it was given more.
    pub waits: u64,
    /// How long it had none before, ns.
    pub wait_ns: u64,
    /// How long the connections had outstanding requests, ns.
    pub busy_ns: u64,
    /// Sum of the times of their requests, ns.
    pub requests_ns: u64,
}

impl Credits {
    /// Adds another connection.
    pub fn add(&mut self, other: &Credits) {
        add_fields!(self, other; all waits, wait_ns, busy_ns, requests_ns);
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
    /// Times in which the captured interface was down.
    pub downtime: Downtime,
    /// Times between capture files.
    pub file_gaps: FileGaps,
    /// The capture clock.
    pub clock: ClockGranularity,
    /// Requests that were captured after their responses.
    pub late_requests: LateRequests,
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
    /// Connections that were reset while in use, by client and server, those with most resets first; at most [`Coverage::RESETS`].
    pub resets: Vec<Resets>,
    /// Names that hosts asked DNS servers for and waited, in the order of the first question; at most [`Coverage::LOOKUPS`].
    pub name_lookups: Vec<crate::NameLookup>,
    /// The DNS servers, at most as many.
    pub name_servers: Vec<crate::NameServer>,
    /// Opens that waited for other clients' leases and oplocks.
    pub breaks: Breaks,
    /// The breaks by client, share, kind and states, in the order of their first notification; at most [`Coverage::LEASE_BREAKS`].
    pub lease_breaks: Vec<LeaseBreaks>,
    /// Delegations of NFS 4 by client and server, those with most recalls first; at most [`Coverage::DELEGATIONS`].
    pub delegations: Vec<Delegations>,
    /// Sums over further clients and servers.
    pub delegations_left_out: DelegationsLeftOut,
    /// Pairs of client and server without a row of which requests or responses may be missing that are about delegations.
    pub delegations_partial: PartialPairs,
    /// Waiting for SMB2 credits.
    pub credits: Credits,
    /// NFS 4.1 sessions and their slots, those that waited longest first; at most 1,024.
    pub slots: Vec<SessionSlots>,
    /// Sums over further sessions.
    pub slots_left_out: SlotsLeftOut,
    /// Connections with requests that got no response, in the order of their ends; at most [`Coverage::UNFINISHED`].
    pub unfinished: Vec<Unfinished>,
    /// When each server last sent a response of any kind, readable or not, ns. `None` if it is not known, for example of more servers than
    /// [`Coverage::LAST_RESPONSES`].
    pub last_responses: Option<Vec<(Endpoint, i64)>>,
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
    /// Pairs of client and server that are kept in `resets`, at most.
    pub const RESETS: usize = 64;
    /// Kinds of breaks that are kept in `lease_breaks`, at most.
    pub const LEASE_BREAKS: usize = 256;
    /// Pairs of client and server that are kept in `delegations`, at most.
    pub const DELEGATIONS: usize = 256;
    /// Pairs of client and server that are kept in `delegations_partial`, at most.
    pub const PARTIAL_PAIRS: usize = 16_384;
    /// Connections that are kept in `unfinished`, at most.
    pub const UNFINISHED: usize = 1024;
    /// Servers of which the last response is kept, at most: 100 KiB.
    pub const LAST_RESPONSES: usize = 1_000;
    /// Pairs of client and server that are kept in `unopened`, at most.
    pub const UNOPENED: usize = 256;

    /// Whether `unfinished` is full: then there may be further connections with such requests.
    pub fn has_more_unfinished(&self) -> bool {
        self.unfinished.len() >= Self::UNFINISHED
    }
}

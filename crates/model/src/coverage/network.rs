//! Waiting that TCP's headers and retransmissions tell of.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::add_fields;

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
    /// Times that an end with the rest of a message left waited for a late acknowledgement; and by how much these waits exceeded a round
    /// trip in all, ns.
    pub delayed_acks: [u64; 2],
    /// See `delayed_acks`.
    pub delayed_ack_ns: [u64; 2],
    /// Segments with data.
    pub data_segments: [u64; 2],
    /// Of these, retransmissions of bytes that were captured before and had not been acknowledged.
    pub resent_segments: [u64; 2],
    /// Segments that came after later ones, sooner than a round trip: too soon to be retransmissions.
    pub reordered_segments: [u64; 2],
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
    pub slow_reader: Option<(IpAddr, u64)>,
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
    /// The least number of retransmissions that it has.
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
        sum(&mut self.reordered_segments, other.reordered_segments);
        sum(&mut self.resent_wait_ns, other.resent_wait_ns);
        self.most_resent.add(&other.most_resent);
        add_fields!(self, other; handshakes, late_handshakes, late_handshake_ns);
        let both = self.slow_reader.into_iter().chain(other.slow_reader);
        self.slow_reader = both.max_by_key(|&(_, closed_ns)| closed_ns);
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        self.to_server_ns = least(self.to_server_ns, other.to_server_ns);
        self.to_client_ns = least(self.to_client_ns, other.to_client_ns);
    }
}

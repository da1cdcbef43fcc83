//! The network path to each client, from captured packets.

use serde::{Deserialize, Serialize};

/// Paths that are listed.
pub const MOST_PATHS: usize = 64;

/// The network path to one client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientPathRow {
    /// The client's address.
    pub client: String,
    /// Its connections with file-server traffic.
    pub connections: u64,
    /// Number of these connections with a captured handshake.
    pub handshakes: u64,
    /// Connections whose SYN or SYN-ACK was retransmitted before the client continued.
    pub late_handshakes: u64,
    /// How long these handshakes took in all, s; no response time includes it.
    pub late_handshake_s: f64,
    /// Round trip between the place of the capture and the client.
    pub to_client: RoundTripTimes,
    /// Round trip between the place of the capture and its servers.
    pub to_server: RoundTripTimes,
    /// Bytes per second that passed to the client while there were more; null where too few parts of a transfer tell.
    pub bytes_per_s_to_client: Option<f64>,
    /// The same to its servers.
    pub bytes_per_s_to_server: Option<f64>,
    /// Segments with data, either way.
    pub data_segments: u64,
    /// Retransmissions among these of packets that were captured before.
    pub retransmitted: u64,
}

/// A round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundTripTimes {
    /// The shortest that no delayed acknowledgement made longer, s.
    pub least_s: Option<f64>,
    /// Median time from a segment to its acknowledgement, delayed ones too, s.
    pub median_s: Option<f64>,
    /// Segments that were timed.
    pub count: u64,
}

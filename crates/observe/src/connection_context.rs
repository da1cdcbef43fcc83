//! Facts about a connection for the stages above its streams.

use plimsoll_model::Endpoint;
use serde::{Deserialize, Serialize};

/// Facts about a message's connection that every protocol needs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ConnectionContext {
    /// Number of the connection.
    pub connection: u32,
    /// The two ends; a message of direction `d` went from `ends[d]` to `ends[1 - d]`.
    pub ends: [Endpoint; 2],
    /// Losses in each direction so far: holes, and cuts that may hide messages.
    pub holes: [u32; 2],
    /// Number of these losses that the snap length caused.
    pub cuts: [u32; 2],
    /// Losses that lie before the next message: one in which a message ended counts once that message was taken.
    pub breaks: [u32; 2],
    /// Messages of each direction so far that could not be read, or not completely: each may be any response.
    pub unread: [u32; 2],
    /// Stream offset per direction up to which data was retransmitted before it was acknowledged.
    pub resent_to: [u64; 2],
    /// Stream offset per direction up to which captured packets acknowledge data; 0 before the connection ends.
    pub acknowledged: [u64; 2],
    /// The connection's beginning was captured.
    pub from_start: bool,
    /// Its first packet came so long after the start of the capture that the capture may have dropped earlier ones.
    pub begins_late: bool,
    /// From the place of the capture to the client and back, as its handshake took, ns; 0 where it is not known.
    pub to_client_ns: u64,
    /// What ended the wait of its requests; `None` while they may still get responses, also those that are no longer followed.
    pub ended: Option<Ended>,
    /// Messages come in datagrams: nothing tells of those that were not captured.
    pub datagrams: bool,
}

impl ConnectionContext {
    /// Of a connection without packets so far.
    pub fn new(connection: u32, ends: [Endpoint; 2]) -> Self {
        Self {
            connection,
            ends,
            holes: [0; 2],
            cuts: [0; 2],
            breaks: [0; 2],
            unread: [0; 2],
            resent_to: [0; 2],
            acknowledged: [0; 2],
            from_start: false,
            begins_late: false,
            to_client_ns: 0,
            ended: None,
            datagrams: false,
        }
    }
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Ended {
    /// One end closed it.
    Closed {
        /// The direction of what this end sends.
        direction: usize,
        /// When, ns.
        at_ns: i64,
        /// When the other end, or the server at its place, last sent a response to anybody before, ns.
        responded_ns: Option<i64>,
    },
    /// The capture ended before.
    WithCapture,
}

//! NFS 4.1 sessions and the use of their slots.

use serde::{Deserialize, Serialize};

/// Sessions that are listed.
pub const MOST_SLOT_ROWS: usize = 256;

/// NFS 4.1 sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slots {
    /// Requests of further sessions.
    pub requests_left_out: u64,
    /// The sessions whose clients waited longest for slots in front, at most [`MOST_SLOT_ROWS`].
    pub rows: Vec<SlotRow>,
}

/// A session. Null is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotRow {
    /// Its number in `channels` and in tables of transactions, hexadecimal.
    pub session: String,
    /// Its ID on the wire, 32 hexadecimal digits.
    pub session_id: String,
    /// The client.
    pub client: String,
    /// The server.
    pub server: String,
    /// Whether requests or responses of the session were not captured. The four numbers of slots in use are then null.
    pub partial: bool,
    /// Slots that the server granted when the session was created; null if that was not captured.
    pub granted: Option<u32>,
    /// Slots that the server wanted the client to use, as it last said; null if no response says it.
    pub target: Option<u32>,
    /// Slots that the client could use at the end.
    pub slots: Option<u32>,
    /// Requests with a slot.
    pub requests: u64,
    /// From the first of them to the last message of the session, s; null without requests.
    pub elapsed_s: Option<f64>,
    /// Most slots in use at once.
    pub most_in_use: Option<u32>,
    /// How long all slots were in use, s; null if `slots` is.
    pub all_in_use_s: Option<f64>,
    /// Number of times that the client sent its next request as soon as one of them was free; null with fewer than 2 or more than 32
    /// slots.
    pub waits: Option<u64>,
    /// How long all slots had been in use before these requests, s.
    pub wait_s: Option<f64>,
}

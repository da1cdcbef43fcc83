//! Waits for slots of NFSv4.1 sessions.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Times that all slots of a client's sessions were taken, in sessions with few slots that were taken for at least half of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotWaits {
    /// The client.
    pub client: IpAddr,
    /// Its sessions.
    pub sessions: u64,
    /// The slots of the session that waited longest.
    pub slots: u32,
    /// Times that it sent its next request as soon as a slot was free.
    pub waits: u64,
    /// How long all were taken before, ns.
    pub wait_ns: u64,
    /// From the first request of each session to its last, ns.
    pub sessions_ns: u64,
}

impl SlotWaits {
    /// Adds another session of the client.
    pub fn add(&mut self, other: &SlotWaits) {
        if other.wait_ns > self.wait_ns {
            self.slots = other.slots;
        }
        self.sessions = self.sessions.saturating_add(other.sessions);
        self.waits = self.waits.saturating_add(other.waits);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.sessions_ns = self.sessions_ns.saturating_add(other.sessions_ns);
    }
}

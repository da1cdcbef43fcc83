//! Connections that could not be opened.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Endpoint;

/// Connections of a client to a file server's port that were not opened: the SYN got a RST, or no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unopened {
    /// The server, with its port.
    pub server: Endpoint,
    /// The client.
    pub client: IpAddr,
    /// Connections whose SYN got a RST.
    pub refused: u64,
    /// Connections whose SYN got no answer, and was sent again.
    pub unanswered: u64,
    /// From the first SYN of each connection to the last, ns.
    pub wait_ns: u64,
    /// The first SYN, ns.
    pub first_ns: i64,
    /// The last one, ns.
    pub last_ns: i64,
}

impl Unopened {
    /// Adds other connections.
    pub fn add(&mut self, other: &Unopened) {
        self.refused = self.refused.saturating_add(other.refused);
        self.unanswered = self.unanswered.saturating_add(other.unanswered);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// Adds connections to a list, which has one row for each client and server.
    pub fn add_to(self, all: &mut Vec<Unopened>) {
        let has_room = all.len() < crate::Coverage::UNOPENED;
        match all.iter_mut().find(|one| (one.client, one.server) == (self.client, self.server)) {
            Some(one) => one.add(&self),
            None if has_room => all.push(self),
            None => {}
        }
    }
}

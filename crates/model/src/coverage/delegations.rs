//! Delegations of NFS 4, by client and server.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Delegations of a client's files at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegations {
    /// The client.
    pub client: IpAddr,
    /// The server.
    pub server: IpAddr,
    /// Read delegations in captured responses to OPEN.
    pub granted_read: u64,
    /// Write delegations.
    pub granted_write: u64,
    /// Responses to OPEN without a delegation although the client asked for one.
    pub refused: u64,
    /// Delegations that the server recalled, whether or not it was captured that it granted them.
    pub recalled: u64,
    /// Further recalls of these.
    pub repeated: u64,
    /// Successful returns, recalled or not.
    pub returned: u64,
    /// Of these, returns of delegations that were recalled before.
    pub after_recall: u64,
    /// Sum of the times from the recall to the return, ns.
    pub after_recall_ns: u64,
    /// The longest of these times, ns.
    pub longest_ns: u64,
    /// Recalled delegations of which no DELEGRETURN was captured.
    pub unreturned: u64,
}

impl Delegations {
    /// Of a client and a server, none yet.
    #[must_use]
    pub fn of(client: IpAddr, server: IpAddr) -> Self {
        Self {
            client,
            server,
            granted_read: 0,
            granted_write: 0,
            refused: 0,
            recalled: 0,
            repeated: 0,
            returned: 0,
            after_recall: 0,
            after_recall_ns: 0,
            longest_ns: 0,
            unreturned: 0,
        }
    }

    /// Adds others of the same client and server.
    pub fn add(&mut self, other: &Self) {
        self.granted_read += other.granted_read;
        self.granted_write += other.granted_write;
        self.refused += other.refused;
        self.recalled += other.recalled;
        self.repeated += other.repeated;
        self.returned += other.returned;
        self.after_recall += other.after_recall;
        self.after_recall_ns = self.after_recall_ns.saturating_add(other.after_recall_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.unreturned += other.unreturned;
    }
}

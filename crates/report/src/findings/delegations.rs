//! Delegations of NFS 4.

use serde::{Deserialize, Serialize};

/// Delegations that servers granted and recalled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delegations {
    /// Granted delegations of clients and servers for which there was no row.
    pub granted_left_out: u64,
    /// One row for each client and server, those with most recalls first.
    pub rows: Vec<DelegationRow>,
}

/// Delegations of a client's files at a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelegationRow {
    /// The client.
    pub client: String,
    /// The server.
    pub server: String,
    /// Read delegations in captured responses to OPEN.
    pub granted_read: u64,
    /// Write delegations in captured responses to OPEN.
    pub granted_write: u64,
    /// Responses to OPEN without a delegation although the client asked for one.
    pub refused: u64,
    /// Delegations that the server recalled, also those whose grant was not captured.
    pub recalled: u64,
    /// Further recalls of these.
    pub repeated: u64,
    /// Delegations that the client returned with success, recalled or not.
    pub returned: u64,
    /// Of these, delegations that were recalled before.
    pub returned_after_recall: u64,
    /// Mean time from the recall to the request that returned it, s; null without one.
    pub return_mean_s: Option<f64>,
    /// The longest of these times, s.
    pub return_max_s: Option<f64>,
    /// Recalled delegations of which the capture has no return.
    pub unreturned: u64,
}

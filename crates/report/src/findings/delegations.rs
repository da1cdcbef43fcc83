//! Delegations of NFS 4.

use serde::{Deserialize, Serialize};

/// Delegations that servers granted and recalled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delegations {
    /// Granted delegations of clients and servers for which there was no row.
    pub granted_left_out: u64,
    /// Of the same: responses to OPEN without the delegation that the client asked for.
    #[serde(default)]
    pub refused_left_out: u64,
    /// Of the same: recalled delegations.
    #[serde(default)]
    pub recalled_left_out: u64,
    /// Of the same: returned delegations.
    #[serde(default)]
    pub returned_left_out: u64,
    /// Whether the four numbers are lower bounds: one of these pairs is or may be partial, or has untracked delegations.
    #[serde(default)]
    pub left_out_partial: bool,
    /// One row for each client and server, those with most recalls first.
    pub rows: Vec<DelegationRow>,
}

/// Delegations of a client's files at a server. Null is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelegationRow {
    /// The client.
    pub client: String,
    /// The server.
    pub server: String,
    /// Whether requests or responses between the two that may be about delegations were not captured or could not be read: encrypted, cut,
    /// lost, or of one direction only. All numbers but those of captured recalls are then null.
    #[serde(default)]
    pub partial: bool,
    /// Read delegations in captured responses to OPEN.
    pub granted_read: Option<u64>,
    /// Write delegations in captured responses to OPEN.
    pub granted_write: Option<u64>,
    /// Responses to OPEN without a delegation although the client asked for one.
    pub refused: Option<u64>,
    /// Delegations that the server recalled, also those whose grant was not captured. Null if `untracked` is not 0.
    pub recalled: Option<u64>,
    /// Further recalls of these.
    pub repeated: Option<u64>,
    /// Delegations that the client returned with success, recalled or not.
    pub returned: Option<u64>,
    /// Of these, delegations that were recalled before the client returned them.
    pub returned_after_recall: Option<u64>,
    /// Mean time from the recall to the request that returned it, s; null without one.
    pub return_mean_s: Option<f64>,
    /// The longest of these times, s.
    pub return_max_s: Option<f64>,
    /// Recalled delegations of which the capture has no return. Null if `untracked` is not 0.
    pub unreturned: Option<u64>,
    /// The same of delegations of which the client answered at the last recall that it does not hold them.
    #[serde(default)]
    pub not_held: Option<u64>,
    /// Recalled delegations that could not be followed until their return, because there were too many.
    #[serde(default)]
    pub untracked: u64,
}

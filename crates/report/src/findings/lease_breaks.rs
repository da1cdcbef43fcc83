//! Leases and oplocks that servers broke (SMB2).

use serde::{Deserialize, Serialize};

/// Breaks of leases and oplocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeaseBreaks {
    /// Notifications of servers.
    pub notified: u64,
    /// Notifications that no row contains, because there were too many kinds.
    pub notified_left_out: u64,
    /// Acknowledgements that no captured notification demanded.
    pub unsolicited: u64,
    /// Acknowledgements of which it is not known which notification demanded them, or whether one did.
    pub unmatched: u64,
    /// One row for each client, share, kind and change of state; together those of a client and share, first those with the
    /// longest waits.
    pub rows: Vec<LeaseBreakRow>,
}

/// Breaks of a client's leases or oplocks on a share, from one state to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeaseBreakRow {
    /// The client that held them.
    pub client: String,
    /// The share; null if the open was not captured.
    pub share: Option<String>,
    /// `lease` or `oplock`; null if the notification was cut off.
    pub right: Option<String>,
    /// `file` or `directory`; null if the open was not captured.
    pub of: Option<String>,
    /// The state until then: of a lease `none` or letters (R read, W write, H handle), of an oplock `none`, `level II`, `exclusive` or
    /// `batch`; null if it is not known.
    pub from: Option<String>,
    /// The remaining state.
    pub to: Option<String>,
    /// Notifications.
    pub notified: u64,
    /// Notifications that the client acknowledged.
    pub acknowledged: u64,
    /// Mean time from the notification to the acknowledgement, s; null without one.
    pub acknowledged_mean_s: Option<f64>,
    /// The longest of these times, s.
    pub acknowledged_max_s: Option<f64>,
    /// Notifications that demand an acknowledgement, and that the client did not acknowledge, but after which it closed a file of that
    /// lease or oplock.
    pub closed: u64,
    /// Notifications that demand an acknowledgement, and after which the client did neither until the end of the capture.
    pub unanswered: u64,
    /// Opens and changes of files over other connections that waited for it 5 ms or longer.
    pub waits: u64,
    /// How long they waited in all, s.
    pub wait_s: f64,
}

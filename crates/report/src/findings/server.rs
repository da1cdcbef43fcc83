//! The server's side of a load level.

use serde::{Deserialize, Serialize};

use super::calls::ServerCounter;

/// The server's own metrics over a load level's measured phase. Null if it does not report them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSide {
    /// Where the numbers come from.
    pub source: String,
    /// Processor time a second, s/s: cores that were busy on average.
    pub cores_busy: Option<f64>,
    /// CPU time per answered operation, s; of a whole machine, including all its other work.
    pub cpu_per_operation_s: Option<f64>,
    /// Read from disks, bytes/s.
    pub disk_read_bytes_per_s: Option<f64>,
    /// Written to disks, bytes/s.
    pub disk_write_bytes_per_s: Option<f64>,
    /// Received from the network, bytes/s.
    pub received_bytes_per_s: Option<f64>,
    /// Sent to the network, bytes/s.
    pub sent_bytes_per_s: Option<f64>,
    /// Time that its reads took at disks, s/s: reads that were under way on average. Of a process: its share, by bytes, of
    /// what all disks of its machine took.
    #[serde(default)]
    pub disk_read_s_per_s: Option<f64>,
    /// Read operations of disks, 1/s; of a process its share, as above.
    #[serde(default)]
    pub disk_reads_per_s: Option<f64>,
    /// Write operations of disks, likewise.
    #[serde(default)]
    pub disk_writes_per_s: Option<f64>,
    /// Why there are no numbers at all; null where there are.
    pub why_missing: Option<String>,
}

/// The server's own counters at a load level: from before its clients connected until after they had logged off, for all clients of the
/// server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCounters {
    /// Where they come from.
    pub source: String,
    /// Those that grew.
    pub counters: Vec<ServerCounter>,
    /// Why there are none; null where they are known.
    pub why_missing: Option<String>,
}

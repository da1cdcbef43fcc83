//! Faults in framing.

use serde::{Deserialize, Serialize};

/// Counts of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Headers that the snaplen cut off.
    pub cut_short: u64,
    /// Cuts behind which messages may be hidden: those headers, and cut packets while framing was lost.
    pub cuts: u32,
    /// Stretches without a message where one should have begun.
    pub unrecognised: u64,
    /// Times when framing was found again.
    pub resynchronised: u64,
    /// Times when it was found behind bytes that may contain messages.
    pub hidden: u32,
    /// Records that contradict themselves.
    pub malformed: u64,
}

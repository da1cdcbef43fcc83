//! Counts of a stream's segments by kind.

use serde::{Deserialize, Serialize};

/// Counts of segments by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Data seen before.
    pub retransmitted: u64,
    /// Retransmitted data that the other side had acknowledged before, so the retransmission was unnecessary.
    pub unneeded: u64,
    /// A keep-alive probe: its byte was seen before, by design.
    pub keep_alive: u64,
    /// New data, but later data was there already.
    pub out_of_order: u64,
    /// New data whose hole had been given up.
    pub late: u64,
    /// Holes opened and then filled.
    pub holes_filled: u64,
}

impl Counts {
    /// The difference to an earlier reading.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            retransmitted: self.retransmitted - before.retransmitted,
            unneeded: self.unneeded - before.unneeded,
            keep_alive: self.keep_alive - before.keep_alive,
            out_of_order: self.out_of_order - before.out_of_order,
            late: self.late - before.late,
            holes_filled: self.holes_filled - before.holes_filled,
        }
    }
}

/// Sizes of data packets: a dropped packet may have contained as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Most in a packet, bytes.
    pub largest: u32,
    /// Packets with data.
    pub segments: u64,
    /// Bytes in all packets.
    pub bytes: u64,
}

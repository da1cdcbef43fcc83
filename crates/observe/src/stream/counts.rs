//! What the segments of a stream were.

use serde::{Deserialize, Serialize};

/// What a segment turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Data seen before.
    pub retransmitted: u64,
    /// … all of which the other side had acknowledged before: nobody waited for it.
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
    /// What has come since an earlier reading.
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

/// The data in packets: what a dropped one may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Most in a packet, bytes.
    pub largest: u32,
    /// Packets with data.
    pub segments: u64,
    /// Bytes in all of them.
    pub bytes: u64,
}

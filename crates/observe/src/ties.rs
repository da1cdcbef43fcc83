//! Packets of equal times, in the order in which they can have been sent.
//!
//! A coarse clock gives many packets the same time, and a capture that several queues feed has them in any order. Time cannot sort these,
//! but the protocols can: a TCP segment comes after the bytes that precede it in its stream and after those that it acknowledges, an RPC reply
//! after its call. A packet that the capture has before them waits here until they have come, or until a packet of another time shows
//! that they will not: then bytes were lost, and the packet is taken as it stands.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::packet::{Segment, SegmentBuf, Stamp};
use crate::stream::Slot;

/// Packets that wait, at most: as many as are sorted by time (`capture/time_order.rs`).
const PACKETS_MAX: usize = 128;
/// Bytes of their payload, at most.
const BYTES_MAX: usize = 256 << 10;

/// A packet that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Tied {
    pub(crate) slot: Slot,
    pub(crate) direction: usize,
    pub(crate) packet: TiedPacket,
}

/// What waits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum TiedPacket {
    /// A TCP segment.
    Segment(SegmentBuf, Stamp),
    /// An RPC reply in a datagram.
    Datagram(DatagramBuf),
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    /// The captured part of the payload.
    pub(crate) payload: &'a [u8],
    pub(crate) wire_len: u32,
    /// The first and the last of its fragments.
    pub(crate) first: Stamp,
    pub(crate) last: Stamp,
    pub(crate) packets: u32,
}

/// A UDP datagram that owns its payload.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DatagramBuf {
    payload: Vec<u8>,
    wire_len: u32,
    first: Stamp,
    last: Stamp,
    packets: u32,
}

impl DatagramBuf {
    pub(crate) fn of(datagram: &Datagram<'_>) -> Self {
        let Datagram { payload, wire_len, first, last, packets } = *datagram;
        Self { payload: payload.to_vec(), wire_len, first, last, packets }
    }

    pub(crate) fn as_datagram(&self) -> Datagram<'_> {
        let Self { ref payload, wire_len, first, last, packets } = *self;
        Datagram { payload, wire_len, first, last, packets }
    }
}

impl Tied {
    fn len(&self) -> usize {
        match &self.packet {
            TiedPacket::Segment(segment, _) => segment.payload.len(),
            TiedPacket::Datagram(datagram) => datagram.payload.len(),
        }
    }

    fn segment(&self) -> Option<Segment<'_>> {
        match &self.packet {
            TiedPacket::Segment(segment, _) => Some(segment.as_segment()),
            TiedPacket::Datagram(_) => None,
        }
    }

    /// Whether this packet was sent before `other`, by their sequence numbers.
    fn precedes(&self, other: &Tied) -> bool {
        let (Some(one), Some(two)) = (self.segment(), other.segment()) else { return false };
        if self.slot != other.slot {
            return false;
        }
        if self.direction == other.direction {
            return two.seq.wrapping_sub(one.seq) as i32 > 0;
        }
        let end = one.seq.wrapping_add(one.wire_len);
        one.wire_len > 0 && two.flags.ack() && two.ack.wrapping_sub(end) as i32 >= 0
    }
}

/// The packets that wait; all have the same time.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ties {
    packets: VecDeque<Tied>,
    bytes: usize,
    time_ns: i64,
}

impl Ties {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Whether packets wait to which none of this time belongs.
    #[inline]
    pub(crate) fn are_over_at(&self, time_ns: i64) -> bool {
        !self.packets.is_empty() && time_ns != self.time_ns
    }

    /// Whether packets wait that are all from before this time.
    pub(crate) fn are_before(&self, time_ns: i64) -> bool {
        !self.packets.is_empty() && self.time_ns < time_ns
    }

    /// Whether too many packets wait.
    pub(crate) fn are_too_many(&self) -> bool {
        self.packets.len() > PACKETS_MAX || self.bytes > BYTES_MAX
    }

    /// Makes a packet wait.
    pub(crate) fn add(&mut self, tied: Tied, time_ns: i64) {
        self.bytes += tied.len();
        self.time_ns = time_ns;
        self.packets.push_back(tied);
    }

    /// Takes the first packet of a connection whose predecessor `is_there`.
    pub(crate) fn take_if(&mut self, slot: Slot, mut is_there: impl FnMut(&Tied) -> bool) -> Option<Tied> {
        let at = self.packets.iter().position(|tied| tied.slot == slot && is_there(tied))?;
        self.take(at)
    }

    /// Takes a packet, of one connection or of all, that no other packet precedes.
    pub(crate) fn take_first(&mut self, slot: Option<Slot>) -> Option<Tied> {
        let mut of_slot = (0..self.packets.len()).filter(|&at| slot.is_none_or(|slot| self.packets[at].slot == slot));
        let is_first = |at: &usize| !self.packets.iter().any(|other| other.precedes(&self.packets[*at]));
        // Sequence numbers that make no sense may put packets in a circle.
        let at = of_slot.clone().find(is_first).or_else(|| of_slot.next())?;
        self.take(at)
    }

    fn take(&mut self, at: usize) -> Option<Tied> {
        let tied = self.packets.remove(at)?;
        self.bytes -= tied.len();
        Some(tied)
    }
}

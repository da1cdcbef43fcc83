//! Packets of equal times in an order that is possible: see `ties.rs`.

use plimsoll_model::{Anomaly, Sink};

use super::Observer;
use crate::stream::Slot;
use crate::ties::{Tied, TiedPacket};

impl<S: Sink> Observer<S> {
    /// Queues a packet until the packets before it have come.
    #[cold]
    pub(super) fn wait(&mut self, tied: Tied, time_ns: i64) {
        self.ties.add(tied, time_ns);
        while self.ties.are_too_many() {
            self.release_first(None);
        }
    }

    /// Takes the queued packets of a connection that can now continue.
    #[cold]
    pub(super) fn release_ready(&mut self, slot: Slot) {
        loop {
            let connection = self.connections.get(slot);
            let is_there = |tied: &Tied| match &tied.packet {
                TiedPacket::Segment(segment, _) => !connection.is_early(&segment.as_segment(), tied.direction),
                TiedPacket::Datagram(datagram) => {
                    !connection.paired.pairing.is_early_reply(datagram.as_datagram().payload, tied.direction)
                }
            };
            let Some(tied) = self.ties.take_if(slot, is_there) else { return };
            self.shared.output.anomalies.add(Anomaly::PacketReordered);
            self.release(&tied);
        }
    }

    /// Takes packets whose predecessors do not come.
    #[cold]
    pub(super) fn release_all(&mut self) {
        while self.release_first(None) {}
    }

    /// Takes the first queued packet, of one connection or of all, and the packets that follow it. Returns whether there was one.
    pub(super) fn release_first(&mut self, slot: Option<Slot>) -> bool {
        let Some(tied) = self.ties.take_first(slot) else { return false };
        self.release(&tied);
        self.release_ready(tied.slot);
        true
    }

    fn release(&mut self, tied: &Tied) {
        let Tied { slot, direction, packet } = tied;
        match packet {
            TiedPacket::Segment(segment, stamp) => {
                self.take_rare(*slot, *direction, &segment.as_segment(), *stamp);
            }
            TiedPacket::Datagram(datagram) => self.take_datagram(*slot, *direction, datagram.as_datagram()),
        }
    }
}

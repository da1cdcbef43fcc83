//! Which packets are a client's, and how many were dropped: both are known when a connection has ended.

use plimsoll_model::{Anomalies, Anomaly, PacketCounts};
use serde::{Deserialize, Serialize};

use crate::message::Message;
use crate::stream::Sizes;

/// The packets of one direction whose sender (client or server) is still unknown.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Commands([u64; 6]);

impl Commands {
    /// Those counted so far.
    pub(crate) fn of(packets: &PacketCounts) -> Self {
        let p = packets;
        Self([
            p.commands,
            p.command_first,
            p.command_continued_sync,
            p.command_continued_async,
            p.command_ack,
            p.command_retry,
        ])
    }

    /// Adds those counted since `before`.
    pub(crate) fn add_since(&mut self, before: Self, packets: &PacketCounts) {
        let now = Self::of(packets);
        for ((sum, now), before) in self.0.iter_mut().zip(now.0).zip(before.0) {
            *sum = sum.saturating_add(now.saturating_sub(before));
        }
    }

    /// They were no client's.
    pub(crate) fn take_from(self, packets: &mut PacketCounts) {
        Self::all(packets).into_iter().zip(self.0).for_each(|(count, none)| *count = count.saturating_sub(none));
    }

    /// They were counted elsewhere.
    pub(crate) fn add_to(self, packets: &mut PacketCounts) {
        Self::all(packets).into_iter().zip(self.0).for_each(|(count, more)| *count = count.saturating_add(more));
    }

    fn all(packets: &mut PacketCounts) -> [&mut u64; 6] {
        [
            &mut packets.commands,
            &mut packets.command_first,
            &mut packets.command_continued_sync,
            &mut packets.command_continued_async,
            &mut packets.command_ack,
            &mut packets.command_retry,
        ]
    }
}

/// Counts the packets of a message over UDP: a client's call, a retransmission, or another message.
pub(crate) fn count_datagrams(message: &Message<'_>, is_call: bool, again: bool, packets: &mut PacketCounts) {
    let (all, further) = (u64::from(message.packets), u64::from(message.packets.saturating_sub(1)));
    packets.continued += further;
    if !is_call {
        return;
    }
    packets.commands += all;
    if again {
        packets.command_retry += all;
    } else {
        packets.command_first += all - further;
        packets.command_continued_sync += further;
    }
}

/// The holes of one direction.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Holes {
    holes: u64,
    bytes: u64,
    /// Number of holes that the receiver acknowledged, and of other holes.
    acknowledged: u64,
    unexplained: u64,
}

impl Holes {
    /// A hole was given up.
    pub(crate) fn add(&mut self, len: u64, acknowledged: bool) {
        self.add_end(len);
        self.acknowledged += u64::from(acknowledged);
        self.unexplained += u64::from(!acknowledged);
    }

    /// The number of holes that were not acknowledged, and whose bytes have not come.
    pub(crate) fn unexplained(&self) -> u64 {
        self.unexplained
    }

    /// Bytes of a hole that was not acknowledged came after it was given up; `is_last` fills it.
    pub(crate) fn found(&mut self, len: u64, is_last: bool) {
        self.bytes = self.bytes.saturating_sub(len);
        if is_last {
            self.holes = self.holes.saturating_sub(1);
            self.unexplained = self.unexplained.saturating_sub(1);
        }
    }

    /// Bytes are missing behind the last that was captured.
    pub(crate) fn add_end(&mut self, len: u64) {
        self.holes += 1;
        self.bytes = self.bytes.saturating_add(len);
    }

    /// Counts dropped packets. `sizes` are those of all packets of the direction.
    pub(crate) fn count(self, sizes: Sizes, packets: &mut PacketCounts, anomalies: &mut Anomalies) {
        anomalies.add_many(Anomaly::GapInCapture, self.acknowledged);
        anomalies.add_many(Anomaly::GapUnexplained, self.unexplained);
        packets.missing_bytes += self.bytes;
        let fewest = self
            .bytes
            .checked_div(u64::from(sizes.largest))
            .map_or(0, |whole| whole + u64::from(!self.bytes.is_multiple_of(u64::from(sizes.largest))));
        // bytes / (sum / segments), rounded. Each hole was a packet at least.
        let usual = u128::from(self.bytes) * u128::from(sizes.segments) + u128::from(sizes.bytes / 2);
        let usual = usual.checked_div(u128::from(sizes.bytes)).map_or(0, |usual| usual.min(self.bytes.into()) as u64);
        packets.dropped_at_least += fewest.max(self.holes);
        // Where one packet may have been as large as each hole on average, it was one: packets are lost one by one, or many at once.
        packets.dropped_estimate += if fewest <= self.holes { self.holes } else { usual.max(fewest) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_that_a_packet_fits_into_is_one_packet() {
        let sizes = Sizes { largest: 1_448, segments: 1_000, bytes: 400_000 };
        let mut packets = PacketCounts::default();
        let holes = Holes { holes: 2, bytes: 2 * 1_448, ..Holes::default() };
        holes.count(sizes, &mut packets, &mut Anomalies::default());
        assert_eq!((packets.dropped_at_least, packets.dropped_estimate), (2, 2), "by the usual size they were 7");
    }

    #[test]
    fn bytes_that_came_late_are_not_missing() {
        let (mut holes, mut packets, mut anomalies) = (Holes::default(), PacketCounts::default(), Anomalies::default());
        holes.add(2 * 1_448, false);
        holes.add(1_448, true);
        holes.found(1_448, false);
        holes.found(1_448, true);
        holes.count(Sizes { largest: 1_448, segments: 1_000, bytes: 1_448_000 }, &mut packets, &mut anomalies);
        assert_eq!((packets.missing_bytes, packets.dropped_estimate), (1_448, 1));
        assert_eq!((anomalies.count(Anomaly::GapInCapture), anomalies.count(Anomaly::GapUnexplained)), (1, 0));
    }

    #[test]
    fn packets_dropped_are_counted_by_the_sizes_of_the_whole_direction() {
        let mut holes = Holes::default();
        (0..10).for_each(|_| holes.add(14_480, true));
        let sizes = Sizes { largest: 1_448, segments: 1_000, bytes: 1_400_000 };
        let (mut packets, mut anomalies) = (PacketCounts::default(), Anomalies::default());
        holes.count(sizes, &mut packets, &mut anomalies);
        assert_eq!((packets.dropped_at_least, packets.dropped_estimate, packets.missing_bytes), (100, 103, 144_800));
        assert_eq!(anomalies.count(Anomaly::GapInCapture), 10);
        let mut few = PacketCounts::default();
        Holes { holes: 2, bytes: 30, ..Holes::default() }.count(sizes, &mut few, &mut anomalies);
        assert_eq!((few.dropped_at_least, few.dropped_estimate), (2, 2), "each hole was a packet");
        Holes { holes: 1, bytes: 9_000, ..Holes::default() }.count(
            Sizes { largest: 0, segments: 0, bytes: 0 },
            &mut few,
            &mut anomalies,
        );
        assert_eq!((few.dropped_at_least, few.dropped_estimate), (3, 3), "no size is known");
    }
}

//! The TCP segments among packets, and the retransmitted ones.

use std::collections::HashMap;

/// A TCP segment with data.
///
/// Spec: RFC 791 3.1, RFC 9293 3.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSegment {
    /// Ports of the sender and of the receiver.
    pub ports: [u16; 2],
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Bytes.
    pub length: u32,
}

impl DataSegment {
    /// The segment in an IPv4 packet; `None` if it has no data or is not TCP.
    #[must_use]
    pub fn of(packet: &[u8]) -> Option<Self> {
        let half = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
        let header = usize::from(packet.first()? & 15) * 4;
        if *packet.get(9)? != 6 {
            return None;
        }
        let data = header + usize::from(packet.get(header + 12)? >> 4) * 4;
        let length = u32::try_from(usize::from(half(2)?).checked_sub(data)?).ok().filter(|length| *length > 0)?;
        let seq = u32::from(half(header + 4)?) << 16 | u32::from(half(header + 6)?);
        Some(Self { ports: [half(header)?, half(header + 2)?], seq, length })
    }

    /// Whether another segment contains a byte of this one.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let ahead = other.seq.wrapping_sub(self.seq);
        self.ports == other.ports && (ahead < self.length || ahead.wrapping_neg() < other.length)
    }
}

/// Of packets of one direction, those with data that an earlier one had, by their places.
pub fn retransmissions<'a>(packets: impl Iterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut seen: HashMap<[u16; 2], (u32, Vec<DataSegment>)> = HashMap::new();
    let mut again = Vec::new();
    for (place, segment) in packets.enumerate().filter_map(|(place, packet)| Some((place, DataSegment::of(packet)?))) {
        let (next, before) = seen.entry(segment.ports).or_insert((segment.seq, Vec::new()));
        let is_ahead = segment.seq.wrapping_sub(*next) < 1 << 31;
        if !is_ahead && before.iter().any(|before| before.overlaps(&segment)) {
            again.push(place);
        }
        let end = segment.seq.wrapping_add(segment.length);
        if end.wrapping_sub(*next) < 1 << 31 {
            *next = end;
        }
        before.push(segment);
    }
    again
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 20 + 20 bytes of headers.
    fn packet(seq: u32, length: u16) -> Vec<u8> {
        let mut packet = vec![0; usize::from(length) + 40];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(length + 40).to_be_bytes());
        packet[9] = 6;
        packet[20..24].copy_from_slice(&[0x08, 0x01, 0x02, 0xbc]);
        packet[24..28].copy_from_slice(&seq.to_be_bytes());
        packet[32] = 0x50;
        packet
    }

    #[test]
    fn a_segment_that_has_bytes_of_an_earlier_one_was_sent_again() {
        assert_eq!(DataSegment::of(&packet(5, 0)), None);
        let whole = DataSegment { ports: [2_049, 700], seq: 5, length: 9 };
        assert_eq!(DataSegment::of(&packet(5, 9)), Some(whole));
        let all = [(u32::MAX - 9, 10), (0, 10), (u32::MAX - 4, 5), (10, 10), (30, 10), (20, 15), (20, 10), (40, 0)];
        let all: Vec<Vec<u8>> = all.iter().map(|&(seq, length)| packet(seq, length)).collect();
        assert_eq!(retransmissions(all.iter().map(Vec::as_slice)), [2, 5, 6]);
    }
}

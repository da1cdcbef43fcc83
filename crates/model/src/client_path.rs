//! The network path to a client, from captured packets.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::add_fields;

/// The network path to one client, over its connections with file-server traffic. Of pairs, the first number is for the direction from
/// the client to its servers, the second for the opposite one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientPath {
    /// The client.
    pub client: IpAddr,
    /// Its connections.
    pub connections: u64,
    /// Of these, connections of which the handshake was captured.
    pub handshakes: u64,
    /// Connections whose SYN or SYN-ACK was retransmitted before the client continued.
    pub late_handshakes: u64,
    /// How long these handshakes took, ns.
    pub late_handshake_ns: u64,
    /// Between the place of the capture and the servers, and between it and the client.
    pub round_trips: [RoundTrip; 2],
    /// How quickly data are acknowledged while there are more.
    pub paces: [Pace; 2],
    /// Segments with data.
    pub data_segments: [u64; 2],
    /// Of these, retransmissions.
    pub resent_segments: [u64; 2],
    /// Segments that came after later ones, sooner than a round trip: too soon to be retransmissions.
    pub reordered_segments: [u64; 2],
    /// How long windows of 0 kept the sender waiting, ns.
    pub zero_window_ns: [u64; 2],
    /// How long full windows did, ns.
    pub small_window_ns: [u64; 2],
    /// Segments that were sent again and again, and never acknowledged.
    pub stuck: [Stuck; 2],
    /// Segments of requests that were sent again and again while nothing came back from the server on their connection.
    pub unanswered: Stuck,
    /// Time of the first retransmission of the first of these segments, ns.
    pub unanswered_from_ns: Option<i64>,
    /// The largest segment that was acknowledged, of those that were timed, bytes.
    pub largest_acknowledged: [u32; 2],
    /// The largest of these that was acknowledged after the first retransmission of a segment that was stuck, bytes; 0 where none was.
    pub largest_since_stuck: [u32; 2],
}

impl ClientPath {
    /// A client without a connection.
    pub fn new(client: IpAddr) -> Self {
        Self {
            client,
            connections: 0,
            handshakes: 0,
            late_handshakes: 0,
            late_handshake_ns: 0,
            round_trips: Default::default(),
            paces: Default::default(),
            data_segments: [0; 2],
            resent_segments: [0; 2],
            reordered_segments: [0; 2],
            zero_window_ns: [0; 2],
            small_window_ns: [0; 2],
            stuck: Default::default(),
            unanswered: Stuck::default(),
            unanswered_from_ns: None,
            largest_acknowledged: [0; 2],
            largest_since_stuck: [0; 2],
        }
    }
}

/// Times from a segment to its acknowledgement, as the place of the capture sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The shortest that no delayed acknowledgement can have made longer: of a handshake, or of two segments or more that were
    /// acknowledged at once (RFC 1122 4.2.3.2), ns.
    pub least_ns: Option<u64>,
    /// The median of all, delayed ones too, ns. It is the middle of a class, so its error is at most 13 %.
    pub median_ns: Option<u64>,
    /// How many there are. When one of the 96 classes of a connection has 65,535, all its counts are halved: the number is then too low.
    pub count: u64,
}

/// Segments that were sent four times or more, at growing intervals, without an acknowledgement, although their receiver sent other
/// packets meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// Segments: one of a connection at a time.
    pub segments: u64,
    /// Number of copies of the segment that was sent most often.
    pub copies: u64,
    /// From the first retransmission to the last, all together, ns.
    pub ns: u64,
    /// The smallest, bytes; 0 without any.
    pub bytes: u32,
}

impl Stuck {
    /// Adds further segments.
    pub fn add(&mut self, other: &Stuck) {
        *self = Self {
            segments: self.segments.saturating_add(other.segments),
            copies: self.copies.max(other.copies),
            ns: self.ns.saturating_add(other.ns),
            bytes: [self.bytes, other.bytes].into_iter().filter(|&bytes| bytes > 0).min().unwrap_or(0),
        };
    }
}

/// Bytes acknowledged, and the time for it, while the sender had more to send or to be acknowledged: parts of 100 µs or longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Parts.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their times, ns.
    pub ns: u64,
    /// Parts at whose beginning data were on the way from the place of the capture to the receiver.
    pub on_the_way: u64,
    /// Sum of the binary logarithms of the parts' rates in bytes per second, in 1/256.
    pub log2_sum: u64,
    /// Sum of the squares of these logarithms.
    pub log2_squares: u64,
}

impl Pace {
    /// Adds a part; `is_on_the_way` says that data were at its beginning.
    pub fn add_part(&mut self, bytes: u64, ns: u64, is_on_the_way: bool) {
        let log2 = ((bytes as f64 * 1e9 / ns.max(1) as f64).max(1.0).log2() * 256.0) as u64;
        let part = Self {
            count: 1,
            bytes,
            ns,
            on_the_way: u64::from(is_on_the_way),
            log2_sum: log2,
            log2_squares: log2 * log2,
        };
        self.add(&part);
    }

    /// Adds further parts.
    pub fn add(&mut self, other: &Pace) {
        add_fields!(self, other; all count, bytes, ns, on_the_way, log2_sum, log2_squares);
    }

    /// Bytes per second over all parts.
    pub fn bytes_per_s(&self) -> Option<f64> {
        (self.ns > 0).then(|| self.bytes as f64 * 1e9 / self.ns as f64)
    }

    /// The standard deviation of the binary logarithm of bytes per second: 0 where all parts are equally quick, 1 where they differ by
    /// a factor of two either way.
    pub fn spread(&self) -> Option<f64> {
        let count = self.count as f64;
        let mean = self.log2_sum as f64 / count;
        (self.count > 0).then(|| (self.log2_squares as f64 / count - mean * mean).max(0.0).sqrt() / 256.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_pace_has_no_spread_and_one_of_bursts_has() {
        let (mut even, mut uneven) = (Pace::default(), Pace::default());
        for part in 0..20 {
            even.add_part(2_000, 2_000_000, true);
            uneven.add_part(if part % 2 == 0 { 4_000 } else { 1_000 }, 2_000_000, true);
        }
        assert_eq!((even.bytes_per_s(), even.spread()), (Some(1e6), Some(0.0)));
        assert!((uneven.spread().unwrap_or(0.0) - 1.0).abs() < 0.01, "{uneven:?}");
        assert_eq!((Pace::default().bytes_per_s(), Pace::default().spread()), (None, None));
    }
}

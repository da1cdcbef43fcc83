//! Acknowledgements: how long after the data they come, and how much is acknowledged per time while the sender has more.
//!
//! Of each direction one segment at a time is timed, and never one that was sent again (Karn's algorithm, RFC 6298 3): then it is not
//! known which of the two was acknowledged.

use plimsoll_model::Pace;
use serde::{Deserialize, Serialize};

use super::largest::Largest;
use super::moments::Moments;
use crate::stream::TcpFlow;

/// Classes of times: a quarter of an octave each.
pub(crate) const CLASSES: usize = 96;
/// The first class begins with 2^12 ns, the last ends with 2^36 ns (69 s).
const FIRST_OCTAVE: u32 = 12;
/// Acknowledgements at most this far apart belong to one part, ns: a segment takes this long at 117 Mbit/s.
const PART_NS: i64 = 100_000;
/// A longer pause is not caused by the network, ns.
const PAUSE_NS: i64 = 1_000_000_000;
/// A part of more segments that takes as long as half a round trip may be all that a window allows.
const SEGMENTS_SURE: u64 = 3;
/// The largest segment with which two fill twice a packet (an Ethernet frame of 9,000 bytes); larger ones were put together.
const SEGMENT_MAX: u32 = 8_960;

/// No window is larger (RFC 7323: 1 GiB).
const JUMP: u64 = 1 << 30;

/// Number of segments that are timed one after the other; after that one of `TIMED_EVERY` is timed. More samples would cost time and show
/// nothing new.
const TIMED_FIRST: u32 = 64;
const TIMED_EVERY: u32 = 16;
/// No segment is timed.
const NONE: u64 = u64::MAX;

/// How many of the times of a connection fall into each class.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Classes(#[serde(with = "plimsoll_model::wide")] pub(super) [u16; CLASSES]);

/// Data of the sender beyond the acknowledged offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum More {
    /// Nothing.
    Nothing,
    /// The rest of a message.
    Unsent,
    /// Data that passed the place of the capture.
    OnTheWay,
}

impl More {
    /// The sender's data beyond `acknowledged`; `is_inside`: a message of the sender is incomplete.
    #[inline(always)]
    pub(super) fn of(tcp_flow: &TcpFlow, acknowledged: u64, is_inside: bool) -> Self {
        match is_inside {
            _ if tcp_flow.next().is_some_and(|next| acknowledged < next) => More::OnTheWay,
            true => More::Unsent,
            false => More::Nothing,
        }
    }
}

/// The data of one direction.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Acknowledgements {
    /// The timed segment: the offset after its last byte ([`NONE`]: no segment), and its time.
    timed: (u64, i64),
    /// Its length, bytes.
    timed_len: u32,
    /// The largest that were acknowledged, of those that were timed.
    pub(super) largest: Largest,
    /// When.
    pub(super) moments: Moments,
    /// How many were timed, and how many pass before the next one is.
    timed_count: u32,
    pass: u32,
    /// The last new acknowledgement: its offset and time; and the sender's further data at that time.
    last: (u64, i64),
    more: More,
    /// A loss is being repaired up to this offset: acknowledgements up to it do not measure the path.
    repaired_at: u64,
    /// The part under way: when it began; bytes acknowledged since.
    part_ns: i64,
    part_bytes: u64,
    /// See [`plimsoll_model::RoundTrip`].
    pub(super) least_ns: Option<u64>,
    pub(super) classes: Option<Box<Classes>>,
    pub(super) pace: Pace,
}

impl Default for Acknowledgements {
    fn default() -> Self {
        Self {
            timed: (NONE, 0),
            timed_len: 0,
            largest: Largest::default(),
            moments: Moments::default(),
            timed_count: 0,
            pass: 0,
            last: (u64::MAX / 2, 0),
            more: More::Nothing,
            repaired_at: 0,
            part_ns: 0,
            part_bytes: 0,
            least_ns: None,
            classes: None,
            pace: Pace::default(),
        }
    }
}

impl Acknowledgements {
    /// Notes a data segment of `len` bytes that ends at offset `end`.
    #[inline(always)]
    pub(super) fn data(&mut self, end: u64, len: u32, now_ns: i64) {
        if self.timed.0 == NONE {
            match self.pass.checked_sub(1) {
                Some(pass) => self.pass = pass,
                None => (self.timed, self.timed_len) = ((end, now_ns), len),
            }
        }
    }

    /// A segment was retransmitted or is missing: the timed segment is ambiguous, and the pace is unknown until the data up to `end` is
    /// acknowledged.
    pub(super) fn forget(&mut self, end: u64) {
        self.repaired_at = end;
        self.timed.0 = NONE;
        self.more = More::Nothing;
    }

    /// Notes a new acknowledgement up to offset `to`. `more`: the sender's data beyond it; `largest`: the sender's largest segment,
    /// bytes; `base_ns`: the round trip of the handshake, if known.
    #[inline(always)]
    pub(super) fn acknowledged(
        &mut self,
        to: u64,
        now_ns: i64,
        more: More,
        largest: u32,
        base_ns: impl Fn() -> Option<u64>,
    ) {
        // Most data are one message, acknowledged at once.
        if self.more == More::Nothing && more == More::Nothing && to < self.timed.0 {
            self.last = (to, now_ns);
            return;
        }
        let (from, before_ns) = self.last;
        // Of the first acknowledgement, and of one far from the last, it is not known how much it acknowledges.
        let bytes = to.wrapping_sub(from);
        let bytes = if bytes < JUMP { bytes } else { 0 };
        if to >= self.timed.0 {
            self.sample(bytes, now_ns, largest);
        }
        let had_more = self.more != More::Nothing;
        if had_more && now_ns.wrapping_sub(before_ns) >= PART_NS {
            self.end_part(now_ns, largest, base_ns());
            (self.part_ns, self.part_bytes) = (now_ns, 0);
        } else if !had_more {
            (self.part_ns, self.part_bytes) = (now_ns, 0);
        }
        self.part_bytes += bytes;
        if to <= self.repaired_at {
            (self.last, self.more, self.part_bytes) = ((to, now_ns), More::Nothing, 0);
            return;
        }
        (self.last, self.more) = ((to, now_ns), more);
    }

    /// Samples the timed segment, which is acknowledged together with `bytes` bytes.
    #[inline(never)]
    fn sample(&mut self, bytes: u64, now_ns: i64, largest: u32) {
        let sent_ns = self.timed.1;
        self.timed.0 = NONE;
        self.largest.acknowledged(self.timed_len, now_ns);
        self.moments.add(now_ns);
        self.timed_count = self.timed_count.saturating_add(1);
        self.pass = if self.timed_count < TIMED_FIRST { 0 } else { TIMED_EVERY - 1 };
        let Ok(passed_ns) = u64::try_from(now_ns.saturating_sub(sent_ns)) else { return };
        let class = class_of(passed_ns);
        let Classes(classes) = &mut **self.classes.get_or_insert_with(|| Box::new(Classes([0; CLASSES])));
        if classes[class] == u16::MAX {
            classes.iter_mut().for_each(|count| *count /= 2);
        }
        classes[class] += 1;
        if bytes >= 2 * u64::from(largest.min(SEGMENT_MAX)) {
            self.least_ns = Some(self.least_ns.map_or(passed_ns, |least_ns| least_ns.min(passed_ns)));
        }
    }

    /// Ends a part: adds its bytes and its duration until now to the pace.
    #[cold]
    #[inline(never)]
    fn end_part(&mut self, now_ns: i64, largest: u32, base_ns: Option<u64>) {
        let (bytes, passed_ns) = (self.part_bytes, now_ns.saturating_sub(self.part_ns));
        let is_many = bytes > SEGMENTS_SURE * u64::from(largest);
        let is_window = is_many && base_ns.is_none_or(|base_ns| passed_ns.unsigned_abs() >= base_ns / 2);
        if bytes > 0 && (PART_NS..=PAUSE_NS).contains(&passed_ns) && !is_window {
            self.pace.add_part(bytes, passed_ns.unsigned_abs(), self.more == More::OnTheWay);
        }
    }
}

/// The class of a time.
fn class_of(ns: u64) -> usize {
    let octave = ns.max(1).ilog2();
    if octave < FIRST_OCTAVE {
        return 0;
    }
    let quarter = (ns >> (octave - 2)) & 3;
    (((octave - FIRST_OCTAVE) as usize) * 4 + quarter as usize).min(CLASSES - 1)
}

/// A time of the class: its middle, ns.
pub(crate) fn time_of(class: usize) -> u64 {
    let (octave, quarter) = (FIRST_OCTAVE + (class / 4) as u32, (class % 4) as u64);
    (1 << octave) + (2 * quarter + 1) * (1 << octave) / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_class_is_near_each_of_its_times() {
        for ns in [4_096, 5_000, 90_000, 1_000_000, 40_000_000, 250_000_000, 60_000_000_000] {
            let middle = time_of(class_of(ns)) as f64;
            assert!((0.88..=1.13).contains(&(middle / ns as f64)), "{ns}: {middle}");
        }
        assert_eq!((class_of(0), class_of(u64::MAX)), (0, CLASSES - 1));
    }

    #[test]
    fn a_pause_at_the_end_of_data_is_no_part() {
        let mut data = Acknowledgements::default();
        let ms = 1_000_000;
        data.acknowledged(0, 0, More::Nothing, 1_448, || None);
        data.acknowledged(3_000, ms, More::OnTheWay, 1_448, || None);
        data.acknowledged(6_000, 5 * ms, More::OnTheWay, 1_448, || None);
        assert_eq!((data.pace.count, data.pace.bytes, data.pace.ns), (1, 3_000, 4_000_000));
        data.acknowledged(9_000, 9 * ms, More::Nothing, 1_448, || None);
        data.acknowledged(12_000, 900 * ms, More::OnTheWay, 1_448, || None);
        data.acknowledged(15_000, 904 * ms, More::OnTheWay, 1_448, || None);
        assert_eq!((data.pace.count, data.pace.ns), (3, 12_000_000));
        // All that a window allows, once in a round trip.
        data.acknowledged(80_000, 904 * ms + 1, More::OnTheWay, 1_448, || Some(10_000_000));
        data.acknowledged(83_000, 914 * ms, More::OnTheWay, 1_448, || Some(10_000_000));
        assert_eq!(data.pace.count, 3);
        // A loss is repaired: one segment in 200 ms, then all that came meanwhile.
        data.forget(99_000);
        data.acknowledged(84_000, 1_114 * ms, More::OnTheWay, 1_448, || None);
        data.acknowledged(99_000, 1_115 * ms, More::OnTheWay, 1_448, || None);
        data.acknowledged(102_000, 1_119 * ms, More::OnTheWay, 1_448, || None);
        assert_eq!(data.pace.count, 3);
        data.acknowledged(105_000, 1_123 * ms, More::OnTheWay, 1_448, || None);
        assert_eq!(data.pace.count, 4);
    }
}

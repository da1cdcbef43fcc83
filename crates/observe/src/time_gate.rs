//! Packets whose time is far from all others: one damaged timestamp would make a capture seem ten years long.
//!
//! A packet more than [`FAR_NS`] from the previous one waits for the next. If the next one is near the waiting packet, time jumped:
//! merged captures of different days, or a clock that was set. If the next one is near the previous packet, the waiting packet's
//! timestamp is damaged, and the packet is left out. So is a packet that is near neither. The first packets wait as well, until two are
//! near each other.

use serde::{Deserialize, Serialize};

use crate::capture::{Frame, LinkType};

/// A day, in nanoseconds. Captures pause for nights, and damaged timestamps are off by years.
const FAR_NS: u64 = 86_400_000_000_000;

/// A packet that waits for the next.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    number: u64,
    time_ns: i64,
    link: LinkType,
    bytes: Vec<u8>,
    original_len: u32,
}

impl Waiting {
    fn of(frame: &Frame<'_>, time_ns: i64) -> Self {
        let &Frame { number, link, captured, original_len, .. } = frame;
        Self { number, time_ns, link, bytes: captured.to_vec(), original_len }
    }

    /// The packet and its time.
    pub(crate) fn frame(&self) -> (Frame<'_>, i64) {
        let &Self { number, time_ns, link, ref bytes, original_len } = self;
        (Frame { number, time_ns: Some(time_ns), link, captured: bytes, original_len }, time_ns)
    }

    fn is_near(&self, time_ns: i64) -> bool {
        self.time_ns.abs_diff(time_ns) <= FAR_NS
    }
}

/// What became of the packets that waited.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    /// To be taken before the packet that decided it.
    pub(crate) release: Option<Waiting>,
    /// Time jumped to that packet.
    pub(crate) jumped: bool,
    /// Packets left out.
    pub(crate) outliers: u64,
    /// The packet that decided it waits itself.
    pub(crate) waits: bool,
}

/// Compares each packet's time with those before and after.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TimeGate {
    /// The last time that is certain; without meaning before there is one.
    last_ns: i64,
    /// A time nearer to it than this is taken at once; 0 while a packet waits, and before the first.
    reach_ns: u64,
    /// There is a time that is certain.
    begun: bool,
    /// At most two, the second only before there was a certain time.
    waiting: Vec<Waiting>,
}

impl TimeGate {
    /// Whether a packet of this time is to be taken at once, as nearly all are.
    #[inline]
    pub(crate) fn is_near(&mut self, time_ns: i64) -> bool {
        let near = time_ns.abs_diff(self.last_ns) < self.reach_ns;
        if near {
            self.last_ns = time_ns;
        }
        near
    }

    /// The last time that is certain.
    #[inline]
    pub(crate) fn last_ns(&self) -> Option<i64> {
        self.begun.then_some(self.last_ns)
    }

    /// Takes a packet that is not to be taken at once.
    #[cold]
    pub(crate) fn decide(&mut self, frame: &Frame<'_>, time_ns: i64) -> Decided {
        let near_last = self.begun && time_ns.abs_diff(self.last_ns) <= FAR_NS;
        let near = self.waiting.iter().position(|one| one.is_near(time_ns));
        let mut decided = Decided::default();
        if near_last {
            decided.outliers = self.waiting.len() as u64;
        } else if let Some(at) = near {
            decided.outliers = self.waiting.len() as u64 - 1;
            decided.release = Some(self.waiting.swap_remove(at));
            decided.jumped = self.begun;
        } else {
            let most = if self.begun { 1 } else { 2 };
            if self.waiting.len() == most {
                self.waiting.remove(0);
                decided.outliers = 1;
            }
            self.waiting.push(Waiting::of(frame, time_ns));
            self.reach_ns = 0;
            decided.waits = true;
            return decided;
        }
        self.waiting.clear();
        (self.last_ns, self.reach_ns, self.begun) = (time_ns, FAR_NS + 1, true);
        decided
    }

    /// Ends the capture: packets still to take, and the number of packets left out. If there are only two packets, the wrong one is
    /// unknown.
    pub(crate) fn end(&mut self) -> (Vec<Waiting>, u64) {
        let waiting = std::mem::take(&mut self.waiting);
        if self.begun { (Vec::new(), waiting.len() as u64) } else { (waiting, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the packets taken, in order; where time jumped, how many were left out.
    fn taken(days: &[i64]) -> (Vec<u64>, Vec<u64>, u64) {
        let mut gate = TimeGate::default();
        let (mut taken, mut jumps, mut outliers) = (Vec::new(), Vec::new(), 0);
        for (number, day) in (1..).zip(days) {
            let time_ns = day.saturating_mul(86_400_000_000_001).saturating_add(i64::try_from(number).unwrap_or(0));
            let link = LinkType::Ethernet;
            let frame = Frame { number, time_ns: Some(time_ns), link, captured: &[], original_len: 0 };
            if gate.is_near(time_ns) {
                taken.push(number);
                continue;
            }
            let decided = gate.decide(&frame, time_ns);
            outliers += decided.outliers;
            if let Some(waiting) = decided.release {
                jumps.extend(decided.jumped.then_some(waiting.number));
                taken.push(waiting.number);
            }
            if !decided.waits {
                taken.push(number);
            }
        }
        let (last, more) = gate.end();
        taken.extend(last.iter().map(|one| one.number));
        (taken, jumps, outliers + more)
    }

    #[test]
    fn an_isolated_time_is_left_out_wherever_it_stands() {
        assert_eq!(taken(&[9, 9, 9]), (vec![1, 2, 3], vec![], 0));
        assert_eq!(taken(&[3000, 9, 9]), (vec![2, 3], vec![], 1));
        assert_eq!(taken(&[9, 3000, 9]), (vec![1, 3], vec![], 1));
        assert_eq!(taken(&[9, 9, 0, 9]), (vec![1, 2, 4], vec![], 1));
        assert_eq!(taken(&[9, 9, 3000]), (vec![1, 2], vec![], 1));
        assert_eq!(taken(&[9, 9, 3000, 0, 6000, 9, 9]), (vec![1, 2, 6, 7], vec![], 3));
        assert_eq!(taken(&[3000, 0, 6000, 9, 9]), (vec![4, 5], vec![], 3));
        assert_eq!(taken(&[i64::MAX, i64::MIN, i64::MAX, 0, 0]), (vec![1, 3, 4, 5], vec![4], 1));
    }

    #[test]
    fn a_time_that_stays_is_a_jump() {
        assert_eq!(taken(&[9, 9, 10, 10]), (vec![1, 2, 3, 4], vec![3], 0));
        assert_eq!(taken(&[9, 9, 3000, 3000, 9, 9]), (vec![1, 2, 3, 4, 5, 6], vec![3, 5], 0));
    }

    #[test]
    fn of_one_or_two_packets_none_is_left_out() {
        assert_eq!(taken(&[]), (vec![], vec![], 0));
        assert_eq!(taken(&[9]), (vec![1], vec![], 0));
        assert_eq!(taken(&[9, 3000]), (vec![1, 2], vec![], 0));
    }
}

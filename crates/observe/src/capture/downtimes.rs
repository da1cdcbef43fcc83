//! The times in which the captured interface was down, as a saved capture tells them, for live views.
//!
//! Packets are read ahead of the views, so a time may be known before the packets in front of it are shown. It counts from its begin on.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Maximum number of times that the views have not passed. They pass all times at least every few hundred packets.
const WAITING_MAX: usize = 1_024;

/// A time of which packets are missing, ns since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The last packet before, or when the counters of the interface were read before.
    pub from_ns: i64,
    /// The first packet after, or when the counters were read; where no packet came for a while, when that was.
    pub to_ns: i64,
    /// How many were lost, by the kernel or by the interface. `None` while the interface was down: all of them.
    pub packets: Option<u64>,
}

/// The times that were read, and that the views have not passed: when each began, and when it ended, if that was read.
#[derive(Debug, Default)]
pub struct Downtimes(Mutex<VecDeque<(i64, Option<i64>)>>);

impl Downtimes {
    /// The interface went down.
    pub(super) fn begin(&self, ns: i64) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() == WAITING_MAX {
            times.pop_front();
        }
        times.push_back((ns, None));
    }

    /// The interface, which went down at `from_ns`, is up again.
    pub(super) fn end(&self, from_ns: i64, ns: i64) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, to_ns)) = times.iter_mut().rev().find(|(began_ns, _)| *began_ns == from_ns) {
            *to_ns = Some(ns);
        }
    }

    /// A packet of this time was passed: a time that began before it, and whose end no section has, is over.
    pub fn pass(&self, packet_ns: i64) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = times.iter_mut().filter(|(from_ns, to_ns)| to_ns.is_none() && *from_ns < packet_ns);
        open.for_each(|(_, to_ns)| *to_ns = Some(packet_ns));
    }

    /// The parts of these times until now, which the views have to show. Those that are over are forgotten.
    pub fn take_holes(&self, now_ns: i64) -> Vec<Hole> {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = times.iter().filter(|(from_ns, _)| *from_ns <= now_ns);
        let hole = |&(from_ns, to_ns): &(i64, Option<i64>)| {
            let to_ns = to_ns.map_or(now_ns, |to_ns| to_ns.min(now_ns));
            Hole { from_ns, to_ns, packets: None }
        };
        let holes = begun.map(hole).collect();
        times.retain(|(_, to_ns)| to_ns.is_none_or(|to_ns| to_ns > now_ns));
        holes
    }

    /// Until when all packets before `now_ns` were captured.
    pub fn seen_until(&self, now_ns: i64) -> i64 {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_down =
            |&&(from_ns, to_ns): &&(i64, Option<i64>)| from_ns <= now_ns && to_ns.is_none_or(|to_ns| to_ns > now_ns);
        times.iter().find(is_down).map_or(now_ns, |(from_ns, _)| *from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(holes: &[Hole]) -> Vec<(i64, i64)> {
        assert!(holes.iter().all(|hole| hole.packets.is_none()));
        holes.iter().map(|hole| (hole.from_ns, hole.to_ns)).collect()
    }

    #[test]
    fn a_time_that_was_read_ahead_is_shown_when_it_comes() {
        let times = Downtimes::default();
        times.begin(100);
        times.end(100, 200);
        times.begin(300);
        assert_eq!((spans(&times.take_holes(50)), times.seen_until(50)), (vec![], 50));
        assert_eq!((spans(&times.take_holes(150)), times.seen_until(150)), (vec![(100, 150)], 100));
        assert_eq!((spans(&times.take_holes(250)), times.seen_until(250)), (vec![(100, 200)], 250));
        assert_eq!(
            (spans(&times.take_holes(350)), times.seen_until(350)),
            (vec![(300, 350)], 300),
            "the first is over"
        );
        times.end(300, 340);
        assert_eq!((spans(&times.take_holes(360)), times.seen_until(360)), (vec![(300, 340)], 360));
        assert_eq!(spans(&times.take_holes(400)), []);
    }

    /// The interface was down when a watch ended, and the next file is of a later watch.
    #[test]
    fn a_time_without_an_end_is_over_with_the_next_packet() {
        let times = Downtimes::default();
        times.begin(100);
        times.pass(90);
        assert_eq!((spans(&times.take_holes(150)), times.seen_until(150)), (vec![(100, 150)], 100));
        times.pass(500);
        assert_eq!(times.seen_until(510), 510);
        assert_eq!(spans(&times.take_holes(510)), [(100, 500)]);
        assert_eq!(spans(&times.take_holes(520)), []);
    }

    #[test]
    fn their_number_is_bounded() {
        let times = Downtimes::default();
        (0..2_000).for_each(|ns| times.begin(ns));
        assert_eq!(times.take_holes(i64::MAX).len(), WAITING_MAX);
    }
}

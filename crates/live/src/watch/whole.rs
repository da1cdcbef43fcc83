//! Since when a live capture has all packets.

use plimsoll_observe::capture::Hole;

/// The end of the last time of which packets are missing. A request from before may have its response in this time.
#[derive(Debug)]
pub(super) struct WholeSince {
    ns: i64,
    /// The same, with a time that still goes on.
    hole_ns: i64,
}

impl WholeSince {
    pub(super) fn new() -> Self {
        Self { ns: i64::MIN, hole_ns: i64::MIN }
    }

    /// Takes times of which packets are missing. While the interface is down, the capture is that from before.
    pub(super) fn note(&mut self, holes: &[Hole], is_down: bool) {
        let ends = holes.iter().filter(|hole| hole.packets != Some(0)).map(|hole| hole.to_ns);
        self.hole_ns = ends.fold(self.hole_ns, i64::max);
        if !is_down {
            self.ns = self.hole_ns;
        }
    }

    /// The clock of the capture was set back to this time.
    pub(super) fn back_to(&mut self, now_ns: i64) {
        (self.ns, self.hole_ns) = (self.ns.min(now_ns), self.hole_ns.min(now_ns));
    }

    /// Since when, ns since the Unix epoch.
    pub(super) fn ns(&self) -> i64 {
        self.ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(from_ns: i64, to_ns: i64, packets: Option<u64>) -> Hole {
        Hole { from_ns, to_ns, packets }
    }

    #[test]
    fn a_capture_is_whole_since_its_last_downtime_or_loss() {
        let mut whole = WholeSince::new();
        whole.note(&[hole(5, 5, Some(0))], false);
        assert_eq!(whole.ns(), i64::MIN, "nothing is missing");
        whole.note(&[hole(5, 9, Some(3)), hole(1, 2, Some(1))], false);
        assert_eq!(whole.ns(), 9);
        whole.note(&[hole(20, 20, None)], true);
        whole.note(&[hole(20, 25, None)], true);
        assert_eq!(whole.ns(), 9, "while it is down");
        whole.note(&[hole(25, 30, None)], false);
        assert_eq!(whole.ns(), 30);
        whole.note(&[], false);
        assert_eq!(whole.ns(), 30);
        whole.back_to(12);
        assert_eq!(whole.ns(), 12);
    }
}

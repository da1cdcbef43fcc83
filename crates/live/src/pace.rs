//! Decides when to update the views: reading the clock for each packet would cost too much.

use std::time::{Duration, Instant};

/// Number of packets between two readings of the clock.
const FRAMES: u32 = 256;
/// Interval between two updates of the views.
pub const LOOK: Duration = Duration::from_millis(100);
/// If the last read is longer ago than this, this process did not run in the meantime, so there may be new packets.
const STOPPED: Duration = Duration::from_millis(250);

/// The pace of a watch.
pub struct Pace {
    frames: u32,
    next: Instant,
    over: Option<Instant>,
    /// The time of the latest packet, ns since the Unix epoch, and the time at which it was read (until the next update: an estimate).
    latest: Option<(i64, Instant)>,
    latest_ns: Option<i64>,
    /// Latest time at which the input was asked for packets.
    asked: Instant,
    /// Time up to which all packets were read.
    read_to: Instant,
    /// The input has ended, so the clock stands still.
    ended: bool,
}

/// Time by which the clock continues after the last packet of an input or a run that has ended, ns, so that the last second becomes complete.
pub(crate) const BEHIND_NS: i64 = 1_200_000_000;

impl Pace {
    /// A watch that lasts this long, or until its input ends.
    pub fn new(duration: Option<Duration>) -> Self {
        let now = Instant::now();
        let over = duration.and_then(|duration| now.checked_add(duration));
        Self { frames: 0, next: now, over, latest: None, latest_ns: None, asked: now, read_to: now, ended: false }
    }

    /// Notes a packet with this timestamp.
    #[inline]
    pub fn frame(&mut self, time_ns: Option<i64>) {
        self.latest_ns = time_ns.max(self.latest_ns);
    }

    /// Whether an update is due, after a packet.
    #[inline]
    pub fn is_due_after_frame(&mut self) -> bool {
        self.frames += 1;
        self.frames.is_multiple_of(FRAMES) && {
            let now = Instant::now();
            (self.asked, self.read_to) = (now, now);
            self.is_due_at(now)
        }
    }

    /// Whether an update is due, if the input had no packet.
    pub fn is_due_when_idle(&mut self) -> bool {
        self.is_due_when_idle_at(Instant::now())
    }

    fn is_due_when_idle_at(&mut self, now: Instant) -> bool {
        let asked = std::mem::replace(&mut self.asked, now);
        self.read_to = if now.saturating_duration_since(asked) < STOPPED { now } else { asked };
        self.is_due_at(now)
    }

    fn is_due_at(&mut self, now: Instant) -> bool {
        if let Some(latest_ns) = self.latest_ns
            && self.latest.is_none_or(|(before_ns, _)| latest_ns > before_ns)
        {
            self.latest = Some((latest_ns, now));
        }
        if now < self.next {
            return false;
        }
        self.next = now + LOOK;
        true
    }

    /// Current time of the capturing machine, ns since the Unix epoch. It continues while no packets arrive.
    pub fn now_ns(&self) -> Option<i64> {
        if self.ended {
            return Some(self.latest_ns?.saturating_add(BEHIND_NS));
        }
        let (latest_ns, read) = self.latest?;
        let since = i64::try_from(self.read_to.saturating_duration_since(read).as_nanos()).unwrap_or(i64::MAX);
        Some(latest_ns.saturating_add(since))
    }

    /// Notes the end of the input.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether --duration has passed.
    pub fn is_over(&self) -> bool {
        self.over.is_some_and(|over| Instant::now() >= over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a second would appear as complete before its packets are read.
    #[test]
    fn time_does_not_go_on_while_the_process_is_stopped() {
        let mut pace = Pace::new(None);
        let begun = pace.asked;
        let at = |ms| begun + Duration::from_millis(ms);
        pace.frame(Some(1_000_000_000));
        assert!(pace.is_due_when_idle_at(at(100)));
        assert_eq!(pace.now_ns(), Some(1_000_000_000));
        assert!(!pace.is_due_when_idle_at(at(150)), "too early to look again");
        assert!(pace.is_due_when_idle_at(at(200)));
        assert_eq!(pace.now_ns(), Some(1_100_000_000), "no packet came");
        assert!(pace.is_due_when_idle_at(at(1_700)));
        assert_eq!(pace.now_ns(), Some(1_100_000_000), "stopped for 1.5 s");
        // The input is read again, and has packets of this time.
        pace.frame(Some(1_300_000_000));
        assert!(pace.is_due_when_idle_at(at(1_850)));
        assert_eq!(pace.now_ns(), Some(1_300_000_000));
        pace.frame(Some(2_900_000_000));
        assert!(pace.is_due_when_idle_at(at(3_500)), "stopped again, and a packet came before the input was empty");
        assert!(pace.is_due_when_idle_at(at(3_600)));
        assert_eq!(pace.now_ns(), Some(3_000_000_000));
    }
}

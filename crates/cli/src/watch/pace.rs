//! When to look at the clock: reading it for each packet would cost too much.

use std::time::{Duration, Instant};

/// Packets between two looks at the clock.
const FRAMES: u32 = 256;
/// Between two looks at what has happened.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// If an input that was asked so long ago had nothing, this process did not run meanwhile: there may be packets by now.
const STOPPED: Duration = Duration::from_millis(250);

/// The pace of a watch.
pub(super) struct Pace {
    frames: u32,
    next: Instant,
    over: Option<Instant>,
    /// The time of the latest packet, ns since the Unix epoch, and when it was read; until the next look, when that was.
    latest: Option<(i64, Instant)>,
    latest_ns: Option<i64>,
    /// When the input was asked last, at the latest.
    asked: Instant,
    /// Up to here all packets were read.
    read_to: Instant,
    /// No more come: time stands still.
    ended: bool,
}

/// How far time goes on behind the last packet of an input that has ended, ns: the last second is over then.
const BEHIND_NS: i64 = 1_200_000_000;

impl Pace {
    pub(super) fn new(duration: Option<Duration>) -> Self {
        let now = Instant::now();
        let over = duration.and_then(|duration| now.checked_add(duration));
        Self { frames: 0, next: now, over, latest: None, latest_ns: None, asked: now, read_to: now, ended: false }
    }

    /// A packet of this time.
    #[inline]
    pub(super) fn frame(&mut self, time_ns: Option<i64>) {
        self.latest_ns = time_ns.max(self.latest_ns);
    }

    /// Whether it is time to look, after a packet.
    #[inline]
    pub(super) fn is_due_after_frame(&mut self) -> bool {
        self.frames += 1;
        self.frames.is_multiple_of(FRAMES) && {
            let now = Instant::now();
            (self.asked, self.read_to) = (now, now);
            self.is_due_at(now)
        }
    }

    /// Whether it is time to look, where the input had nothing.
    pub(super) fn is_due_when_idle(&mut self) -> bool {
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

    /// What time it is where packets are captured, ns since the Unix epoch: it goes on while none comes.
    pub(super) fn now_ns(&self) -> Option<i64> {
        if self.ended {
            return Some(self.latest_ns?.saturating_add(BEHIND_NS));
        }
        let (latest_ns, read) = self.latest?;
        let since = i64::try_from(self.read_to.saturating_duration_since(read).as_nanos()).unwrap_or(i64::MAX);
        Some(latest_ns.saturating_add(since))
    }

    /// No more packets come.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the watch has lasted as long as it should.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some_and(|over| Instant::now() >= over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a second would be shown as over before its packets are read.
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
        // The input is asked again, and has packets of that time.
        pace.frame(Some(1_300_000_000));
        assert!(pace.is_due_when_idle_at(at(1_850)));
        assert_eq!(pace.now_ns(), Some(1_300_000_000));
        pace.frame(Some(2_900_000_000));
        assert!(pace.is_due_when_idle_at(at(3_500)), "stopped again, and a packet came before the input was empty");
        assert!(pace.is_due_when_idle_at(at(3_600)));
        assert_eq!(pace.now_ns(), Some(3_000_000_000));
    }
}

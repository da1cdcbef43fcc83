//! When to look at the clock: reading it for each packet would cost too much.

use std::time::{Duration, Instant};

/// Packets between two looks at the clock.
const FRAMES: u32 = 256;
/// Between two looks at what has happened.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// The pace of a watch.
pub(super) struct Pace {
    frames: u32,
    next: Instant,
    over: Option<Instant>,
    /// The time of the latest packet, ns since the Unix epoch, and when it was read; until the next look, when that was.
    latest: Option<(i64, Instant)>,
    latest_ns: Option<i64>,
    /// No more come: time stands still.
    ended: bool,
}

/// How far time goes on behind the last packet of an input that has ended, ns: the last second is over then.
const BEHIND_NS: i64 = 1_200_000_000;

impl Pace {
    pub(super) fn new(duration: Option<Duration>) -> Self {
        let now = Instant::now();
        let over = duration.and_then(|duration| now.checked_add(duration));
        Self { frames: 0, next: now, over, latest: None, latest_ns: None, ended: false }
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
        self.frames.is_multiple_of(FRAMES) && self.is_due()
    }

    /// Whether it is time to look.
    pub(super) fn is_due(&mut self) -> bool {
        let now = Instant::now();
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
        let since = i64::try_from(read.elapsed().as_nanos()).unwrap_or(i64::MAX);
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

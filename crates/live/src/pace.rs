//! Decides when to update the views: reading the clock for each packet would cost too much.

use std::time::{Duration, Instant};

use crate::second::latest_ns;

/// Number of packets between two readings of the clock.
const FRAMES: u32 = 256;
/// Interval between two updates of the views.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// A packet this much earlier than the latest one shows that the clock of the capture was set back, ns. Packets of several captures in a
/// pipe, or of several files, are out of order by less.
const BACK_NS: i64 = 5_000_000_000;
/// In a file, the time of the capture passes faster: it is looked at this often, ns, and before a pause of this length.
const LOOK_NS: i64 = 5_000_000_000;
/// If the last read is longer ago than this, this process did not run in the meantime, so there may be new packets.
const STOPPED: Duration = Duration::from_millis(250);

/// The pace of a watch.
pub struct Pace {
    frames: u32,
    next: Instant,
    over: Option<Instant>,
    /// By how much the reader sorts packets, ns: those that still come too early are not late by chance.
    sorted_ns: i64,
    /// From this step back on, ns, the clock was set.
    back_ns: i64,
    /// Whether the time goes on without packets: those of an interface come at once, those of a pipe may be held up on their way.
    runs_on: bool,
    /// Number of packets of seconds that were shown before.
    late: u64,
    /// The time of the latest packet, ns since the Unix epoch, and the time at which it was read (until the next update: an estimate).
    latest: Option<(i64, Instant)>,
    latest_ns: Option<i64>,
    /// The time of the last packet, if that is earlier than the latest by more than the reader sorts, since the last update.
    late_ns: Option<i64>,
    /// The time of the latest packet at the last update: the clock does not go back behind it.
    reached_ns: Option<i64>,
    /// The time of the capture at the last update, ns since the Unix epoch.
    looked_ns: Option<i64>,
    /// Latest time at which the input was asked for packets.
    asked: Instant,
    /// Time up to which all packets were read.
    read_to: Instant,
    /// The time of the capture at the end of the input, where the clock stands still.
    ended: Option<Option<i64>>,
}

/// Time by which the clock continues after the last packet of an input or a run that has ended, ns, so that the last second becomes complete.
pub(crate) const BEHIND_NS: i64 = 1_200_000_000;

impl Pace {
    /// A watch that lasts this long, or until its input ends. The reader sorts packets that are out of order by up to `sorted_ns`.
    pub fn new(duration: Option<Duration>, sorted_ns: i64) -> Self {
        let now = Instant::now();
        let over = duration.and_then(|duration| now.checked_add(duration));
        Self {
            frames: 0,
            next: now,
            over,
            sorted_ns,
            back_ns: BACK_NS,
            runs_on: false,
            late: 0,
            latest: None,
            latest_ns: None,
            late_ns: None,
            reached_ns: None,
            looked_ns: None,
            asked: now,
            read_to: now,
            ended: None,
        }
    }

    /// The packets are those of one interface: they come at once, and none of them is earlier than the reader sorts, unless the clock was
    /// set back.
    #[must_use]
    pub fn of_one_clock(self) -> Self {
        Self { back_ns: self.sorted_ns, runs_on: true, ..self }
    }

    /// Notes the time of the latest packet. Returns by how much the clock of the capture was set back, ns, if it was.
    #[inline]
    pub fn frame(&mut self, time_ns: Option<i64>) -> Option<u64> {
        if time_ns >= self.latest_ns {
            (self.latest_ns, self.late_ns) = (time_ns, None);
            return None;
        }
        self.earlier(time_ns?)
    }

    #[cold]
    fn earlier(&mut self, time_ns: i64) -> Option<u64> {
        let back_ns = self.latest_ns?.abs_diff(time_ns);
        if back_ns <= self.back_ns.unsigned_abs() {
            self.late_ns = Some(time_ns).filter(|_| back_ns > self.sorted_ns.unsigned_abs());
            // Of the seconds that were complete at the last update: later ones were not shown yet.
            self.late += u64::from(self.looked_ns.is_some_and(|looked_ns| time_ns < latest_ns(looked_ns)));
            return None;
        }
        (self.latest_ns, self.looked_ns) = (Some(time_ns), Some(time_ns));
        (self.late_ns, self.reached_ns) = (None, Some(time_ns));
        self.latest = Some((time_ns, Instant::now()));
        Some(back_ns)
    }

    /// Whether an update is due before a packet with this timestamp: in a file it follows a pause, after which the seconds before may no
    /// longer be stored.
    #[inline]
    pub fn is_due_before(&mut self, time_ns: Option<i64>) -> bool {
        let Some((time_ns, latest_ns)) = time_ns.zip(self.latest_ns) else { return false };
        time_ns.saturating_sub(latest_ns) > LOOK_NS && self.pauses(latest_ns)
    }

    #[cold]
    fn pauses(&mut self, latest_ns: i64) -> bool {
        let end_ns = latest_ns.saturating_add(BEHIND_NS);
        // The time of a live capture has passed already.
        let is_new = self.now_ns() < Some(end_ns);
        if is_new {
            (self.latest_ns, self.looked_ns) = (Some(end_ns), Some(end_ns));
            (self.late_ns, self.reached_ns) = (None, Some(end_ns));
            self.latest = Some((end_ns, Instant::now()));
        }
        is_new
    }

    /// Whether an update is due, after a packet.
    #[inline]
    pub fn is_due_after_frame(&mut self) -> bool {
        self.frames += 1;
        let has_passed =
            self.latest_ns.zip(self.looked_ns).is_some_and(|(latest, looked)| latest.saturating_sub(looked) > LOOK_NS);
        (has_passed || self.frames.is_multiple_of(FRAMES)) && {
            let now = Instant::now();
            (self.asked, self.read_to) = (now, now);
            if has_passed {
                self.next = now;
            }
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
        let is_later = self.latest_ns > self.reached_ns;
        // While older packets come, the seconds after the latest one have not begun.
        if let Some(time_ns) = self.late_ns.take().or(self.latest_ns.filter(|_| is_later)) {
            self.latest = Some((time_ns, now));
            self.reached_ns = self.latest_ns;
        }
        if now < self.next {
            return false;
        }
        (self.next, self.looked_ns) = (now + CHECK_INTERVAL, self.latest_ns);
        true
    }

    /// Current time of the capturing machine, ns since the Unix epoch. On an interface it continues while no packets arrive. In a pipe only
    /// packets prove that it has passed: a second without them may still be on its way.
    pub fn now_ns(&self) -> Option<i64> {
        if let Some(ended) = self.ended {
            return ended;
        }
        let (latest_ns, read) = self.latest?;
        let since = if self.runs_on { self.read_to.saturating_duration_since(read) } else { Duration::ZERO };
        let since_ns = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        Some(latest_ns.saturating_add(since_ns)).max(self.reached_ns)
    }

    /// For how long the time has stood still because no packet came; `None` if it goes on without packets, or the input has ended.
    pub fn stands_still(&self) -> Option<Duration> {
        let (_, read) = self.latest.filter(|_| !self.runs_on && self.ended.is_none())?;
        Some(self.read_to.saturating_duration_since(read))
    }

    /// The time of the latest packet, ns since the Unix epoch.
    pub fn last_packet_ns(&self) -> Option<i64> {
        self.latest_ns
    }

    /// Number of packets that came after their second was complete: lines and pages lack them.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Notes the end of the input.
    pub fn end(&mut self) {
        let behind_ns = self.latest_ns.map(|latest_ns| latest_ns.saturating_add(BEHIND_NS));
        self.ended = Some(behind_ns.max(self.now_ns()));
    }

    /// Whether --duration has passed.
    pub fn is_over(&self) -> bool {
        self.over.is_some_and(|over| Instant::now() >= over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SORTED_NS: i64 = 100_000_000;

    /// Otherwise a second would appear as complete before its packets are read.
    #[test]
    fn time_does_not_go_on_while_the_process_is_stopped() {
        let mut pace = Pace::new(None, SORTED_NS).of_one_clock();
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

    #[test]
    fn a_clock_that_is_set_back_goes_on_there() {
        let mut pace = Pace::new(None, SORTED_NS);
        let hour = 3_600_000_000_000;
        assert_eq!([None, Some(hour), Some(hour + 1), Some(hour + 1 - BACK_NS)].map(|ns| pace.frame(ns)), [None; 4]);
        assert_eq!(pace.now_ns().max(pace.latest_ns), Some(hour + 1), "a packet that is only late");
        assert_eq!(pace.frame(Some(1)), Some(3_600_000_000_000), "one packet, or all from now on");
        assert_eq!((pace.latest_ns, pace.frame(Some(2))), (Some(1), None));
    }

    /// A clock that is set back by 2 s while packets come: seconds must not be complete before their packets were read.
    #[test]
    fn the_clock_of_an_interface_is_set_back_by_a_little() {
        let second = 1_000_000_000;
        let mut pace = Pace::new(None, SORTED_NS).of_one_clock();
        let begun = pace.asked;
        let at = |ms| begun + Duration::from_millis(ms);
        pace.frame(Some(10 * second));
        assert!(pace.is_due_when_idle_at(at(100)));
        assert_eq!(pace.frame(Some(10 * second - SORTED_NS)), None, "a packet that is only late");
        assert_eq!(pace.frame(Some(8 * second)), Some(2_000_000_000));
        assert_eq!(pace.now_ns().map(|ns| ns / second), Some(8));
        pace.frame(Some(8 * second + 150_000_000));
        assert!(pace.is_due_when_idle_at(at(250)));
        assert_eq!(pace.now_ns(), Some(8 * second + 150_000_000));
    }

    #[test]
    fn the_time_of_a_pipe_stands_still_while_older_packets_come() {
        let second = 1_000_000_000;
        let mut pace = Pace::new(None, SORTED_NS);
        let begun = pace.asked;
        let at = |ms| begun + Duration::from_millis(ms);
        pace.frame(Some(10 * second));
        assert!(pace.is_due_when_idle_at(at(100)));
        for packet in 1..=10 {
            assert_eq!(pace.frame(Some(8 * second + packet * 100_000_000)), None);
            assert!(pace.is_due_when_idle_at(at(100 + 100 * packet as u64)));
            assert_eq!(pace.now_ns(), Some(10 * second), "packet {packet}");
        }
        assert_eq!(pace.late(), 9, "the second until 9 s was complete");
        // No more come.
        for ms in [1_300, 1_500, 1_700, 1_900, 2_100, 2_300] {
            assert!(pace.is_due_when_idle_at(at(ms)));
            assert_eq!(pace.now_ns(), Some(10 * second), "{ms} ms");
        }
        // One that is not older is the latest again.
        pace.frame(Some(11 * second));
        assert!(pace.is_due_when_idle_at(at(2_500)));
        assert_eq!((pace.now_ns(), pace.late()), (Some(11 * second), 9));
    }

    /// In a file, the seconds between two updates are shown after all of their packets.
    #[test]
    fn a_packet_of_a_second_that_was_not_shown_is_not_late() {
        let second = 1_000_000_000;
        let mut pace = Pace::new(None, SORTED_NS);
        let begun = pace.asked;
        let at = |ms| begun + Duration::from_millis(ms);
        pace.frame(Some(10 * second));
        assert!(pace.is_due_when_idle_at(at(100)));
        pace.frame(Some(12 * second));
        assert!(!pace.is_due_when_idle_at(at(150)), "too early");
        pace.frame(Some(10 * second + 500_000_000));
        assert_eq!(pace.late(), 0);
        assert!(pace.is_due_when_idle_at(at(200)));
        pace.frame(Some(10 * second + 600_000_000));
        assert_eq!(pace.late(), 1);
    }

    /// Otherwise a pipe that is held up shows seconds without operations, and requests that wait.
    #[test]
    fn only_packets_prove_the_time_of_a_pipe() {
        let mut pace = Pace::new(None, SORTED_NS);
        let begun = pace.asked;
        let at = |ms| begun + Duration::from_millis(ms);
        assert_eq!(pace.stands_still(), None);
        pace.frame(Some(2_500_000_000));
        for ms in (100..=3_000).step_by(100) {
            assert!(pace.is_due_when_idle_at(at(ms)));
            assert_eq!(pace.now_ns(), Some(2_500_000_000), "{ms} ms");
        }
        assert_eq!(pace.stands_still(), Some(Duration::from_millis(2_900)));
        pace.frame(Some(2_600_000_000));
        assert!(pace.is_due_when_idle_at(at(3_100)));
        assert_eq!((pace.now_ns(), pace.stands_still()), (Some(2_600_000_000), Some(Duration::ZERO)));
        assert_eq!(pace.late(), 0);
        pace.end();
        assert_eq!(pace.stands_still(), None);
        let mut interface = Pace::new(None, SORTED_NS).of_one_clock();
        interface.frame(Some(2_500_000_000));
        assert_eq!(interface.stands_still(), None);
    }

    #[test]
    fn the_time_of_a_file_is_looked_at_often_and_before_a_pause() {
        let mut pace = Pace::new(None, SORTED_NS);
        let mut looks = 0;
        for second in 0..100 {
            let time_ns = Some(second * 1_000_000_000);
            assert!(!pace.is_due_before(time_ns));
            pace.frame(time_ns);
            if second == 0 {
                assert!(pace.is_due_when_idle_at(pace.asked));
            }
            looks += u32::from(pace.is_due_after_frame());
        }
        assert_eq!(looks, 16, "every sixth second");
        let later = Some(1_000_000_000_000);
        assert!(pace.is_due_before(later));
        assert_eq!(pace.now_ns(), Some(99_000_000_000 + BEHIND_NS), "the last second is complete");
        let ended = pace.latest_ns;
        assert!(!pace.is_due_before(ended), "once");
        pace.frame(later);
        pace.end();
        assert_eq!(pace.now_ns(), Some(1_000_000_000_000 + BEHIND_NS));
    }
}

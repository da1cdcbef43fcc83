//! The packets that the network card lost, from the counters that Linux shows for each interface.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::clock::now_ns;

/// How often the counters are read. By a clock that cannot be set: by the time of the packets, a clock that is set back by an hour
/// would stop the reading for an hour.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Packets that the card lost between two instants, ns since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CardLoss {
    pub(super) packets: u64,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

/// The counters of the card.
#[derive(Debug)]
pub(super) struct Card {
    folder: PathBuf,
    /// Their sum when they were last read; `None` if Linux does not show them.
    before: Option<u64>,
    read: Instant,
}

impl Card {
    /// Those of an interface, from now on.
    pub(super) fn of(name: &str) -> Self {
        Self::in_folder(PathBuf::from("/sys/class/net").join(name).join("statistics"))
    }

    pub(super) fn in_folder(folder: PathBuf) -> Self {
        let mut this = Self { folder, before: None, read: Instant::now() };
        this.before = this.drops();
        this
    }

    /// The losses since the counters were last read, if a reading is due, or `at_once`.
    pub(super) fn look(&mut self, at_once: bool) -> Option<CardLoss> {
        let now = Instant::now();
        if at_once || self.is_due(now) { self.compare(self.drops(), now, now_ns()) } else { None }
    }

    fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.read) >= CHECK_INTERVAL
    }

    /// The packets were lost between the last reading and this one: nothing says when.
    fn compare(&mut self, drops: Option<u64>, now: Instant, now_ns: u64) -> Option<CardLoss> {
        let since = now.saturating_duration_since(std::mem::replace(&mut self.read, now));
        let known = drops.or(self.before);
        let before = std::mem::replace(&mut self.before, known)?;
        let packets = drops?.saturating_sub(before);
        // The time of the last reading could be from before the clock was set.
        let from_ns = now_ns.saturating_sub(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        (packets > 0).then_some(CardLoss { packets, from_ns, to_ns: now_ns })
    }

    fn drops(&self) -> Option<u64> {
        let read = |name| std::fs::read_to_string(self.folder.join(name)).ok()?.trim().parse::<u64>().ok();
        Some(read("rx_missed_errors")?.saturating_add(read("rx_fifo_errors")?))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::servers::Scratch;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const START_NS: u64 = 1_700_000_000 * SECOND_NS;

    fn begun(drops: Option<u64>) -> (Card, Instant) {
        let read = Instant::now();
        (Card { folder: PathBuf::new(), before: drops, read }, read)
    }

    #[test]
    fn a_loss_is_between_the_reading_before_and_this_one() {
        let (mut card, begun) = begun(Some(100));
        let at = |ms| begun + Duration::from_millis(ms);
        assert!(!card.is_due(at(999)) && card.is_due(at(1_000)));
        assert_eq!(card.compare(Some(100), at(1_000), START_NS), None);
        assert!(!card.is_due(at(1_900)), "it was read at 1 s");
        let found = card.compare(Some(107), at(2_050), START_NS + 1_050_000_000);
        let expected = CardLoss { packets: 7, from_ns: START_NS, to_ns: START_NS + 1_050_000_000 };
        assert_eq!(found, Some(expected), "whenever packets came");
    }

    #[test]
    fn a_clock_that_is_set_changes_neither_when_it_is_read_nor_how_long_the_loss_was() {
        let (mut card, begun) = begun(Some(0));
        let at = |s| begun + Duration::from_secs(s);
        let hour_ns = 3_600 * SECOND_NS;
        for (second, now_ns) in [(1, START_NS), (2, START_NS - hour_ns), (3, START_NS + hour_ns)] {
            assert!(card.is_due(at(second)), "second {second}");
            let found = card.compare(Some(second), at(second), now_ns);
            assert_eq!(found, Some(CardLoss { packets: 1, from_ns: now_ns - SECOND_NS, to_ns: now_ns }));
        }
    }

    #[test]
    fn counters_that_are_not_there_are_no_loss() {
        let (mut card, begun) = begun(None);
        assert_eq!(card.compare(None, begun, START_NS), None);
        assert_eq!(card.compare(Some(1_000), begun, START_NS), None, "from before the capture, as far as is known");
        assert_eq!(card.compare(None, begun, START_NS), None);
        assert_eq!(card.compare(Some(999), begun, START_NS), None, "a driver that was loaded again starts from 0");
    }

    #[test]
    fn both_counters_are_read() {
        let scratch = Scratch::new("card");
        let put = |name: &str, count: u64| std::fs::write(scratch.path().join(name), format!("{count}\n")).unwrap();
        put("rx_missed_errors", 5);
        assert_eq!(Card::in_folder(scratch.path().to_owned()).before, None, "one of two");
        put("rx_fifo_errors", 2);
        let mut card = Card::in_folder(scratch.path().to_owned());
        put("rx_missed_errors", 15);
        assert_eq!(card.look(true).map(|loss| loss.packets), Some(10));
        assert_eq!(card.look(true), None);
    }
}

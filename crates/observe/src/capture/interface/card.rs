//! The packets that the network card lost, from the counters that Linux shows for each interface.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::clock::now_ns;
use super::socket::BoundInterface;

/// How often the counters are read. By a clock that cannot be set: by the time of the packets, a clock that is set back by an hour
/// would stop the reading for an hour. Less than one wait for packets, so that each wait reads them: views show a second 0.2 s after its
/// end, and its losses must be known by then.
const CHECK_INTERVAL: Duration = Duration::from_millis(90);

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
    /// Where Linux shows all interfaces.
    root: PathBuf,
    /// The interface's network namespace, if it is another: `root` then shows other interfaces, maybe with the same name and number.
    namespace: Option<PathBuf>,
    interface: BoundInterface,
    /// Their sum when they were last read; `None` if Linux does not show them.
    before: Option<u64>,
    read: Instant,
}

impl Card {
    /// Those of an interface, from now on; with the file of its network namespace, if it is another.
    pub(super) fn of(interface: BoundInterface, namespace: Option<PathBuf>) -> Self {
        let root = PathBuf::from("/sys/class/net");
        match namespace {
            None => Self::below(root, interface),
            Some(_) => Self { root, namespace, interface, before: None, read: Instant::now() },
        }
    }

    pub(super) fn below(root: PathBuf, interface: BoundInterface) -> Self {
        let mut this = Self { root, namespace: None, interface, before: None, read: Instant::now() };
        this.before = this.drops();
        this
    }

    /// What is unknown without the counters, for people; `None` if Linux shows them.
    pub(super) fn what_is_unknown(&self) -> Option<String> {
        let name = &self.interface.name;
        if let Some(namespace) = self.namespace.as_deref().map(Path::display) {
            return Some(format!(
                "the number of packets that {name} itself drops is unknown: /sys does not show network namespace {namespace}; `nsenter \
                --net={namespace} ip -s -s link show {name}` shows the number (missed, fifo)"
            ));
        }
        self.before.is_none().then(|| {
            format!(
                "the number of packets that {name} itself drops is unknown: {}/{name} does not show this interface (the watch may run \
                in a network namespace); `ip -s -s link show {name}` shows the number (missed, fifo)",
                self.root.display()
            )
        })
    }

    /// Goes on with the interface as it is now. If it was renamed, a sentence for people.
    pub(super) fn follow(&mut self, interface: BoundInterface) -> Option<String> {
        let before = std::mem::replace(&mut self.interface, interface);
        let (before, now) = (before.name, &self.interface.name);
        (before != *now).then(|| format!("{before} was renamed to {now}: the capture continues"))
    }

    /// The losses since the counters were last read.
    pub(super) fn look(&mut self) -> Option<CardLoss> {
        self.compare(self.drops(), Instant::now(), now_ns())
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
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

    /// The sum of the counters, if Linux shows them. In another network namespace than its own, /sys shows another interface of this name.
    fn drops(&self) -> Option<u64> {
        if self.namespace.is_some() {
            return None;
        }
        let BoundInterface { index, name, address } = &self.interface;
        let read = |file: &str| std::fs::read_to_string(self.root.join(name).join(file)).ok();
        let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
        // The socket has only the start of a long address.
        let is_same = number("ifindex")? == *index && read("address")?.trim().starts_with(address.as_str());
        let [missed, fifo] = ["statistics/rx_missed_errors", "statistics/rx_fifo_errors"].map(number);
        missed.zip(fifo).filter(|_| is_same).map(|(missed, fifo)| missed.saturating_add(fifo))
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
        let (root, interface) = (PathBuf::new(), BoundInterface::default());
        (Card { root, namespace: None, interface, before: drops, read }, read)
    }

    #[test]
    fn a_loss_is_between_the_reading_before_and_this_one() {
        let (mut card, begun) = begun(Some(100));
        let at = |ms| begun + Duration::from_millis(ms);
        assert!(!card.is_due(at(89)) && card.is_due(at(90)), "before views show its second");
        assert_eq!(card.compare(Some(100), at(1_000), START_NS), None);
        assert!(!card.is_due(at(1_089)), "it was read at 1 s");
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

    /// Shows a file of an interface, as /sys does.
    fn put(root: &Scratch, interface: &str, file: &str, text: &str) {
        let file = root.path().join(interface).join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{text}\n")).unwrap();
    }

    fn eth0() -> BoundInterface {
        BoundInterface { index: 7, name: "eth0".to_owned(), address: "02:00:00:00:00:07".to_owned() }
    }

    fn card(root: &Scratch, interface: BoundInterface) -> Card {
        Card::below(root.path().to_owned(), interface)
    }

    #[test]
    fn both_counters_are_read() {
        let root = Scratch::new("card");
        put(&root, "eth0", "ifindex", "7");
        put(&root, "eth0", "address", "02:00:00:00:00:07");
        put(&root, "eth0", "statistics/rx_missed_errors", "5");
        assert_eq!(card(&root, eth0()).before, None, "one of two");
        put(&root, "eth0", "statistics/rx_fifo_errors", "2");
        let mut card = card(&root, eth0());
        assert_eq!(card.what_is_unknown(), None);
        put(&root, "eth0", "statistics/rx_missed_errors", "15");
        assert_eq!(card.look().map(|loss| loss.packets), Some(10));
        assert_eq!(card.look(), None);
    }

    /// `nsenter --net` leaves /sys as it is: it then shows the interfaces of the host.
    #[test]
    fn the_counters_of_another_interface_of_this_name_do_not_count() {
        for (index, address) in [("8", "02:00:00:00:00:07"), ("7", "02:00:00:00:00:08")] {
            let root = Scratch::new("card-other");
            put(&root, "eth0", "ifindex", index);
            put(&root, "eth0", "address", address);
            put(&root, "eth0", "statistics/rx_missed_errors", "5");
            put(&root, "eth0", "statistics/rx_fifo_errors", "0");
            let mut card = card(&root, eth0());
            assert_eq!(card.before, None, "{index} {address}");
            let unknown = card.what_is_unknown().unwrap();
            assert!(unknown.contains("packets that eth0 itself drops is unknown"), "{unknown}");
            put(&root, "eth0", "statistics/rx_missed_errors", "50");
            assert_eq!(card.look(), None);
        }
    }

    /// Loopback has the same number and address in all of them.
    #[test]
    fn the_counters_of_another_network_namespace_do_not_count() {
        let root = Scratch::new("card-namespace");
        put(&root, "eth0", "ifindex", "7");
        put(&root, "eth0", "address", "02:00:00:00:00:07");
        put(&root, "eth0", "statistics/rx_fifo_errors", "0");
        let mut card = Card { root: root.path().to_owned(), ..Card::of(eth0(), Some("/run/netns/blue".into())) };
        let unknown = card.what_is_unknown().unwrap();
        assert!(unknown.contains("`nsenter --net=/run/netns/blue ip -s -s link show eth0` shows"), "{unknown}");
        for missed in ["5", "50"] {
            put(&root, "eth0", "statistics/rx_missed_errors", missed);
            assert_eq!(card.look(), None, "{missed}");
        }
    }

    #[test]
    fn an_interface_that_is_renamed_keeps_its_counters() {
        let root = Scratch::new("card-renamed");
        for name in ["eth0", "lan"] {
            put(&root, name, "ifindex", "7");
            put(&root, name, "address", "02:00:00:00:00:07");
            put(&root, name, "statistics/rx_missed_errors", "5");
            put(&root, name, "statistics/rx_fifo_errors", "0");
        }
        let mut card = card(&root, eth0());
        assert_eq!(card.follow(eth0()), None);
        // Another interface gets the name.
        put(&root, "eth0", "ifindex", "9");
        put(&root, "eth0", "statistics/rx_missed_errors", "500");
        put(&root, "lan", "statistics/rx_missed_errors", "8");
        let renamed = card.follow(BoundInterface { name: "lan".to_owned(), ..eth0() });
        assert_eq!(renamed.as_deref(), Some("eth0 was renamed to lan: the capture continues"));
        assert_eq!(card.look().map(|loss| loss.packets), Some(3));
    }
}

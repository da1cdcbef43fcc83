//! One line per interval on standard error, if the terminal shows no screen.

use plimsoll_model::Names;
use plimsoll_report::duration;
use plimsoll_report::live::{LiveFigures, LiveWait, line};
use plimsoll_stats::live::{LiveLosses, LiveSum, Recent, Second, Wait};
use plimsoll_stats::{IntervalRow, Key};

use super::beside::{Beside, Captured};
use super::notices::Mentioned;
use super::second::{SECOND_NS, SETTLED_NS, latest_ns, second_of};
use plimsoll_console::shell;

/// An interval that lacks no more than this is a whole one, ns: it changes the rates of a second by 1 %.
const LACKED_NS: i64 = 10_000_000;
/// Shortest part of an interval that has rates, ns: in a shorter one, a single operation would make a rate of more than 4 per second.
const LEAST_PART_NS: i64 = 250_000_000;

/// The lines.
pub struct Lines {
    seconds: i64,
    quiet: bool,
    /// Start of the next line.
    next_ns: Option<i64>,
    /// The failures of the interface that were already printed.
    outage: Outage,
    mentioned: Mentioned,
}

impl Lines {
    /// Lines that cover this number of seconds each.
    pub fn new(seconds: u64, quiet: bool) -> Self {
        let (outage, mentioned) = (Outage::default(), Mentioned::default());
        Self { seconds: i64::try_from(seconds).unwrap_or(1), quiet, next_ns: None, outage, mentioned }
    }

    /// Prints a message, even with --quiet.
    pub(super) fn say(&self, text: &str) {
        shell::note(&format!("plimsoll: {text}"));
    }

    /// Prints a message, unless --quiet is given.
    pub(super) fn log(&self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Prints the lines of all new intervals.
    pub(super) fn look(&mut self, recent: &Recent, names: &Names, now_ns: i64, beside: &Beside<'_>) {
        let said = beside.losses.map_or([None; 2], |losses| self.outage.look(losses));
        said.into_iter().flatten().for_each(|text| self.say(text));
        for (is_error, text) in self.mentioned.look(beside, names) {
            if is_error { self.say(&text) } else { self.log(&text) }
        }
        self.show(recent, now_ns, beside.captured);
        if beside.ended {
            self.show_rest(recent, latest_ns(now_ns), beside.captured);
        }
    }

    /// The clock of the capture was set back to this time: the lines go on there.
    pub(super) fn went_back(&mut self, now_ns: i64) {
        self.next_ns = self.next_ns.map(|next_ns| next_ns.min(second_of(now_ns)));
    }

    /// Prints the last interval, which the end of the input cut short.
    fn show_rest(&mut self, recent: &Recent, end_ns: i64, captured: Option<Captured>) {
        let Some(next_ns) = self.next_ns.filter(|&next_ns| !self.quiet && next_ns < end_ns) else { return };
        shell::note(&interval(recent, (next_ns, end_ns), captured, self.seconds * SECOND_NS));
        self.next_ns = Some(end_ns);
    }

    /// Prints all complete intervals.
    fn show(&mut self, recent: &Recent, now_ns: i64, captured: Option<Captured>) {
        if self.quiet {
            return;
        }
        let width_ns = self.seconds * SECOND_NS;
        let first = || recent.seconds().next().map(|second| second.start_ns());
        let Some(mut next_ns) = self.next_ns.or_else(first) else { return };
        // After a long time without packets, or in files, the oldest intervals have already been dropped.
        next_ns = next_ns.max(first().unwrap_or(next_ns));
        while next_ns + width_ns + SETTLED_NS <= now_ns {
            shell::note(&interval(recent, (next_ns, next_ns + width_ns), captured, width_ns));
            next_ns += width_ns;
        }
        self.next_ns = Some(next_ns);
    }
}

/// Failures of the interface, as far as they were mentioned.
#[derive(Default)]
struct Outage {
    downs: u64,
    is_down: bool,
}

impl Outage {
    /// What is new. An interface may have been down for a moment only.
    fn look(&mut self, losses: LiveLosses) -> [Option<&'static str>; 2] {
        let went_down = losses.downs > std::mem::replace(&mut self.downs, losses.downs);
        let was_down = std::mem::replace(&mut self.is_down, losses.down_since_ns().is_some());
        [
            went_down.then_some("the interface went down; the watch continues when the interface is up again"),
            ((went_down || was_down) && !self.is_down).then_some("the interface is up again"),
        ]
    }
}

/// The line of an interval, which may be shorter than `width_ns`. Rates are those of the part that the capture covers; there
/// are none if that part is too short.
fn interval(recent: &Recent, (from_ns, to_ns): (i64, i64), captured: Option<Captured>, width_ns: i64) -> String {
    let mut figures = figures(recent.seconds(), from_ns, to_ns);
    let part_ns = captured.map_or(to_ns - from_ns, |captured| {
        captured.to_ns.map_or(to_ns, |end_ns| end_ns.min(to_ns)) - captured.from_ns.max(from_ns)
    });
    if part_ns + LACKED_NS < to_ns - from_ns {
        figures.seconds = (part_ns >= LEAST_PART_NS).then(|| part_ns as f64 / SECOND_NS as f64);
        // Requests without a response count for whole seconds.
        figures.queue_depth = None;
    }
    if part_ns + LACKED_NS >= width_ns {
        return line(&figures);
    }
    format!("{}  (only {})", line(&figures), duration(part_ns.max(0) as f64 / 1e9))
}

/// The figures of the seconds between two instants.
pub(super) fn figures<'a>(seconds: impl Iterator<Item = &'a Second>, from_ns: i64, to_ns: i64) -> LiveFigures {
    let (mut total, mut depth, mut lost_packets, mut waiting) = (IntervalRow::default(), 0.0, 0, None);
    let mut interface_down = false;
    let seconds = seconds.filter(|second| (from_ns..to_ns).contains(&second.start_ns()));
    for second in seconds {
        total.merge(&second.total());
        depth += second.queue_depth();
        lost_packets += second.lost_packets();
        waiting = waiting_at_end(second);
        interface_down |= second.interface_down();
    }
    let seconds = (to_ns - from_ns) as f64 / SECOND_NS as f64;
    LiveFigures {
        from_ns,
        seconds: Some(seconds),
        operations: total.count,
        errors: total.errors,
        bytes: (total.payload_bytes > 0 || total.payload_unknown == 0).then_some(total.payload_bytes),
        bytes_at_least: total.payload_unknown > 0,
        p50_ns: total.percentile_ns(50.0),
        p99_ns: total.percentile_ns(99.0),
        max_ns: total.response.max_ns(),
        queue_depth: Some(depth / seconds),
        waiting,
        lost_packets,
        interface_down,
        at_least: false,
    }
}

/// The figures of a part of these seconds: those that the cells do not have are unknown.
pub(super) fn figures_within<'a>(
    seconds: impl Iterator<Item = &'a Second>,
    (from_ns, to_ns): (i64, i64),
    within: &[Key],
) -> LiveFigures {
    let (mut sum, mut lost_packets, mut waiting) = (LiveSum::default(), 0, None);
    let (mut interface_down, mut at_least) = (false, false);
    for second in seconds.filter(|second| (from_ns..to_ns).contains(&second.start_ns())) {
        let part = second.part(within);
        sum.merge(&part.sum);
        at_least |= part.at_least;
        lost_packets += second.lost_packets();
        waiting = waiting_at_end(second);
        interface_down |= second.interface_down();
    }
    LiveFigures {
        from_ns,
        seconds: Some((to_ns - from_ns) as f64 / SECOND_NS as f64),
        operations: sum.count,
        errors: sum.errors,
        bytes: None,
        bytes_at_least: false,
        p50_ns: sum.percentile_ns(50.0),
        p99_ns: sum.percentile_ns(99.0),
        max_ns: (sum.timed() > 0).then_some(sum.longest_ns()),
        queue_depth: None,
        waiting,
        lost_packets,
        interface_down,
        at_least,
    }
}

fn waiting_at_end(second: &Second) -> Option<LiveWait> {
    let end_ns = second.start_ns().saturating_add(SECOND_NS);
    let wait = |wait: Wait| LiveWait { requests: wait.requests, oldest_ns: end_ns.abs_diff(wait.since_ns) };
    second.knows_waiting().then(|| second.waited().map_or_else(LiveWait::default, wait))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Procedure, Protocol, Sink as _};
    use plimsoll_stats::live::{InterfaceState, WaitingNow};
    use plimsoll_testkit::transaction;

    #[test]
    fn an_interface_that_fails_is_mentioned_and_also_when_it_is_up_again() {
        let mut outage = Outage::default();
        let mut look = |downs, state| {
            let said = outage.look(LiveLosses { downs, state, ..LiveLosses::default() });
            said.map(|text| text.map(|text| text.split(';').next().unwrap_or_default()))
        };
        let (down, up) = (Some("the interface went down"), Some("the interface is up again"));
        let down_now = InterfaceState::DownSince(1);
        assert_eq!(look(0, InterfaceState::Up), [None, None]);
        assert_eq!(look(1, down_now), [down, None]);
        assert_eq!(look(1, down_now), [None, None]);
        assert_eq!(look(1, InterfaceState::Up), [None, up]);
        assert_eq!(look(2, InterfaceState::Up), [down, up], "between two looks");
        assert_eq!(look(2, InterfaceState::Up), [None, None]);
    }

    /// A hundred operations per second: a watch that ends soon after the begin of a second has not seen a server that breaks down.
    #[test]
    fn rates_of_an_interval_that_was_cut_short_are_those_of_its_part() {
        let (mut recent, names) = (Recent::new(), Names::default());
        for number in 60..230 {
            recent.transaction(&transaction(Procedure::of(Protocol::Smb2, 8), number * SECOND_NS / 100, 1_000), &names);
        }
        recent.advance(4 * SECOND_NS);
        let captured = |to_ns| Some(Captured { from_ns: 600_000_000, to_ns });
        let text = |from: i64, to: i64, captured| {
            interval(&recent, (from * SECOND_NS, to * SECOND_NS), captured, 4 * SECOND_NS)
        };
        let shown = |text: &str| {
            let rate = text.split("  ").find(|part| part.ends_with(" op/s")).map(str::to_owned);
            (rate.unwrap_or_default(), text.split_once("  (only ").map(|(_, only)| only.to_owned()))
        };
        let expected = |rate: &str, only: &str| (rate.to_owned(), Some(only.to_owned()));
        assert_eq!(shown(&text(0, 1, captured(None))), expected("100 op/s", "400 ms)"));
        assert_eq!(shown(&text(2, 3, captured(Some(2_300_000_000)))), expected("100 op/s", "300 ms)"));
        assert_eq!(shown(&text(2, 3, None)), expected("30.0 op/s", "1.00 s)"));
        let both = captured(Some(2_300_000_000));
        assert_eq!(shown(&text(0, 4, both)), expected("100 op/s", "1.70 s)"));
        assert!(text(0, 4, both).contains("  queue depth -  "), "{}", text(0, 4, both));
        assert_eq!(shown(&text(0, 4, None)), ("42.5 op/s".to_owned(), None));
        let ended = interval(&recent, (2 * SECOND_NS, 3 * SECOND_NS), captured(Some(2 * SECOND_NS)), SECOND_NS);
        assert_eq!(shown(&ended), expected("- op/s", "0 s)"));
    }

    /// An idle interface, whose watch begins shortly before the end of a second: one operation in 60 ms is no rate.
    #[test]
    fn a_part_that_is_too_short_has_no_rates() {
        let (mut recent, names) = (Recent::new(), Names::default());
        let only = transaction(Procedure::of(Protocol::Smb2, 8), 950_000_000, 1_000);
        recent.transaction(&only, &names);
        recent.advance(2 * SECOND_NS);
        let text = |from_ns| interval(&recent, (0, SECOND_NS), Some(Captured { from_ns, to_ns: None }), SECOND_NS);
        let short = text(940_000_000);
        assert!(short.contains("  - op/s  ") && short.contains("  - errors/s  "), "{short}");
        assert!(short.contains("  - MB/s") && short.ends_with("  (only 60.0 ms)"), "{short}");
        assert!(text(740_000_000).contains("  3.85 op/s  "), "{}", text(740_000_000));
        assert!(text(760_000_000).contains("  - op/s  "), "{}", text(760_000_000));
    }

    /// A snap length cuts off the responses that say how much was read.
    #[test]
    fn an_unknown_amount_of_data_is_not_zero() {
        let (mut recent, names) = (Recent::new(), Names::default());
        let mut t = transaction(Procedure::of(Protocol::Smb2, 8), SECOND_NS / 2, 1_000_000);
        t.payload_bytes = None;
        recent.transaction(&t, &names);
        recent.advance(2 * SECOND_NS);
        let data = |recent: &Recent| {
            let found = figures(recent.seconds(), 0, SECOND_NS);
            (found.operations, found.bytes, found.bytes_at_least)
        };
        assert_eq!(data(&recent), (1, None, true));
        t.payload_bytes = Some(4_096);
        recent.transaction(&t, &names);
        recent.advance(2 * SECOND_NS);
        assert_eq!(data(&recent), (2, Some(4_096), true));
    }

    #[test]
    fn nobody_waits_is_not_unknown() {
        let mut recent = Recent::new();
        recent.advance(0);
        recent.advance(3 * SECOND_NS);
        recent.miss((SECOND_NS, SECOND_NS));
        recent.wait(&WaitingNow::default(), 2 * SECOND_NS);
        let waiting = |at: i64| figures(recent.seconds(), at * SECOND_NS, (at + 1) * SECOND_NS).waiting;
        assert_eq!([0, 1, 2].map(waiting), [Some(LiveWait::default()), None, None], "down, and not over yet");
    }
}

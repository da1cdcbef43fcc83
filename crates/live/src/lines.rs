//! One line per interval on standard error, if the terminal shows no screen.

use plimsoll_model::Names;
use plimsoll_report::live::{LiveFigures, LiveWait, line};
use plimsoll_stats::live::{LiveLosses, LiveSum, Recent, Second, Wait};
use plimsoll_stats::{IntervalRow, Key};

use super::beside::Beside;
use super::notices::Mentioned;
use plimsoll_console::shell;

pub(super) const SECOND_NS: i64 = 1_000_000_000;
/// Time after the end of a second during which its last packets may still arrive, ns. The kernel passes them on after 50 ms at most.
pub(super) const SETTLED_NS: i64 = 200_000_000;

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
        self.show(recent, now_ns);
        if beside.ended {
            self.show_rest(recent, latest_ns(now_ns));
        }
    }

    /// The clock of the capture was set back to this time: the lines go on there.
    pub(super) fn went_back(&mut self, now_ns: i64) {
        self.next_ns = self.next_ns.map(|next_ns| next_ns.min(second_of(now_ns)));
    }

    /// Prints the last interval, which the end of the input cut short.
    fn show_rest(&mut self, recent: &Recent, end_ns: i64) {
        let Some(next_ns) = self.next_ns.filter(|&next_ns| !self.quiet && next_ns < end_ns) else { return };
        let rest = line(&figures(recent.seconds(), next_ns, end_ns));
        shell::note(&format!("{rest}  (only {} s)", (end_ns - next_ns) / SECOND_NS));
        self.next_ns = Some(end_ns);
    }

    /// Prints all complete intervals.
    fn show(&mut self, recent: &Recent, now_ns: i64) {
        if self.quiet {
            return;
        }
        let width_ns = self.seconds * SECOND_NS;
        let first = || recent.seconds().next().map(|second| second.start_ns());
        let Some(mut next_ns) = self.next_ns.or_else(first) else { return };
        // After a long time without packets, or in files, the oldest intervals have already been dropped.
        next_ns = next_ns.max(first().unwrap_or(next_ns));
        while next_ns + width_ns + SETTLED_NS <= now_ns {
            shell::note(&line(&figures(recent.seconds(), next_ns, next_ns + width_ns)));
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

/// The start of the second of an instant.
pub(super) fn second_of(ns: i64) -> i64 {
    ns.div_euclid(SECOND_NS) * SECOND_NS
}

/// End of the latest complete second.
pub fn latest_ns(now_ns: i64) -> i64 {
    second_of(now_ns - SETTLED_NS)
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
        seconds,
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
        seconds: (to_ns - from_ns) as f64 / SECOND_NS as f64,
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

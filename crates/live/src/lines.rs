//! One line per interval on standard error, if the terminal shows no screen.

use plimsoll_report::live::{LiveFigures, line};
use plimsoll_stats::IntervalRow;
use plimsoll_stats::live::{Recent, Second};

use super::beside::Beside;
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
    /// Number of interface failures that were already printed.
    downs: u64,
}

impl Lines {
    /// Lines that cover this number of seconds each.
    pub fn new(seconds: u64, quiet: bool) -> Self {
        Self { seconds: i64::try_from(seconds).unwrap_or(1), quiet, next_ns: None, downs: 0 }
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
    pub(super) fn look(&mut self, recent: &Recent, now_ns: i64, beside: &Beside<'_>) {
        let downs = beside.losses.map_or(0, |losses| losses.downs);
        if downs > std::mem::replace(&mut self.downs, downs) {
            self.say("the interface went down; the watch continues when the interface is up again");
        }
        self.show(recent, now_ns);
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

/// The figures of the seconds between two instants.
pub(super) fn figures<'a>(seconds: impl Iterator<Item = &'a Second>, from_ns: i64, to_ns: i64) -> LiveFigures {
    let (mut total, mut depth, mut lost_packets) = (IntervalRow::default(), 0.0, 0);
    let seconds = seconds.filter(|second| (from_ns..to_ns).contains(&second.start_ns()));
    for second in seconds {
        total.merge(&second.total());
        depth += second.queue_depth();
        lost_packets += second.lost_packets();
    }
    let seconds = (to_ns - from_ns) as f64 / SECOND_NS as f64;
    LiveFigures {
        from_ns,
        seconds,
        operations: total.count,
        errors: total.errors,
        bytes: total.payload_bytes,
        p50_ns: total.percentile_ns(50.0),
        p99_ns: total.percentile_ns(99.0),
        max_ns: total.response.max_ns(),
        queue_depth: depth / seconds,
        lost_packets,
    }
}

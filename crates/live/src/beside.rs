//! Facts that a view shows beside the numbers of the seconds.

use plimsoll_report::live::{LiveRun, LiveTimes};
use plimsoll_stats::live::LiveLosses;

use super::notices::{OutputState, Silence};
use super::second::SECOND_NS;

/// The time that a capture covers, ns since the Unix epoch.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    /// Its begin.
    pub from_ns: i64,
    /// Its end, if that cut the latest second short.
    pub to_ns: Option<i64>,
}

impl Captured {
    /// Its begin, by what was known of it and a further packet: packets of several captures are out of order.
    #[inline]
    pub(super) fn begin(from_ns: Option<i64>, time_ns: Option<i64>) -> Option<i64> {
        from_ns.into_iter().chain(time_ns).min()
    }

    /// Between two instants, of which the second is known once the capture has ended. `latest_ns`: the end of the latest second. An end
    /// before that second did not cut it short: the interface has been down since then.
    pub(super) fn between(from_ns: i64, to_ns: Option<i64>, latest_ns: i64) -> Self {
        let latest = latest_ns.saturating_sub(SECOND_NS)..latest_ns;
        Self { from_ns, to_ns: to_ns.filter(|to_ns| latest.contains(to_ns)) }
    }
}

/// Facts beside the numbers of the seconds.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Packets that the capture lost so far; `None` without a capture.
    pub losses: Option<LiveLosses>,
    /// The first sentence of the diagnosis so far.
    pub diagnosis: Option<&'a str>,
    /// The run that the view shows; `None` for a watch.
    pub run: Option<&'a LiveRun>,
    /// The headline response times.
    pub times: LiveTimes,
    /// Outputs that grow during the watch.
    pub outputs: &'a [OutputState],
    /// Packets so far of which the capture has only the beginning.
    pub truncated: u64,
    /// Packets that came after their second was shown.
    pub late: u64,
    /// The time that the capture covers; `None` without a capture, and before its first packet.
    pub captured: Option<Captured>,
    /// No packet has come so far, or none comes any more.
    pub silence: Option<&'a Silence>,
    /// The input has ended.
    pub ended: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the operations of a second before the first packet would be divided by no time at all.
    #[test]
    fn a_capture_begins_with_its_earliest_packet() {
        let begin = [None, Some(7), Some(5), Some(9), None].into_iter().fold(None, Captured::begin);
        assert_eq!(begin, Some(5));
        assert_eq!(Captured::begin(Some(i64::MIN), Some(5)), Some(i64::MIN));
    }

    #[test]
    fn only_an_end_within_the_latest_second_cuts_it_short() {
        let cut = |to_ns| Captured::between(0, to_ns, 31 * SECOND_NS).to_ns;
        assert_eq!(cut(Some(30 * SECOND_NS + 300)), Some(30 * SECOND_NS + 300));
        assert_eq!(cut(Some(31 * SECOND_NS)), None, "it is whole");
        assert_eq!(cut(Some(10 * SECOND_NS + 300)), None, "the interface has been down since then");
        assert_eq!(cut(None), None);
    }
}

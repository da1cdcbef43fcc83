//! Facts that a view shows beside the numbers of the seconds.

use plimsoll_report::live::{LiveRun, LiveTimes};
use plimsoll_stats::live::LiveLosses;

use super::notices::{OutputState, Silence};

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
    /// No packet has come so far.
    pub silence: Option<&'a Silence>,
    /// The input has ended.
    pub ended: bool,
}

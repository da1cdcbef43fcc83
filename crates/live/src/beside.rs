//! What stands beside the numbers of the seconds.

use plimsoll_report::live::{LiveRun, LiveTimes};
use plimsoll_stats::live::LiveLosses;

/// What stands beside the numbers of the seconds.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// What the capture lost so far; `None` where there is none.
    pub losses: Option<LiveLosses>,
    /// The first sentence of the diagnosis so far.
    pub diagnosis: Option<&'a str>,
    /// The run that is shown, where it is one.
    pub run: Option<&'a LiveRun>,
    /// The response times that lead.
    pub times: LiveTimes,
    /// Nothing more comes.
    pub ended: bool,
}

//! What stands beside the numbers of the seconds.

use plimsoll_report::live::{LiveRun, LiveTimes};
use plimsoll_stats::live::LiveLosses;

/// What stands beside the numbers of the seconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// What the capture lost so far; `None` where there is none.
    pub(crate) losses: Option<LiveLosses>,
    /// The first sentence of the diagnosis so far.
    pub(crate) diagnosis: Option<&'a str>,
    /// The run that is shown, where it is one.
    pub(crate) run: Option<&'a LiveRun>,
    /// The response times that lead.
    pub(crate) times: LiveTimes,
    /// Nothing more comes.
    pub(crate) ended: bool,
}

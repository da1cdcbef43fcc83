//! Which response time leads.

use plimsoll_model::Timeline;
use serde::{Deserialize, Serialize};

use crate::state::choice;

/// Which response time distributions over time, heat maps, the slowest operations and comparisons are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Headline {
    /// The response time: captures and closed loops, where nothing starts before the last answer was there.
    #[default]
    Response,
    /// The response time from the intended start: schedules, where a late start would otherwise hide a wait.
    FromIntended,
}

impl Headline {
    /// Every one.
    pub const ALL: [Headline; 2] = [Headline::Response, Headline::FromIntended];

    /// The time of a transaction, ns; may be negative. A request that no schedule meant (a new logon after a lost
    /// connection) was meant when it began.
    #[inline]
    pub fn of(self, timeline: &Timeline) -> Option<i64> {
        match self {
            Headline::Response => timeline.response_time(),
            Headline::FromIntended => timeline.response_time_from_intended().or_else(|| timeline.response_time()),
        }
    }
}

choice!("headline", Headline, Headline::ALL);

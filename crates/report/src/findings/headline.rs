//! The choice of the headline response time of all tables, charts and comparisons, for all renderers.

use plimsoll_stats::Headline as Leading;
use serde::{Deserialize, Serialize};

use super::times::Times;

/// The response time that leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headline {
    /// Last byte of the response − first byte of the request: captures and closed loops.
    #[default]
    ResponseTime,
    /// Last byte of the response − intended start: runs under a schedule (`--rate`, `--users`).
    ResponseTimeFromIntended,
}

impl From<Leading> for Headline {
    fn from(leading: Leading) -> Self {
        match leading {
            Leading::Response => Headline::ResponseTime,
            Leading::FromIntended => Headline::ResponseTimeFromIntended,
        }
    }
}

impl Headline {
    /// Whether the response time from the intended start leads.
    pub fn is_from_intended(self) -> bool {
        self == Headline::ResponseTimeFromIntended
    }

    /// The suffix of "response time" in headings; empty if none is needed.
    pub fn words(self) -> &'static str {
        if self.is_from_intended() { " from the intended start" } else { "" }
    }

    pub(super) fn pick(self, response: Option<Times>, from_intended: Option<Times>) -> Option<Times> {
        // Without intended starts, both times are the response time.
        if self.is_from_intended() { from_intended.or(response) } else { response }
    }
}

//! Which response time leads in every table, chart and comparison: the one place that decides it for all renderers.

use plimsoll_stats::Headline as Leading;
use serde::{Deserialize, Serialize};

use super::{OperationRow, Slow, Stage, Times};

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

    /// What stands behind "response time" in headings: nothing where it needs no explanation.
    pub fn words(self) -> &'static str {
        if self.is_from_intended() { " from the intended start" } else { "" }
    }

    fn pick(self, response: Option<Times>, from_intended: Option<Times>) -> Option<Times> {
        // Where nothing had an intended start there is nothing but the response time.
        if self.is_from_intended() { from_intended.or(response) } else { response }
    }
}

impl OperationRow {
    /// The response time that leads.
    pub fn headline_time(&self) -> Option<Times> {
        self.headline.pick(self.response_time, self.response_time_from_intended)
    }
}

impl Slow {
    /// The response time that leads, s; of a request without an answer the time that it waited.
    pub fn headline_s(&self, headline: Headline) -> f64 {
        let from_intended = self.response_time_from_intended_s.filter(|_| headline.is_from_intended());
        from_intended.unwrap_or(self.response_time_s)
    }
}

impl Stage {
    /// The response time that leads.
    pub fn headline_time(&self) -> Option<Times> {
        self.headline.pick(self.response_time, self.response_time_from_intended)
    }

    /// The response time without correction for late starts, to stand beside it; `None` where it leads itself.
    pub fn uncorrected_time(&self) -> Option<Times> {
        self.response_time.filter(|_| self.headline.is_from_intended())
    }
}

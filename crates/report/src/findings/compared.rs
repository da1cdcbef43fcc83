//! Words that comparisons, histories and interference share: units of numbers, and verdicts on differences.

use plimsoll_stats::comparison::{Unit, Verdict};
use serde::{Deserialize, Serialize};

/// The unit of a compared number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ComparedUnit {
    /// Seconds.
    #[default]
    #[serde(rename = "s")]
    Seconds,
    /// Operations or iterations per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Outages per hour.
    #[serde(rename = "1/h")]
    PerHour,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// 0..=1.
    #[serde(rename = "share")]
    Share,
}

/// The verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ComparedVerdict {
    /// Better than the baseline.
    #[serde(rename = "better")]
    Better,
    /// Worse than the baseline.
    #[serde(rename = "worse")]
    Worse,
    /// A higher throughput if the load of a side is unknown: its clients may have requested more.
    #[serde(rename = "more")]
    More,
    /// A lower throughput if the load of a side is unknown.
    #[serde(rename = "fewer")]
    Fewer,
    /// There may be a difference, but it was not shown.
    #[serde(rename = "none shown")]
    NotShown,
    /// One of the two numbers must not be used, or they cannot be compared.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

plimsoll_model::words! {
    ComparedVerdict,
    "Every verdict.",
    "The word in reports and files.":
    Better "better", Worse "worse", More "more", Fewer "fewer", NotShown "none shown", CannotTell "cannot tell"
}

impl From<Unit> for ComparedUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::OperationsPerSecond => ComparedUnit::PerSecond,
            Unit::BytesPerSecond => ComparedUnit::BytesPerSecond,
            Unit::Seconds => ComparedUnit::Seconds,
            Unit::Share => ComparedUnit::Share,
        }
    }
}

impl From<Verdict> for ComparedVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Better => ComparedVerdict::Better,
            Verdict::Worse => ComparedVerdict::Worse,
            Verdict::NotShown => ComparedVerdict::NotShown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_words_of_reports() {
        for verdict in ComparedVerdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.label());
        }
    }
}

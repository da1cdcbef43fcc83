//! The results of the levels of a run, and what ended it early.

use crate::level::LevelResult;
use crate::measured_together::MeasuredTogether;

/// Results of the levels.
pub struct Levels {
    /// The results, in order.
    pub ran: Vec<LevelResult>,
    /// Their numbers.
    pub numbers: Vec<u32>,
    /// How many there were to be; `None` where that depends on what is measured.
    pub(super) planned: Option<usize>,
    /// It was stopped before all were begun.
    pub stopped: bool,
    /// Load curves that ended where the server had become too slow.
    pub(super) cutoffs: Vec<CurveCutoff>,
    /// Further remarks of the workload, for the report.
    pub(super) notes: Vec<String>,
    /// Failures that do not change the measurement, such as of the recording.
    pub besides: anyhow::Result<()>,
}

impl Default for Levels {
    fn default() -> Self {
        let (cutoffs, notes) = (Vec::new(), Vec::new());
        Self { ran: Vec::new(), numbers: Vec::new(), planned: None, stopped: false, cutoffs, notes, besides: Ok(()) }
    }
}

impl Levels {
    /// Adds levels that ran at the same time. Returns whether others may follow.
    ///
    /// # Errors
    /// They failed, and none was run before them, so there is nothing to report. A later failure keeps the measurements before it.
    pub(super) fn add(&mut self, measured: anyhow::Result<MeasuredTogether>) -> anyhow::Result<bool> {
        match measured {
            Ok(MeasuredTogether { ran, whole, recorded }) => {
                self.ran.extend(ran);
                self.besides = recorded;
                Ok(whole && self.besides.is_ok())
            }
            Err(error) if self.ran.is_empty() => Err(error),
            Err(error) => {
                self.besides = Err(error);
                Ok(false)
            }
        }
    }

    /// Whether the server may not answer any more.
    pub(super) fn server_may_hang(&self) -> bool {
        self.ran.last().is_some_and(LevelResult::server_may_hang)
    }

    /// Further facts.
    pub fn facts(&self) -> Vec<String> {
        let stopped = || stopped_at(&self.ran, self.planned);
        let cutoffs = self.cutoffs.iter().map(CurveCutoff::to_string);
        self.stopped.then(stopped).into_iter().chain(cutoffs).chain(self.notes.iter().cloned()).collect()
    }
}

/// Where a load curve ended because the server had become too slow.
pub(super) struct CurveCutoff {
    pub(super) curve: Option<String>,
    load_name: String,
    mean_s: f64,
    limit_s: f64,
}

impl CurveCutoff {
    /// `None` where the level was quick enough.
    pub(super) fn after(ran: &LevelResult, limit_s: f64) -> Option<Self> {
        let curve = ran.curve().map(str::to_owned);
        let mean_s = ran.mean_response_s().filter(|mean_s| *mean_s > limit_s)?;
        Some(Self { curve, load_name: ran.load_name().to_owned(), mean_s, limit_s })
    }
}

impl std::fmt::Display for CurveCutoff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { curve, load_name, mean_s, limit_s } = self;
        let curve = curve.as_ref().map_or_else(String::new, |curve| format!(" of {curve}"));
        let (mean, limit) = (mean_s * 1e3, limit_s * 1e3);
        write!(
            f,
            "no further levels{curve} after {load_name}: the mean response time of this level, {mean:.3} ms, exceeds the limit of \
            --stop-above, {limit} ms"
        )
    }
}

/// The note about a stopped run: the level that was stopped is not one of those after which it was stopped.
pub(super) fn stopped_at<'l>(ran: impl IntoIterator<Item = &'l LevelResult>, planned: Option<usize>) -> String {
    let whole = ran.into_iter().filter(|level| level.complete()).count();
    let of = planned.map_or_else(String::new, |planned| format!(" of {planned}"));
    let levels = if planned.unwrap_or(whole) == 1 { "load level" } else { "load levels" };
    format!("the user stopped the run after {whole}{of} {levels}")
}

#[cfg(test)]
mod tests {
    use plimsoll_report::collect::run::MeasuredLevel;

    use super::*;

    #[test]
    fn a_level_that_was_stopped_is_not_counted() {
        let level = |complete| LevelResult::of_recording(MeasuredLevel { complete, ..MeasuredLevel::default() });
        let ran = [level(true), level(false)];
        assert_eq!(stopped_at(&ran, Some(5)), "the user stopped the run after 1 of 5 load levels");
        assert_eq!(stopped_at(&ran, None), "the user stopped the run after 1 load level");
        assert_eq!(stopped_at(&ran[1..], Some(1)), "the user stopped the run after 0 of 1 load level");
    }
}

//! The results of the levels of a run, and what ended it early.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::{Reason, Validity};
use plimsoll_results::recording_findings::{OF_LEVEL, first_levels};

use crate::level::LevelResult;
use crate::level_spec::LevelSpec;
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

/// Where the load curves of these levels ended.
pub(super) fn cutoffs<'l>(ran: impl IntoIterator<Item = &'l LevelResult>, limit_s: Option<f64>) -> Vec<CurveCutoff> {
    ran.into_iter().filter_map(|ran| CurveCutoff::after(ran, limit_s?)).collect()
}

/// Numbers of the planned levels that did not run. A load curve that ended where the server had become too slow lacks none.
pub(super) fn missing_levels<'l>(
    planned: impl Iterator<Item = &'l LevelSpec>,
    ran: &BTreeMap<u32, LevelResult>,
    stop_above_s: Option<f64>,
) -> BTreeSet<u32> {
    let over = cutoffs(ran.values(), stop_above_s);
    let is_over = |level_spec: &LevelSpec| over.iter().any(|cutoff| cutoff.curve == level_spec.curve);
    let absent = planned.filter(|level_spec| !ran.contains_key(&level_spec.plan.level) && !is_over(level_spec));
    absent.map(|level_spec| level_spec.plan.level).collect()
}

/// Beginnings of reasons that are not those of a level.
const EARLY: &str = "The run ended early";
const WITH_ERROR: &str = "The run ended with an error";

/// The reason against a run that the user did not stop, but that lacks planned levels (`missing`). `None` if it lacks none.
pub(super) fn ended_early(missing: &[String], besides: &anyhow::Result<()>) -> Option<Reason> {
    let missing = match missing {
        [] => return None,
        some => first_levels(some),
    };
    let why = match besides {
        Err(error) => format!("{error:#}"),
        // The reason is that of the level.
        Ok(()) => "the level before could not be run".to_owned(),
    };
    Some(Reason::partial(format!("{EARLY}, without these load levels: {missing}. The reason: {why}")))
}

/// The reason against the complete levels of a run that an error ended.
pub(super) fn ended_with(error: &anyhow::Error) -> Reason {
    Reason::partial(format!("{WITH_ERROR}: {error:#}"))
}

/// Why a run ended, as far as it is known: the error that ended it, otherwise the first reason of its verdict that is not about a level. A
/// level that could not be run is among its levels with its own reason, which does not explain why another level is missing.
pub(super) fn why_ended(validity: &Validity) -> Option<&str> {
    let reasons = || validity.reasons.iter().map(String::as_str);
    let error = reasons().find_map(|reason| reason.strip_prefix(WITH_ERROR)?.strip_prefix(": "));
    let of_no_level = || reasons().find(|reason| !reason.starts_with(OF_LEVEL));
    error.or_else(|| reasons().find(|reason| reason.starts_with(EARLY))).or_else(of_no_level)
}

/// The reason of a run that an error ended; `None` for other runs, and for those that the user stopped.
pub(super) fn ended_by_error(validity: &Validity) -> Option<&str> {
    let reasons = || validity.reasons.iter().map(String::as_str);
    reasons().find(|reason| reason.starts_with(EARLY) || reason.starts_with(WITH_ERROR))
}

/// The note about a stopped run: the level that was stopped is not one of those after which it was stopped.
pub(super) fn stopped_at<'l>(ran: impl IntoIterator<Item = &'l LevelResult>, planned: Option<usize>) -> String {
    let whole = ran.into_iter().filter(|level| level.complete() || level.gave_up()).count();
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

    #[test]
    fn a_run_ended_because_of_its_error_and_not_of_its_levels() {
        let why = |reasons: &[Reason]| why_ended(&Validity::of(reasons.iter().cloned())).map(str::to_owned);
        let (late, half) = (Reason::invalid("At 1 client: late"), Reason::partial("At 2 clients: an outage"));
        let error = ended_with(&anyhow::anyhow!("exit status: 1").context("--on-phase"));
        assert_eq!(why(&[late.clone(), half.clone(), error]).as_deref(), Some("--on-phase: exit status: 1"));
        let early = ended_early(&["2 clients".to_owned()], &Ok(())).unwrap();
        assert_eq!(why(&[late.clone(), early.clone()]), Some(early.text));
        assert_eq!(why(&[half, late.clone()]), None, "nobody knows");
        let refused = Reason::invalid("MOUNT: Connection refused");
        assert_eq!(why(&[late, refused]).as_deref(), Some("MOUNT: Connection refused"));
        assert_eq!(why(&[]), None);
    }

    #[test]
    fn a_run_that_ended_early_names_the_levels_that_it_lacks_and_why() {
        let missing = ["2 clients".to_owned(), "3 clients".to_owned()];
        let text = |missing: &[String], besides| ended_early(missing, &besides).map(|reason| reason.text);
        assert_eq!(text(&[], Err(anyhow::anyhow!("files stay"))), None, "it has all its levels");
        let failed = text(&missing, Err(anyhow::anyhow!("exit status: 1").context("--on-phase")));
        let expected = "The run ended early, without these load levels: 2 clients, 3 clients. The reason: --on-phase: exit status: 1";
        assert_eq!(failed.as_deref(), Some(expected));
        assert!(text(&missing[1..], Ok(())).is_some_and(|text| text.contains("without these load levels: 3 clients.")));
        let many: Vec<String> = (1..=40).map(|clients| format!("{clients} clients")).collect();
        assert!(
            text(&many, Ok(())).is_some_and(|text| text.contains("4 clients, 5 clients and 35 more. The reason: "))
        );
    }
}

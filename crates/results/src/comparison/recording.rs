//! A recording as one side of a comparison.

use std::path::Path;

use anyhow::bail;
use plimsoll_recording::folder::{RecordedLevel, Recording};
use plimsoll_report::collect::StatusName;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint, MeasuredRun};
use plimsoll_report::collect::run::MeasuredLevel;
use plimsoll_report::findings::{Findings, only_actions_failed};

use super::{ComparedSide, WHOLE_CAPTURE};
use crate::read_level;
use crate::record::Measurement;
use crate::recording_findings::{findings, incomplete, measured};

/// A run of a recording at one load level.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// Name of its load level: the load in words, and the curve.
    pub level_name: String,
    /// Its numbers.
    pub run: MeasuredRun,
    /// Why they must not be used; `None` where they may.
    pub invalid: Option<String>,
    /// Whether that is the load generator's fault alone.
    pub generators_fault: bool,
    /// Whether they must not be used only because too many actions failed.
    pub failed_actions: bool,
    /// The metrics that the load generator's lateness moved.
    pub moved: Vec<String>,
}

/// Reads the runs of a recording, in the order in which they were made.
///
/// # Errors
/// It is damaged or of another version, or one of its load levels could not be run.
pub fn runs(folder: &Path) -> anyhow::Result<Vec<RecordedRun>> {
    let recording = Recording::open(folder)?;
    has_all_of_its_report(&recording, folder)?;
    let run = |level: &RecordedLevel| {
        let measured = level.load_name.as_ref().map(|_| read_level(&level.about)).transpose()?;
        let level_name = level_name(measured.as_ref().map(MeasuredLevel::point).as_ref());
        let whole = recording.manifest.validity.as_ref();
        let validity = measured.as_ref().map(|measured| &measured.about.facts.validity).or(whole);
        let reason = validity.filter(|validity| !validity.valid).and_then(|validity| validity.reasons.first());
        let (Some(first), Some(last)) = (level.first_ns, level.last_ns) else {
            let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            bail!("{}: {level_name} was not run{why}; record again", folder.display());
        };
        Ok(RecordedRun {
            failed_actions: validity.is_some_and(only_actions_failed),
            invalid: reason.map(|reason| format!("{level_name} is INVALID: {reason}")),
            moved: measured.as_ref().map(MeasuredLevel::moved_metrics).unwrap_or_default(),
            generators_fault: measured.is_some_and(|measured| measured.invalid_by_generator),
            run: MeasuredRun { span_ns: (first, last), intervals: recording.intervals(level)? },
            level_name,
        })
    };
    recording.manifest.levels.iter().map(run).collect()
}

/// Reads a recording: its levels by time, and the findings for `plimsoll report`.
///
/// # Errors
/// It is damaged, of another version, or has no finished level.
pub fn read(folder: &Path, status_name: StatusName) -> anyhow::Result<ComparedSide> {
    let recording = Recording::open(folder)?;
    has_all_of_its_report(&recording, folder)?;
    let name = folder.display().to_string();
    if recording.manifest.levels.is_empty() {
        bail!("{name}: the recording has no finished load level or analysis to compare; record again");
    }
    let findings = Findings { name, ..findings(&recording, status_name)? };
    let levels = levels(&recording)?;
    Ok(ComparedSide { contestant: Contestant { findings, levels }, unfinished: incomplete(&recording) })
}

/// The report of a later file of a capture is of all files so far, and its intervals are of that file alone: these are no one side.
fn has_all_of_its_report(recording: &Recording, folder: &Path) -> anyhow::Result<()> {
    let Measurement::Analyze { link: Some(link), .. } = measured(recording)? else { return Ok(()) };
    if link.number > 1 {
        bail!(
            "{}: this recording covers file {} of a capture and continues the recordings of the earlier files; merge them with `plimsoll \
             merge`, and use the merged recording",
            folder.display(),
            link.number
        );
    }
    Ok(())
}

/// The levels, in order of first appearance; levels with the same name are runs of the same level.
fn levels(recording: &Recording) -> anyhow::Result<Vec<LevelRuns>> {
    let mut levels: Vec<LevelRuns> = Vec::new();
    for level in &recording.manifest.levels {
        let point = point(level)?;
        // A level that could not be run has no time; that it was not is among the reasons of an invalid report.
        let span_ns = level.first_ns.zip(level.last_ns).filter(|(first, last)| first < last);
        let run = |span_ns| anyhow::Ok(MeasuredRun { span_ns, intervals: recording.intervals(level)? });
        add(&mut levels, point, span_ns.map(run).transpose()?);
    }
    Ok(levels)
}

/// Adds a run to its level. The numbers of a level's point are those of all its runs.
fn add(levels: &mut Vec<LevelRuns>, point: Option<LoadPoint>, run: Option<MeasuredRun>) {
    let level_name = level_name(point.as_ref());
    match levels.iter_mut().find(|known| known.level_name == level_name) {
        Some(known) => {
            known.point = match (known.point.take(), point) {
                (Some(all), Some(one)) => Some(all.join(one)),
                (all, one) => all.or(one),
            };
            known.runs.extend(run);
        }
        None => levels.push(LevelRuns { level_name, point, runs: run.into_iter().collect(), findings: None }),
    }
}

/// Where a load level lies; `None` of a capture.
fn point(level: &RecordedLevel) -> anyhow::Result<Option<LoadPoint>> {
    let Some(load_name) = &level.load_name else { return Ok(None) };
    Ok(Some(LoadPoint { load_name: load_name.clone(), ..read_level(&level.about)?.point() }))
}

/// The name of a load level. Repeats are the same load; points of other curves are not.
pub(crate) fn level_name(point: Option<&LoadPoint>) -> String {
    match point {
        None => WHOLE_CAPTURE.to_owned(),
        Some(LoadPoint { load_name, curve: Some(curve), .. }) => format!("{load_name}, {curve}"),
        Some(LoadPoint { load_name, .. }) => load_name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_report::collect::comparison::IterationCost;

    use super::*;

    /// The caches were cold in the first repeat alone: the cost of an iteration is that of all repeats.
    #[test]
    fn an_iteration_costs_the_mean_over_all_repeats() {
        let point = |requests: f64, seconds: f64, valid: bool| {
            let (curve, load_name, pace, moved, guarantees) =
                (None, "4 clients".to_owned(), Vec::new(), Vec::new(), None);
            let iteration = Some(IterationCost { requests, seconds: Some(seconds), count: 100 });
            Some(LoadPoint { curve, load_name, load: 4.0, pace, outstanding: 4, valid, moved, guarantees, iteration })
        };
        let mut levels = Vec::new();
        for one in [point(6.0, 2e-3, true), point(3.0, 1e-3, false), point(3.0, 1e-3, true)] {
            add(&mut levels, one, None);
        }
        let [level] = &levels[..] else { panic!("{levels:?}") };
        let point = level.point.as_ref().unwrap();
        let cost = point.iteration.unwrap();
        assert!((cost.requests - 4.0).abs() < 1e-9 && (cost.seconds.unwrap() - 4e-3 / 3.0).abs() < 1e-9, "{cost:?}");
        assert_eq!((cost.count, point.valid), (300, false));
        // A run without an ended iteration adds none.
        let idle = point.clone().join(LoadPoint { iteration: None, ..point.clone() });
        assert_eq!(idle.iteration, point.iteration);
    }
}

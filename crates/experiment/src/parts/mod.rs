//! Merges the parts of a run into one recording, one report and one verdict.
//!
//! Everything that a level is judged from is a sum: statistics and intervals of cells, tallies of clients, lags of workers. So the
//! whole is put together from the parts and judged as one process would have judged it (docs/decisions/0034-parts.md).
//!
//! A part's `PartResult` brings the `EngineResult` of `drive` to the merge.

mod beside;
mod depth;
pub(crate) mod options;
mod part_recording;
pub(crate) mod part_result;
mod planned_levels;
mod whole;

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::{Names, Reason};
use plimsoll_report::findings::capacity::Capacity;
use plimsoll_report::findings::{Findings, Run};
use plimsoll_results::all_of;
use plimsoll_results::record::RecordTo;

pub(crate) use beside::{PartBeside, beside};
use part_recording::{Measured, PartRecording, joined, named};
use planned_levels::PlannedLevels;
use whole::Whole;

use crate::level::LevelResult;
use crate::level_spec::LevelSpec;
use crate::run_recording::RunRecording;
use crate::run_result::findings_of;

/// Merges the parts of a run. `clock_difference` is the difference of their clocks after the run, if known; `to` is the folder for the
/// merged recording, if any. Other failures are reasons in the findings.
///
/// # Errors
/// Not one part can be used, or the whole cannot be recorded.
pub fn merge(
    folders: &[PathBuf],
    clock_difference: Option<Duration>,
    to: Option<RecordTo>,
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let (parts, reasons) = opened(folders);
    let Some(first) = parts.first() else {
        anyhow::bail!("cannot merge, because no folder has a usable recording of a part: {}", joined(&reasons));
    };
    let apart = clock_difference.and_then(|difference| apart(&parts, difference));
    let (whole, mut names, mut recording) = (Whole::of(first)?, Names::default(), None);
    let merged = Merge { parts: &parts, whole: &whole, reasons, apart }.levels(to, &mut recording, &mut names);
    let found = merged.map(|Merged { levels, facts, capacity, added }| {
        let ran: Vec<&LevelResult> = levels.iter().collect();
        let with = |run: Run| Run { facts, capacity: capacity.map(Box::new), ..run };
        (findings_of((&whole.spec, &whole.workload), &ran, &names, Vec::new(), with), added)
    });
    let ended = recording.map_or(Ok(()), |recording| recording.finish(false, found.as_ref()));
    found.map(|(findings, added)| (findings, all_of([added, ended])))
}

/// One level of a search, from the recordings of all parts.
///
/// # Errors
/// It is not the whole load for the whole time; the error names the part.
pub(crate) fn merge_level(folders: &[PathBuf], level_spec: &LevelSpec) -> anyhow::Result<LevelResult> {
    let (parts, reasons) = opened(folders);
    let Some(first) = parts.first() else { anyhow::bail!("no recording of a part: {}", joined(&reasons)) };
    let whole = Whole::of(first)?;
    let (measured, not_measured) = measured(&parts, level_spec, &mut Names::default());
    let reasons = [reasons, not_measured].concat();
    let (level, _) = whole.level(level_spec, &measured, depth::common(&measured)?, reasons.clone());
    match whole::incomplete(&reasons, &measured, level_spec, &level) {
        Some(why) => anyhow::bail!("{why}"),
        None => Ok(level),
    }
}

/// The parts of a run, and all that is wrong with them.
struct Merge<'a> {
    parts: &'a [PartRecording],
    whole: &'a Whole,
    /// Parts that are missing, or are not of this run.
    reasons: Vec<Reason>,
    /// Their clocks differed.
    apart: Option<Reason>,
}

/// The merged levels.
struct Merged {
    levels: Vec<LevelResult>,
    facts: Vec<String>,
    /// Of a search.
    capacity: Option<Capacity>,
    /// Whether all are in the recording, if there is one.
    added: anyhow::Result<()>,
}

impl<'a> Merge<'a> {
    /// Merges level after level, into a recording if there is to be one.
    fn levels(
        &self,
        to: Option<RecordTo>,
        recording: &mut Option<RunRecording<'a>>,
        names: &mut Names,
    ) -> anyhow::Result<Merged> {
        let mut planned = PlannedLevels::of(self.whole)?;
        let (mut levels, mut facts, mut added, mut to) = (Vec::new(), Vec::new(), Ok(()), Some(to));
        while let Some(level_spec) = planned.next(&levels)? {
            let (measured, not_measured) = measured(self.parts, &level_spec, names);
            let mut reasons = [self.reasons.clone(), not_measured].concat();
            if let Some(to) = to.take() {
                // If no part measured the first level, there is no report, as for a run.
                anyhow::ensure!(!measured.is_empty(), "no part measured anything: {}", joined(&reasons));
                facts = whole::facts_of(&measured);
                *recording = self.whole.begin(to, &measured)?;
            } else if measured.is_empty() && planned.end_search(&joined(&reasons)) {
                break;
            }
            let failed = reasons.clone();
            reasons.extend(self.apart.clone());
            let (level, intervals) = self.whole.level(&level_spec, &measured, depth::common(&measured)?, reasons);
            if let Some(recording) = recording {
                let added_now = whole::add(recording, &level_spec, (&level, &intervals), &measured, names);
                added = all_of([added, added_now]);
            }
            if let Some(why) = whole::incomplete(&failed, &measured, &level_spec, &level) {
                planned.end_search(&why);
            }
            levels.push(level);
        }
        let capacity = planned.capacity(&levels, self.apart.as_ref());
        Ok(Merged { levels, facts, capacity, added })
    }
}

/// The parts that measured a level, and a reason for each part that did not.
fn measured<'a>(
    parts: &'a [PartRecording],
    level_spec: &LevelSpec,
    names: &mut Names,
) -> (Vec<(&'a PartRecording, Measured)>, Vec<Reason>) {
    let (mut measured, mut reasons) = (Vec::new(), Vec::new());
    for part in parts {
        match part.measured(level_spec, names) {
            Ok(found) => measured.push((part, found)),
            Err(error) => reasons.push(Reason::invalid(format!("{} did not finish: {error:#}", named(part)))),
        }
    }
    (measured, reasons)
}

/// The parts that can be opened and belong to the same run, in order, and the reasons against the whole: also for each part that is missing.
fn opened(folders: &[PathBuf]) -> (Vec<PartRecording>, Vec<Reason>) {
    let (mut parts, mut reasons) = (Vec::<PartRecording>::new(), Vec::new());
    for folder in folders {
        let shown = folder.display();
        let fits = PartRecording::open(folder).and_then(|part| {
            let other = parts.first().and_then(|first| part.differs(first));
            if let Some(why) = other {
                anyhow::bail!("it is the recording of a different run; {why}");
            }
            if let Some(same) = parts.iter().find(|other| other.part == part.part) {
                anyhow::bail!("{} is part {}, too", same.shown, part.part);
            }
            Ok(part)
        });
        match fits {
            Ok(part) => parts.push(part),
            Err(error) => reasons.push(Reason::invalid(format!("{shown} is not merged: {error:#}"))),
        }
    }
    parts.sort_by_key(|part| part.part);
    reasons.extend(missing(&parts));
    (parts, reasons)
}

/// A reason if recordings of parts are missing.
fn missing(parts: &[PartRecording]) -> Vec<Reason> {
    let all = parts.first().map_or(0, |first| first.part.parts());
    let absent: Vec<String> = (1..=all)
        .filter(|number| parts.iter().all(|part| part.part.number() != *number))
        .map(|number| format!("{number}/{all}"))
        .collect();
    match absent.as_slice() {
        [] => Vec::new(),
        [one] => vec![Reason::invalid(format!("part {one} is missing"))],
        several => vec![Reason::invalid(format!("parts {} are missing", several.join(", ")))],
    }
}

/// The reason that makes the whole invalid if the clocks differed by more than the bound after the run.
fn apart(parts: &[PartRecording], difference: Duration) -> Option<Reason> {
    let bound = Duration::from_nanos(parts.iter().filter_map(|part| part.spec.clock_bound_ns).min()?);
    (difference > bound).then(|| {
        let [difference, bound] = [difference, bound].map(|time| plimsoll_report::duration(time.as_secs_f64()));
        let why =
            format!("the clocks of the parts differed by {difference} after the run, more than --clock-bound {bound}");
        Reason::invalid(why)
    })
}

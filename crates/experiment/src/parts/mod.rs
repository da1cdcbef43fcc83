//! Merges the parts of a run into one recording, one report and one verdict.
//!
//! Everything that a level is judged from is a sum: statistics and intervals of cells, tallies of clients, lags of workers. So the
//! whole is put together from the parts and judged as one process would have judged it (docs/decisions/0034-parts.md).

mod depth;
mod part_recording;
mod result;

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_drive::engine::{self, Plan};
use plimsoll_model::{Names, Reason};
use plimsoll_recording::folder::StageWriter;
use plimsoll_report::findings::{Findings, Run};
use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_results::{Usage, all_of};
use plimsoll_stats::{Intervals, QueueDepth, Statistics};
use plimsoll_workload::{Load, Workload};

use part_recording::{Measured, PartRecording};
pub(crate) use result::PartResult;

use crate::level::{self, LevelResult};
use crate::level_spec::LevelSpec;
use crate::run_recording::RunRecording;
use crate::run_result::findings_of;
use crate::run_spec::{RunSpec, VariantSpec};
use crate::validity;

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
    let (parts, mut reasons) = opened(folders);
    let Some(first) = parts.first() else {
        return Err(Usage(format!("no recording of a part to merge: {}", joined(&reasons))).into());
    };
    reasons.extend(missing(&parts));
    let mut names = Names::default();
    let whole = Whole::of(first)?;
    let mut levels = Vec::new();
    let (mut recording, mut facts, mut added) = (None, Vec::new(), Ok(()));
    let mut to = Some(to);
    for level_spec in &whole.level_specs {
        let (measured, not_measured) = measured(&parts, level_spec, &mut names);
        let mut reasons = [reasons.clone(), not_measured].concat();
        if let Some(to) = to.take() {
            // If no part measured the first level, there is no report, as for a run.
            anyhow::ensure!(!measured.is_empty(), "no part measured anything: {}", joined(&reasons));
            facts = facts_of(&measured);
            recording = whole.begin(to, &measured)?;
        }
        reasons.extend(clock_difference.and_then(|difference| apart(&parts, difference)));
        let depth = match depth::common(&measured) {
            Ok(depth) => depth,
            Err(error) => {
                if let Some(recording) = recording {
                    recording.finish::<()>(false, Err(&error))?;
                }
                return Err(error);
            }
        };
        let (level, intervals) = whole.level(level_spec, &measured, depth, reasons);
        if let Some(recording) = &recording {
            added = all_of([added, add(recording, level_spec, (&level, &intervals), &measured, &names)]);
        }
        levels.push(level);
    }
    let with = |run: Run| Run { facts: facts.clone(), ..run };
    let ran: Vec<&LevelResult> = levels.iter().collect();
    let findings = findings_of((&whole.spec, &whole.workload), &ran, &names, Vec::new(), with);
    let found = Ok((findings, ()));
    let ended = recording.map_or(Ok(()), |recording| recording.finish(false, found.as_ref()));
    found.map(|(findings, ())| (findings, all_of([added, ended])))
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

fn joined(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// The parts that can be opened and belong to the same run, in order, and the reasons against the whole.
fn opened(folders: &[PathBuf]) -> (Vec<PartRecording>, Vec<Reason>) {
    let (mut parts, mut reasons) = (Vec::<PartRecording>::new(), Vec::new());
    for folder in folders {
        let shown = folder.display();
        let fits = PartRecording::open(folder).and_then(|part| {
            let other = parts.first().and_then(|first| part.differs(first));
            if let Some(why) = other {
                anyhow::bail!("it is of a different run: {why}");
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

/// Name of a part in messages.
fn named(part: &PartRecording) -> String {
    format!("part {} ({})", part.part, part.shown)
}

/// The whole run.
struct Whole {
    spec: RunSpec,
    level_specs: Vec<LevelSpec>,
    workload: Workload,
}

impl Whole {
    /// The whole run, from the specification of one part.
    fn of(part: &PartRecording) -> anyhow::Result<Self> {
        let variants = part.spec.variants(&part.workload_text)?;
        let workload = variants.into_iter().next().map(|variant| variant.workload);
        let workload = workload.ok_or_else(|| Usage(format!("{}: no workload", part.shown)))?;
        let whole_level = |level: &LevelSpec| LevelSpec { plan: level.plan.whole(), ..level.clone() };
        let level_specs: Vec<LevelSpec> = part.spec.levels().map(|(_, level)| whole_level(level)).collect();
        let whole = |variant: &VariantSpec| VariantSpec { levels: level_specs.clone(), ..variant.clone() };
        let spec = RunSpec {
            clock_bound_ns: None,
            variants: part.spec.variants.iter().map(whole).collect(),
            about: part.source.about.clone(),
            ..part.spec.clone()
        };
        Ok(Self { spec, level_specs, workload })
    }

    /// A level of the whole, with its intervals.
    fn level(
        &self,
        level_spec: &LevelSpec,
        parts: &[(&PartRecording, Measured)],
        depth: QueueDepth,
        mut reasons: Vec<Reason>,
    ) -> (LevelResult, Option<Intervals>) {
        let plan = &level_spec.plan;
        if parts.is_empty() {
            let level = LevelResult::not_run(plan, level_spec.words.clone(), &joined(&reasons));
            return (level.on(level_spec).named(&self.workload), None);
        }
        let mut sums: Option<(Statistics, Intervals)> = None;
        for (_, Measured { statistics, intervals, .. }) in parts {
            match &mut sums {
                Some((all, by_time)) => {
                    all.merge(statistics);
                    by_time.merge(intervals);
                }
                None => sums = Some((statistics.clone(), intervals.clone())),
            }
        }
        let (statistics, intervals) = sums.unzip();
        let statistics = statistics.unwrap_or_else(|| level::no_statistics(plan)).with_queue_depth(depth);
        let ran = engine::merged(plan, parts.iter().map(|(_, measured)| measured.result.ran.clone()).collect());
        reasons.extend(parts.iter().flat_map(|(part, found)| against(part, found, plan, ran.measured)));
        // A load curve needs the confidence intervals of its points.
        let for_the_curve = intervals.clone().filter(|_| self.level_specs.len() > 1);
        let level = level::ended(statistics, for_the_curve, ran, plan, &level_spec.words).without_intervals();
        let level = reasons.into_iter().fold(level, |level, reason| level.against(Some(reason)));
        let guarantees = parts.iter().map(|(_, found)| &found.level.about.guarantees);
        let alike = guarantees.clone().all(|one| Some(one) == guarantees.clone().next());
        let level = match guarantees.clone().next().filter(|_| alike) {
            Some(Some(same)) => level.guaranteed(same.clone()),
            _ => level,
        };
        (level.on(level_spec).named(&self.workload), intervals)
    }

    /// Creates the recording of the whole, if requested; its rows are the rows of the parts.
    fn begin(
        &self,
        to: Option<RecordTo>,
        parts: &[(&PartRecording, Measured)],
    ) -> anyhow::Result<Option<RunRecording<'_>>> {
        let rows = parts.first().map(|(part, _)| part.recording.manifest.transactions.which.as_str());
        let rows = match rows {
            Some("all") => Rows::All,
            Some("none") | None => Rows::None,
            Some(_) => Rows::Sample,
        };
        let to = to.map(|to| RecordTo { rows, ..to });
        RunRecording::begin(to.as_ref(), &self.spec, &self.workload)
    }
}

/// Adds a level to the recording of the whole, with the rows of the parts.
fn add(
    recording: &RunRecording<'_>,
    level_spec: &LevelSpec,
    (level, intervals): (&LevelResult, &Option<Intervals>),
    parts: &[(&PartRecording, Measured)],
    names: &Names,
) -> anyhow::Result<()> {
    let fill = |stage: &mut StageWriter| {
        intervals.iter().for_each(|intervals| stage.rest(intervals));
        parts.iter().for_each(|(part, found)| stage.adopt(&part.recording, &found.stage));
    };
    recording.add(level_spec, level, names, fill)
}

/// Facts of all parts (negotiated settings, client machines), without duplicates, and the bound of the clocks.
fn facts_of(parts: &[(&PartRecording, Measured)]) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for fact in parts.iter().flat_map(|(part, _)| &part.run.facts) {
        if !facts.contains(fact) {
            facts.push(fact.clone());
        }
    }
    let bounds = parts.iter().filter_map(|(part, _)| part.spec.clock_bound_ns);
    if let Some(bound) = bounds.max() {
        let (count, bound) = (parts.len(), plimsoll_report::duration(bound as f64 / 1e9));
        facts.push(format!("merged from {count} parts, clocks within {bound} (--clock-bound)"));
    }
    facts
}

/// Reasons against the whole because of a part: its clock, its machine, and its measured time.
fn against(part: &PartRecording, found: &Measured, plan: &Plan, measured: (i64, i64)) -> Vec<Reason> {
    let PartResult { ran, besides, clock_moved_ns, .. } = &found.result;
    let mut reasons: Vec<Reason> =
        besides.iter().map(|text| Reason::invalid(format!("{}: {text}", named(part)))).collect();
    let bound = part.spec.clock_bound_ns.unwrap_or(0);
    if clock_moved_ns.unsigned_abs() > bound {
        let [moved, bound] =
            [clock_moved_ns.unsigned_abs(), bound].map(|ns| plimsoll_report::duration(ns as f64 / 1e9));
        reasons.push(Reason::invalid(format!(
            "{}: its clock was set by {moved} during the run, more than --clock-bound {bound}",
            named(part)
        )));
    }
    if plan.phases.measured_ns.is_some() && ran.measured != measured {
        let [part_s, whole_s] = [ran.measured, measured].map(|(from, to)| (to - from) as f64 / 1e9);
        reasons.push(Reason::invalid(format!(
            "{} measured {part_s:.3} s of {whole_s:.3} s: the total load was lower for the rest of the time",
            named(part)
        )));
    }
    let level = validity::Level {
        generator: &ran.generator,
        clients: &ran.clients,
        users: matches!(plan.load, Load::Partly { .. }),
        response: level::response(&found.statistics),
        seconds: (ran.measured.1 - ran.measured.0) as f64 / 1e9,
        lanes: ran.clients.len() as u64 * u64::from(plan.depth),
        processors: found.result.processors,
    };
    let of_the_generator = validity::reasons_of_the_generator(&level).into_iter();
    reasons
        .extend(of_the_generator.map(|reason| Reason { text: format!("{}: {}", named(part), reason.text), ..reason }));
    reasons
}

//! The whole run, from its parts.

use plimsoll_drive::engine::{self, Plan};
use plimsoll_model::{Names, Reason};
use plimsoll_recording::folder::LevelWriter;
use plimsoll_results::Usage;
use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_stats::{Intervals, QueueDepth, Statistics};
use plimsoll_workload::{Load, Pause, Workload};

use super::part_recording::{Measured, PartRecording, joined, named};
use crate::capacity::spec::SearchSpec;
use crate::level::{self, LevelResult};
use crate::level_spec::LevelSpec;
use crate::parts::part_result::PartResult;
use crate::run_recording::RunRecording;
use crate::run_spec::{RunSpec, VariantSpec};
use crate::validity;

pub(super) struct Whole {
    pub(super) spec: RunSpec,
    pub(super) workload: Workload,
    /// Its levels, if they do not depend on results.
    pub(super) level_specs: Vec<LevelSpec>,
    /// The search, if they do.
    pub(super) search: Option<SearchSpec>,
    /// Its levels are the points of a load curve.
    is_curve: bool,
}

impl Whole {
    /// The whole run, from the specification of one part.
    pub(super) fn of(part: &PartRecording) -> anyhow::Result<Self> {
        let variants = part.spec.variants(&part.workload_text)?;
        let workload = variants.into_iter().next().map(|variant| variant.workload);
        let workload = workload.ok_or_else(|| Usage(format!("{}: no workload", part.shown)))?;
        let whole_level = |level: &LevelSpec| LevelSpec { plan: level.plan.whole(), ..level.clone() };
        let level_specs: Vec<LevelSpec> = part.spec.levels().map(|(_, level)| whole_level(level)).collect();
        let search = part.spec.search.as_ref();
        let search = search.map(|search| SearchSpec { most: whole_level(&search.most), ..search.clone() });
        let whole = |variant: &VariantSpec| VariantSpec { levels: level_specs.clone(), ..variant.clone() };
        let planned = if search.is_none() { &part.spec.variants[..] } else { &[] };
        let spec = RunSpec {
            clock_bound_ns: None,
            // The recording of the whole is that of a search in one process, which has no levels beforehand.
            search: None,
            variants: planned.iter().map(whole).collect(),
            about: part.source.about.clone(),
            ..part.spec.clone()
        };
        let is_curve = search.is_none() && level_specs.len() > 1;
        Ok(Self { spec, workload, level_specs, search, is_curve })
    }

    /// A level of the whole, with its intervals.
    pub(super) fn level(
        &self,
        level_spec: &LevelSpec,
        parts: &[(&PartRecording, Measured)],
        depth: QueueDepth,
        mut reasons: Vec<Reason>,
    ) -> (LevelResult, Option<Intervals>) {
        let plan = &level_spec.plan;
        if parts.is_empty() {
            let level = LevelResult::not_run(plan, level_spec.load_name.clone(), &joined(&reasons));
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
        let phase = (ran.measured, level::ended_early(&ran, plan));
        reasons.extend(parts.iter().flat_map(|(part, found)| against(part, found, plan, phase)));
        // A load curve needs the confidence intervals of its points.
        let for_the_curve = intervals.clone().filter(|_| self.is_curve);
        let processors = parts.iter().map(|(_, measured)| measured.result.processors).fold(0, usize::saturating_add);
        let numbers = (statistics, for_the_curve);
        let level = level::ended_together(numbers, ran, plan, &level_spec.load_name, processors);
        let mut level = level.without_intervals();
        let fault = level.recorded.generators_fault.take();
        level.recorded.generators_fault = fault.or_else(|| faulty(parts, plan));
        let level = reasons.into_iter().fold(level, |level, reason| level.against(Some(reason)));
        let of_the_generators = parts.iter().flat_map(|(part, found)| of_the_generator(part, found, plan));
        let level = of_the_generators.fold(level, LevelResult::against_generator);
        let guarantees = parts.iter().map(|(_, found)| &found.level.about.facts.guarantees);
        let alike = guarantees.clone().all(|one| Some(one) == guarantees.clone().next());
        let level = match guarantees.clone().next().filter(|_| alike) {
            Some(Some(same)) => level.guaranteed(same.clone()),
            _ => level,
        };
        (level.on(level_spec).named(&self.workload), intervals)
    }

    /// Creates the recording of the whole, if requested; its rows are the rows of the parts.
    pub(super) fn begin(
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
pub(super) fn add(
    recording: &RunRecording<'_>,
    level_spec: &LevelSpec,
    (level, intervals): (&LevelResult, &Option<Intervals>),
    parts: &[(&PartRecording, Measured)],
    names: &Names,
) -> anyhow::Result<()> {
    let fill = |writer: &mut LevelWriter| {
        intervals.iter().for_each(|intervals| writer.rest(intervals));
        parts.iter().for_each(|(part, found)| writer.adopt(&part.recording, &found.recorded));
    };
    recording.add(level_spec, level, names, fill)
}

/// Facts of all parts (negotiated settings, client machines), without duplicates, and the bound of the clocks.
pub(super) fn facts_of(parts: &[(&PartRecording, Measured)]) -> Vec<String> {
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

/// Reasons against the whole because of a part: its files, its clock and its measured time.
fn against(part: &PartRecording, found: &Measured, plan: &Plan, phase: ((i64, i64), bool)) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = found.result.besides.iter().map(|reason| of_part(part, reason)).collect();
    reasons.extend(cut(part, found, plan, phase));
    reasons
}

/// A reason against a part, with the name of the part: it weighs as much against the whole.
fn of_part(part: &PartRecording, reason: &Reason) -> Reason {
    Reason { text: format!("{}: {}", named(part), reason.text), ..*reason }
}

/// Reasons against the whole because of the load generator of a part.
fn of_the_generator(part: &PartRecording, found: &Measured, plan: &Plan) -> Vec<Reason> {
    let reasons = validity::reasons_of_the_generator(&alone(found, plan));
    reasons.iter().map(|reason| of_part(part, reason)).collect()
}

/// The input of the checks, of a part by itself.
fn alone<'a>(found: &'a Measured, plan: &Plan) -> validity::Level<'a> {
    validity::Level {
        generator: &found.result.ran.generator,
        clients: &found.result.ran.clients,
        users: matches!(plan.load, Load::Partly { .. }),
        pauses: matches!(plan.load, Load::Closed { think, .. } if think != Pause::None),
        unended: found.result.ran.iterations.iter().map(|kind| kind.unended).sum(),
        response: level::response(&found.statistics),
        status: None,
        seconds: (found.result.ran.measured.1 - found.result.ran.measured.0) as f64 / 1e9,
        slots: found.result.ran.clients.len() as u64 * u64::from(plan.depth),
        processors: found.result.processors,
    }
}

/// The fault of a part's load generator; `None` if all kept up.
fn faulty(parts: &[(&PartRecording, Measured)], plan: &Plan) -> Option<String> {
    let fault = |found| validity::generators_fault(&alone(found, plan));
    parts.iter().find_map(|(part, found)| fault(found).map(|fault| format!("{}: {fault}", named(part))))
}

/// Reasons if a part did not measure at the same time as the others. If all clients gave up (`gave_up`), each part ended when its own last
/// client did.
fn cut(part: &PartRecording, found: &Measured, plan: &Plan, (measured, gave_up): ((i64, i64), bool)) -> Vec<Reason> {
    let PartResult { ran, clock_moved_ns, .. } = &found.result;
    let mut reasons = Vec::new();
    let bound = part.spec.clock_bound_ns.unwrap_or(0);
    if clock_moved_ns.unsigned_abs() > bound {
        let [moved, bound] =
            [clock_moved_ns.unsigned_abs(), bound].map(|ns| plimsoll_report::duration(ns as f64 / 1e9));
        reasons.push(Reason::invalid(format!(
            "{}: its clock was changed by {moved} during the run, more than --clock-bound {bound}",
            named(part)
        )));
    }
    if plan.phases.measured_ns.is_some() && ran.measured != measured && !gave_up {
        let [part_s, whole_s] = [ran.measured, measured].map(|(from, to)| (to - from) as f64 / 1e9);
        reasons.push(Reason::invalid(format!(
            "{} measured {part_s:.3} s of {whole_s:.3} s: the total load was lower for the rest of the time",
            named(part)
        )));
    }
    reasons
}

/// Why a level is not the whole load for the whole time, so that a search learns nothing from it; `None` if it is. `reasons` name the parts
/// that did not measure it.
pub(super) fn incomplete(
    reasons: &[Reason],
    parts: &[(&PartRecording, Measured)],
    level_spec: &LevelSpec,
    level: &LevelResult,
) -> Option<String> {
    let phase = (level.recorded().span_ns, level.gave_up());
    let cut = parts.iter().flat_map(|(part, found)| cut(part, found, &level_spec.plan, phase));
    let reasons: Vec<Reason> = reasons.iter().cloned().chain(cut).collect();
    match reasons.is_empty() {
        // A search counts a level at which all clients gave up as missed.
        true => (!level.complete() && !level.gave_up()).then(|| format!("{} was stopped early", level_spec.load_name)),
        false => Some(format!("at {}: {}", level_spec.load_name, joined(&reasons))),
    }
}

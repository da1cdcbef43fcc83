//! Runs a workload on a server, level by level, and reports progress: for every measurement that drives a server.

mod prepared_target;
mod with_files;

use std::sync::Arc;

use plimsoll_drive::connect::Lease;
use plimsoll_drive::engine::{Setup, Watch};
use plimsoll_drive::tap::Tap;
use plimsoll_model::{Names, Reason};
use plimsoll_report::findings::WorkloadShare;
use plimsoll_workload::Workload;

use super::level::{self, LevelResult};
use super::level_spec::LevelSpec;
use super::levels::{CurveCutoff, Levels};
use super::live::LiveFeed;
use super::measured_together::MeasuredTogether;
use super::monitor::Monitor;
use super::phase_hook::PhaseHook;
use super::recording_channel::RecordingChannel;
use super::run_recording::RunRecording;
use super::sink::{SinkOptions, Table};
use crate::server_counters::CounterWatch;
use crate::server_side::ServerSideWatch;

pub use prepared_target::PreparedTarget;
pub(crate) use prepared_target::base;

/// The workload, the target, and the observer.
pub struct Runner<'a> {
    /// The clients' workload.
    pub workload: &'a Workload,
    /// The observer.
    pub monitor: &'a dyn Monitor,
    /// Where every transaction goes.
    pub table: Option<&'a Table>,
    /// Capture of the socket traffic.
    pub tap: Option<&'a Arc<Tap>>,
    /// Where levels are kept.
    pub recording: Option<&'a RunRecording<'a>>,
    /// The feed of the live view.
    pub live: Option<&'a LiveFeed>,
    /// Whether levels keep their numbers by time.
    pub interval_mode: IntervalMode,
    /// Timeout of a request.
    pub timeout_ns: u64,
    /// A load curve ends at the first level with a longer mean response time, s.
    pub stop_above_s: Option<f64>,
    /// Additional name of its files, so that several runs can have file sets on one share.
    pub file_set: Option<&'a str>,
    /// The workload's files go when it is over.
    pub remove_files: bool,
    /// The watch of the server's own metrics.
    pub server_side: Option<&'a ServerSideWatch>,
    /// The server's own counters.
    pub counters: Option<&'a CounterWatch>,
    /// The command to run when a level begins and ends.
    pub phase_hook: Option<&'a PhaseHook>,
    /// The client's CPU usage does not invalidate a level, because it is part of the measurement.
    pub client_is_measured: bool,
}

/// Numbers by time, an interval of the measured phase each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalMode {
    /// There are none.
    Off,
    /// They give the confidence intervals of a level, and are dropped with its end.
    Transient,
    /// They stay, for a comparison.
    Retained,
}

impl<'a> Runner<'a> {
    /// Drives with this workload, and nothing besides: no table, tap or recording, no numbers by time, files left in place.
    pub fn new(workload: &'a Workload, monitor: &'a dyn Monitor, timeout_ns: u64) -> Self {
        let (table, tap, recording, live, server_side, stop_above_s) = (None, None, None, None, None, None);
        let (phase_hook, counters) = (None, None);
        let (interval_mode, file_set, remove_files, client_is_measured) = (IntervalMode::Off, None, false, false);
        Self {
            workload,
            monitor,
            table,
            tap,
            recording,
            live,
            interval_mode,
            timeout_ns,
            stop_above_s,
            file_set,
            remove_files,
            server_side,
            counters,
            phase_hook,
            client_is_measured,
        }
    }

    /// Runs every level, with the files in place.
    ///
    /// # Errors
    /// No level was run, so there is nothing to report. Later failures are in the result.
    pub fn levels(
        &self,
        prepared: &PreparedTarget,
        names: &Arc<Names>,
        level_specs: Vec<LevelSpec>,
    ) -> anyhow::Result<Levels> {
        let (planned, mut level_specs) = (level_specs.len(), level_specs.into_iter());
        let mut levels = self.run_adaptive(prepared, names, |_| Ok(level_specs.next()))?;
        levels.planned = Some(planned);
        Ok(levels)
    }

    /// Runs level after level, with the files in place; `next` gets the measurements so far and returns the next level.
    ///
    /// # Errors
    /// No level was run, so there is nothing to report. Later failures are in the result.
    pub fn run_adaptive(
        &self,
        prepared: &PreparedTarget,
        names: &Arc<Names>,
        next: impl FnMut(&[LevelResult]) -> anyhow::Result<Option<LevelSpec>>,
    ) -> anyhow::Result<Levels> {
        self.with_files(prepared, names, |leases, ready| self.run_with_files(prepared, names, (leases, ready), next))
    }

    /// The same with the files there (where they are `ready`) and a lease on them, where one is wanted.
    fn run_with_files(
        &self,
        prepared: &PreparedTarget,
        names: &Arc<Names>,
        (leases, ready): (&[Lease], bool),
        mut next: impl FnMut(&[LevelResult]) -> anyhow::Result<Option<LevelSpec>>,
    ) -> anyhow::Result<Levels> {
        let mut levels = Levels::default();
        let work = self.work(prepared, Arc::clone(names));
        while let Some(mut level_spec) = next(&levels.ran)? {
            if !ready || self.monitor.stopped() {
                levels.stopped = true;
                break;
            }
            if levels.cutoffs.iter().any(|cutoff| cutoff.curve == level_spec.curve) {
                continue;
            }
            level_spec.plan.tap = self.tap.cloned();
            let first = levels.ran.is_empty();
            let measured = MeasuredTogether::between_hooks(self.phase_hook, &level_spec, self.monitor, || {
                self.level(first, &level_spec, (prepared, leases), &work, names)
            });
            if let Ok(MeasuredTogether { ran, .. }) = &measured {
                let cutoff = |limit_s| ran.iter().find_map(|ran| CurveCutoff::after(ran, limit_s));
                levels.cutoffs.extend(self.stop_above_s.and_then(cutoff));
                levels.numbers.push(level_spec.plan.level);
            }
            if !levels.add(measured)? {
                break;
            }
        }
        levels.notes = self.workload.take_remarks();
        Ok(levels)
    }

    /// Runs one level. If the `first` level fails, that is an error; a later failure keeps the measurements before it.
    fn level(
        &self,
        first: bool,
        level_spec: &LevelSpec,
        (prepared, leases): (&PreparedTarget, &[Lease]),
        setup: &dyn Setup,
        names: &Arc<Names>,
    ) -> anyhow::Result<MeasuredTogether> {
        let LevelSpec { plan, load_name, .. } = level_spec;
        let feed = self.begin(level_spec, prepared, names)?;
        let options = self.options(prepared, feed.as_ref());
        let run = |watch: &Watch| level::run(plan, load_name, setup, options, watch);
        let (ran, whole) = match self.monitor.during(load_name, run) {
            Ok(ran) => (ran, true),
            Err(error) if first => return Err(error.into()),
            Err(error) => (LevelResult::not_run(plan, load_name.clone(), &error), false),
        };
        let ran = ran.against(leases.iter().find_map(Lease::lost).map(Reason::invalid));
        let (ran, recorded) = self.end(ran, level_spec, prepared, feed, names);
        Ok(MeasuredTogether { ran: vec![ran], whole, recorded })
    }

    /// Begins a level: in the recording, where there is one, and for whoever looks on.
    pub(super) fn begin(
        &self,
        level_spec: &LevelSpec,
        prepared: &PreparedTarget,
        names: &Arc<Names>,
    ) -> anyhow::Result<Option<RecordingChannel>> {
        let feed = self.recording.map(|recording| recording.level(level_spec, self.workload, names)).transpose()?;
        if let Some(live) = self.live.filter(|_| level_spec.share.as_ref().is_none_or(WorkloadShare::is_watched)) {
            live.begin(level_spec, names);
        }
        if let Some(counters) = self.counters {
            counters.begin(level_spec);
        }
        // Preparing the files is no part of the level.
        drop((prepared.server.take_guarantees(), prepared.server.take_guest_logons()));
        Ok(feed)
    }

    /// What is kept of a level.
    pub(super) fn options<'o>(
        &'o self,
        prepared: &PreparedTarget,
        recording: Option<&'o RecordingChannel>,
    ) -> SinkOptions<'o> {
        let with_intervals = self.interval_mode != IntervalMode::Off;
        SinkOptions { table: self.table, recording, with_intervals, live: self.live, by: prepared.by }
    }

    /// A level is over: what is told of it, and whether it went to the recording, where there is one.
    pub(super) fn end(
        &self,
        ran: LevelResult,
        level_spec: &LevelSpec,
        prepared: &PreparedTarget,
        feed: Option<RecordingChannel>,
        names: &Arc<Names>,
    ) -> (LevelResult, anyhow::Result<()>) {
        let ran = if self.interval_mode == IntervalMode::Retained { ran } else { ran.without_intervals() };
        let ran = if self.client_is_measured { ran.without_busy_client() } else { ran };
        let ran = ran.on(level_spec).claiming(self.workload.source()).named(self.workload).beside(self.server_side);
        let ran = ran.counted(self.counters.and_then(|counters| counters.end(level_spec)));
        let ran = ran.guaranteed(prepared.server.take_guarantees());
        let ran = ran.against(guests(&prepared.server.take_guest_logons()));
        self.monitor.level_over(&ran);
        let recorded = match self.recording.zip(feed) {
            Some((recording, feed)) => recording.end(feed, &ran, prepared.server.facts(), names),
            None => Ok(()),
        };
        (ran, recorded)
    }
}

/// Why a level with guests among its users says less: a guest has other rights, and its requests are not the user's.
fn guests(guest_logons: &[String]) -> Option<Reason> {
    (!guest_logons.is_empty()).then(|| {
        Reason::partial(format!(
            "guest logons: the server logged on {} as guests, so their requests have the rights of a guest; check name and password",
            guest_logons.join(", ")
        ))
    })
}

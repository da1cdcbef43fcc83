//! Runs a workload on a server, level by level, and reports progress. Shared by `plimsoll run` and `plimsoll demo`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll_client::target::Target;
use plimsoll_drive::connect::{self, ConnectOptions, Connector, Lease, Several, Work};
use plimsoll_drive::engine::{Setup, Watch};
use plimsoll_drive::tap::Tap;
use plimsoll_model::{Names, Reason};
use plimsoll_report::findings::WorkloadShare;
use plimsoll_stats::Dimensions;
use plimsoll_workload::{FileSet, Workload};

use super::file_preparation::{Files, Maker};
use super::level::{self, LevelResult};
use super::level_spec::LevelSpec;
use super::levels::{CurveCutoff, Levels};
use super::live::LiveFeed;
use super::monitor::Monitor;
use super::phase_hook::{Moment, PhaseHook};
use super::recording_channel::RecordingChannel;
use super::resolved_target::ResolvedTarget;
use super::run_recording::RunRecording;
use super::sink::{SinkOptions, Table};
use crate::server_counters::CounterWatch;
use crate::server_side::ServerSideWatch;
use plimsoll_results::all_of;

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

/// A server or several, and where the workload's files are on each.
pub struct PreparedTarget {
    /// The server, or all of them as one.
    pub server: Arc<dyn Connector>,
    /// Each server has files for its share of the clients.
    places: Vec<Place>,
    /// Which process creates the files.
    maker: Maker,
    /// The dimensions that reports distinguish: servers and accounts, if there are several.
    by: Option<Dimensions>,
}

/// A server with files.
struct Place {
    /// The target in messages.
    shown: String,
    server: Arc<dyn Connector>,
    set: Arc<FileSet>,
    /// Whether other processes can reach it, too.
    shared: bool,
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

    /// Finds the server of a target. `names` takes everything that transactions will name.
    pub fn reach(
        &self,
        resolved: &ResolvedTarget,
        connect_options: &ConnectOptions,
        level_specs: &[LevelSpec],
        names: &mut Names,
    ) -> anyhow::Result<PreparedTarget> {
        let (timeout, directory_leases) = (Duration::from_nanos(self.timeout_ns), self.workload.caches_directories());
        let connect_options = ConnectOptions { timeout, directory_leases, ..connect_options.clone() };
        let clients = level_specs.iter().map(|level_spec| level_spec.plan.load.clients()).max().unwrap_or(1);
        let mut places = Vec::new();
        for resolved in resolved.all() {
            super::compatibility::check(self.workload, &resolved.target, level_specs)?;
            let shown = resolved.target.to_string();
            let server: Arc<dyn Connector> = Arc::from(connect::open(&resolved.target, &connect_options, names)?);
            let set = FileSet::called(self.file_set, self.workload, base(&resolved.target), clients, names)?;
            places.push(Place { shown, server, set: Arc::new(set), shared: !resolved.is_embedded() });
        }
        let maker = level_specs.first().map_or(Maker::This, |level_spec| Maker::of(&level_spec.plan));
        let server: Arc<dyn Connector> = match &places[..] {
            [place] => Arc::clone(&place.server),
            _ => {
                let servers = places.iter().map(|place| (place.shown.clone(), Arc::clone(&place.server)));
                Arc::new(Several::new(servers.collect()).context("no target")?)
            }
        };
        Ok(PreparedTarget { server, places, maker, by: resolved.told_apart_by() })
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

    /// Does `work` with the files in place and leases on them, where they are wanted; it is told whether the files are ready: where somebody
    /// stops the run, they may not be.
    ///
    /// # Errors
    /// The files could not be made, or the error of `work`.
    pub(super) fn with_files(
        &self,
        prepared: &PreparedTarget,
        names: &Arc<Names>,
        work: impl FnOnce(&[Lease], bool) -> anyhow::Result<Levels>,
    ) -> anyhow::Result<Levels> {
        self.monitor.catch()?;
        let PreparedTarget { places, maker, .. } = prepared;
        let (monitor, timeout_ns) = (self.monitor, self.timeout_ns);
        let for_files: Vec<Arc<dyn Connector>> =
            places.iter().map(|place| place.server.for_files().unwrap_or_else(|| Arc::clone(&place.server))).collect();
        let files = |(place, server): (&Place, _)| Files {
            server,
            set: Arc::clone(&place.set),
            shared: place.shared,
            maker: *maker,
            names: Arc::clone(names),
            monitor,
            timeout_ns,
        };
        let of = |place: usize| places.get(place).filter(|_| places.len() > 1).map(|place| place.shown.clone());
        let files: Vec<Files<'_>> = places.iter().zip(&for_files).map(files).collect();
        let (mut found, mut leases) = (Vec::new(), Vec::new());
        for (place, files) in files.iter().enumerate() {
            found.push(match files.look() {
                // A stopped preparation is not a failure, whatever its error.
                Err(_) if monitor.stopped() => return Ok(Levels { stopped: true, ..Levels::default() }),
                found => named(found, of(place))?,
            });
        }
        for (place, files) in files.iter().enumerate() {
            leases.extend(named(files.lease(), of(place))?);
        }
        let made = (0..).zip(files.iter().zip(found));
        let ready = match made.into_iter().try_for_each(|(place, (files, found))| named(files.make(found), of(place))) {
            Err(_) if monitor.stopped() => Ok(false),
            made => made.map(|()| true),
        };
        let ran = ready.and_then(|ready| work(&leases, ready));
        let shared = places.iter().any(|place| place.shared);
        // After any end: removes created files, and releases the set.
        let removed = match () {
            () if monitor.abandoned() => Ok(()),
            () if self.remove_files => all_of(files.iter().map(Files::remove)),
            // Other parts may still be working: the next run removes the files.
            () if *maker != Maker::This => Ok(()),
            () if shared && self.workload.makes_its_own() && ran.as_ref().is_ok_and(|ran| !ran.ran.is_empty()) => {
                all_of(files.iter().map(Files::remove_leftovers))
                    .context("private files of this run may remain; the next run on this file set deletes them")
            }
            () => Ok(()),
        };
        let mut levels = match ran {
            Ok(levels) => levels,
            Err(error) => return all_of([Err(error), removed]).map(|()| Levels::default()),
        };
        match removed {
            Err(error) if !self.remove_files => levels.notes.push(format!("{error:#}")),
            removed => levels.besides = all_of([levels.besides, removed]),
        }
        for lease in leases {
            levels.notes.extend(lease.note.clone());
            levels.notes.extend(lease.release(|| self.monitor.abandoned()).err());
        }
        Ok(levels)
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
            match self.level(levels.ran.is_empty(), &level_spec, (prepared, leases), &work, names) {
                Ok(Level { ran, whole, recorded }) => {
                    levels.cutoffs.extend(self.stop_above_s.and_then(|limit_s| CurveCutoff::after(&ran, limit_s)));
                    levels.ran.push(ran);
                    levels.numbers.push(level_spec.plan.stage.unwrap_or(0));
                    levels.besides = recorded;
                    if !whole || levels.besides.is_err() {
                        break;
                    }
                }
                Err(error) if levels.ran.is_empty() => return Err(error),
                Err(error) => {
                    levels.besides = Err(error);
                    break;
                }
            }
        }
        levels.notes = self.workload.take_remarks();
        Ok(levels)
    }

    /// What clients do on these servers.
    pub(super) fn work<'w>(&'w self, prepared: &'w PreparedTarget, names: Arc<Names>) -> Work<'w> {
        let scenarios = Box::new(|client, lane, seed| {
            let place = Several::place_of(client, prepared.places.len());
            // There is one at least.
            let set = prepared.places.get(place).map(|place| &place.set);
            set.map_or_else(
                || unreachable!("a target without a place"),
                |set| self.workload.scenario(set, client, lane, seed),
            )
        });
        Work { server: &*prepared.server, scenarios, names }
    }

    /// Runs one level between two calls of the hook, where there is one.
    fn level(
        &self,
        first: bool,
        level_spec: &LevelSpec,
        at: (&PreparedTarget, &[Lease]),
        setup: &dyn Setup,
        names: &Arc<Names>,
    ) -> anyhow::Result<Level> {
        let Some(hook) = self.phase_hook else { return self.level_alone(first, level_spec, at, setup, names) };
        hook.run(Moment::Begin, level_spec, &|| self.monitor.stopped())?;
        let ran = self.level_alone(first, level_spec, at, setup, names);
        let span_ns = ran.as_ref().ok().filter(|level| level.whole).map(|level| level.ran.recorded.span_ns);
        // The end hook runs for every begun phase, also if the run should end.
        let ended = hook.run(Moment::End(span_ns), level_spec, &|| self.monitor.abandoned());
        match (ran, ended) {
            (Ok(level), ended) => Ok(Level { recorded: all_of([level.recorded, ended]), ..level }),
            (Err(error), Ok(())) => Err(error),
            (Err(error), Err(ended)) => Err(error.context(format!("{ended:#}"))),
        }
    }

    /// Runs one level. If the `first` level fails, that is an error; a later failure keeps the measurements before it.
    fn level_alone(
        &self,
        first: bool,
        level_spec: &LevelSpec,
        (prepared, leases): (&PreparedTarget, &[Lease]),
        setup: &dyn Setup,
        names: &Arc<Names>,
    ) -> anyhow::Result<Level> {
        let LevelSpec { plan, words, .. } = level_spec;
        let feed = self.begin(level_spec, prepared, names)?;
        let options = self.options(prepared, feed.as_ref());
        let run = |watch: &Watch| level::run(plan, words, setup, options, watch);
        let (ran, whole) = match self.monitor.during(words, run) {
            Ok(ran) => (ran, true),
            Err(error) if first => return Err(error.into()),
            Err(error) => (LevelResult::not_run(plan, words.clone(), &error), false),
        };
        let ran = ran.against(leases.iter().find_map(Lease::lost).map(Reason::invalid));
        let (ran, recorded) = self.end(ran, level_spec, prepared, feed, names);
        Ok(Level { ran, whole, recorded })
    }

    /// Begins a level: in the recording, where there is one, and for whoever looks on.
    pub(super) fn begin(
        &self,
        level_spec: &LevelSpec,
        prepared: &PreparedTarget,
        names: &Arc<Names>,
    ) -> anyhow::Result<Option<RecordingChannel>> {
        let feed = self.recording.map(|recording| recording.stage(level_spec, self.workload, names)).transpose()?;
        if let Some(live) = self.live.filter(|_| level_spec.share.as_ref().is_none_or(WorkloadShare::is_watched)) {
            live.begin(level_spec, names);
        }
        if let Some(counters) = self.counters {
            counters.begin(level_spec);
        }
        // Preparing the files is no part of the level.
        drop(prepared.server.take_guarantees());
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
        self.monitor.level_over(&ran);
        let recorded = match self.recording.zip(feed) {
            Some((recording, feed)) => recording.end(feed, &ran, prepared.server.facts(), names),
            None => Ok(()),
        };
        (ran, recorded)
    }
}

/// With the name of its target, where there are several.
fn named<T>(result: anyhow::Result<T>, shown: Option<String>) -> anyhow::Result<T> {
    match (result, shown) {
        (Err(error), Some(shown)) => Err(error.context(shown)),
        (result, _) => result,
    }
}

/// Result of one level.
struct Level {
    ran: LevelResult,
    /// It could be run.
    whole: bool,
    /// Whether it went to the recording, where there is one.
    recorded: anyhow::Result<()>,
}

/// The directory of the share or export that contains the files. For an export it is the mounted one.
pub(crate) fn base(target: &Target) -> &str {
    if let Target::Smb(target) = target { &target.path } else { "" }
}

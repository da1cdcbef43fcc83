//! Breaks down the time of a call: repeats the same call on a server and in a local directory.
//!
//! | file | what it does |
//! | --- | --- |
//! | `calls.rs` | the calls, a workload each |
//! | `place.rs` | the target and the local directory: connects, and runs every phase |
//! | `parts.rs` | the parts of a call, from what was measured of its phase |
//! | `requests.rs`, `path_requests.rs` | requests of a call by the depth of its path: of our clients, of a mounted directory's |

mod calls;
mod parts;
mod path_requests;
mod place;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_model::Names;
use plimsoll_report::findings::calls::{CallPhase, Calls};
use plimsoll_report::findings::{About, Findings, Parameter};
use plimsoll_workload::Workload;

use crate::level::LevelResult;
use crate::monitor::Monitor;
use crate::profile::{Profiler, Span};
use crate::resolved_target::ResolvedTarget;
use crate::run_result::RunResult;
use crate::run_spec::RunSpec;
use crate::server_counters::{CounterSource, Counters};
use crate::server_side::ServerMetrics;
pub use calls::CallSpec;
use calls::Phase;
use parts::{MeasuredPhase, beside_above, beside_local};
pub use path_requests::{ReadCapture, RequestSpans};
use place::{Local, Place, ServerCpuSource, this_process};
use plimsoll_results::{Interrupted, all_of};

/// All that is asked for of a breakdown.
pub struct BreakdownSpec {
    /// The server, or the mounted directory.
    pub target: ResolvedTarget,
    /// Connection options.
    pub connect_options: ConnectOptions,
    /// The URL of the local directory; `None`: a temporary one.
    pub local: Option<String>,
    /// How calls are made.
    pub calls: CallSpec,
    /// Where the server's processor and disk times come from.
    pub server_metrics: Option<ServerMetrics>,
    /// Where the server's counters come from.
    pub counters: Option<CounterSource>,
    /// Samples show which functions of both sides take processor time.
    pub profile: bool,
    /// The files are removed at the end.
    pub remove_files: bool,
    /// The user's title, labels and description.
    pub about: About,
}

/// Measures the calls; `read` reads the capture of a mounted directory's connection, if there is one. Returns the report's data, and
/// failures besides the measurement.
///
/// # Errors
/// Nothing was measured.
pub fn measure(
    spec: &BreakdownSpec,
    monitor: &dyn Monitor,
    read: Option<&ReadCapture<'_>>,
) -> anyhow::Result<(Findings, anyhow::Result<()>)> {
    let local = Local::new(spec.local.as_deref())?;
    let phases = [Phase::on(&spec.target, &spec.calls)?, Phase::on(&local.resolved, &spec.calls)?];
    // The report is named after the single call, or otherwise after all calls.
    let workload = Workload::find("getattr-open")?;
    let metrics = spec.server_metrics.as_ref();
    let server_cpu_source = ServerCpuSource::of(&spec.target, metrics);
    let watches = [server_cpu_source.watch(metrics)?, Some(this_process()?)];
    let before = spec.counted()?;
    let profiler = spec.profile.then(|| Profiler::start(&spec.target, metrics)).transpose()?;
    let mut names = Names::default();
    let mut places = Vec::new();
    for ((resolved, phases), watch) in [&spec.target, &local.resolved].into_iter().zip(&phases).zip(&watches) {
        let before: usize = places.iter().map(Place::phases).sum();
        let part = (watch.as_ref(), before, before > 0);
        let how = (&spec.calls, spec.remove_files);
        places.push(Place::reach(resolved, phases, (&spec.connect_options, monitor), part, &mut names, how)?);
    }
    let names = Arc::new(names);
    let (levels, calls, facts) = (Vec::new(), Calls::default(), Vec::new());
    let mut breakdown = Breakdown { spec, server_cpu_source, levels, calls, facts, profiler };
    let mut besides = Vec::new();
    for place in &places {
        let added = breakdown.add(place, &names);
        let over = added.is_err() || monitor.stopped();
        besides.push(added);
        if over {
            break;
        }
    }
    // After the local phases, too: times with and without sampling cannot be compared.
    breakdown.stop_profiler();
    if breakdown.levels.is_empty() {
        all_of(besides)?;
        return Err(Interrupted("the first phase ended: no report").into());
    }
    if !monitor.stopped() {
        breakdown.requests(places.first(), &local.resolved.target, read);
    }
    breakdown.counters(before);
    breakdown.profile();
    Ok((breakdown.findings(&workload, &phases[0], names), all_of(besides)))
}

impl BreakdownSpec {
    /// The server's counters so far, if requested.
    fn counted(&self) -> anyhow::Result<Option<Counters>> {
        self.counters.as_ref().map(CounterSource::read).transpose()
    }
}

/// The measurements so far.
struct Breakdown<'a> {
    spec: &'a BreakdownSpec,
    server_cpu_source: ServerCpuSource,
    levels: Vec<LevelResult>,
    calls: Calls,
    facts: Vec<String>,
    profiler: Option<Profiler>,
}

impl Breakdown<'_> {
    /// Runs the phases of a place. Where one fails, those before it count.
    fn add(&mut self, place: &Place<'_>, names: &Arc<Names>) -> anyhow::Result<()> {
        let ran = place.run(&self.spec.calls, names);
        for (phase, level) in ran.levels {
            let measured = MeasuredPhase {
                phase,
                ran: &level,
                level: self.levels.len() as u64,
                local: place.is_local(),
                connected: place.is_connected(),
                server_cpu_source: &self.server_cpu_source,
            };
            self.calls.phases.push(measured.summary());
            self.levels.push(level);
        }
        self.facts.extend(ran.facts);
        self.calls.beside_local = beside_local(&self.calls.phases);
        beside_above(&mut self.calls.phases);
        ran.besides
    }

    /// Counts the requests of calls by the depth of their paths; where that fails, the report says why.
    fn requests(&mut self, place: Option<&Place<'_>>, local: &Target, read: Option<&ReadCapture<'_>>) {
        let Target::Path(local) = local else { return };
        let counted = match (place.and_then(Place::server), &self.spec.target.target, read) {
            (Some(server), target, _) => {
                requests::count((server, Duration::from_nanos(self.spec.calls.timeout_ns)), target, local)
            }
            (None, Target::Path(directory), read) => {
                if read.is_none() {
                    let why = "requests by path depth: not counted, because the kernel sends the requests of a mounted directory; to count \
                        them, capture the mount's connection to the server during the run (tcpdump -U -w FILE) and give --capture FILE";
                    self.calls.missing.push(why.to_owned());
                }
                path_requests::count(directory, local, read)
            }
            _ => Err(anyhow::anyhow!("the target is neither a server nor a directory")),
        };
        match counted {
            Ok(counted) => self.calls.requests = counted,
            Err(why) => self.calls.missing.push(format!("requests by path depth: {why:#}")),
        }
    }

    /// The server's counts since `before`.
    fn counters(&mut self, before: Option<Counters>) {
        match self.spec.counted() {
            Ok(after) => {
                let both = after.zip(before);
                self.calls.counters = both.map_or_else(Vec::new, |(after, before)| after.since(&before));
            }
            Err(why) => self.calls.missing.push(format!("the server's own counters: {why:#}")),
        }
    }

    /// Takes no more samples; where that fails, the report says why.
    fn stop_profiler(&mut self) {
        match self.profiler.as_mut().map(Profiler::stop) {
            None => {}
            Some(Ok(words)) => self.calls.missing.extend(words.iter().map(|words| format!("profile: {words}"))),
            Some(Err(why)) => {
                self.calls.missing.push(format!("profile: {why:#}"));
                self.profiler = None;
            }
        }
    }

    /// The functions that took processor time on both sides.
    fn profile(&mut self) {
        let Some(profiler) = &self.profiler else { return };
        let remote = self.calls.phases.iter().zip(&self.levels).filter(|(phase, _)| !phase.local);
        let span = |(phase, level): (&CallPhase, &LevelResult)| Span {
            call: phase.call.clone(),
            span_ns: level.recorded().span_ns,
        };
        match profiler.read(&remote.map(span).collect::<Vec<_>>()) {
            Ok((profiles, missing)) => {
                self.calls.profiles = profiles;
                self.calls.missing.extend(missing);
            }
            Err(why) => self.calls.missing.push(format!("profile: {why:#}")),
        }
    }

    fn findings(self, workload: &Workload, phases: &[Phase], names: Arc<Names>) -> Findings {
        let Self { spec, levels, calls, facts, .. } = self;
        let several = |of: fn(&Phase) -> &str| {
            let mut all: Vec<&str> = phases.iter().map(of).collect();
            all.dedup();
            all
        };
        let (workloads, digests) = (several(|phase| phase.workload.name()), several(|phase| phase.workload.digest()));
        let run_spec = RunSpec {
            target: spec.target.shown.clone(),
            warmup_ns: spec.calls.warmup_ns,
            about: spec.about.clone(),
            ..RunSpec::new(workload, spec.calls.seed)
        };
        let result = RunResult { spec: run_spec, workload, levels, names, facts };
        let mut findings = result.findings_of_calls(calls);
        if let Some(run) = &mut findings.run {
            run.workload = workloads.join(", ");
            "repeats one call per phase, to show where the time of this call goes".clone_into(&mut run.description);
            run.workload_sha256 = digests.join(" ");
            let parameter = |(name, value): (&str, &String)| Parameter {
                name: name.to_owned(),
                value: value.clone(),
                bytes: plimsoll_workload::size(value),
            };
            let profile = spec.profile.then(Profiler::rate);
            let profile = profile.iter().map(|rate| ("profile", rate));
            run.parameters = spec.calls.parameters().chain(profile).map(parameter).collect();
        }
        findings
    }
}

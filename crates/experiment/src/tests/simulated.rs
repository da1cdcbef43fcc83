//! Processes that drive simulated servers: the real clients and engine, in memory under a virtual clock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::{self, ConnectOptions, Connector, Work};
use plimsoll_drive::engine::{EngineError, EngineResult, Plan, Watch, WorkerCpu, run_on};
use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply};
use plimsoll_model::{Names, Reason};
use plimsoll_report::findings::Findings;
use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_testkit::servers::scripted::{Draw, Latency, Offline, Script, Scripted};
use plimsoll_workload::{FileSet, Load, Phases, Workload};

use crate::level::{LevelResult, added_up};
use crate::level_spec::LevelSpec;
use crate::run_recording::RunRecording;
use crate::run_spec::{RunSpec, VariantSpec};
use crate::sink::{MeasuringSink, SinkOptions};

/// When every clock starts, ns since the Unix epoch.
pub(super) const START: i64 = 1_700_000_000_000_000_000;
/// When all parts start.
pub(super) const COMMON_START: i64 = START + 2_000_000_000;
/// Servers whose response times differ; the next ones are as the first.
const UNLIKE: u32 = 64;

/// A workload on a server whose mount was found once: no run waits for a socket.
pub(super) struct Simulated {
    server: Box<dyn Connector>,
    pub(super) names: Arc<Names>,
    set: Arc<FileSet>,
    pub(super) workload: Workload,
    /// Rows of the recordings.
    rows: Rows,
    /// A reason against every level that no count shows.
    pub(super) against: Option<Reason>,
    _mount: Scripted,
}

impl Simulated {
    /// A workload of the program's own, with some of its text replaced.
    pub(super) fn new(workload: &str, clients: u32, rows: Rows, replaced: &[(&str, &str)]) -> Self {
        let text = Workload::find(workload).unwrap().text().replace("verify = \"1%\"", "verify = \"0%\"");
        let text = replaced.iter().fold(text, |text, (old, new)| text.replace(old, new));
        let workload = Workload::parse(workload, &text).unwrap();
        let (server, mut names, mount) = mounted();
        let set = Arc::new(FileSet::new(&workload, "", clients, &mut names).unwrap());
        Self { server, names: Arc::new(names), set, workload, rows, against: None, _mount: mount }
    }

    /// A load for a time: of a whole run, or of a part of it.
    pub(super) fn spec(&self, load: Load, times: (u64, u64), part: Option<&str>) -> RunSpec {
        self.sweep(&[load], times, part)
    }

    /// The same of several load levels.
    pub(super) fn sweep(&self, loads: &[Load], (warmup_ns, measured_ns): (u64, u64), part: Option<&str>) -> RunSpec {
        let part = part.map(|part| part.parse().unwrap());
        let phases = Phases { warmup_ns, measured_ns: Some(measured_ns), ..Phases::default() };
        let threads = 1;
        let start_at_ns = Some(COMMON_START);
        let level = |(number, load): (u32, &Load)| {
            let plan = Plan { phases, level: number, threads, seed: 7, part, start_at_ns, ..Plan::new(*load) };
            LevelSpec { load_name: load.to_string(), plan, curve: None, parameter: None, share: None }
        };
        let levels = (0..).zip(loads).map(level).collect();
        let workload_sha256 = self.workload.digest().to_owned();
        RunSpec {
            target: "nfs://simulated/export".to_owned(),
            clock_bound_ns: part.map(|_| 1_000_000_000),
            variants: vec![VariantSpec { value: None, workload_sha256, levels }],
            ..RunSpec::new(&self.workload, 7)
        }
    }

    /// What one process measures goes to a folder.
    pub(super) fn record(
        &self,
        spec: &RunSpec,
        folder: &Path,
        mut change: impl FnMut(&mut EngineResult<MeasuringSink>, &mut i64),
    ) {
        let to = to(folder, self.rows);
        let recording = RunRecording::begin(Some(&to), spec, &self.workload).unwrap().unwrap();
        let several = spec.levels().count() > 1;
        let mut levels = Vec::new();
        for (_, level_spec) in spec.levels() {
            match self.level(level_spec, &recording, several, &mut change) {
                Ok(level) => levels.push(level),
                Err(error) => {
                    let failed: Result<&(Findings, ()), _> = Err(&anyhow::Error::new(error));
                    return recording.finish(false, failed).unwrap();
                }
            }
        }
        let ran: Vec<&LevelResult> = levels.iter().collect();
        let findings = crate::run_result::findings_of((spec, &self.workload), &ran, &self.names, Vec::new(), |run| run);
        recording.finish(false, Ok(&(findings, ()))).unwrap();
    }

    pub(super) fn level(
        &self,
        level_spec: &LevelSpec,
        recording: &RunRecording<'_>,
        with_intervals: bool,
        change: &mut impl FnMut(&mut EngineResult<MeasuringSink>, &mut i64),
    ) -> Result<LevelResult, EngineError> {
        let plan = &level_spec.plan;
        let feed = recording.level(level_spec, &self.workload, &self.names).unwrap();
        let options = SinkOptions { table: None, recording: Some(&feed), with_intervals, live: None, by: None };
        let depth = options.depth(plan);
        let sink = |_| MeasuringSink::new(options, &depth, plan);
        let scenarios = Box::new(|client, slot, seed| self.workload.scenario(&self.set, client, slot, seed));
        let work = Work { server: &*self.server, scenarios, names: Arc::clone(&self.names) };
        let mut ran = run_on(plan, &work, sink, &Watch::new(), |worker| Ok(network(plan, worker)), None)?;
        // How busy this machine is says nothing of a run under a virtual clock.
        let elapsed_ns = plan.phases.measured_ns.unwrap();
        ran.generator.workers.fill(WorkerCpu { elapsed_ns, run_delay_ns: Some(0), ..WorkerCpu::default() });
        (ran.generator.clock_granularity_ns, ran.generator.stolen_ns) = (1, None);
        let mut moved = 0;
        change(&mut ran, &mut moved);
        let level =
            added_up((ran, depth), plan, &level_spec.load_name, &self.names, with_intervals).without_intervals();
        let mut level = level.on(level_spec).named(&self.workload).against(self.against.clone());
        if let Some(part) = &mut level.part {
            part.clock_moved_ns = moved;
        }
        recording.end(feed, &level, Vec::new(), &self.names).unwrap();
        Ok(level)
    }

    pub(super) fn record_parts(&self, load: Load, times: (u64, u64), count: u32, scratch: &Path) -> Vec<PathBuf> {
        let part = |number| {
            let folder = scratch.join(format!("{number}-of-{count}"));
            self.record(&self.spec(load, times, Some(&format!("{number}/{count}"))), &folder, |_, _| ());
            folder
        };
        (1..=count).map(part).collect()
    }
}

/// A server's connector, and the mount that it was found through.
pub(super) fn mounted() -> (Box<dyn Connector>, Names, Scripted) {
    let mount = Scripted::start(Script::parallel(Latency::Constant(Duration::ZERO))).unwrap();
    let address = mount.address();
    let target = format!("nfs://{address}/scripted?version=3&mountport={}", address.port());
    let mut names = Names::default();
    let server = connect::open(&Target::parse(&target).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
    (server, names, mount)
}

pub(super) fn to(folder: &Path, rows: Rows) -> RecordTo {
    RecordTo { folder: folder.to_owned(), rows, overwrite: false, command: Vec::new() }
}

/// Each connection has a server of its own, which answers the client the same whatever process it is in.
fn network(plan: &Plan, worker: u32) -> Memory {
    let (first, parts) = plan.part.map_or((0, 1), |part| (part.number() - 1, part.parts()));
    let (first, step) = (first + worker * parts, parts * plan.threads);
    let memory = Memory::new(START, move |key, _, _| {
        let client = first + key.0 * step;
        let mean = Duration::from_micros(u64::from(300 + 20 * (client % UNLIKE)));
        let (latency, draw) = (Latency::Exponential { mean }, Draw::Independent);
        served_by(Offline::new(&Script { seed: u64::from(client) + 1, draw, ..Script::parallel(latency) }))
    });
    memory.numbered(first, step)
}

/// A connection to `server`, whose clock starts at [`START`].
pub(super) fn served_by(mut server: Offline) -> Accept {
    let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
        let since = u64::try_from(at - START).unwrap();
        for (due, bytes) in server.received(since, bytes).unwrap() {
            replies.push(Reply { at: START + i64::try_from(due).unwrap(), what: Delivery::Bytes(bytes) });
        }
    };
    Accept::Serve(Box::new(serve), 0)
}

//! Parts of a run, merged, are the run: the real clients and engine on simulated servers, in memory under a virtual clock.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::{self, ConnectOptions, Connector, Work};
use plimsoll_drive::engine::{EngineError, EngineResult, Plan, Watch, WorkerCpu, run_on};
use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply};
use plimsoll_model::{Names, Procedure, Verdict};
use plimsoll_recording::folder::Recording;
use plimsoll_report::findings::Findings;
use plimsoll_report::json::{self, Layout};
use plimsoll_results::record::{RecordTo, Rows};
use plimsoll_results::recording_findings;
use plimsoll_stats::{Accumulator, Statistics};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::servers::scripted::{Latency, Offline, Script, Scripted};
use plimsoll_workload::{Arrivals, FileSet, Load, Pause, Phases, Workload};

use crate::level::{added_up, empty, headline};
use crate::level_spec::LevelSpec;
use crate::merge_parts;
use crate::run_recording::RunRecording;
use crate::run_spec::{RunSpec, VariantSpec};
use crate::sink::{MeasuringSink, SinkOptions};

/// When every clock starts, ns since the Unix epoch.
const START: i64 = 1_700_000_000_000_000_000;
/// When all parts start.
const COMMON_START: i64 = START + 2_000_000_000;
const CLIENTS: u32 = 24;

const LOADS: [Load; 3] = [
    Load::Closed { clients: CLIENTS, think: Pause::Exponential(10_000_000) },
    Load::Open { clients: CLIENTS, rate: 1_234.5, arrivals: Arrivals::Poisson },
    Load::Partly { users: CLIENTS, every_ns: 20_000_000, arrivals: Arrivals::Poisson },
];

/// A workload on a server whose mount was found once: no run waits for a socket.
struct Simulated {
    server: Box<dyn Connector>,
    names: Arc<Names>,
    set: Arc<FileSet>,
    workload: Workload,
    _mount: Scripted,
}

impl Simulated {
    fn new(workload: &str) -> Self {
        let text = Workload::find(workload).unwrap().text().replace("verify = \"1%\"", "verify = \"0%\"");
        let workload = Workload::parse(workload, &text).unwrap();
        let mount = Scripted::start(Script::parallel(Latency::Constant(Duration::ZERO))).unwrap();
        let address = mount.address();
        let target = format!("nfs://{address}/scripted?version=3&mountport={}", address.port());
        let mut names = Names::default();
        let server = connect::open(&Target::parse(&target).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
        let set = Arc::new(FileSet::new(&workload, "", CLIENTS, &mut names).unwrap());
        Self { server, names: Arc::new(names), set, workload, _mount: mount }
    }

    fn spec(&self, load: Load, part: Option<&str>) -> RunSpec {
        let part = part.map(|part| part.parse().unwrap());
        let phases = Phases { warmup_ns: 50_000_000, measured_ns: Some(100_000_000), ..Phases::default() };
        let threads = 1;
        let start_at_ns = Some(COMMON_START);
        let plan = Plan { phases, stage: Some(0), threads, seed: 7, part, start_at_ns, ..Plan::new(load) };
        let level = LevelSpec { words: load.to_string(), plan, curve: None, parameter: None };
        let workload_sha256 = self.workload.digest().to_owned();
        RunSpec {
            target: "nfs://simulated/export".to_owned(),
            clock_bound_ns: part.map(|_| 1_000_000_000),
            variants: vec![VariantSpec { value: None, workload_sha256, levels: vec![level] }],
            ..RunSpec::new(&self.workload, 7)
        }
    }

    /// What one process measures goes to a folder.
    fn record(&self, spec: &RunSpec, folder: &Path, change: impl FnOnce(&mut EngineResult<MeasuringSink>, &mut i64)) {
        let to = to(folder);
        let recording = RunRecording::begin(Some(&to), spec, &self.workload).unwrap().unwrap();
        let level_spec = spec.levels().next().unwrap().1;
        let plan = &level_spec.plan;
        let feed = recording.stage(level_spec, &self.names).unwrap();
        let options = SinkOptions { table: None, recording: Some(&feed), with_intervals: false, live: None, by: None };
        let depth = options.depth(plan);
        let sink = |_| MeasuringSink::new(options, &depth, headline(plan), || empty(plan));
        let scenarios = Box::new(|client, slot, seed| self.workload.scenario(&self.set, client, slot, seed));
        let work = Work { server: &*self.server, scenarios, names: Arc::clone(&self.names) };
        let mut ran = match run_on(plan, &work, sink, &Watch::new(), |worker| Ok(network(plan, worker))) {
            Ok(ran) => ran,
            Err(error) => {
                drop((depth, feed));
                let failed: Result<&(Findings, ()), _> = Err(&anyhow::Error::new(error));
                return recording.finish(false, failed).unwrap();
            }
        };
        // How busy this machine is says nothing of a run under a virtual clock.
        let elapsed_ns = plan.phases.measured_ns.unwrap();
        ran.generator.workers.fill(WorkerCpu { elapsed_ns, run_delay_ns: Some(0), ..WorkerCpu::default() });
        (ran.generator.clock_granularity_ns, ran.generator.stolen_ns) = (1, None);
        let mut moved = 0;
        change(&mut ran, &mut moved);
        let mut level =
            added_up((ran, depth), plan, &level_spec.words, &self.names, false).on(level_spec).named(&self.workload);
        if let Some(part) = &mut level.part {
            part.clock_moved_ns = moved;
        }
        recording.end(feed, &level, Vec::new(), &self.names).unwrap();
        let findings =
            crate::runner::findings_of((spec, &self.workload), &[&level], &self.names, Vec::new(), |run| run);
        recording.finish(false, Ok(&(findings, ()))).unwrap();
    }

    /// All parts of a load.
    fn record_parts(&self, load: Load, count: u32, scratch: &Path) -> Vec<PathBuf> {
        let part = |number| {
            let folder = scratch.join(format!("{number}-of-{count}"));
            self.record(&self.spec(load, Some(&format!("{number}/{count}"))), &folder, |_, _| ());
            folder
        };
        (1..=count).map(part).collect()
    }
}

fn to(folder: &Path) -> RecordTo {
    RecordTo { folder: folder.to_owned(), rows: Rows::All, overwrite: false, command: Vec::new() }
}

/// Each connection has a server of its own, which answers the client the same whatever process it is in.
fn network(plan: &Plan, worker: u32) -> Memory {
    let (first, parts) = plan.part.map_or((0, 1), |part| (part.number() - 1, part.parts()));
    let (first, step) = (first + worker * parts, parts * plan.threads);
    let memory = Memory::new(START, move |key, _, _| {
        let client = first + key.0 * step;
        let latency = Latency::Exponential { mean: Duration::from_micros(u64::from(300 + 20 * client)) };
        let mut server = Offline::new(&Script { seed: u64::from(client) + 1, ..Script::parallel(latency) });
        let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
            let since = u64::try_from(at - START).unwrap();
            for (due, bytes) in server.received(since, bytes).unwrap() {
                replies.push(Reply { at: START + i64::try_from(due).unwrap(), what: Delivery::Bytes(bytes) });
            }
        };
        Accept::Serve(Box::new(serve), 0)
    });
    memory.numbered(first, step)
}

/// A report as JSON, but for what says how many parts there were, and for numbers of calls (see [`counted`]).
fn json_of(mut findings: Findings) -> String {
    let run = findings.run.as_mut().unwrap();
    (run.facts, run.threads) = (Vec::new(), 0);
    let mut text = Vec::new();
    json::write(&findings.into(), Layout::Pretty, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines().filter(|line| !line.contains("rpc.xid")).map(|line| format!("{line}\n")).collect()
}

fn reported(folder: &Path) -> Findings {
    recording_findings::findings(&Recording::open(folder).unwrap(), plimsoll_client::status_name).unwrap()
}

/// All that is counted, with the same names for all.
fn state(folder: &Path, names: &mut Names) -> Statistics {
    let recording = Recording::open(folder).unwrap();
    recording.statistics(&recording.manifest.stages[0], names).unwrap().0
}

/// All that statistics hold but for the slowest, which have random numbers of calls: these are in the report.
fn counted(of: &Statistics) -> impl PartialEq + use<> {
    let rows = |rows: &mut dyn Iterator<Item = (Procedure, &Accumulator)>| -> Vec<(Procedure, Accumulator)> {
        rows.map(|(procedure, row)| (procedure, row.clone())).collect()
    };
    let io = of.io().unwrap();
    (
        [rows(&mut of.operations()), rows(&mut of.long_lived()), rows(&mut of.members())],
        (io.reads().clone(), io.writes().clone(), io.reuse().clone()),
        (of.series().clone(), of.heat_maps()),
    )
}

fn same(whole: &Path, merged: &Path, case: &str) {
    let mut names = Names::default();
    let (one, all) = (state(whole, &mut names), state(merged, &mut names));
    assert_eq!(one.queue_depth(), all.queue_depth(), "{case}");
    let one_count = one.operations().map(|(_, row)| row.count()).sum::<u64>();
    assert!(one_count > 40, "{case}: {one_count} requests");
    assert!(counted(&one) == counted(&all), "{case}: statistics differ");
    let [one, all] = [whole, merged].map(|folder| Recording::open(folder).unwrap());
    let [first, second] = [&one, &all].map(|recording| recording.manifest.stages[0].clone());
    assert!(one.intervals(&first).unwrap() == all.intervals(&second).unwrap(), "{case}: intervals differ");
    assert_eq!(first.transactions, second.transactions, "{case}");
    assert_eq!(first.transactions, one_count, "{case}: all have rows");
    // Which thread has a client depends on the processes.
    let placed = |line: &&str| line.trim_start().starts_with("\"thread\": ");
    let without_places = |json: String| json.lines().filter(|line| !placed(line)).collect::<Vec<_>>().join("\n");
    let [one, all] = [whole, merged].map(|folder| without_places(json_of(reported(folder))));
    let differs = one.lines().zip(all.lines()).find(|(one, all)| one != all);
    assert!(one == all, "{case} (one process, merged): {differs:#?}");
}

/// Whether parts of these numbers are the whole, under each load.
fn parts_are_the_whole(workload: &str, rate: f64, counts: &[u32]) {
    let scratch = Scratch::new("parts-merged");
    let simulated = Simulated::new(workload);
    for (number, load) in LOADS.into_iter().enumerate() {
        let load = match load {
            Load::Open { clients, arrivals, .. } => Load::Open { clients, rate, arrivals },
            load => load,
        };
        for &count in counts {
            let folder = scratch.path().join(format!("{number}-{count}"));
            let (whole, merged) = (folder.join("whole"), folder.join("merged"));
            let mut spec = simulated.spec(load, None);
            // Under a rate an iteration is that of the first free client of a thread: as many threads are the same run.
            spec.variants[0].levels[0].plan.threads = if load.asked_rate().is_some() { count } else { 1 };
            simulated.record(&spec, &whole, |_, _| ());
            let parts = simulated.record_parts(load, count, &folder);
            let (findings, recorded) = merge_parts(&parts, None, Some(to(&merged))).unwrap();
            recorded.unwrap();
            let case = format!("{workload}, {load}, {count} parts");
            assert_eq!(json_of(findings), json_of(reported(&merged)), "{case}: report of the recording");
            same(&whole, &merged, &case);
            assert_eq!(reported(&merged).validity, reported(&whole).validity, "{case}");
        }
    }
}

#[test]
fn parts_of_any_number_make_the_whole() {
    parts_are_the_whole("random-read", 1_234.5, &[1, 2, 3, 4, 8]);
}

#[test]
fn parts_of_other_workloads_make_the_whole() {
    parts_are_the_whole("iops-read", 567.8, &[4]);
    parts_are_the_whole("blocks-read", 567.8, &[3]);
}

/// What a merge says against the whole, and how many requests it has.
fn merged(folders: &[PathBuf]) -> (Vec<String>, u64) {
    let (findings, recorded) = merge_parts(folders, None, None).unwrap();
    recorded.unwrap();
    let validity = findings.validity;
    assert!(validity.verdict == Verdict::Invalid || validity.reasons.is_empty(), "{validity:?}");
    (validity.reasons, findings.stages[0].count)
}

#[test]
fn whatever_becomes_of_a_part_is_said_and_the_others_are_whole() {
    let scratch = Scratch::new("parts-wrong");
    let simulated = Simulated::new("random-read");
    let load = LOADS[0];
    let parts = simulated.record_parts(load, 3, scratch.path());
    let (none, all) = merged(&parts);
    assert_eq!(none, [""; 0]);
    let apart = |difference| {
        merge_parts(&parts, Some(Duration::from_millis(difference)), None).unwrap().0.validity.reasons.join("; ")
    };
    assert_eq!(apart(1_000), "", "as far as --clock-bound allows");
    assert!(apart(1_001).contains("the clocks of the parts differed by 1.00 s after the run"), "{}", apart(1_001));
    let (said, others) = merged(&[parts[2].clone(), parts[0].clone()]);
    assert!(said[0].contains("part 2/3 is missing"), "{said:?}");
    assert!(others > all / 2 && others < all, "{others} of {all}");
    let with = |second: &str, change: &dyn Fn(&Path)| {
        let folder = scratch.path().join(second);
        change(&folder);
        let (said, requests) = merged(&[parts[0].clone(), folder, parts[2].clone()]);
        (said.join("; "), requests)
    };
    let spec = simulated.spec(load, Some("2/3"));
    let changed = |folder: &Path, change: &dyn Fn(&mut RunSpec)| {
        let mut spec = spec.clone();
        change(&mut spec);
        simulated.record(&spec, folder, |_, _| ());
    };
    let (said, requests) = with("other-seed", &|folder| changed(folder, &|spec| spec.seed = 8));
    assert!(said.contains("other-seed is not merged: it is of a different run: its seed is 8, not 7"), "{said}");
    assert_eq!(requests, others);
    let (said, requests) = with("late", &|folder| {
        changed(folder, &|spec| spec.variants[0].levels[0].plan.start_at_ns = Some(START - 1_500_000_000));
    });
    assert!(said.contains("late is not merged"), "another start is another plan: {said}");
    assert_eq!(requests, others);
    let (said, requests) = with("clock", &|folder| {
        simulated.record(&spec, folder, |_, moved| *moved = -3_000_000_000);
    });
    assert!(said.contains("its clock was set by 3.00 s during the run, more than --clock-bound 1.00 s"), "{said}");
    assert_eq!(requests, all, "its numbers are there");
    let (said, requests) = with("short", &|folder| {
        simulated.record(&spec, folder, |ran, _| (ran.measured.1, ran.stopped) = (ran.measured.1 - 50_000_000, true));
    });
    assert!(said.contains("measured 0.050 s of 0.100 s: the load was lower"), "{said}");
    assert_eq!(requests, all);
    let (said, requests) = with("stolen", &|folder| {
        simulated.record(&spec, folder, |ran, _| ran.generator.stolen_ns = Some(100_000_000));
    });
    assert!(said.contains("/stolen): steal time"), "{said}");
    assert_eq!(requests, all);
    let (said, requests) = with("killed", &|folder| {
        drop(RunRecording::begin(Some(&to(folder)), &spec, &simulated.workload).unwrap());
    });
    assert!(said.contains("killed) did not finish: its process was killed, or is still running"), "{said}");
    assert_eq!(requests, others);
    let (said, _) = with("empty", &|folder| std::fs::create_dir(folder).unwrap());
    assert!(said.contains("contains no recording") && said.contains("part 2/3 is missing"), "{said}");
    let (said, _) = with("twice", &|folder| simulated.record(&simulated.spec(load, Some("1/3")), folder, |_, _| ()));
    assert!(said.contains("is part 1/3, too") && said.contains("part 2/3 is missing"), "{said}");
    let (said, _) = with("version", &|folder| {
        simulated.record(&spec, folder, |_, _| ());
        let manifest = folder.join("manifest.json");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let tool = format!("plimsoll {}", env!("CARGO_PKG_VERSION"));
        std::fs::write(&manifest, text.replace(&tool, "plimsoll 0.0.9")).unwrap();
    });
    assert!(said.contains("it was made by plimsoll 0.0.9, not by plimsoll"), "{said}");
}

/// Every process misses the start: each says so, and so does the merge.
#[test]
fn parts_that_miss_the_common_start_measure_nothing() {
    let scratch = Scratch::new("parts-late");
    let simulated = Simulated::new("random-read");
    let late = |number: u32| {
        let mut spec = simulated.spec(LOADS[0], Some(&format!("{number}/2")));
        spec.variants[0].levels[0].plan.start_at_ns = Some(START - 1_500_000_000);
        let folder = scratch.path().join(number.to_string());
        simulated.record(&spec, &folder, |_, _| ());
        folder
    };
    let error = merge_parts(&[late(1), late(2)], None, None).unwrap_err().to_string();
    assert!(error.contains("part 1/2") && error.contains("too late for the common start"), "{error}");
    let late = EngineError::Late { by_ns: 1_500_000_000 }.to_string();
    assert!(late.contains("ready 1.500 s after it"), "{late}");
}

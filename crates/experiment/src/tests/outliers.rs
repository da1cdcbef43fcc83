//! Servers that treat a size, or a client, differently from all others: the report must find and name them. The real client and engine on
//! the scripted server, in memory under a virtual clock.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::operation::{Access, Caching, Disposition, Done, FileKey, Operation, Reply as Answer};
use plimsoll_drive::connect::{Connector, Work};
use plimsoll_drive::engine::{Checkpoint, EngineResult, Plan, Watch, run_on, so_far};
use plimsoll_drive::network::memory::{Delays, Memory};
use plimsoll_model::{Names, Symbol};
use plimsoll_report::findings::Findings;
use plimsoll_report::text;
use plimsoll_stats::SharedDepth;
use plimsoll_testkit::servers::scripted::{Draw, Latency, Oddities, Offline, Script, Scripted};
use plimsoll_workload::scenario::{Scenario, ScenarioStep as Wanted, Verdict};
use plimsoll_workload::{Load, Pause, Phases};
use plimsoll_workload::{Parameter, Workload};

use super::simulated::{START, mounted, served_by};
use crate::RunResult;
use crate::level::{LevelResult, added_up, unfinished};
use crate::level_spec::LevelSpec;
use crate::live::LiveFeed;
use crate::run_spec::RunSpec;
use crate::sink::{MeasuringSink, SinkOptions};

const CLIENTS: u32 = 8;

/// A client that reads consecutive blocks of its own file.
struct Reading {
    path: String,
    block: u32,
    file: Option<FileKey>,
    offset: u64,
    over: bool,
}

impl Scenario for Reading {
    fn next(&mut self) -> Wanted<'_> {
        if std::mem::take(&mut self.over) {
            return Wanted::IterationOver;
        }
        let (access, disposition, caching) = (Access::Read, Disposition::Open, Caching::None);
        let open = Operation::Open { path: &self.path, access, disposition, caching };
        let (offset, length) = (self.offset, self.block);
        let read = |file| Operation::Read { file, offset, length, keep: false };
        Wanted::Act(self.file.map_or(open, read), Symbol::NONE)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        match done.result {
            Ok(Answer::Opened { file, .. }) => self.file = Some(file),
            _ => {
                self.offset += u64::from(self.block);
                self.over = true;
            }
        }
        Verdict::AsAnswered
    }

    fn reconnected(&mut self) {
        self.file = None;
    }
}

/// The server's mount, found once: no run waits for a socket.
pub(super) struct Found {
    server: Box<dyn Connector>,
    names: Arc<Names>,
    _mount: Scripted,
}

impl Found {
    pub(super) fn new() -> Self {
        let (server, names, mount) = mounted();
        Self { server, names: Arc::new(names), _mount: mount }
    }

    /// All clients read blocks of `block` bytes for a second.
    fn level(&self, odd: Oddities, number: u32, block: u32) -> LevelResult {
        let script = Script { odd, draw: Draw::Independent, ..Script::parallel(jitter(MIDDLE)) };
        self.loaded(&script, CLIENTS, (number, 1_000_000_000), block)
    }

    /// `clients` clients read blocks of `block` bytes for `ns`; each number has other random numbers.
    pub(super) fn loaded(&self, script: &Script, clients: u32, (number, ns): (u32, u64), block: u32) -> LevelResult {
        let phases = Phases { warmup_ns: 100_000_000, measured_ns: Some(ns), ..Phases::default() };
        let load = Load::Closed { clients, think: Pause::None };
        let timeout_ns = 50_000_000;
        let plan = Plan { phases, level: number, threads: 1, timeout_ns, ..Plan::new(load) };
        let value = format!("{block}B");
        let curve = Some(format!("block={value}"));
        let parameter = Some(Parameter { name: "block".into(), value });
        let level_spec =
            LevelSpec { plan: plan.clone(), load_name: format!("{clients} clients"), curve, parameter, share: None };
        let mut level = self.driven(script, &plan, (&level_spec.load_name, Delays::default()), block).on(&level_spec);
        // How busy this machine is says nothing of a run under a virtual clock.
        level.recorded.about.facts.validity = plimsoll_model::Validity::default();
        level
    }

    /// A plan of clients that read blocks of this size; `delays` controls when the generator's thread runs.
    pub(super) fn driven(
        &self,
        script: &Script,
        plan: &Plan,
        (words, delays): (&str, Delays),
        block: u32,
    ) -> LevelResult {
        let ran = self.run((script, delays), plan, block, None, None);
        added_up(ran, plan, words, &self.names, true)
    }

    /// The same with a live view that takes the data at every checkpoint.
    pub(super) fn watched(&self, script: &Script, plan: &Plan, live: &LiveFeed, look: impl Fn() + Sync) -> LevelResult {
        let level_spec =
            LevelSpec { plan: plan.clone(), load_name: String::new(), curve: None, parameter: None, share: None };
        live.begin(&level_spec, &self.names);
        let checkpoint = |sink: &mut MeasuringSink, part| {
            sink.checkpoint(part);
            look();
        };
        let ran = self.run((script, Delays::default()), plan, 512, Some(live), Some(&checkpoint));
        added_up(ran, plan, "", &self.names, true)
    }

    fn run(
        &self,
        (script, delays): (&Script, Delays),
        plan: &Plan,
        block: u32,
        live: Option<&LiveFeed>,
        checkpoint: Option<Checkpoint<'_, MeasuringSink>>,
    ) -> (EngineResult<MeasuringSink>, SharedDepth) {
        let scenarios = Box::new(move |client, _, _| {
            let reading = Reading { path: format!("f{client}"), block, file: None, offset: 0, over: false };
            Box::new(reading) as Box<dyn Scenario>
        });
        let work = Work { server: &*self.server, scenarios, names: Arc::clone(&self.names) };
        let options = SinkOptions { table: None, recording: None, with_intervals: true, live, by: None };
        let depth = SharedDepth::default();
        let sink = |_| MeasuringSink::new(options, &depth, plan);
        let network = |_| Ok(network(script, plan.level).delayed(delays));
        let ran = run_on(plan, &work, sink, &Watch::new(), network, checkpoint).unwrap();
        (ran, depth)
    }

    /// The same as its checkpoint shows it that `latest` is the number of, from 0.
    pub(super) fn driven_until(
        &self,
        script: &Script,
        plan: &Plan,
        (words, delays): (&str, Delays),
        latest: usize,
    ) -> LevelResult {
        let seen = std::sync::Mutex::new(Vec::new());
        let checkpoint = |sink: &mut MeasuringSink, part| seen.lock().unwrap().push((sink.so_far(), part));
        self.run((script, delays), plan, 512, None, Some(&checkpoint));
        let (measured, part) = seen.into_inner().unwrap().swap_remove(latest);
        unfinished(measured, so_far(plan, [part]), plan, words)
    }

    fn report(&self, levels: Vec<LevelResult>) -> (Findings, String) {
        let workload = Workload::find("blocks-read").unwrap();
        let spec = RunSpec::new(&workload, 1);
        let result = RunResult { spec, workload: &workload, levels, names: Arc::clone(&self.names), facts: Vec::new() };
        let findings = result.findings();
        let text = text::to_string(&findings.clone().into(), &text::Style::plain(120));
        (findings, text)
    }
}

/// Approximate duration of a call.
const MIDDLE: Duration = Duration::from_millis(4);

/// This time, give or take a tenth.
pub(super) fn jitter(middle: Duration) -> Latency {
    Latency::TwoHumps { low: middle, high: middle, share: 0.5 }
}

fn network(script: &Script, seed: u32) -> Memory {
    let first = Offline::new(&Script { seed: u64::from(seed) + 1, ..*script });
    Memory::new(START, move |_, _, _| served_by(first.another()))
}

#[test]
fn a_slow_size_is_found_and_named() {
    let found = Found::new();
    let odd = Oddities { slow_size: Some((1_500, 4.0)), ..Oddities::NONE };
    let sizes = (10..=20).map(|hundreds| hundreds * 100);
    let levels = (0..).zip(sizes).map(|(number, block)| found.level(odd, number, block)).collect();
    let (findings, text) = found.report(levels);
    let named = |curve: &plimsoll_report::findings::SizeCurve| -> Vec<(u64, String)> {
        curve.points.iter().filter_map(|point| Some((point.bytes, point.outlier.clone()?))).collect()
    };
    assert_eq!(findings.sizes.iter().flat_map(named).collect::<Vec<_>>(), [(1_500, "slower".to_owned())]);
    assert!(text.contains("Sizes that stand out: 1 of 7 judged.") && text.contains("1500B"), "{text}");
    let (none, text) = found.report((0..7).map(|number| found.level(Oddities::NONE, number, 500 + number)).collect());
    assert!(none.sizes[0].points.iter().all(|point| point.outlier.is_none()), "{text}");
}

#[test]
fn an_unfair_and_a_lossy_client_are_found_and_named() {
    let found = Found::new();
    let odd = Oddities { unfair_file: Some((4, 1.5)), lossy_file: Some((6, 20)), ..Oddities::NONE };
    let (findings, text) = found.report(vec![found.level(odd, 0, 750)]);
    let spread = &findings.levels[0].facts.spread;
    let named: Vec<(u32, &str)> = spread.outliers.iter().map(|odd| (odd.client, odd.how.label())).collect();
    assert_eq!(named, [(5, "slower"), (7, "lossy")], "{text}");
    assert_eq!((spread.clients_with_errors, spread.errors[0].client), (1, 7));
    assert!(
        text.contains("client 5 is served slower")
            && text.contains("client 7 has far more errors than the other clients"),
        "{text}"
    );
    let listed: Vec<u32> = spread.clients.iter().map(|one| one.client).collect();
    assert_eq!(listed, (1..=CLIENTS).collect::<Vec<_>>());
    // The fifth client waits half as long again for each read, so it completes two thirds of the others' reads.
    let (slow, other) = (spread.clients[4], spread.clients[0]);
    let (times, iterations) = (
        slow.mean_s.unwrap() / other.mean_s.unwrap(),
        slow.iterations_ratio.unwrap() / other.iterations_ratio.unwrap(),
    );
    assert!((times / 1.5 - 1.0).abs() < 0.05 && (iterations * 1.5 - 1.0).abs() < 0.05, "{times} {iterations}");
    let sums = spread.clients.iter().map(|one| one.errors).sum::<u64>();
    assert_eq!((sums, spread.clients[6].errors), (spread.errors[0].errors, spread.errors[0].errors));
    let (fair, text) = found.report(vec![found.level(Oddities::NONE, 0, 750)]);
    assert_eq!(fair.levels[0].facts.spread.outliers, [], "{text}");
}

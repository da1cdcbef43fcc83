//! A run of the real client and engine on the scripted server, in memory under a virtual clock: half a minute of load in
//! a fraction of a second, the same to the nanosecond every time.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::operation::{Access, Caching, Disposition, Done, FileKey, Reply as Answer};
use plimsoll_client::target::Target;
use plimsoll_drive::connect::{self, ConnectOptions, Connector, Work};
use plimsoll_drive::engine::{EngineResult, Plan, Watch, run, run_on};
use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply};
use plimsoll_model::{Names, Operation, Sink, Symbol, Transaction};
use plimsoll_stats::comparison::Course;
use plimsoll_stats::{IntervalRecorder, IntervalWidth, Intervals, Options, Statistics};
use plimsoll_testkit::servers::scripted::{Latency, Offline, Script, Scripted};
use plimsoll_workload::scenario::{Scenario, ScenarioStep, Verdict};
use plimsoll_workload::{Load, Phases, seed_of};

/// When every clock starts, ns since the Unix epoch.
const START: i64 = 1_700_000_000_000_000_000;
/// Load without measurement, ns: a queue forgets how it began.
const WARM_UP_NS: u64 = 2_000_000_000;

/// A server and the load on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// What people call it.
    pub(crate) name: &'static str,
    /// The server's script; its seed is the run's.
    pub(crate) script: Script,
    /// How the server's times change slowly.
    pub(crate) drift: Option<Drift>,
    pub(crate) load: Load,
    /// Calls outstanding at most.
    pub(crate) depth: u32,
    /// Length of the measured phase.
    pub(crate) seconds: u64,
    pub(crate) asks: Asks,
}

/// The repeated operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// The attributes of one file, which each slot looks up first.
    Attributes,
    /// Only an answer.
    Nothing,
}

/// Times are multiplied by something that wanders about 1: a first-order autoregressive process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drift {
    /// Standard deviation.
    pub(crate) by: f64,
    /// Time after which it is nearly forgotten.
    pub(crate) memory: Duration,
}

/// The server's mount, found once: no run waits for a socket.
pub(crate) struct Found {
    server: Box<dyn Connector>,
    names: Arc<Names>,
    _mount: Scripted,
}

impl Found {
    pub(crate) fn new() -> Self {
        Self::of(Script::parallel(Latency::Constant(Duration::ZERO)))
    }

    fn of(script: Script) -> Self {
        let mount = Scripted::start(script).unwrap();
        let address = mount.address();
        let target = format!("nfs://{address}/scripted?version=3&mountport={}", address.port());
        let mut names = Names::default();
        let server = connect::open(&Target::parse(&target).unwrap(), &ConnectOptions::default(), &mut names).unwrap();
        Self { server, names: Arc::new(names), _mount: mount }
    }

    /// All operations over the measured phase.
    pub(crate) fn run(&self, case: &Case, seed: u64) -> Course {
        self.whole_run(case, seed).unwrap()
    }

    /// The same; `None` where something failed, as under more load than the server can take.
    pub(crate) fn whole_run(&self, case: &Case, seed: u64) -> Option<Course> {
        let empty = Intervals::new(IntervalWidth::of_phase(case.seconds * 1_000_000_000));
        let sink = |_| Measured(IntervalRecorder::new(empty.clone()));
        let ran =
            run_on(&case.plan(seed), &self.work(case), sink, &Watch::new(), |_| Ok(network(case, seed)), None).unwrap();
        let well = ran.clients.iter().all(|client| client.error_count() == 0) && ran.generator.never_sent == 0;
        let intervals = ran.sinks.into_iter().next().unwrap().0.finish();
        well.then(|| Course::new(&intervals, ran.measured, |_| true))
    }
}

impl Found {
    /// The data for a report about the measured phase.
    pub(crate) fn statistics(&self, case: &Case, seed: u64) -> Statistics {
        let sink = |_| Measured(Statistics::new(Options::default()));
        let ran =
            run_on(&case.plan(seed), &self.work(case), sink, &Watch::new(), |_| Ok(network(case, seed)), None).unwrap();
        whole(ran)
    }

    /// The same over sockets, by the real clock.
    pub(crate) fn real_statistics(case: &Case, seed: u64) -> Statistics {
        let found = Self::of(Script { seed, ..case.script });
        let sink = |_| Measured(Statistics::new(Options::default()));
        whole(run(&case.plan(seed), &found.work(case), sink, &Watch::new(), None).unwrap())
    }

    fn work(&self, case: &Case) -> Work<'_> {
        let asks = case.asks;
        let scenarios = Box::new(move |_, _, _| Box::new(Asking::new(asks)) as Box<dyn Scenario>);
        Work { server: &*self.server, scenarios, names: Arc::clone(&self.names) }
    }
}

impl Case {
    fn plan(&self, seed: u64) -> Plan {
        let measured_ns = Some(self.seconds * 1_000_000_000);
        let phases = Phases { warmup_ns: WARM_UP_NS, measured_ns, ..Phases::default() };
        Plan { depth: self.depth, phases, level: 0, threads: 1, seed, ..Plan::new(self.load) }
    }
}

/// Of a run in which nothing may fail.
fn whole(ran: EngineResult<Measured<Statistics>>) -> Statistics {
    assert!(ran.clients.iter().all(|client| client.error_count() == 0));
    ran.sinks.into_iter().next().unwrap().0
}

fn network(case: &Case, seed: u64) -> Memory {
    let first = Offline::new(&Script { seed, ..case.script });
    let wander = Arc::new(std::sync::Mutex::new(case.drift.map(|drift| Wander::new(drift, seed))));
    Memory::new(START, move |_, _, _| {
        let (mut server, wander) = (first.another(), Arc::clone(&wander));
        let serve = move |at: i64, bytes: &[u8], replies: &mut Vec<Reply>| {
            let since = (at - START) as u64;
            for (due, bytes) in server.received(since, bytes).unwrap() {
                let factor = wander.lock().unwrap().as_mut().map_or(1.0, |wander| wander.at(since));
                let at = at + ((due - since) as f64 * factor) as i64;
                replies.push(Reply { at, what: Delivery::Bytes(bytes) });
            }
        };
        Accept::Serve(Box::new(serve), 0)
    })
}

/// The present value of a [`Drift`].
struct Wander {
    drift: Drift,
    seed: u64,
    drawn: u32,
    at: u64,
    value: f64,
}

impl Wander {
    /// Steps of its time.
    const STEP_NS: u64 = 10_000_000;

    fn new(drift: Drift, seed: u64) -> Self {
        let mut new = Self { drift, seed, drawn: 0, at: 0, value: 0.0 };
        new.value = new.normal();
        new
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        self.drawn += 1;
        let uniform = |draw| (seed_of(self.seed, self.drawn, draw) >> 11) as f64 / (1_u64 << 53) as f64;
        let (a, b) = (uniform(0), uniform(1));
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    fn at(&mut self, now: u64) -> f64 {
        let kept = (-(Self::STEP_NS as f64) / self.drift.memory.as_nanos() as f64).exp();
        while self.at + Self::STEP_NS <= now {
            self.at += Self::STEP_NS;
            self.value = kept * self.value + (1.0 - kept * kept).sqrt() * self.normal();
        }
        (1.0 + self.drift.by * self.value).max(0.1)
    }
}

/// Asks the same again and again.
struct Asking {
    asks: Asks,
    file: Option<FileKey>,
    over: bool,
}

impl Asking {
    fn new(asks: Asks) -> Self {
        Self { asks, file: None, over: false }
    }
}

impl Scenario for Asking {
    fn next(&mut self) -> ScenarioStep<'_> {
        if std::mem::take(&mut self.over) {
            return ScenarioStep::IterationOver;
        }
        let open = plimsoll_client::Operation::Open {
            path: "f",
            access: Access::Read,
            disposition: Disposition::Open,
            caching: Caching::None,
        };
        if self.asks == Asks::Nothing {
            return ScenarioStep::Act(plimsoll_client::Operation::Null, Symbol::NONE);
        }
        ScenarioStep::Act(self.file.map_or(open, |file| plimsoll_client::Operation::GetattrOpen { file }), Symbol::NONE)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        match done.result {
            Ok(Answer::Opened { file, .. }) => self.file = Some(file),
            _ => self.over = true,
        }
        Verdict::AsAnswered
    }

    fn reconnected(&mut self) {
        self.file = None;
    }
}

/// Takes what belongs to the measured phase.
struct Measured<S>(S);

impl<S: Sink> Sink for Measured<S> {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if is_measured(transaction) {
            self.0.transaction(transaction, names);
        }
    }
}

/// Opening is a LOOKUP that only the first iteration of a slot has.
fn is_measured(transaction: &Transaction) -> bool {
    transaction.level.is_some() && transaction.procedure.row().operation != Operation::Lookup
}

//! Known latency: a server whose response times are known beforehand, driven at a rate, and the percentiles that are
//! reported. A busy machine's delays are in them, so what is required is what no such delay reaches and every wrong generator
//! does. With `PLIMSOLL_EXACT=1`, on an idle machine of at least two cores, it is one percent.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_drive::action::{Access, Action, Caching, Disposition, Done, FileKey, Reply};
use plimsoll_drive::engine::{Arrivals, Load, Phases, Plan, Watch, run};
use plimsoll_drive::reach::{self, Wishes, Work};
use plimsoll_drive::scenario::{Scenario, Step, Verdict};
use plimsoll_drive::target::Target;
use plimsoll_model::{Names, Operation, Sink, Symbol, Transaction};
use plimsoll_stats::{Options, Statistics};
use plimsoll_testkit::servers::scripted::{Latency, Script, Scripted, Stalls, stalled};

/// Turns a second.
const RATE: f64 = 2_000.0;
/// What percentiles may be off.
fn tolerance() -> f64 {
    if std::env::var_os("PLIMSOLL_EXACT").is_some() { 0.01 } else { 0.25 }
}

/// The scripted server keeps a core busy: one at a time.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Measurements before it is the generator's fault.
const ATTEMPTS: usize = 5;

/// Asks for the attributes of one file, again and again.
#[derive(Default)]
struct Asking {
    file: Option<FileKey>,
    over: bool,
}

impl Scenario for Asking {
    fn next(&mut self) -> Step<'_> {
        if std::mem::take(&mut self.over) {
            return Step::TurnOver;
        }
        let action = self.file.map_or(
            Action::Open {
                path: "f",
                access: Access::Read,
                disposition: Disposition::OpenExisting,
                caching: Caching::None,
            },
            |file| Action::GetAttributesOf { file },
        );
        Step::Act(action, Symbol::NONE)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        match done.result {
            Ok(Reply::Opened { file, .. }) => self.file = Some(file),
            _ => self.over = true,
        }
        Verdict::AsAnswered
    }

    fn reconnected(&mut self) {
        self.file = None;
    }
}

struct Measured(Statistics);

impl Sink for Measured {
    fn transaction(&mut self, transaction: &Transaction, _: &Names) {
        // Opening is a LOOKUP, and no part of what is asked here.
        if transaction.stage.is_some() && transaction.procedure.row().operation == Operation::GetAttributes {
            self.0.record(transaction);
        }
    }
}

/// Response times as they are reported.
fn measure(script: Script, lanes: u32, seconds: u64) -> Statistics {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let server = Scripted::start(script).unwrap();
    let address = server.address();
    let target = format!("nfs://{address}/scripted?version=3&mountport={}", address.port());
    let mut names = Names::default();
    let reached = reach::open(&Target::parse(&target).unwrap(), &Wishes::default(), &mut names).unwrap();
    let scenarios = Box::new(|_, _, _| Box::new(Asking::default()) as Box<dyn Scenario>);
    let work = Work { server: &*reached, scenarios, names: Arc::new(names) };
    let phases = Phases { warmup_ns: 500_000_000, measured_ns: Some(seconds * 1_000_000_000), ..Phases::default() };
    let load = Load::Open { stations: 1, rate: RATE, arrivals: Arrivals::Constant };
    let plan = Plan { lanes, phases, stage: Some(0), threads: 1, ..Plan::new(load) };
    let ran = run(&plan, &work, |_| Measured(Statistics::new(Options::default())), &Watch::new()).unwrap();
    assert!(ran.stations.iter().all(|station| station.error_count() == 0));
    ran.sinks.into_iter().next().unwrap().0
}

/// A percentile of the response times, or of those from the intended start, in seconds.
fn percentile(statistics: &Statistics, q: f64, from_intended: bool) -> f64 {
    let (_, row) = statistics.operations().next().unwrap();
    let ns = if from_intended {
        row.from_intended().unwrap().percentile_ns(q * 100.0)
    } else {
        row.response().percentile_ns(q * 100.0)
    };
    ns.unwrap() as f64 / 1e9
}

/// Requires that percentiles from the intended start are what they must be.
fn holds(script: Script, lanes: u32, seconds: u64, truth: impl Fn(f64) -> Duration) {
    let mut said = Vec::new();
    for _ in 0..ATTEMPTS {
        let statistics = measure(script, lanes, seconds);
        let quantiles = [0.5, 0.9, 0.95, 0.99];
        let off = quantiles.map(|q| percentile(&statistics, q, true) / truth(q).as_secs_f64() - 1.0);
        if off.iter().all(|off| off.abs() <= tolerance()) {
            return;
        }
        said.push(off);
    }
    panic!("{script:?}: p50, p90, p95, p99 are off by {said:?}");
}

#[test]
fn constant_exponential_and_two_humps() {
    let ms = Duration::from_millis;
    for latency in [
        Latency::Constant(ms(40)),
        Latency::Exponential { mean: ms(60) },
        Latency::TwoHumps { low: ms(30), high: ms(120), share: 0.2 },
    ] {
        holds(Script::parallel(latency), 2_000, 4, |q| latency.quantile(q));
    }
}

#[test]
fn a_stall_shows_in_the_time_from_the_intended_start_alone() {
    let latency = Duration::from_millis(2);
    let length = Duration::from_millis(1_400);
    let stalls = Stalls { first: Duration::from_secs(3), every: Duration::from_secs(10), length };
    let script = Script { stalls: Some(stalls), ..Script::parallel(Latency::Constant(latency)) };
    // A hundred lanes: so many requests are caught by the stall, 0.5 % of all. A generator that did not look at its
    // schedule would report these, and nothing of the 2,700 that it did not send. (Lower percentiles hold the time that a
    // hundred lanes take to make up for the stall as well; at the 99th it is a third of a percent.)
    let truth = stalled(latency, &stalls, 0.99).as_secs_f64();
    let mut said = Vec::new();
    for _ in 0..ATTEMPTS {
        let statistics = measure(script, 100, 10);
        let (asked, uncorrected) = (percentile(&statistics, 0.99, true), percentile(&statistics, 0.99, false));
        if (asked / truth - 1.0).abs() <= tolerance() && asked > 20.0 * uncorrected {
            return;
        }
        said.push((asked, uncorrected));
    }
    panic!("p99 must be {truth} s from the intended start; it and the uncorrected one are {said:?}");
}

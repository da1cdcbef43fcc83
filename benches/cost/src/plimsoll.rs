//! The same operations through Plimsoll's own engine and clients: one client on one thread, `depth` slots, as many connections as the
//! operation has channels.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::operation::{Access, Caching, Disposition, Done, FileKey, Operation, Reply};
use plimsoll_drive::connect::{Connector, Work};
use plimsoll_drive::engine::{Plan, Watch, run as run_plan};
use plimsoll_model::{Group, Names, Sink, Symbol, Transaction};
use plimsoll_workload::scenario::{Scenario, ScenarioStep, Verdict};
use plimsoll_workload::{Load, Pause, Phases};

use crate::measured::Measured;
use crate::operation::Case;
use crate::servers::connector;

/// Performs a tenth more than `count` operations, so that about `count` are measured; the engine reports its own CPU time.
pub fn run(operation: Case, target: &str, depth: usize, count: u64) -> Result<Measured, Box<dyn Error>> {
    let mut names = Names::default();
    let server = connector(operation, target, &mut names)?;
    let extent = Extent { depth, slot_operations: total(count, depth) / depth as u64, measured_ns: None };
    let (sizes, measured) = drive::<Sizes>(operation, &*server, names, &extent)?;
    let (request, answer) = (sizes.requests / sizes.count, sizes.answers / sizes.count);
    Ok(Measured { request, answer, ..measured })
}

/// How much is done.
pub struct Extent {
    /// Operations that are outstanding at the same time.
    pub depth: usize,
    /// Operations of each slot, the last one ends the run.
    pub slot_operations: u64,
    /// Length of the measured phase; `None`: until the last operation.
    pub measured_ns: Option<u64>,
}

/// One client on one thread.
pub fn drive<S: Sink + Default + Send>(
    operation: Case,
    server: &dyn Connector,
    names: Names,
    extent: &Extent,
) -> Result<(S, Measured), Box<dyn Error>> {
    let (depth, each) = (extent.depth, extent.slot_operations);
    let scenarios =
        Box::new(move |_, slot, _| Box::new(ScriptSlot::new(operation, slot, depth as u64, each)) as Box<dyn Scenario>);
    let work = Work { server, scenarios, names: Arc::new(names) };
    let plan = Plan {
        depth: u32::try_from(depth)?,
        channels: operation.channels(),
        threads: 1,
        level: 0,
        // Without a length it ends when every slot has finished.
        phases: Phases { warmup_ns: WARMUP_NS, measured_ns: extent.measured_ns, ..Phases::default() },
        ..Plan::new(Load::Closed { clients: 1, think: Pause::None })
    };
    let ran = run_plan(&plan, &work, |_| S::default(), &Watch::new(), None)?;
    let sink = ran.sinks.into_iter().next().ok_or("no worker")?;
    let iterations: u64 = ran.clients.iter().map(|client| client.iterations).sum();
    let errors: u64 = ran.clients.iter().map(|client| client.error_count()).sum();
    if errors > 0 || iterations == 0 {
        let causes: Vec<_> = ran.clients.iter().map(|client| &client.errors).collect();
        return Err(format!("{errors} errors, {iterations} operations: {causes:?}").into());
    }
    let cpu = ran.generator.workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum();
    let elapsed = u64::try_from(ran.measured.1 - ran.measured.0)?;
    let (cpu, elapsed) = (Duration::from_nanos(cpu), Duration::from_nanos(elapsed));
    Ok((sink, Measured { operations: iterations, cpu, elapsed, request: 0, answer: 0 }))
}

/// How many operations are done in all, so that about `count` are measured.
pub fn total(count: u64, depth: usize) -> u64 {
    let depth = depth as u64;
    count * 11 / 10 / depth * depth
}

/// Long enough for the fastest operations to be past their beginning, short enough not to use them all up.
const WARMUP_NS: u64 = 30_000_000;

/// Sums of sizes, the four bytes of framing included.
#[derive(Default)]
struct Sizes {
    count: u64,
    requests: u64,
    answers: u64,
}

impl Sink for Sizes {
    fn transaction(&mut self, transaction: &Transaction, _: &Names) {
        if transaction.level.is_some() && transaction.procedure.row().group != Group::Session {
            self.count += 1;
            self.requests += transaction.request_bytes.unwrap_or(0) + 4;
            self.answers += transaction.response_bytes.unwrap_or(0) + 4;
        }
    }
}

/// One slot: opens the file once, then does the same thing again and again.
struct ScriptSlot {
    operation: Case,
    file: Option<FileKey>,
    /// The next operation of all slots, and the distance to the one after it.
    number: u64,
    step: u64,
    /// How many it is still to do.
    left: u64,
    /// The last step ended an iteration, and that was not said yet.
    over: bool,
}

impl ScriptSlot {
    fn new(operation: Case, slot: u32, slots: u64, count: u64) -> Self {
        Self { operation, file: None, number: slot.into(), step: slots, left: count, over: false }
    }
}

impl Scenario for ScriptSlot {
    fn next(&mut self) -> ScenarioStep<'_> {
        if std::mem::take(&mut self.over) {
            return ScenarioStep::IterationOver;
        }
        if self.left == 0 {
            return ScenarioStep::Finished;
        }
        let (path, size) = self.operation.file();
        let Some(file) = self.file else {
            let (access, disposition) = (Access::Read, Disposition::Open);
            return ScenarioStep::Act(
                Operation::Open { path, access, disposition, caching: Caching::None },
                Symbol::NONE,
            );
        };
        let length = self.operation.length();
        let offset = self.number * u64::from(length) % size;
        let operation = match self.operation {
            Case::SmbCreateClose => Operation::Close { file },
            _ if length == 0 => Operation::GetattrOpen { file },
            _ => Operation::Read { file, offset, length, keep: false },
        };
        ScenarioStep::Act(operation, Symbol::NONE)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        match &done.result {
            Ok(Reply::Opened { file, .. }) => self.file = Some(*file),
            Ok(_) => {
                self.number += self.step;
                self.left -= 1;
                self.over = true;
                if self.operation == Case::SmbCreateClose {
                    self.file = None;
                }
            }
            Err(_) => self.file = None,
        }
        Verdict::AsAnswered
    }

    fn reconnected(&mut self) {
        self.file = None;
    }
}

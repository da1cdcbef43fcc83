//! Drives a server: one thread per core, each with its own clients, connections and timers.
//!
//! ```text
//! Plan ──┐                ┌ connect all ─ warm-up ─ measured ─ drain ─ leave ┐
//! Setup ─┼─ run ─ worker ─┤                                                 ├─ EngineResult: sinks, tallies, generator
//! Watch ─┘  (one a core)  └ slots of scenarios ⇄ clients ⇄ network ─────────┘
//! ```
//!
//! A [`Plan`] describes load and duration; a [`Setup`] makes clients and scenarios; a [`Watch`] shows progress and can end the run. The
//! result contains the measurements and the generator's own lateness.

mod busy_poll;
mod connection;
mod coordinator;
mod cpu;
mod error;
mod generator;
mod idle_inhibitor;
pub(crate) mod lateness;
pub(crate) mod partition;
mod plan;
mod plan_part;
mod rendezvous;
mod result;
mod session_requests;
mod setup;
mod tally;
mod timers;
mod watch;
mod worker;
mod worker_result;

pub use crate::simulated_client::silence::{Gap, TargetGaps};
pub use error::EngineError;
pub use generator::{Bindings, Generator, RoundTrips, WorkerCpu};
pub use lateness::{Lateness, Shifted, WAKING_NS};
pub use plan::{Plan, Reconnect};
pub use plan_part::PlanPart;
pub use rendezvous::Rendezvous;
pub use result::EngineResult;
pub use session_requests::{SessionRequests, SessionTally};
pub use setup::{ConnectionInfo, ServerAccess, Setup};
pub use tally::{Answered, ClientTally, ConnectionFailure, ErrorCount, GivenUp, IterationTally, Unanswered};
pub use watch::{Phase, Progress, Watch};
pub use worker::Checkpoint;
pub use worker_result::Part;

use std::collections::HashMap;
use std::io;
use std::thread::{Scope, ScopedJoinHandle};

use plimsoll_client::clock::Clock;
use plimsoll_client::operation::{Cause, Failure};
use plimsoll_model::Sink;

use self::coordinator::RunCoordinator;
use self::idle_inhibitor::IdleInhibitor;
use self::partition::WorkerPartition;
use self::worker::{Job, Worker};
use self::worker_result::WorkerResult;
use crate::network::Network;
use crate::network::tcp::Tcp;
use crate::network::transport::Transport;
use crate::simulated_client::silence::{common_by_target, common_gaps};

/// Runs a plan to its end: connects every client, warms up, measures, drains, logs off. Every phase has a time limit, so it always
/// returns.
///
/// `sinks` makes one sink for each worker; a sink takes every transaction of that worker in the order of completion. Transactions of the
/// measured phase carry the plan's level, all others (connecting, warm-up, drain, logging off) carry none. A transaction belongs to the
/// phase if its intended instant (without one: its request's first byte) lies in it.
///
/// During the measured phase and the drain, `checkpoint` gets the sink of each worker and the result that it would return if the phase
/// had ended now, about once per second. It runs on the worker's thread and takes time from the measurement. With more than 16 workers
/// the interval grows, so that there are 16 calls per second.
///
/// # Errors
/// The plan is invalid, the machine has no resources left, or no client could connect (the error contains the first failure). All other
/// failures are part of the measurement.
pub fn run<S: Sink + Send>(
    plan: &Plan,
    setup: &dyn Setup,
    sinks: impl Fn(u32) -> S + Sync,
    watch: &Watch,
    checkpoint: Option<Checkpoint<'_, S>>,
) -> Result<EngineResult<S>, EngineError> {
    run_on(plan, setup, sinks, watch, tcp(plan, setup), checkpoint)
}

/// Combines the workers' checkpoints as at the end of a run: one part of each worker.
pub fn so_far(plan: &Plan, parts: impl IntoIterator<Item = Part>) -> EngineResult<()> {
    gathered(plan, parts.into_iter().map(|part| part.0))
}

fn tcp(plan: &Plan, setup: &dyn Setup) -> impl Fn(u32) -> io::Result<Transport<Tcp>> + Sync + use<> {
    let server = setup.server();
    let (blocking, reserved_ports) = (server.address().is_none(), server.reserved_ports());
    let kernel_times = plan.kernel_times && !blocking;
    let tls = server.tls();
    move |_| Ok(Transport::new(Tcp::new(kernel_times)?.with_reserved_ports(reserved_ports), &tls))
}

/// As [`run`], over networks of the caller's choosing: `networks` is called once on each worker's thread.
///
/// # Errors
/// As [`run`].
pub fn run_on<S: Sink + Send, N: Network>(
    plan: &Plan,
    setup: &dyn Setup,
    sinks: impl Fn(u32) -> S + Sync,
    watch: &Watch,
    networks: impl Fn(u32) -> io::Result<N> + Sync,
    checkpoint: Option<Checkpoint<'_, S>>,
) -> Result<EngineResult<S>, EngineError> {
    plan.check()?;
    let workers = plan.workers(setup.server().address().is_some());
    let coordinator = RunCoordinator::new(workers, plan);
    // Workers that share a core would poll while another one had something to do.
    let job = Job { plan, setup, watch, coordinator: &coordinator, busy_poll: workers <= plan::cores() };
    let idle_inhibitor = plan.no_cpu_idle.then(IdleInhibitor::begin).transpose();
    let idle_inhibitor =
        idle_inhibitor.map_err(|source| EngineError::Machine { doing: "preventing CPU idle states", source })?;
    watch.begin(plan.clients());
    let work = |worker: u32| {
        let guard = Guard(&coordinator);
        let made = networks(worker).map_err(|source| ("creating an event queue", source));
        let brought = made.and_then(|net| {
            let partition = WorkerPartition::new(plan, worker, workers);
            let worker = Worker::new(job, partition, (worker, workers), net, sinks(worker));
            worker.with_checkpoints(checkpoint, workers).run().map_err(|source| ("waiting for events", source))
        });
        std::mem::forget(guard);
        brought.map_err(|(doing, source)| coordinator.fail(doing, source)).ok()
    };
    let brought: Vec<Option<WorkerResult<S>>> = std::thread::scope(|scope| {
        let spawned: Vec<_> = (0..workers).map(|worker| spawn(scope, &coordinator, worker, &work)).collect();
        spawned.into_iter().map(|thread| thread.and_then(|thread| thread.join().ok().flatten())).collect()
    });
    drop(idle_inhibitor);
    let over = brought.iter().flatten().map(|brought| brought.measured.1).max().unwrap_or(0);
    watch.enter(Phase::Over, over, over);
    if let Some((doing, source)) = coordinator.failure() {
        return Err(EngineError::Machine { doing, source });
    }
    if let Some(by_ns) = coordinator.late().filter(|_| !watch.stopped()) {
        return Err(EngineError::Late { by_ns });
    }
    if !coordinator.anybody_up() && !watch.stopped() {
        // Without a failure, the time for connecting ended first.
        let nothing = || (Failure::without_answer(Cause::TimedOut), None);
        let (failure, account) = coordinator.first_failure().unwrap_or_else(nothing);
        return Err(EngineError::NobodyConnected { failure, account });
    }
    Ok(gathered(plan, brought.into_iter().flatten()))
}

/// Releases the other workers if one panics.
struct Guard<'a>(&'a RunCoordinator);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fail("running a load thread", io::Error::other("the thread crashed"));
    }
}

/// Stack of a worker. Small, because clients that block have a thread for each connection.
const STACK: usize = 1 << 20;

fn spawn<'s, 'e, T: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    coordinator: &RunCoordinator,
    worker: u32,
    work: &'s (impl Fn(u32) -> T + Sync),
) -> Option<ScopedJoinHandle<'s, T>> {
    let builder = std::thread::Builder::new().name(format!("worker {worker}")).stack_size(STACK);
    let spawned = builder.spawn_scoped(scope, move || work(worker));
    spawned.map_err(|source| coordinator.fail("starting a thread", source)).ok()
}

/// Combines the results of the workers.
fn gathered<S>(plan: &Plan, brought: impl Iterator<Item = WorkerResult<S>>) -> EngineResult<S> {
    let mut ran = EngineResult::none(plan);
    ran.generator.clock_granularity_ns = Clock::new().granularity();
    let mut gaps = Vec::new();
    for part in brought {
        ran.sinks.push(part.sink);
        ran.generator.workers.push(part.cpu);
        ran.add(part.tallies, &part.iterations, &part.generator);
        ran.add_phase(part.measured, part.stopped);
        gaps.push(part.gaps);
    }
    let targets = common_by_target(gaps);
    let gaps = common_gaps(targets.iter().map(|target| target.gaps.clone()));
    ran.settled(gaps, if targets.len() > 1 { targets } else { Vec::new() })
}

/// Combines the results of the processes that drove the parts of a plan, in the order of the parts, as if one process had driven it all.
pub fn merged(plan: &Plan, parts: Vec<EngineResult<()>>) -> EngineResult<()> {
    let mut ran = EngineResult::none(plan);
    // The first workers of all parts come first: if all parts have equally many workers, this is the order of a single process.
    let mut order: Vec<(usize, usize)> = parts
        .iter()
        .enumerate()
        .flat_map(|(part, of)| (0..of.generator.workers.len()).map(move |at| (at, part)))
        .collect();
    order.sort_unstable();
    let place: HashMap<(usize, usize), u32> = order.iter().copied().zip(0..).collect();
    ran.generator.workers =
        order.iter().filter_map(|&(at, part)| parts.get(part)?.generator.workers.get(at).copied()).collect();
    let (mut gaps, mut targets) = (Vec::new(), Vec::new());
    for (part, of) in parts.into_iter().enumerate() {
        let placed = |tally: ClientTally| {
            let worker = place.get(&(tally.worker as usize, part)).copied().unwrap_or(tally.worker);
            ClientTally { worker, ..tally }
        };
        ran.add(of.clients.into_iter().map(placed).collect(), &of.iterations, &of.generator);
        ran.add_phase(of.measured, of.stopped);
        ran.generator.clock_granularity_ns = ran.generator.clock_granularity_ns.max(of.generator.clock_granularity_ns);
        gaps.push(of.gaps);
        targets.push(of.targets);
    }
    ran.settled(common_gaps(gaps), common_by_target(targets))
}

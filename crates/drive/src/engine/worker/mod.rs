//! One worker: a thread with its own clients, connections and timers.
//!
//! | file | what it does |
//! | --- | --- |
//! | `phases.rs` | connect, warm-up, measured, drain, leave, and the instants between them |
//! | `checkpoint.rs` | what there is so far, handed out about once a second |
//! | `connections.rs` | connections: made, lost, made again, left |
//! | `giving_up.rs` | connections that are not made again |
//! | `channels.rs` | the further connections of a session |
//! | `cause.rs` | why a connection failed |
//! | `iterations.rs` | slots: what is next, what ended |
//! | `arrivals.rs` | iterations of a schedule |
//! | `client_calls.rs` | calls of a client, and its wake-up time |
//! | `traffic.rs` | bytes in and out |
//! | `waiting.rs` | waits, and polls before a planned start |
//! | `ticks.rs` | a requested end, progress, overdue requests |
//!
//! Everything hangs on [`Worker::step`]: what is due, what ended, what can be sent, then one wait for whatever comes next. After each wait
//! most code of a step is no longer in the processor's caches. So functions that few steps call are `#[cold]`: the compiler would otherwise
//! build them into the steps, and give each step their stack frames.

mod arrivals;
mod cause;
mod channels;
mod checkpoint;
mod client_calls;
mod connections;
mod giving_up;
mod iterations;
mod phases;
mod ticks;
mod traffic;
mod waiting;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use plimsoll_model::Sink;
use plimsoll_stats::TimesRecorder;
use plimsoll_workload::Load;

use super::busy_poll::BusyPoll;
use super::connection::{Connection, places};
use super::coordinator::RunCoordinator;
use super::cpu::{self, Reading};
use super::partition::WorkerPartition;
use super::timers::{Timer, Timers};
use super::{Generator, Phase, Plan, Setup, Watch, WorkerCpu};
use crate::network::{Network, Ready};
use crate::simulated_client::accounting::Accounting;
use crate::simulated_client::arrival_queue::ArrivalQueue;
use crate::simulated_client::silence::TargetGaps;
pub use checkpoint::Checkpoint;

/// Bytes received at once. Shared by all connections of a worker.
const BUFFER: usize = 256 << 10;
/// The watch is looked at, and brought up to date, this often while there is something to do, ns.
const TICK_NS: i64 = 10_000_000;
/// Maximum number of timers and answers handled before the resulting requests are sent.
const BATCH: usize = 64;

/// Common parameters of all workers.
pub(super) struct Job<'a> {
    pub(super) plan: &'a Plan,
    pub(super) setup: &'a dyn Setup,
    pub(super) watch: &'a Watch,
    pub(super) coordinator: &'a RunCoordinator,
    /// Workers may poll when a start is near.
    pub(super) busy_poll: bool,
}

impl Clone for Job<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Job<'_> {}

pub(super) struct Worker<'a, S, N> {
    job: Job<'a>,
    partition: WorkerPartition,
    net: N,
    address: Option<SocketAddr>,
    accounting: Accounting<'a, S>,
    /// First the sessions' connections, then their further channels.
    connections: Vec<Connection>,
    /// Sessions, which are the connections of the partition.
    sessions: u32,
    /// The place of each connection, as the network calls it.
    places: Vec<u32>,
    /// For each client: how many of its connections are up.
    up: Vec<u32>,
    arrival_queues: Vec<ArrivalQueue>,
    timers: Timers,
    busy_poll: BusyPoll,
    /// When the clock was last read.
    now: i64,
    /// It was read after the last wait, because that brought bytes.
    received: bool,
    /// How often bytes were received.
    heard: u64,
    next_tick: i64,
    /// The watch is checked before this time in any case.
    doze: i64,
    /// When it was last looked at.
    ticked: i64,
    next_count: i64,
    phase: Phase,
    /// From then on nothing new is begun.
    limit: i64,
    /// The run was stopped early.
    stopped: bool,
    /// The drain is over: outstanding operations have failed, and unmatched responses were counted.
    gave_up: bool,
    /// Slots that are not over, and when the last one was.
    live: u32,
    last: i64,
    said_idle: bool,
    /// Actions that are outstanding.
    acting: u32,
    /// Connections that wait until they may be made (or left), that are being, and how many may be at a time.
    queue: VecDeque<u32>,
    busy: u32,
    most_busy: u32,
    /// Connections that were neither connected nor given up so far.
    unsettled: u32,
    /// Connections with something to send, schedules with slots that became free.
    dirty: Vec<u32>,
    served: Vec<u32>,
    /// The next connection that is asked for overdue requests.
    swept: u32,
    /// Gaps between the answers of the measured phase, by target, when that is over.
    gaps: Vec<TargetGaps>,
    generator: Generator,
    /// The generator's wake-up lag, recorded with each receive.
    wake_up_lag: TimesRecorder,
    begin: Option<Reading>,
    cpu: WorkerCpu,
    buffer: Vec<u8>,
    ready: Vec<Ready>,
    checkpoint: Option<Checkpoint<'a, S>>,
    checkpoint_every: i64,
    next_checkpoint: i64,
}

impl<'a, S: Sink, N: Network> Worker<'a, S, N> {
    /// A worker with its share of the plan. It owns `net`.
    pub(super) fn new(
        job: Job<'a>,
        partition: WorkerPartition,
        (worker, workers): (u32, u32),
        net: N,
        sink: S,
    ) -> Self {
        let server = job.setup.server();
        let named = (job.setup.names(), server.targets());
        let mut accounting = Accounting::new((partition, worker), sink, named, job.plan.level);
        // Slots of blocking clients wait for each other. That is as planned, unless there is a schedule.
        let alone = partition.clients().count() as u64 * u64::from(job.plan.depth) == 1;
        accounting.scheduled = !matches!(job.plan.load, Load::Closed { .. });
        accounting.counts_starts = accounting.scheduled || server.address().is_some() || alone;
        let sessions = partition.connections();
        let connections = places(sessions, job.plan.channels);
        let plan = job.plan;
        let most_busy = plan.connecting / workers + u32::from(worker < plan.connecting % workers);
        let address = server.address();
        Self {
            job,
            partition,
            net,
            address,
            up: vec![0; accounting.tallies.len()],
            accounting,
            queue: (0..partition.connections()).collect(),
            busy: 0,
            most_busy: most_busy.max(1),
            unsettled: connections.len() as u32,
            places: (0..connections.len() as u32).collect(),
            sessions,
            connections,
            arrival_queues: Vec::new(),
            timers: Timers::default(),
            busy_poll: BusyPoll::new(job.busy_poll),
            now: 0,
            received: false,
            heard: 0,
            next_tick: 0,
            doze: 0,
            ticked: i64::MAX,
            next_count: 0,
            phase: Phase::Waiting,
            limit: i64::MAX,
            stopped: false,
            gave_up: false,
            live: 0,
            last: 0,
            said_idle: false,
            acting: 0,
            dirty: Vec::new(),
            served: Vec::new(),
            swept: 0,
            gaps: Vec::new(),
            generator: Generator::default(),
            wake_up_lag: TimesRecorder::default(),
            begin: None,
            cpu: WorkerCpu::default(),
            // Where nothing is received, nothing is needed.
            buffer: vec![0; if address.is_some() { BUFFER } else { 0 }],
            ready: Vec::with_capacity(BATCH),
            checkpoint: None,
            checkpoint_every: 0,
            next_checkpoint: 0,
        }
    }

    /// One round of the loop: handles due timers and ended actions, sends requests, then waits, at most until `until`.
    fn step(&mut self, until: i64) -> io::Result<()> {
        // After bytes or events the clock has just been read.
        if !std::mem::take(&mut self.received) && self.ready.is_empty() {
            self.now = self.net.now();
        }
        self.look();
        if self.now >= self.next_tick {
            self.tick();
        }
        let all_fired = self.fire();
        self.connect_more();
        let all_settled = self.settle();
        self.flush_all();
        let until = if all_fired && all_settled {
            self.timers.next().unwrap_or(i64::MAX).min(until).min(self.doze)
        } else {
            self.now
        };
        if self.address.is_none() && until <= self.now {
            return Ok(());
        }
        if self.address.is_some() {
            self.accounting.attention.waits(self.now, until, self.accounting.window);
        }
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        if self.await_bytes(until) {
            self.ready = ready;
            self.settle();
            self.flush_all();
            return Ok(());
        }
        self.wait(until, &mut ready)?;
        for event in &ready {
            // A due timer does not wait until all ready connections are served.
            if self.timers.next().is_some_and(|next| next <= self.now) {
                self.fire();
                self.settle();
                self.flush_all();
            }
            if event.writable {
                self.writable(self.place_of(event.key));
            }
            if event.readable {
                self.readable(self.place_of(event.key));
            }
            self.settle();
            self.flush_all();
        }
        self.ready = ready;
        Ok(())
    }

    /// Fires due timers. Returns false if more are due.
    fn fire(&mut self) -> bool {
        for _ in 0..BATCH {
            let Some((at, timer)) = self.timers.due(self.now) else { return true };
            match timer {
                Timer::Measure => self.measure(at),
                Timer::Slot(slot) => {
                    self.lag(at);
                    self.advance(slot as usize, at);
                }
                Timer::Arrival(arrival_queue) => {
                    if let Some(arrival_queue) = self.arrival_queues.get_mut(arrival_queue as usize) {
                        arrival_queue.armed = false;
                    }
                    self.serve(arrival_queue);
                }
                Timer::Retry(connection) => self.queue.push_back(connection),
                Timer::Wake(connection) => self.wake(connection),
                Timer::Deadline(connection, epoch) => self.too_long(connection, epoch),
            }
        }
        false
    }

    /// Something that was planned for `at` is got to now.
    fn lag(&mut self, at: i64) {
        if self.accounting.measures(at) {
            self.generator.schedule_lag.record((self.now - at).max(0));
        }
    }

    /// Begins to measure: the CPU time until now was not the measured phase's.
    #[cold]
    fn measure(&mut self, at: i64) {
        self.begin = Some(self.reading());
        self.phase = Phase::Measured;
        self.next_checkpoint = at.saturating_add(self.checkpoint_every);
        self.job.watch.enter(Phase::Measured, at, known(self.accounting.window.1));
    }

    /// Processor time until now.
    fn reading(&self) -> Reading {
        let delays = cpu::Delays {
            waited: self.net.run_delay_ns(),
            stolen: self.net.stolen_ns(),
            throttled: self.net.throttled_ns(),
        };
        cpu::of_this_thread(self.now, self.busy_poll.polled_ns(), delays)
    }

    /// Whether iterations start on a schedule.
    fn scheduled(&self) -> bool {
        !matches!(self.job.plan.load, Load::Closed { .. })
    }
}

/// A time for the watch: 0 if unknown.
fn known(at: i64) -> i64 {
    if at == i64::MAX { 0 } else { at }
}

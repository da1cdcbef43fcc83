//! Connect, warm-up, measured, drain, leave.

use std::io;

use plimsoll_client::operation::Cause;
use plimsoll_model::Sink;
use plimsoll_workload::{Load, Rng, seed_of};

use super::super::connection::ConnectionState;
use super::super::timers::Timer;
use super::super::worker_result::WorkerResult;
use super::super::{Generator, Phase};
use super::{TICK_NS, Worker};
use crate::network::Network;
use crate::simulated_client::arrival_queue::{ArrivalQueue, Due};
use crate::simulated_client::delay::Delay;
use crate::simulated_client::pacing::{Schedule, first_pause};
use crate::simulated_client::silence::TargetGaps;
use crate::simulated_client::slot::{Slot, State};

/// Connecting ends this long before a common start, ns: workers need a moment to see that all are ready.
const GATHERING_NS: i64 = 50_000_000;
/// After the end was asked for, or after a drain in vain: how long the servers may send nothing before the connections are closed without
/// logoffs, ns.
const HANGS_NS: i64 = 2_000_000_000;
/// Seed of pauses: a separate one, so that they do not depend on the scenarios' random numbers.
const PAUSES: u64 = 0x7061_7573_6573_2121;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Runs from connecting to leaving.
    pub(in super::super) fn run(mut self) -> io::Result<WorkerResult<S>> {
        self.populate();
        self.connect_all()?;
        let up = self.connections.iter().filter(|connection| connection.state == ConnectionState::Up).count() as u32;
        match self.job.coordinator.wait_at_barrier(self.now, up, self.job.watch) {
            Some(start) => {
                // The barrier may have taken long: without this the first step would believe the time before it, and wait too long.
                self.now = self.net.now();
                self.start(start);
                self.load()?;
                self.drain()?;
            }
            None => {
                self.accounting.window = (self.now, self.now);
                self.stopped = self.job.watch.stopped();
                self.generator.bindings_at_stop = self.bindings();
            }
        }
        self.leave_all()?;
        let fresh = self.accounting.fresh;
        self.job.watch.add(fresh.iterations, fresh.actions, fresh.errors);
        Ok(WorkerResult {
            measured: self.accounting.window,
            sink: self.accounting.sink,
            tallies: self.accounting.tallies,
            iterations: self.accounting.iterations.into_vec(),
            generator: Generator {
                answered: self.accounting.answered,
                unanswered: self.accounting.unanswered,
                lateness: self.accounting.lateness.so_far(),
                session_requests: self.accounting.session_requests,
                wake_up_lag: self.wake_up_lag.times(),
                longest_stall_ns: self.accounting.attention.longest_stall_ns(),
                ..self.generator
            },
            gaps: self.gaps,
            cpu: self.cpu,
            stopped: self.stopped,
        })
    }

    /// Makes the slots.
    fn populate(&mut self) {
        let plan = self.job.plan;
        for client_index in self.partition.clients() {
            for slot in 0..plan.depth {
                let scenario = self.job.setup.scenario(client_index, slot, seed_of(plan.seed, client_index, slot));
                let at = self.accounting.slots.len();
                self.accounting.slots.push(Slot {
                    tag: self.partition.tag(at),
                    client_index: self.partition.client_index(at) as u32,
                    connection: self.partition.connection(at),
                    scenario: Some(scenario),
                    // Before the start no slot waits for its connection.
                    state: State::Thinking,
                    intended: 0,
                    begun: 0,
                    asked_bytes: None,
                    verifies: false,
                    has_asked: false,
                    delay: Delay::default(),
                    iteration: None,
                    rng: Rng::new(seed_of(plan.seed ^ PAUSES, client_index, slot)),
                });
            }
        }
        self.live = self.accounting.slots.len() as u32;
    }

    fn connect_all(&mut self) -> io::Result<()> {
        self.now = self.net.now();
        let connect_until = after(self.now, self.job.plan.phases.connect_ns);
        // A client that is not connected at a common start connects later, as usual.
        let common = self.job.plan.start_at_ns.map_or(i64::MAX, |start| start.saturating_sub(GATHERING_NS));
        let until = connect_until.min(common);
        self.phase = Phase::Connecting;
        self.job.watch.enter(Phase::Connecting, self.now, until);
        while self.unsettled > 0 && self.now < until && !self.job.watch.stopped() && !self.job.coordinator.failed() {
            self.step(until)?;
        }
        Ok(())
    }

    /// Sets every slot's first iteration.
    fn start(&mut self, start: i64) {
        let phases = self.job.plan.phases;
        let begin = after(start, phases.warmup_ns);
        let end = phases.measured_ns.map_or(i64::MAX, |measured| after(begin, measured));
        self.accounting.window = (begin, end);
        self.limit = if self.scheduled() { after(end, phases.drain_ns) } else { end };
        self.phase = Phase::WarmUp;
        self.last = start;
        self.job.watch.enter(Phase::WarmUp, start, begin);
        self.timers.push(begin, Timer::Measure);
        match self.job.plan.load {
            Load::Closed { think, .. } => {
                let slots = u64::from(self.job.plan.depth);
                let all = u64::from(self.job.plan.load.clients()) * slots;
                for at in 0..self.accounting.slots.len() {
                    let tag = self.partition.tag(at).0;
                    let number = (tag >> 32) * slots + (tag & u64::from(u32::MAX));
                    let Some(slot) = self.accounting.slots.get_mut(at).filter(|slot| slot.state != State::Over) else {
                        continue;
                    };
                    let pause = first_pause(think, number, all, &mut slot.rng);
                    self.timers.push(start.saturating_add(pause), Timer::Slot(at as u32));
                }
            }
            Load::Open { .. } | Load::Partly { .. } => self.start_schedules(start),
        }
    }

    fn start_schedules(&mut self, start: i64) {
        let (plan, partition) = (self.job.plan, self.partition);
        match plan.load {
            Load::Open { clients, rate, arrivals } => {
                let schedule = Schedule::open(start, rate, arrivals, plan.seed);
                let mine = (0..clients).map(|client_index| partition.is_mine(client_index)).collect();
                self.arrival_queues.push(ArrivalQueue::new(Due::Some { schedule, next: 0, mine }));
            }
            Load::Partly { users, every_ns, arrivals } => {
                let schedule = |user| Schedule::of_user(start, user, users, every_ns, arrivals, plan.seed);
                self.arrival_queues =
                    partition.clients().map(|user| ArrivalQueue::new(Due::All(schedule(user)))).collect();
            }
            Load::Closed { .. } => {}
        }
        // First the first slot of every client, then the second: iterations are spread over clients before they share one.
        for nth in 0..plan.depth as usize {
            for slot in (nth..self.accounting.slots.len()).step_by(plan.depth as usize) {
                if self.accounting.state(slot) != State::Over {
                    self.wait_for_iteration(slot, start);
                }
            }
        }
    }

    /// Warm-up and the measured phase.
    fn load(&mut self) -> io::Result<()> {
        loop {
            let end = self.accounting.window.1.min(self.job.coordinator.end());
            if end < self.accounting.window.1 {
                self.end_early(end);
            }
            if self.now >= end {
                break;
            }
            if self.live == 0 && !self.said_idle {
                self.said_idle = true;
                self.job.coordinator.idle(self.last);
                continue;
            }
            self.step(end)?;
        }
        self.stopped |= self.job.watch.stopped();
        let end = self.accounting.window.1;
        self.gaps = self.gaps_until(end);
        self.take_round_trips();
        for (tally, up) in self.accounting.tallies.iter_mut().zip(&self.up) {
            tally.connected = *up > 0;
        }
        let until_now = self.reading();
        self.cpu = self.begin.map_or_else(Default::default, |begin| until_now.since(&begin));
        self.cpu.wake_up_ns = self.wake_up_lag.moments().mean_ns().map(|mean| mean as u64);
        self.generator.stolen_ns = self.begin.and_then(|begin| until_now.stolen_since(&begin));
        self.generator.throttled_ns = self.begin.and_then(|begin| until_now.throttled_since(&begin));
        Ok(())
    }

    /// The gaps between answers in the measured phase, by target, if the phase ends at `end`.
    pub(super) fn gaps_until(&self, end: i64) -> Vec<TargetGaps> {
        let own = matches!(self.job.plan.load, Load::Partly { .. });
        let depth = self.job.plan.depth as usize;
        // An iteration of a common schedule may be meant for any target, one of a user's schedule is for the user's target.
        let target_of = |user: usize| self.accounting.target_of(self.partition.connection(user * depth));
        self.accounting.gaps_until(end, |target| {
            let queues = self.arrival_queues.iter().enumerate().filter(|(user, _)| !own || target_of(*user) == target);
            queues.map(|(_, queue)| queue.next()).filter(|due| *due < end).min()
        })
    }

    /// The measured phase ends sooner than planned: nothing new is begun from then on.
    fn end_early(&mut self, end: i64) {
        self.accounting.window.1 = end;
        self.accounting.window.0 = self.accounting.window.0.min(end);
        self.limit = end;
    }

    /// Waits for outstanding operations, as long as the plan allows.
    fn drain(&mut self) -> io::Result<()> {
        let until = after(self.now.max(self.accounting.window.1), self.job.plan.phases.drain_ns);
        self.phase = Phase::Drain;
        self.job.watch.enter(Phase::Drain, self.now, until);
        // Only a stop during the drain ends it; a stop of the load before does not.
        let stopped = self.stopped;
        let (began, heard) = (self.now, self.heard);
        while self.now < until && !self.gone() && (stopped || !self.job.watch.stopped()) && !self.drained() {
            self.step(until)?;
        }
        if self.acting > 0 {
            self.read_arrived();
        }
        let heard = self.heard != heard;
        let in_vain = (self.now >= until || self.job.watch.stopped()) && self.acting > 0 && !heard;
        let in_vain = in_vain && self.now.saturating_sub(began) >= HANGS_NS;
        // From now on outstanding operations count as unanswered, and late answers are expected.
        (self.gave_up, self.accounting.drain_over) = (true, true);
        let clients = self.connections.iter().filter_map(|connection| connection.client.as_ref());
        self.generator.unmatched_responses += clients.map(|client| client.unmatched_responses()).sum::<u64>();
        // Nothing is begun any more, nor what was due before the end of the phase: clients log off next.
        self.limit = i64::MIN;
        self.count_never_sent();
        for at in 0..self.connections.len() as u32 {
            let now = self.now;
            if self.acting > 0
                && self.connections.get(at as usize).is_some_and(|connection| connection.has_operations())
            {
                self.with_client(at, |client, _, accounting| client.overdue(i64::MAX, now, accounting));
            }
        }
        while !self.settle() {}
        // After the failures of unanswered operations, which belong to these iterations.
        self.accounting.count_unended(self.now);
        let overtime = self.accounting.last_due_ended.saturating_sub(self.accounting.window.1);
        self.generator.overtime_ns = u64::try_from(overtime).unwrap_or(0);
        self.flush_all();
        self.job.coordinator.drained(heard, in_vain);
        while !self.job.coordinator.all_drained() && !self.gone() {
            self.step(self.now.saturating_add(TICK_NS))?;
        }
        self.generator.servers_hang = self.job.coordinator.servers_hang();
        Ok(())
    }

    /// The run was abandoned or failed: no further waiting.
    fn gone(&self) -> bool {
        self.job.watch.abandoned() || self.job.coordinator.failed()
    }

    /// Logs off all sessions, and closes every connection.
    fn leave_all(&mut self) -> io::Result<()> {
        self.phase = Phase::Leaving;
        self.limit = i64::MIN;
        let until = after(self.now, self.job.plan.phases.connect_ns);
        self.job.watch.enter(Phase::Leaving, self.now, until);
        self.stop_binding();
        for at in 0..self.sessions {
            match self.connections.get(at as usize).map(|connection| connection.state) {
                Some(ConnectionState::Opening | ConnectionState::LoggingOn) => {
                    self.busy -= 1;
                    self.close(at, Cause::Ended, ConnectionState::Closed);
                }
                Some(ConnectionState::Waiting) => self.close(at, Cause::Ended, ConnectionState::Closed),
                _ => {}
            }
        }
        self.queue = (0..self.sessions).collect();
        let (mut heard, mut since) = (self.heard, self.now);
        while (self.busy > 0 || !self.queue.is_empty()) && self.now < until && !self.gone() {
            self.step(until)?;
            let impatient = self.generator.servers_hang || self.job.watch.stopped();
            if self.heard != heard || !impatient {
                (heard, since) = (self.heard, self.now);
            } else if self.now.saturating_sub(since) > HANGS_NS {
                break;
            }
        }
        for at in 0..self.sessions {
            let Some(state) = self.connections.get(at as usize).map(|connection| connection.state) else { continue };
            if matches!(state, ConnectionState::Up | ConnectionState::Leaving) {
                self.generator.left_rudely += 1;
                self.one_less_up(at);
                self.close(at, Cause::Ended, ConnectionState::Closed);
            }
        }
        while !self.settle() {}
        Ok(())
    }

    /// Whether connections are still made.
    pub(super) fn connects(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Connecting | Phase::WarmUp | Phase::Measured)
    }
}

/// The instant `ns` after `at`.
fn after(at: i64, ns: u64) -> i64 {
    at.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX))
}

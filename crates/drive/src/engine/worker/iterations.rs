//! Next steps of slots, and the results of their actions.

use std::io::ErrorKind;

use plimsoll_client::Client;
use plimsoll_client::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_model::Sink;
use plimsoll_workload::Load;
use plimsoll_workload::scenario::{Scenario, ScenarioStep};
use rustix::io::Errno;

use super::super::Phase;
use super::super::connection::ConnectionState;
use super::super::timers::Timer;
use super::{BATCH, TICK_NS, Worker};
use crate::network::Network;
use crate::simulated_client::accounting::Accounting;
use crate::simulated_client::iteration_clock::IterationClock;
use crate::simulated_client::pacing::pause;
use crate::simulated_client::slot::State;

/// Maximum number of steps without an operation that a slot takes at a time; then other slots get their turn.
const STEPS: usize = 1_000;

/// Result of a slot's step.
enum Taken {
    /// An operation was begun.
    Begun,
    /// A pause of this length, ns.
    Thought(u64),
    IterationOver,
    Finished,
}

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Handles ended actions, until none is left or it is time for other work. Returns false if some are left.
    pub(super) fn settle(&mut self) -> bool {
        for round in 0..BATCH {
            // With blocking clients an operation takes its whole time here, so other clients do not wait for a full batch.
            let due = self.timers.next().unwrap_or(i64::MAX).min(self.next_tick);
            if round > 0 && self.address.is_none() && due <= self.now {
                break;
            }
            while let Some(arrival_queue) = self.served.pop() {
                self.serve(arrival_queue);
            }
            let Some((connection, done)) = self.accounting.ended.pop_front() else { return true };
            match done.tag {
                Tag::CONNECT => self.logged_on(connection, &done),
                Tag::LEAVE => self.left(connection),
                tag if let Some(channel) = tag.bound_channel() => self.channel_bound(connection, channel, &done),
                tag => self.ended(connection, tag, &done),
            }
        }
        self.accounting.ended.is_empty() && self.served.is_empty()
    }

    /// An operation of a slot ended.
    fn ended(&mut self, connection: u32, tag: Tag, done: &Done) {
        // A client that says so twice is not believed the second time.
        let Some(slot) = self.partition.slot(tag) else { return };
        let Some(found) = self.accounting.slots.get_mut(slot).filter(|slot| slot.connection == connection) else {
            return;
        };
        if found.state != State::Acting {
            return;
        }
        self.acting -= 1;
        found.state = State::Thinking;
        if matches!(done.result, Err(Failure { cause: Cause::TimedOut, .. })) {
            self.generator.overdue += 1;
        }
        self.accounting.account(slot, done);
        // Clients that block are ahead of the clock as it was last read.
        self.now = self.now.max(done.at);
        self.advance(slot, done.at);
    }

    /// Takes a slot's next steps; the first one was due at `at`.
    pub(super) fn advance(&mut self, slot: usize, mut at: i64) {
        for _ in 0..STEPS {
            let Some((state, connection)) =
                self.accounting.slots.get(slot).map(|found| (found.state, found.connection))
            else {
                return;
            };
            if at >= self.limit || state == State::Over {
                return;
            }
            if at > self.now {
                self.accounting.set(slot, State::Thinking);
                self.timers.push(at, Timer::Slot(slot as u32));
                return;
            }
            match self.connections.get(connection as usize).map(|connection| connection.state) {
                Some(ConnectionState::Up) => {}
                Some(ConnectionState::Closed) | None => return self.finish(slot, at),
                Some(_) => return self.accounting.set(slot, State::Held(at)),
            }
            match self.take_step(slot, connection, at) {
                Taken::Begun => return,
                Taken::Thought(ns) => at = at.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX)),
                Taken::IterationOver => match self.iteration_over(slot, at) {
                    Some(next) => at = next,
                    None => return,
                },
                Taken::Finished => return self.finish(slot, at),
            }
        }
        self.accounting.set(slot, State::Thinking);
        self.timers.push(at, Timer::Slot(slot as u32));
    }

    /// Asks a slot's scenario for its next step, and begins it if it is an operation.
    fn take_step(&mut self, slot: usize, connection: u32, at: i64) -> Taken {
        let Some(found) = self.accounting.slots.get_mut(slot) else { return Taken::Finished };
        let tag = found.tag;
        let Some(mut scenario) = found.scenario.take() else { return Taken::Finished };
        let taken = match scenario.next() {
            ScenarioStep::Act(operation, path) => {
                self.now = self.net.now();
                let ticket = Ticket { tag, intended: Some(at), path };
                self.begin(slot, connection, &operation, ticket);
                Taken::Begun
            }
            ScenarioStep::Think(ns) => Taken::Thought(ns),
            ScenarioStep::IterationOver => Taken::IterationOver,
            ScenarioStep::Finished => Taken::Finished,
        };
        self.put_back(slot, scenario);
        taken
    }

    fn put_back(&mut self, slot: usize, scenario: Box<dyn Scenario>) {
        if let Some(slot) = self.accounting.slots.get_mut(slot) {
            slot.scenario = Some(scenario);
        }
        self.accounting.hand_out();
    }

    /// Begins an operation.
    fn begin(&mut self, slot: usize, connection: u32, operation: &Operation<'_>, ticket: Ticket) {
        let up_since = self.connections.get(connection as usize).map_or(0, |connection| connection.up_since);
        let counts_starts = self.accounting.counts_starts;
        if let Some(slot) = self.accounting.slots.get_mut(slot) {
            slot.state = State::Acting;
            slot.intended = ticket.intended.unwrap_or(self.now);
            slot.begun = self.now;
            slot.has_asked = false;
            slot.asked_bytes = match operation {
                Operation::Read { length, .. } | Operation::ReadPlus { length, .. }
                    if !slot.scenario.as_ref().is_some_and(|it| it.knows_what_comes_back()) =>
                {
                    Some(*length)
                }
                _ => None,
            };
            // Waiting for the slot or its connection was not the generator's doing.
            slot.delay.begin((slot.intended, counts_starts.then_some(up_since)), self.now);
            let due = slot.intended;
            slot.iteration.get_or_insert(IterationClock { due, next: None, waited: false, failed: false });
        }
        self.acting += 1;
        let now = self.now;
        self.with_client(connection, |client, out, accounting| client.begin(operation, ticket, now, out, accounting));
    }

    /// Calls the client of a connection, and notes if it has something to send.
    pub(super) fn with_client(
        &mut self,
        at: u32,
        call: impl FnOnce(&mut dyn Client, &mut Outbox, &mut Accounting<'_, S>),
    ) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let Some(client) = &mut connection.client else { return };
        self.accounting.caller = at;
        call(client.as_mut(), &mut connection.out, &mut self.accounting);
        self.note_dirty(at);
        self.arm(at);
    }

    /// Notes the connections of a client that have something to send.
    #[inline]
    pub(super) fn note_dirty(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        if !connection.dirty && !connection.out.is_empty() {
            connection.dirty = true;
            self.dirty.push(at);
        }
        if self.job.plan.channels > 1 {
            self.note_dirty_channels(at);
        }
    }

    /// Sets the timer for a client's next wake-up. Earlier timers are recognised as obsolete when they fire.
    pub(super) fn arm(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let wakes_at = connection.client.as_ref().map_or(i64::MAX, |client| client.wakes_at());
        if wakes_at < connection.wakes_at {
            connection.wakes_at = wakes_at;
            self.timers.push(wakes_at, Timer::Wake(at));
        }
    }

    /// The client of a connection may want to do something by itself.
    pub(super) fn wake(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.wakes_at = i64::MAX;
        if connection.alive() {
            let now = self.now;
            self.with_client(at, |client, out, accounting| client.wake(now, out, accounting));
        }
    }

    /// A slot's iteration is over: when its next one starts, if that is known already.
    fn iteration_over(&mut self, slot: usize, at: i64) -> Option<i64> {
        self.accounting.iteration_over(slot, at);
        if let Load::Closed { think, .. } = self.job.plan.load {
            let rng = &mut self.accounting.slots.get_mut(slot)?.rng;
            return Some(at.saturating_add(pause(think, rng)));
        }
        // A slot whose connection was lost in the meantime was not free before it was there again.
        let up_since =
            self.connections.get(self.partition.connection(slot) as usize).map_or(at, |connection| connection.up_since);
        self.wait_for_iteration(slot, at.max(up_since));
        None
    }

    /// A slot waits for an iteration that is due.
    pub(super) fn wait_for_iteration(&mut self, slot: usize, since: i64) {
        let arrival_queue = self.arrival_queue_of(slot);
        self.accounting.set(slot, State::Idle(since, true));
        if let Some(found) = self.arrival_queues.get_mut(arrival_queue as usize) {
            found.free.push_back(slot as u32);
            self.served.push(arrival_queue);
        }
    }

    fn arrival_queue_of(&self, slot: usize) -> u32 {
        match self.job.plan.load {
            Load::Partly { .. } => self.partition.client_index(slot) as u32,
            _ => 0,
        }
    }

    /// Starts the iterations of a schedule that are due, as far as there are slots for them.
    pub(super) fn serve(&mut self, which: u32) {
        loop {
            let end = self.accounting.window.1.min(self.limit);
            let Some(arrival_queue) = self.arrival_queues.get_mut(which as usize) else { return };
            let due = arrival_queue.next();
            if due >= end {
                return;
            }
            let Some(&slot) = arrival_queue.free.front() else { return };
            if due > self.now {
                if !arrival_queue.armed {
                    arrival_queue.armed = true;
                    self.timers.push(due, Timer::Arrival(which));
                }
                return;
            }
            arrival_queue.free.pop_front();
            let slot = slot as usize;
            let State::Idle(since, _) = self.accounting.state(slot) else { continue };
            let up = self
                .connections
                .get(self.partition.connection(slot) as usize)
                .is_some_and(|connection| connection.state == ConnectionState::Up);
            if !up {
                self.accounting.set(slot, State::Idle(since, false));
                continue;
            }
            arrival_queue.take();
            let next = arrival_queue.next();
            self.started(slot, (due, next), since);
            self.advance(slot, due);
        }
    }

    /// Counts an iteration that starts now and was due at `due`, when the next one is due at `next` and the slot has been free since
    /// `since`.
    fn started(&mut self, slot: usize, (due, next): (i64, i64), since: i64) {
        let own = matches!(self.job.plan.load, Load::Partly { .. });
        if let Some(slot) = self.accounting.slots.get_mut(slot) {
            slot.delay.start_iteration(due, since);
            slot.iteration =
                Some(IterationClock { due, next: own.then_some(next), waited: since > due, failed: false });
        }
        if !self.accounting.measures(due) {
            return;
        }
        self.generator.planned += 1;
        let late = since > due;
        let client_index = self.partition.client_index(slot);
        if let (true, Some(tally)) = (own, self.accounting.tallies.get_mut(client_index)) {
            tally.due_iterations += 1;
            tally.late_iterations += u64::from(late);
        }
        if late {
            self.generator.late_starts += 1;
        } else {
            self.lag(due);
        }
    }

    /// A slot has nothing more to do.
    pub(super) fn finish(&mut self, slot: usize, at: i64) {
        if self.accounting.state(slot) != State::Over {
            self.accounting.set(slot, State::Over);
            self.live -= 1;
            // An iteration that started late can have an earlier intended time than the actions before it.
            self.last = self.last.max(at).max(self.now);
        }
    }

    /// A connection's actions ended with it: reports those that its client has not reported.
    pub(super) fn end_all(&mut self, connection: u32, cause: Cause) {
        for slot in self.partition.slots_of(connection) {
            let tag = self.partition.tag(slot);
            let owed = self.accounting.state(slot) == State::Acting;
            if owed && !self.accounting.ended.iter().any(|(_, done)| done.tag == tag) {
                let result = Err(Failure::without_answer(cause));
                self.accounting.ended.push_back((connection, Done { tag, at: self.now, result }));
            }
        }
    }

    /// Whether no action of the measured phase, or begun in it, is outstanding.
    pub(super) fn drained(&mut self) -> bool {
        if self.acting > 0 {
            // All that is outstanding may be held requests. Asking everybody takes a while: not too often.
            if self.now < self.next_count {
                return false;
            }
            self.next_count = self.now + TICK_NS;
            let waiting = self.connections.iter().filter(|connection| connection.has_operations());
            let clients = waiting.filter_map(|connection| connection.client.as_ref());
            return clients.map(|client| client.outstanding()).sum::<usize>() == 0;
        }
        if !self.scheduled() || self.limit <= self.accounting.window.1 {
            return true;
        }
        let thinking = self.accounting.slots.iter().any(|slot| slot.state == State::Thinking);
        let waiting = self
            .arrival_queues
            .iter()
            .any(|arrival_queue| arrival_queue.next() < self.accounting.window.1 && !arrival_queue.free.is_empty());
        !thinking && !waiting
    }

    /// Iterations of the measured phase that were never started are counted.
    pub(super) fn count_never_sent(&mut self) {
        let window = self.accounting.window;
        let own = matches!(self.job.plan.load, Load::Partly { .. });
        for (client_index, arrival_queue) in self.arrival_queues.iter_mut().enumerate() {
            while arrival_queue.next() < window.1 {
                let missed = u64::from(arrival_queue.next() >= window.0);
                self.generator.planned += missed;
                self.generator.never_sent += missed;
                if missed > 0 {
                    self.accounting.last_due_ended = self.accounting.last_due_ended.max(self.now);
                }
                if let (true, Some(tally)) = (own, self.accounting.tallies.get_mut(client_index)) {
                    tally.due_iterations += missed;
                }
                arrival_queue.take();
            }
        }
    }

    /// Whether connections are still made.
    pub(super) fn connects(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Connecting | Phase::WarmUp | Phase::Measured)
    }
}

/// The cause of a failed operation, from an error of the operating system.
pub(super) fn cause_of(error: &std::io::Error) -> Cause {
    match error.kind() {
        ErrorKind::ConnectionRefused => Cause::ConnectionRefused,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Cause::ConnectionReset,
        ErrorKind::UnexpectedEof | ErrorKind::NotConnected => Cause::ConnectionClosed,
        ErrorKind::TimedOut => Cause::TimedOut,
        // What RPC over TLS says of a server that does not offer it, or cannot be believed.
        ErrorKind::Unsupported if error.raw_os_error().is_none() => Cause::NotOffered,
        ErrorKind::InvalidData => Cause::Untrusted,
        ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::PermissionDenied
        | ErrorKind::InvalidInput => Cause::Unreachable,
        // No local port is left.
        ErrorKind::AddrNotAvailable | ErrorKind::AddrInUse | ErrorKind::OutOfMemory => Cause::OutOfResources,
        // These have no kind in common.
        _ => match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Cause::OutOfResources,
            _ => Cause::RefusedBySystem,
        },
    }
}

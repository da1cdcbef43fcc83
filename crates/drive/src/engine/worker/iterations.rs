//! Next steps of slots, and the results of their actions.

use plimsoll_client::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use plimsoll_model::Sink;
use plimsoll_workload::Load;
use plimsoll_workload::scenario::{Scenario, ScenarioStep};

use super::super::connection::ConnectionState;
use super::super::timers::Timer;
use super::{BATCH, TICK_NS, Worker};
use crate::network::Network;
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

    fn begin(&mut self, slot: usize, connection: u32, operation: &Operation<'_>, ticket: Ticket) {
        let up_since = self.connections.get(connection as usize).map_or(0, |connection| connection.up_since);
        let counts_starts = self.accounting.counts_starts;
        if let Some(slot) = self.accounting.slots.get_mut(slot) {
            slot.state = State::Acting;
            slot.intended = ticket.intended.unwrap_or(self.now);
            slot.begun = self.now;
            slot.has_asked = false;
            slot.verifies =
                matches!(operation, Operation::Read { keep: true, .. } | Operation::ReadPlus { keep: true, .. });
            slot.asked_bytes = match operation {
                Operation::Read { length, .. } | Operation::ReadPlus { length, .. }
                    if !slot.scenario.as_ref().is_some_and(|it| it.knows_what_comes_back()) =>
                {
                    Some(*length)
                }
                _ => None,
            };
            // Waiting for the slot or its connection was not the generator's doing.
            let end = self.accounting.window.1;
            slot.delay.begin((slot.intended, counts_starts.then_some(up_since)), self.now, end);
            let due = slot.intended;
            slot.iteration.get_or_insert(IterationClock { due, next: None, waited: false, failed: false });
        }
        self.acting += 1;
        let now = self.now;
        self.with_client(connection, |client, out, accounting| client.begin(operation, ticket, now, out, accounting));
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

    /// Whether no action of the measured phase, or begun in it, is outstanding, or is due and was not begun.
    pub(super) fn drained(&mut self) -> bool {
        if self.acting > 0 {
            // All that is outstanding may be held requests. Asking everybody takes a while: not too often.
            if self.now < self.next_count {
                return false;
            }
            self.next_count = self.now + TICK_NS;
            let waiting = self.connections.iter().filter(|connection| connection.has_operations());
            let clients = waiting.filter_map(|connection| connection.client.as_ref());
            return clients.map(|client| client.outstanding()).sum::<usize>() == 0 && !self.is_start_due();
        }
        if self.is_start_due() {
            return false;
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

    /// Whether a start was due before the end of the phase, and the thread woke up after it: if it were not begun, the delay would be in no
    /// number.
    fn is_start_due(&self) -> bool {
        self.timers.is_start_due(self.now, self.limit)
    }
}

//! Iterations of a schedule: a slot waits for one that is due, or one that is due for a slot.

use plimsoll_model::Sink;
use plimsoll_workload::Load;

use super::super::connection::ConnectionState;
use super::super::timers::Timer;
use super::Worker;
use crate::network::Network;
use crate::simulated_client::iteration_clock::IterationClock;
use crate::simulated_client::slot::State;

impl<S: Sink, N: Network> Worker<'_, S, N> {
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
}

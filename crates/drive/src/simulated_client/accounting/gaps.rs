//! Gaps between the answers of each target: see `silence.rs`.

use plimsoll_client::nfs4::asks_to_wait;
use plimsoll_client::operation::Failure;
use plimsoll_model::{Outcome, Sink, Transaction};

use super::Accounting;
use crate::engine::{GivenUp, Unanswered};
use crate::simulated_client::silence::{Gap, TargetGaps};
use crate::simulated_client::slot::{Slot, State};

impl<S: Sink> Accounting<'_, S> {
    /// The target of one of our connections.
    #[inline]
    pub(crate) fn target_of(&self, connection: u32) -> usize {
        if self.gaps.len() == 1 { 0 } else { self.partition.owner(connection).0 as usize % self.gaps.len() }
    }

    /// The gaps in the measured phase, by target, if the phase ends at `end`: adds the gap since the last answer. `due` returns the due
    /// time of the first scheduled iteration for a target that was not begun.
    pub(crate) fn gaps_until(&self, end: i64, due: impl Fn(usize) -> Option<i64>) -> Vec<TargetGaps> {
        let mut all = self.gaps.clone();
        let came = self.attention.end(end);
        for (target, gaps) in all.iter_mut().enumerate() {
            if let Some((from, failed)) = gaps.answered(self.window.0, (came, end)) {
                let wanted = [self.wanted_since(target), due(target)].into_iter().flatten().min();
                gaps.push(Gap { from, to: came, wanted, failed });
            }
        }
        let names = self.targets.iter().cloned().chain(std::iter::repeat_with(String::new));
        all.into_iter().zip(names).map(|(mut gaps, name)| TargetGaps { name, gaps: gaps.take() }).collect()
    }

    /// Of several targets, one that cannot be connected to is silent, although the schedule gives its iterations to the others.
    pub(crate) fn attempt_failed(&mut self, connection: u32, at: i64) {
        let (target, several) = (self.target_of(connection), self.gaps.len() > 1);
        if let Some(gaps) = self.gaps.get_mut(target).filter(|_| several) {
            gaps.failed(at, at);
        }
    }

    /// The connection of a slot, which was lost at `lost_at`, was given up at `at`. An action that was due and never began waited for an
    /// answer until then.
    pub(crate) fn gave_up(&mut self, slot: usize, (lost_at, at): (i64, i64)) {
        let Some(&Slot { state, connection, .. }) = self.slots.get(slot) else { return };
        let target = self.target_of(connection);
        if let (State::Held(due), Some(gaps)) = (state, self.gaps.get_mut(target)) {
            gaps.failed(due, at);
        }
        let tally = self.tallies.get_mut(self.partition.client_index(slot));
        if let Some(tally) = tally.filter(|_| state != State::Over) {
            let known = tally.given_up.unwrap_or(GivenUp { since: lost_at, slots: 0 });
            tally.given_up = Some(GivenUp { since: known.since.min(lost_at), slots: known.slots + 1 });
        }
    }

    /// An answer to an action of a slot was read at `at`. One that only asks to wait is none: the client repeats the request.
    pub(super) fn action_answered(&mut self, slot: usize, at: i64, transaction: &Transaction) {
        match transaction.status.filter(|&status| asks_to_wait(transaction.procedure, status)) {
            Some(status) => self.count_postponed(slot, status),
            None => self.note_gap(at, transaction.long_lived),
        }
    }

    #[cold]
    fn count_postponed(&mut self, slot: usize, status: u32) {
        let client_index = self.slots.get(slot).map_or(usize::MAX, |slot| slot.client_index as usize);
        if let Some(tally) = self.tallies.get_mut(client_index) {
            tally.postponed(status);
        }
    }

    /// An answer was read at `at` from the connection that was called last.
    #[inline]
    fn note_gap(&mut self, at: i64, long_lived: bool) {
        let (target, came) = (self.target_of(self.caller), self.attention.came(at, self.wake_ns));
        let gap = self.gaps.get_mut(target).and_then(|gaps| gaps.answered(self.window.0, (came, at)));
        // A request that waits by design is no wait for the server.
        if let Some((from, failed)) = gap.filter(|_| !long_lived) {
            let wanted = self.wanted_since(target);
            if let Some(gaps) = self.gaps.get_mut(target) {
                gaps.push(Gap { from, to: came, wanted, failed });
            }
        }
    }

    /// An action failed. If it had no answer, or was asked to wait until its timeout, it wanted one since it was due.
    pub(super) fn action_failed(
        &mut self,
        failure: &Failure,
        (connection, due_on_time): (u32, i64),
        (intended, begun): (i64, i64),
        at: i64,
    ) {
        let is_unanswered = failure.outcome == Outcome::Unanswered;
        let is_postponed =
            || failure.procedure.zip(failure.status).is_some_and(|(of, status)| asks_to_wait(of, status));
        if !is_unanswered && !is_postponed() {
            return;
        }
        let target = self.target_of(connection);
        if let Some(gaps) = self.gaps.get_mut(target) {
            gaps.failed(due_on_time, at);
        }
        if is_unanswered && self.measures(intended) {
            let since = |from: i64| u64::try_from(at.saturating_sub(from)).unwrap_or(0);
            let (longest_ns, longest_from_intended_ns) = (since(begun), since(intended));
            let at_end = u64::from(self.drain_over);
            self.unanswered.add(&Unanswered { count: 1, at_end, longest_ns, longest_from_intended_ns });
        }
    }

    /// Since when a request to a target is outstanding, or due and not sent.
    fn wanted_since(&self, target: usize) -> Option<i64> {
        let due = |slot: &Slot| match slot.state {
            State::Acting => Some(slot.due_on_time()),
            State::Held(due) => Some(due),
            State::Idle(..) | State::Thinking | State::Over => None,
        };
        let slots = self.slots.iter().filter(|slot| self.target_of(slot.connection) == target);
        slots.filter_map(due).min()
    }
}

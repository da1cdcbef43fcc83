//! Ended actions and iterations, and failed connections, in the tallies of their clients.

use plimsoll_client::operation::{Cause, Done, Failure, Reply};
use plimsoll_model::Sink;
use plimsoll_workload::scenario::Verdict;

use super::Accounting;
use crate::engine::ConnectionFailure;
use crate::simulated_client::iteration_clock::IterationTallies;

impl<S: Sink> Accounting<'_, S> {
    /// An operation of a slot ended: informs its scenario and counts it for its client.
    pub(crate) fn account(&mut self, slot: usize, done: &Done) {
        let Some(slot) = self.slots.get_mut(slot) else { return };
        let client_index = slot.client_index as usize;
        let (intended, begun, asked_bytes) = (slot.intended, slot.begun, slot.asked_bytes);
        let (has_asked, waits) = (slot.has_asked, (slot.connection, slot.due_on_time()));
        let late = slot.delay.end(intended, done.at);
        if self.window.0 <= intended && intended < self.window.1 {
            self.lateness.lose(late);
        }
        let verdict = slot.scenario.as_mut().map_or(Verdict::AsAnswered, |scenario| scenario.done(done));
        let (verified, wrong) = (slot.verifies && done.result.is_ok(), verdict == Verdict::Failed(Cause::WrongData));
        let failure = match (verdict, &done.result) {
            (Verdict::Excused, _) => return,
            (Verdict::Failed(cause), _) => Some(Failure::without_answer(cause)),
            (Verdict::AsAnswered, Err(failure)) => Some(failure.clone()),
            (Verdict::Expected, _) | (Verdict::AsAnswered, Ok(_)) => None,
        };
        if let (Some(_), Some(iteration)) = (&failure, &mut slot.iteration) {
            iteration.failed = true;
        }
        if let Some(tally) = self.tallies.get_mut(client_index).filter(|_| verified) {
            tally.verified_reads += 1;
            tally.wrong_reads += u64::from(wrong);
        }
        if let Err(failure) = &done.result {
            self.action_failed(failure, waits, (intended, begun), done.at);
        }
        if let Some(failure) = failure {
            self.error(client_index, &failure, intended);
            return;
        }
        self.fresh.actions += 1;
        if self.measures(intended)
            && let Some(tally) = self.tallies.get_mut(client_index)
        {
            let response = u64::try_from(done.at.saturating_sub(begun)).unwrap_or(0);
            tally.actions += 1;
            tally.without_request += u64::from(!has_asked);
            if let (&Ok(Reply::Read { bytes }), Some(asked)) = (&done.result, asked_bytes.filter(|asked| *asked > 0)) {
                tally.reads += 1;
                tally.short_reads += u64::from(bytes > 0 && bytes < asked);
                tally.empty_reads += u64::from(bytes == 0);
            }
            tally.responses.record(response);
        }
    }

    /// A connection of a client was lost, or could not be made, at `at`. `kept`: its outstanding operations continue later.
    pub(crate) fn connection_failed(
        &mut self,
        client_index: usize,
        cause: Cause,
        (was_up, kept): (bool, bool),
        at: i64,
    ) {
        self.fresh.errors += u64::from(!kept);
        let measured = self.measures(at);
        let Some(tally) = self.tallies.get_mut(client_index) else { return };
        let this = ConnectionFailure { cause, was_up, measured, kept, count: 1 };
        match tally.connection_failures.iter_mut().find(|one| ConnectionFailure { count: 1, ..**one } == this) {
            Some(known) => known.count += 1,
            None => tally.connection_failures.push(this),
        }
    }

    /// An iteration of a slot ended at `at`.
    pub(crate) fn iteration_over(&mut self, slot: usize, at: i64) {
        self.fresh.iterations += 1;
        let measured = self.measures(at);
        let Some(found) = self.slots.get_mut(slot) else { return };
        if let Some(tally) = self.tallies.get_mut(found.client_index as usize).filter(|_| measured) {
            tally.iterations += 1;
        }
        let kind = found.scenario.as_ref().map_or(0, |scenario| scenario.kind());
        if let Some(clock) =
            found.iteration.take().filter(|clock| self.window.0 <= clock.due && clock.due < self.window.1)
        {
            self.iterations.ended(kind, clock, at);
            self.last_due_ended = self.last_due_ended.max(at);
        }
    }

    /// All is over at `now`: iterations that were due in the measured phase and have not ended are counted.
    pub(crate) fn count_unended(&mut self, now: i64) {
        for slot in &mut self.slots {
            let kind = slot.scenario.as_ref().map_or(0, |scenario| scenario.kind());
            if let Some(clock) =
                slot.iteration.take().filter(|clock| self.window.0 <= clock.due && clock.due < self.window.1)
            {
                self.iterations.unended(kind, clock);
                self.last_due_ended = self.last_due_ended.max(now);
            }
        }
    }

    /// The iterations as [`Self::count_unended`] would count them, without those that may still end before their user's next one is due.
    pub(crate) fn iterations_until(&self, now: i64) -> IterationTallies {
        let mut iterations = self.iterations.clone();
        for slot in &self.slots {
            let kind = slot.scenario.as_ref().map_or(0, |scenario| scenario.kind());
            let measured = slot.iteration.filter(|clock| self.measures(clock.due));
            if let Some(clock) = measured.filter(|clock| clock.next.is_some_and(|next| next < now)) {
                iterations.unended(kind, clock);
            }
        }
        iterations
    }

    /// An action of a client went wrong at `at`.
    fn error(&mut self, client_index: usize, failure: &Failure, at: i64) {
        self.fresh.errors += 1;
        let measured = self.measures(at);
        let Some(tally) = self.tallies.get_mut(client_index) else { return };
        if measured { tally.failed(failure) } else { tally.failed_outside(failure) }
    }
}

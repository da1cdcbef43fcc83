//! Slots, tallies and sink of a worker's simulated clients. Protocol clients report to it.

mod aside;
mod ended;
mod gaps;

use std::collections::VecDeque;

use plimsoll_client::Events;
use plimsoll_client::operation::{Done, Tag};
use plimsoll_model::{Names, Sink, Transaction};

use super::attention::Attention;
use super::iteration_clock::IterationTallies;
use super::silence::Gaps;
use super::slot::{Slot, State};
use crate::engine::lateness::{LatenessRecorder, beyond_waking};
use crate::engine::partition::WorkerPartition;
use crate::engine::{Answered, ClientTally, SessionRequests, Unanswered};

/// Slots, tallies, and where transactions go.
pub(crate) struct Accounting<'a, S> {
    pub(crate) partition: WorkerPartition,
    pub(crate) slots: Vec<Slot>,
    pub(crate) tallies: Vec<ClientTally>,
    pub(crate) iterations: IterationTallies,
    /// When the last iteration that was due in the measured phase ended or was given up.
    pub(crate) last_due_ended: i64,
    pub(crate) sink: S,
    pub(crate) names: &'a Names,
    pub(crate) level: u32,
    /// The measured phase: from, until before.
    pub(crate) window: (i64, i64),
    /// Answered requests of the phase.
    pub(crate) answered: Answered,
    /// Unanswered requests that were due in the phase.
    pub(crate) unanswered: Unanswered,
    /// The drain is over: it ended the waits of the outstanding actions.
    pub(crate) drain_over: bool,
    /// Session requests outside of the phase.
    pub(crate) session_requests: SessionRequests,
    /// Gaps between the answers in the phase, of each target.
    gaps: Vec<Gaps>,
    /// The names of the targets, if there are several. Client `i` uses target `i` modulo their number.
    targets: Vec<String>,
    /// When the thread looked for answers.
    pub(crate) attention: Attention,
    /// Effect of the generator's own lateness on the measurements of the phase.
    pub(crate) lateness: LatenessRecorder,
    /// Iterations start on a schedule.
    pub(crate) scheduled: bool,
    /// Slots may be begun as soon as they are ready.
    pub(crate) counts_starts: bool,
    /// How long the bytes that are being looked at had been there, ns, where the kernel says.
    pub(crate) wake_ns: Option<i64>,
    /// The connection whose client was called last.
    pub(crate) caller: u32,
    /// The slot of the last transaction: a compound has several transactions.
    last_slot: Option<(Tag, usize)>,
    /// Actions that ended and were not looked at yet, and the connection that they ran on.
    pub(crate) ended: VecDeque<(u32, Done)>,
    /// Data that came for a slot while its scenario was choosing the next step: (slot, true for a name, offset, end of its bytes).
    aside: Vec<(usize, bool, u64, usize)>,
    aside_bytes: Vec<u8>,
    /// Since they were last published.
    pub(crate) fresh: Fresh,
}

/// Counts since the last publication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fresh {
    pub(crate) iterations: u64,
    pub(crate) actions: u64,
    pub(crate) errors: u64,
}

impl<S: Sink> Events for Accounting<'_, S> {
    fn transaction(&mut self, operation: Option<Tag>, transaction: &mut Transaction) {
        let slot = operation.and_then(|tag| self.slot_of(tag));
        let due = transaction.timeline.intended.or(transaction.timeline.request_first);
        let measured = due.is_some_and(|at| self.measures(at));
        // A compound's main operation stands for the whole compound.
        if transaction.counted {
            self.count(slot, due, transaction);
        }
        transaction.level = measured.then_some(self.level);
        transaction.client_index = self.partition.asks(operation.filter(|_| slot.is_some()), self.caller);
        self.sink.transaction(transaction, self.names);
    }

    fn done(&mut self, done: Done) {
        self.ended.push_back((self.caller, done));
    }

    fn data(&mut self, tag: Tag, offset: u64, piece: &[u8]) {
        let Some(slot) = self.partition.slot(tag) else { return };
        match self.slots.get_mut(slot).and_then(|slot| slot.scenario.as_mut()) {
            Some(scenario) => scenario.data(offset, piece),
            None => self.set_aside(slot, false, offset, piece),
        }
    }

    fn entry(&mut self, tag: Tag, name: &str) {
        let Some(slot) = self.partition.slot(tag) else { return };
        match self.slots.get_mut(slot).and_then(|slot| slot.scenario.as_mut()) {
            Some(scenario) => scenario.entry(name),
            None => self.set_aside(slot, true, 0, name.as_bytes()),
        }
    }
}

impl<'a, S: Sink> Accounting<'a, S> {
    /// Accounting at the start of a run. `targets` has the names of the targets, if there are several.
    pub(crate) fn new(
        (partition, worker): (WorkerPartition, u32),
        sink: S,
        (names, targets): (&'a Names, Vec<String>),
        level: u32,
    ) -> Self {
        let tally = |client_index| ClientTally { client_index, worker, ..ClientTally::default() };
        let tallies = partition.clients().map(tally).collect();
        Self {
            partition,
            slots: Vec::new(),
            tallies,
            iterations: IterationTallies::default(),
            last_due_ended: i64::MIN,
            sink,
            names,
            level,
            window: (i64::MAX, i64::MAX),
            answered: Answered::default(),
            unanswered: Unanswered::default(),
            drain_over: false,
            session_requests: SessionRequests::default(),
            gaps: vec![Gaps::default(); targets.len().max(1)],
            targets,
            attention: Attention::default(),
            lateness: LatenessRecorder::default(),
            scheduled: false,
            counts_starts: true,
            wake_ns: None,
            caller: 0,
            last_slot: None,
            ended: VecDeque::new(),
            aside: Vec::new(),
            aside_bytes: Vec::new(),
            fresh: Fresh::default(),
        }
    }

    /// The slot of a tag, if it is one of ours.
    #[inline]
    fn slot_of(&mut self, tag: Tag) -> Option<usize> {
        match self.last_slot {
            Some((last, slot)) if last == tag => Some(slot),
            _ => {
                let slot = self.partition.slot(tag)?;
                self.last_slot = Some((tag, slot));
                Some(slot)
            }
        }
    }

    /// Whether an action due at `at` belongs to the measured phase.
    pub(crate) fn measures(&self, at: i64) -> bool {
        self.window.0 <= at && at < self.window.1
    }

    /// Counts a request of `slot` that was due at `due`.
    #[inline]
    fn count(&mut self, slot: Option<usize>, due: Option<i64>, transaction: &Transaction) {
        if let Some(slot) = slot.and_then(|slot| self.slots.get_mut(slot)) {
            slot.has_asked = true;
        }
        if let Some(at) = transaction.timeline.response_last.filter(|&at| self.measures(at)) {
            self.answered.count(transaction, self.window.0);
            // A server that only answers session requests (logons, renewals of leases) serves no action.
            if let Some(slot) = slot {
                self.action_answered(slot, at, transaction);
            }
        }
        match due {
            Some(at) if self.measures(at) => self.note_lateness(slot, transaction),
            Some(at) => self.session_requests.count(transaction, at >= self.window.1),
            None => {}
        }
    }

    /// Notes how much of an answered request's times was the generator's.
    fn note_lateness(&mut self, slot: Option<usize>, transaction: &Transaction) {
        let timeline = &transaction.timeline;
        let (Some(first), Some(last)) = (timeline.request_first, timeline.response_last) else { return };
        if transaction.long_lived {
            return;
        }
        let read = self.wake_ns.map_or(0, beyond_waking);
        // A delay cannot be longer than the time that it is part of.
        let read = read.min(u64::try_from(last - first).unwrap_or(0));
        let phase_end = self.window.1;
        let slot = slot.and_then(|slot| self.slots.get_mut(slot));
        let start = slot.map_or(0, |slot| {
            slot.delay.read(last, read, phase_end);
            // Further requests of the operation are due when the answers before them were read.
            if timeline.intended == Some(slot.intended) { slot.delay.start() } else { 0 }
        });
        if !transaction.procedure.row().is_asked_for() {
            return;
        }
        let whole = start.saturating_add(read);
        self.lateness.count(self.wake_ns.is_some(), whole);
        self.lateness.response.record(last - first, read);
        if let (Some(intended), true) = (timeline.intended, self.scheduled) {
            self.lateness.from_intended.record(last - intended, whole);
        }
    }

    /// A slot's state.
    pub(crate) fn state(&self, slot: usize) -> State {
        self.slots.get(slot).map_or(State::Over, |slot| slot.state)
    }

    /// Changes a slot's state.
    pub(crate) fn set(&mut self, slot: usize, state: State) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.state = state;
        }
    }
}

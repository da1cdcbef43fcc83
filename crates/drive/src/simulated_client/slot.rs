//! One thread of a user's doing.

use plimsoll_client::operation::Tag;
use plimsoll_workload::Rng;
use plimsoll_workload::scenario::Scenario;

use super::delay::Delay;
use super::iteration_clock::IterationClock;

/// One thread of a user's doing.
pub(crate) struct Slot {
    /// Its tag, client and connection, as the partition has them: found once, because the partition has to divide for each.
    pub(crate) tag: Tag,
    pub(crate) client_index: u32,
    pub(crate) connection: u32,
    /// Its scenario; `None` while the scenario is asked for a step.
    pub(crate) scenario: Option<Box<dyn Scenario>>,
    pub(crate) state: State,
    /// When its operation was meant to start, and when it was begun, ns.
    pub(crate) intended: i64,
    pub(crate) begun: i64,
    /// Bytes that its operation reads; `None` for other operations, and if its scenario knows the content.
    pub(crate) asked_bytes: Option<u32>,
    /// Its operation is a read whose data are compared with the expected data.
    pub(crate) verifies: bool,
    /// A request of its operation is known.
    pub(crate) has_asked: bool,
    /// How late the generator made it.
    pub(crate) delay: Delay,
    pub(crate) iteration: Option<IterationClock>,
    /// For its pauses.
    pub(crate) rng: Rng,
}

impl Slot {
    /// When its operation would have been due, had the generator not been late.
    pub(crate) fn due_on_time(&self) -> i64 {
        self.intended.saturating_add(i64::try_from(self.delay.start()).unwrap_or(i64::MAX))
    }
}

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waiting for an iteration since this time (arrival-driven loads only), and whether it is in the arrival queue.
    Idle(i64, bool),
    /// A timer will wake it.
    Thinking,
    /// It was due at that time, but its connection is not there.
    Held(i64),
    /// An operation is outstanding.
    Acting,
    /// It has finished, or its connection was given up.
    Over,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("state", &self.state).field("intended", &self.intended).finish_non_exhaustive()
    }
}

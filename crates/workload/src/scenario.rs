//! What a user does next.

use plimsoll_model::Symbol;

use plimsoll_client::operation::{Cause, Done, Operation};

/// What comes next on one slot. A slot is one thread of a user's doing: it has at most one operation outstanding, and a
/// client with a pipelining depth of N has N slots.
#[derive(Clone, Copy, Debug)]
pub enum ScenarioStep<'a> {
    /// Do this; ask again when it is done. The symbol is the path acted on, where it is recorded.
    Act(Operation<'a>, Symbol),
    /// Do nothing for so many nanoseconds.
    Think(u64),
    /// The iteration is over. An iteration is what pacing counts: under a rate, each arrival starts one; in a closed loop the next
    /// one starts after the think time.
    IterationOver,
    /// There is nothing left to do.
    Finished,
}

/// A script of one slot. Deterministic: its own seed and what [`Scenario::done`] tells it decide everything.
pub trait Scenario: Send {
    /// The next step.
    fn next(&mut self) -> ScenarioStep<'_>;
    /// How the operation went that the last [`ScenarioStep::Act`] asked for; what that counts as.
    fn done(&mut self, done: &Done) -> Verdict;
    /// Which kind of iteration it is in, or has ended last, from 0.
    fn kind(&self) -> u32 {
        0
    }
    /// Whether it knows how much each read returns, and holds the server to it: then a read of nothing is as it should be.
    fn knows_what_comes_back(&self) -> bool {
        false
    }
    /// A piece of the data of a read that asked to keep it, in order.
    fn data(&mut self, offset: u64, piece: &[u8]) {
        let _ = (offset, piece);
    }
    /// A name in the directory that is being listed.
    fn entry(&mut self, name: &str) {
        let _ = name;
    }
    /// The connection was lost and made again: no file is open any more.
    fn reconnected(&mut self);
}

/// What the end of an operation counts as. Its transactions are what the server made them, whatever the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What it was: a reply is a success, a failure a failure.
    AsAnswered,
    /// A success: it failed as it was meant to.
    Expected,
    /// Neither: it was never possible here, and the scenario keeps account of it.
    Excused,
    /// A failure for this cause, whatever was answered.
    Failed(Cause),
}

/// Data read were not the data written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongData;

impl From<Result<(), WrongData>> for Verdict {
    fn from(checked: Result<(), WrongData>) -> Self {
        checked.map_or(Verdict::Failed(Cause::WrongData), |()| Verdict::AsAnswered)
    }
}

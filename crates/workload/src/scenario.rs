//! The interface of scenarios, which choose a user's next step.

use plimsoll_model::Symbol;

use plimsoll_client::operation::{Cause, Done, Operation};

/// The next step of one slot. A slot is one sequence of a user's actions: it has at most one outstanding operation, and a client with a
/// pipelining depth of N has N slots.
#[derive(Clone, Copy, Debug)]
pub enum ScenarioStep<'a> {
    /// Do this; ask again when it is done. The symbol is the path acted on, where it is recorded.
    Act(Operation<'a>, Symbol),
    /// Pause for this time, ns.
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
    /// Handles the end of the operation of the last [`ScenarioStep::Act`]; returns its verdict.
    fn done(&mut self, done: &Done) -> Verdict;
    /// Which kind of iteration it is in, or has ended last, from 0.
    fn kind(&self) -> u32 {
        0
    }
    /// Whether it knows the number of bytes that each read returns, and checks it: then an empty read may be correct.
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

/// The verdict on an operation. Its transactions keep the server's result, whatever the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The result as it is: a reply is a success, a failure a failure.
    AsAnswered,
    /// A success: it failed as it was meant to.
    Expected,
    /// Neither: the operation is not supported here, and the scenario counts it.
    Excused,
    /// A failure with this cause, whatever the answer.
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

//! The results that the merge of parts needs.

use plimsoll_client::clock::Clock;
use plimsoll_drive::engine::EngineResult;
use plimsoll_model::Reason;
use serde::{Deserialize, Serialize};

/// The results of a part beside its statistics: all exact numbers from which the whole is judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PartResult {
    /// Counts of the engine.
    pub(crate) ran: EngineResult<()>,
    /// Reasons against the part that do not follow from counts.
    pub(crate) besides: Vec<Reason>,
    /// Processors that the process may use.
    pub(crate) processors: usize,
    /// Amount by which the time of day was set since the process began, ns.
    pub(crate) clock_moved_ns: i64,
}

impl PartResult {
    /// The results of a completed level.
    pub(crate) fn of(ran: EngineResult<()>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { ran, besides: Vec::new(), processors, clock_moved_ns: Clock::new().drift() }
    }

    /// Encodes the results for a recording.
    pub(crate) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

//! What the parts of a run are merged with.

use plimsoll_client::clock::Clock;
use plimsoll_drive::engine::EngineResult;
use serde::{Deserialize, Serialize};

/// What a part of a run keeps besides its statistics: all that the whole is judged from, exact.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PartResult {
    /// What the engine has counted.
    pub(crate) ran: EngineResult<()>,
    /// What speaks against the part and follows from nothing that is counted.
    pub(crate) besides: Vec<String>,
    /// Processors that the process may use.
    pub(crate) processors: usize,
    /// By how much the time of day was set since the process began, ns.
    pub(crate) clock_moved_ns: i64,
}

impl PartResult {
    /// Of a level that is over.
    pub(crate) fn of(ran: EngineResult<()>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { ran, besides: Vec::new(), processors, clock_moved_ns: Clock::new().drift() }
    }

    /// As a recording keeps it.
    pub(crate) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

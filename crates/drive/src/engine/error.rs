//! Why a run could not be made at all.

use crate::action::Cause;

/// Why a run could not be made at all. A server that fails is no error: that is measured.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan contradicts itself.
    #[error("the plan cannot be run: {0}")]
    Plan(&'static str),
    /// Not one station could connect and log on; nothing was measured.
    #[error("no station could connect: {}{}", cause.label(), status.map(|s| format!(" (status {s:#x})")).unwrap_or_default())]
    NobodyConnected {
        /// What happened to the first that failed.
        cause: Cause,
        /// The status on the wire, where an answer came.
        status: Option<u32>,
    },
    /// A thread or an event queue could not be made, or waiting for events failed.
    #[error("the load generator itself failed ({doing}): {source}")]
    Machine {
        /// What it was doing.
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
}

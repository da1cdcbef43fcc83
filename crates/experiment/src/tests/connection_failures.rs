//! Failures of connections, for the tests of verdicts.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{ClientTally, ConnectionFailure, EngineResult, Generator};

/// A server refused to be connected to.
pub(crate) fn refused(was_up: bool, measured: bool, count: u64) -> ConnectionFailure {
    ConnectionFailure { cause: Cause::ConnectionRefused, was_up, measured, kept: false, count }
}

/// A run of these clients, which nothing else is known of.
pub(crate) fn ran(clients: Vec<ClientTally>, measured: (i64, i64)) -> EngineResult<()> {
    EngineResult {
        sinks: Vec::new(),
        clients,
        iterations: Vec::new(),
        generator: Generator::default(),
        measured,
        gaps: Vec::new(),
        silences: Vec::new(),
        targets: Vec::new(),
        stopped: false,
    }
}

//! Failures of connections, for the tests of verdicts.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::ConnectionFailure;

/// A server refused to be connected to.
pub(crate) fn refused(was_up: bool, measured: bool, count: u64) -> ConnectionFailure {
    ConnectionFailure { cause: Cause::ConnectionRefused, was_up, measured, kept: false, count }
}

//! The input of the gates.

use plimsoll_drive::engine::{ClientTally, Generator};
use plimsoll_report::findings::Times;

/// A load level, as the gates see it.
pub(crate) struct Level<'a> {
    pub(crate) generator: &'a Generator,
    pub(crate) clients: &'a [ClientTally],
    /// Whether users have schedules: then keeping them is a result, and users do not continue after an error.
    pub(crate) users: bool,
    /// Whether clients without a schedule pause between iterations: then one without an action may only have waited.
    pub(crate) pauses: bool,
    /// Iterations that were due in the measured phase, began, and had not ended when the drain was over.
    pub(crate) unended: u64,
    /// Response times of all operations together.
    pub(crate) response: Option<Times>,
    /// The most frequent error status in words.
    pub(crate) status: Option<String>,
    /// Length of the measured phase, s.
    pub(crate) seconds: f64,
    /// Requests that may be outstanding.
    pub(crate) slots: u64,
    /// Processors that this process may use; of a merge of parts: that all of them may use.
    pub(crate) processors: usize,
}

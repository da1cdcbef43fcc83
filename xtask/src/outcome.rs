//! The result of a task.

/// The error message of a failed command.
pub(crate) type Outcome = Result<(), String>;

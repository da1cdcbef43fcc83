//! What a task gives.

/// What a command says when it did not work.
pub(crate) type Outcome = Result<(), String>;

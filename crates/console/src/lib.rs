//! The terminal and the signals of the process: what an output can show, and what Ctrl-C ends.

pub mod interrupt;
pub mod shell;

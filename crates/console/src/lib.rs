//! The process, its terminal and its signals: what it keeps in memory, what an output can show, and what Ctrl-C ends.

pub mod interrupt;
pub mod memory;
pub mod shell;

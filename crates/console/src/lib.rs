//! The process, its terminal and its signals: its memory, the capabilities of its outputs, and the effects of Ctrl-C.

pub mod interrupt;
pub mod memory;
pub mod shell;

//! The process and its surroundings: its memory, its command line without secrets, its terminal, its output files, its manual, and
//! the effects of Ctrl-C.

pub mod interrupt;
pub mod man_page;
pub mod memory;
pub mod output_file;
pub mod progress;
pub mod secrecy;
pub mod shell;
pub mod system_error;
pub mod tip;
#[cfg_attr(not(target_os = "linux"), path = "title/absent.rs")]
pub mod title;

//! Analyses of captures and tables: what is asked for, the sinks of the transactions, and the findings. This crate prints nothing but the
//! progress of reading.

mod chain;
mod checkpoints;
mod diagnosis;
mod filter;
mod job;
mod running;
mod side;
mod single_capture;

pub use chain::{Chain, ChainOptions};
pub use checkpoints::Checkpoints;
pub use diagnosis::DiagnosisSoFar;
pub use filter::Filter;
pub use job::{Analyzed, Job, Live, Wanted};
pub use running::{Running, finish_table};
pub use side::SideReader;
pub use single_capture::read_capture;

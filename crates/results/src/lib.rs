//! Results of measurements without measuring again: writes and reads recordings, compares and judges them, and shows their history. This
//! crate drives no server, so it works on any operating system.

mod captures;
mod claimed_source;
pub mod comparison;
mod description;
mod error;
pub mod history;
mod late_generator;
mod procedures;
pub mod record;
mod recorded_level;
pub mod recording_findings;
mod tables;
mod usage;

pub use captures::{is_of_captures, merge as merge_captures};
pub use description::read as read_description;
pub use error::{all_of, first_reason};
pub use late_generator::SentenceUnit;
pub use procedures::ProcedureSet;
pub use recorded_level::{cautions, read_level};
pub use tables::Tables;
pub use usage::{Interrupted, Usage};

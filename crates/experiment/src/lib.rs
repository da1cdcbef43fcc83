//! What is measured, and when it counts: a load level, its verdict, what is fair and what is certain, the recording of it, and the
//! server's own numbers beside it. Nothing here prints or ends the process: [`Watching`] is told how far an experiment is.

mod arm;
pub mod breakdown;
pub mod capacity;
mod chosen;
pub mod comparison;
mod disruption;
mod drive;
mod error;
mod files;
mod finished;
mod fitting;
mod lateness;
mod level;
mod level_spec;
mod measure;
#[cfg(test)]
mod odd_servers;
mod open_files;
mod pace;
mod parameters;
mod procedures;
#[cfg(test)]
mod ranked_servers;
pub mod record;
mod recorded;
pub mod recording_findings;
pub mod server_side;
mod sink;
mod spec;
#[cfg(test)]
mod starved;
mod tallies;
mod uncertain;
mod validity;
mod watching;

pub use arm::Arm;
pub use chosen::Chosen;
pub use drive::{ByTime, Drive, Levels, Site, Told};
pub use error::{Usage, all_of, first_reason};
pub use finished::read_back;
pub use lateness::FROM_INTENDED;
pub use level::{LevelResult, run as run_level};
pub use level_spec::{LevelSpec, again, of_variant, repeated};
pub use measure::{Work, measure};
pub use open_files::allow as allow_open_files;
pub use parameters::Variant;
pub use procedures::ProcedureSet;
pub use recorded::Recorded;
pub use sink::{Kept, Table};
pub use spec::{KerberosSpec, RunSpec, ServerSpec, VariantSpec};
pub use watching::{Shown, Watching};

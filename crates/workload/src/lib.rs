//! Workloads: descriptions of users' actions, their files and their frequencies.
//!
//! ```text
//! TOML text ─ text (as written) ─ program (checked) ─ slot: a Scenario ─┐
//!      └ fileset: what is there before, made by Scenarios of its own ───┴─ engine
//! ```
//!
//! A slot does *iterations*, each a short script of steps on one subject. The iteration, the file and the offset are random, from one
//! numbering of all files, which every slot of every client uses; the random numbers of an iteration depend only on the slot's seed and
//! the iteration's number. So the accessed files, and their frequencies, do not depend on the number of clients, threads or processes:
//! the union of the slots has the distribution of one slot (a test checks this; SPEC withdrew SFS 2.0 in 2001 because it violated this).
//!
//! Every iteration leaves the files unchanged. It removes the objects that it creates, which have names private to the slot, and writes
//! to files of the set repeat the existing content. So slots never interfere, and any read can be verified at any time.

mod builtin;
mod checked_workload;
mod data_source;
pub(crate) mod dbench;
mod deck;
mod defaults;
mod distribution;
mod error;
mod file_set_of;
mod file_step;
pub mod fileset;
mod find;
mod hexadecimal;
mod load;
mod open_files;
mod parameters;
mod program;
mod quantity;
mod replay;
mod rng;
pub mod scenario;
mod schema;
mod script_runner;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod workload;

pub use builtin::{BUILTINS, Builtin};
pub use data_source::DataSource;
pub use defaults::Defaults;
pub use error::WorkloadError;
pub use fileset::FileSet;
pub(crate) use fileset::{Sweep, Swept, Tree};
pub use load::{Arrivals, Load, Pause, Phases, nanoseconds};
pub use parameters::Parameter;
pub use rng::{Rng, seed_of};
pub use schema::schema;
pub use workload::Workload;

/// Bytes of a size as workloads write it (`8KiB`, `0.75kB`); `None` where it is none.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    quantity::Size::parse(text).map(|size| size.0)
}

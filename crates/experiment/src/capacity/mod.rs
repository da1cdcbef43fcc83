//! The search for the highest load that meets its objectives.
//!
//! `options.rs` has what a user asks for, `spec.rs` what follows from it, `find.rs` the whole search: a loop over the levels of `search.rs`
//! (one process), or of `joint.rs` (one part of several).

mod find;
pub(crate) mod joint;
mod objectives;
pub(crate) mod options;
mod search;
pub(crate) mod spec;
mod trials;

pub use find::find_capacity;
pub use joint::searching;
pub use objectives::parse as parse_objective;
pub use options::SearchOptions;
pub(crate) use search::CapacitySearch;
pub use spec::SearchSpec;

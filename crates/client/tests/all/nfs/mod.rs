//! The NFSv3 client with scripted answers: no server is needed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod due;
mod hostile;
mod mounting;
pub(crate) mod script;
mod steady;
mod version;

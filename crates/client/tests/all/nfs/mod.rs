//! The NFSv3 client and what scripts say to it: no server is needed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod due;
mod hostile;
mod mounting;
pub(crate) mod script;
mod steady;

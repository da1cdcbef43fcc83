//! The NFSv3 client without a network: what it says is answered in place.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod hostile;
mod script;
mod steady;

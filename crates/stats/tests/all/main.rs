//! Statistics, intervals and curves from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod curve;
mod intervals;
mod shared_statistics;
mod statistics;

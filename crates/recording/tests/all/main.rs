//! Tables and intervals, written and read again, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod intervals;
mod table;

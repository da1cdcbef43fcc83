//! The engine, over memory under a virtual clock and over TCP.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(dead_code, reason = "the toy's parts for tests to come")]

mod memory;
mod schedules;
mod tcp;
mod toy;

//! The engine, over memory under a virtual clock and over TCP.

mod blocking;
mod failures;
mod given_up;
mod memory;
mod property;
mod punctual;
mod schedules;
mod silences;
mod stalls;
mod tcp;
mod toy;

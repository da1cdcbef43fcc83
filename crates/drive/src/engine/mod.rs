//! Drives a server: a thread a core, each with its own stations, connections and timers.
//!
//! ```text
//! Plan ──┐                ┌ connect all ─ warm-up ─ measured ─ drain ─ leave ┐
//! Setup ─┼─ run ─ worker ─┤                                                 ├─ Ran: sinks, tallies, generator
//! Watch ─┘  (one a core)  └ lanes of scenarios ⇄ clients ⇄ network ─────────┘
//! ```
//!
//! A [`Plan`] says how much load there is and for how long; a [`Setup`] makes clients and scenarios; a [`Watch`] shows
//! how far it is and can end it. What comes back is what was measured, and how well the generator itself kept up.

mod error;
mod histogram;
mod plan;
mod ran;
mod rng;
mod setup;
mod watch;

pub use error::EngineError;
pub use histogram::Histogram;
pub use plan::{Arrivals, Load, Pause, Phases, Plan, Reconnect};
pub use ran::{Generator, Ran, StationTally, WorkerCpu};
pub use rng::{Rng, seed_of};
pub use setup::{Birth, Setup};
pub use watch::{Phase, Progress, Watch};

use plimsoll_model::Sink;

/// Runs a plan to its end: connects every station, warms up, measures, drains, logs off. Returns when all of it is done;
/// every phase has an end, so it always returns.
///
/// `sinks` makes one sink for each worker; it takes every transaction of the run in the order in which they ended on
/// that worker. Those that belong to the measured phase carry the plan's stage, all others (connecting, warm-up, drain,
/// logging off) carry none: a transaction belongs to it if its intended instant (where it has none: its request's first
/// byte) lies in it.
///
/// # Errors
/// The plan makes no sense, the machine has no resources left, or not one station could connect (then the first
/// failure says why). Everything else that goes wrong is part of the measurement.
pub fn run<S: Sink + Send>(
    plan: &Plan,
    setup: &dyn Setup,
    sinks: impl Fn(u32) -> S + Sync,
    watch: &Watch,
) -> Result<Ran<S>, EngineError> {
    plan.check()?;
    let _ = (setup, sinks, watch);
    Err(EngineError::NobodyConnected { cause: crate::action::Cause::Ended, status: None })
}

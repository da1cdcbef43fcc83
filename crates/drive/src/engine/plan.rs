//! How much load, for how long.

use std::sync::Arc;

use plimsoll_client::operation::MOST_CHANNELS;
use plimsoll_workload::{Load, Pause, Phases};
use serde::{Deserialize, Serialize};

use super::EngineError;
use super::partition::WorkerPartition;
use super::plan_part::PlanPart;
use super::rendezvous::Rendezvous;
use crate::tap::Tap;

/// Load, duration, and reaction to failures of the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The source of iterations and their times.
    pub load: Load,
    /// Pipelining depth: scenarios that one client runs at a time, each with one outstanding operation. At least 1.
    pub depth: u32,
    /// Connections of each client (nconnect), each with a separate protocol client; slot `n` uses connection `n % connections`. At least
    /// 1.
    pub connections: u32,
    /// Clients that share a connection and its protocol client. At least 1, and 1 where `connections` is more than 1.
    pub clients_per_connection: u32,
    /// TCP connections of each session (SMB multichannel): each carries requests of all slots. At least 1.
    #[serde(default = "one")]
    pub channels: u32,
    /// How long each phase is.
    pub phases: Phases,
    /// Timeout of a request and of connecting with logon, ns: an overdue request is reported as unanswered, its operation as timed out.
    /// The check is at most an eighth late.
    pub timeout_ns: u64,
    /// Worker threads; 0 for one per core. Never more than connections. If [`super::ServerAccess::address`] is `None` (only blocking calls), 0
    /// means one per connection.
    pub threads: u32,
    /// Everything random follows from it.
    pub seed: u64,
    /// Reaction to a connection that cannot be made or is lost.
    pub reconnect: Reconnect,
    /// Maximum number of connections being made (or closed) at the same time, over all workers. At least 1 per worker.
    pub connecting: u32,
    /// The number of the load level that transactions of the measured phase belong to, from 0.
    pub level: u32,
    /// Ask the kernel when bytes arrived, and report how much later the generator saw them.
    pub kernel_times: bool,
    /// The part of the plan that this process drives; null: the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PlanPart>,
    /// When the warm-up begins, ns since the Unix epoch; null: as soon as every client is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_ns: Option<i64>,
    /// Keeps this machine's processors from going idle, with threads of the idle policy, so that starts and reads of answers are on time.
    pub no_cpu_idle: bool,
    /// Writes the socket traffic to a capture file. Several consecutive runs can share one; its creator finishes it.
    #[serde(skip)]
    pub tap: Option<Arc<Tap>>,
    /// Where it waits, when every client is connected, for runs that are to begin at the same instant; its own start is that of all.
    #[serde(skip)]
    pub rendezvous: Option<Arc<Rendezvous>>,
}

/// Channels of a plan that was written before there were any.
fn one() -> u32 {
    1
}

/// Reaction to a connection that cannot be made or is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconnect {
    /// Maximum number of consecutive attempts before its clients give up; 0: no retry. A request that the server has refused (logon,
    /// share) or does not offer is not retried.
    pub attempts: u32,
    /// Wait before the first attempt, ns; each later one doubles it.
    pub first_ns: u64,
    /// The longest wait, ns.
    pub most_ns: u64,
    /// Whether an attempt that timed out is retried, too. Not recorded: all measurements retry.
    #[serde(skip, default = "yes")]
    pub after_timeout: bool,
}

fn yes() -> bool {
    true
}

impl Default for Reconnect {
    /// Ten attempts, 100 ms to 5 s apart: 26 s of waits, about as long as a server takes to restart.
    fn default() -> Self {
        Self { attempts: 10, first_ns: 100_000_000, most_ns: 5_000_000_000, after_timeout: true }
    }
}

impl Reconnect {
    /// Wait before the attempt that follows `failed` failures in a row (1 or more), ns.
    #[must_use]
    pub fn wait_ns(&self, failed: u32) -> u64 {
        let doubled = self.first_ns.saturating_mul(1 << failed.saturating_sub(1).min(32));
        doubled.min(self.most_ns)
    }

    /// How long all attempts together wait, ns.
    #[must_use]
    pub fn patience_ns(&self) -> u64 {
        (1..=self.attempts).fold(0, |sum, failed| sum.saturating_add(self.wait_ns(failed)))
    }
}

impl Plan {
    /// The highest rate of a schedule, iterations per second.
    pub const HIGHEST_RATE: f64 = 1e8;

    /// A plan for a load with defaults: depth 1, one connection per client, a timeout of 30 s.
    #[must_use]
    pub fn new(load: Load) -> Self {
        Self {
            load,
            depth: 1,
            connections: 1,
            clients_per_connection: 1,
            channels: 1,
            phases: Phases::default(),
            timeout_ns: 30_000_000_000,
            threads: 0,
            seed: 0,
            reconnect: Reconnect::default(),
            connecting: 256,
            level: 0,
            kernel_times: true,
            part: None,
            start_at_ns: None,
            no_cpu_idle: false,
            tap: None,
            rendezvous: None,
        }
    }

    /// Clients of this process.
    #[must_use]
    pub fn clients(&self) -> u32 {
        match self.part {
            None => self.load.clients(),
            Some(_) => WorkerPartition::new(self, 0, 1).clients().count() as u32,
        }
    }

    /// Iterations that this process is to start per second; `None` in a closed loop.
    #[must_use]
    pub fn asked_rate(&self) -> Option<f64> {
        let whole = self.load.asked_rate()?;
        // The whole's to the last bit.
        let share = || f64::from(self.clients()) / f64::from(self.load.clients());
        Some(if self.part.is_some() { whole * share() } else { whole })
    }

    /// Requests that the clients of this process have outstanding at most.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        u64::from(self.clients()) * u64::from(self.depth)
    }

    /// Connections of all clients of this process.
    #[must_use]
    pub fn connections_in_all(&self) -> u64 {
        u64::from(WorkerPartition::units(self)) * u64::from(self.connections) * u64::from(self.channels)
    }

    /// Load threads of this process. Clients without connections make calls of the system, which block: by default each has a thread.
    #[must_use]
    pub fn workers(&self, is_connected: bool) -> u32 {
        let units = WorkerPartition::units(self);
        let wanted = match (self.threads, is_connected) {
            (0, false) => units,
            (0, true) => cores(),
            (threads, _) => threads,
        };
        wanted.min(units)
    }

    /// The whole plan that this is a part of.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { part: None, ..self.clone() }
    }

    /// Whether it is valid.
    ///
    /// # Errors
    /// The contradiction in it.
    pub fn check(&self) -> Result<(), EngineError> {
        let wrong =
            |condition: bool, what: &str| if condition { Err(EngineError::Plan(what.to_owned())) } else { Ok(()) };
        let Self { connections, clients_per_connection, channels, .. } = *self;
        wrong(self.load.clients() == 0, "the number of clients must be at least 1")?;
        wrong(self.depth == 0, "the queue depth must be at least 1")?;
        wrong(
            connections == 0 || clients_per_connection == 0,
            "--connections and --clients-per-connection must be at least 1",
        )?;
        wrong(
            connections > 1 && clients_per_connection > 1,
            &format!(
                "--connections {connections} --clients-per-connection {clients_per_connection}: only one of the two can be above 1; \
                remove the other"
            ),
        )?;
        wrong(
            !(1..=MOST_CHANNELS).contains(&channels),
            &format!("--channels {channels}: expected an integer from 1 to {MOST_CHANNELS}"),
        )?;
        wrong(connections > self.depth, "--connections must not exceed the queue depth (--depth)")?;
        wrong(
            self.part.is_some_and(|part| part.parts() > WorkerPartition::units_of_all(self)),
            "--part K/N: N must not exceed the number of clients (with --clients-per-connection: the number of connections)",
        )?;
        wrong(self.connecting == 0, "the limit of simultaneous connection attempts must be at least 1")?;
        wrong(self.timeout_ns == 0, "--timeout must be above 0")?;
        let slots = u64::from(self.load.clients()) * u64::from(self.depth.max(self.connections));
        wrong(slots > 1 << 24, "the number of clients times the queue depth must be at most 16,777,216")?;
        match self.load {
            Load::Open { rate, .. } => {
                wrong(!(rate > 0.0 && rate <= Self::HIGHEST_RATE), "the rate must be above 0 and at most 1e8")
            }
            Load::Partly { every_ns, .. } => {
                wrong(every_ns == 0, "the time between the iterations of a user (--every) must be above 0")
            }
            Load::Closed { think: Pause::Uniform(low, high), .. } => {
                wrong(low > high, "the think time's lower bound is above its upper bound")
            }
            Load::Closed { .. } => Ok(()),
        }
    }
}

/// Processors that this process may use.
pub(super) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

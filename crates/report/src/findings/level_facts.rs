//! The facts of a load level that its load generator states, and that a report shows as they are.

use plimsoll_model::{Guarantees, Validity};
use serde::{Deserialize, Serialize};

use super::clients::ClientSpread;
use super::curve::Interval;
use super::interference::WorkloadShare;
use super::iterations::IterationKind;
use super::outage::{Interruption, ShortReads, Silence};
use super::run::{Fairness, Generator, Parameter};
use super::server::{ServerCounters, ServerSide};
use super::session_requests::SessionRequests;

/// Facts about a load level other than its transactions: identity, generator, fairness, and reasons if it is not valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelFacts {
    /// The load in words: `4 clients`, `2000 a second`.
    pub load_name: String,
    /// The load curve that it is a point of, where a run has several: `SMB`, `NFS`; null where it has one.
    pub curve: Option<String>,
    /// The parameter that was varied, and its value here; null where none was.
    pub varied: Option<Parameter>,
    /// Whose load it is, and beside whose; null in a run of one workload.
    pub share: Option<WorkloadShare>,
    /// Clients.
    pub clients: u64,
    /// Actions that a client keeps outstanding at most, over all its connections. An action is one message or several at a time; of an
    /// SMB2 compound each member is a request.
    pub depth: u32,
    /// Connections of all clients together.
    pub connections: u64,
    /// Iterations asked for, 1/s; null in a closed loop.
    pub asked_per_s: Option<f64>,
    /// Other parameters of the load, in words: think time, start rate of users, arrivals, timeout.
    #[serde(default)]
    pub pace: Vec<String>,
    /// Whether its numbers may be used.
    pub validity: Validity,
    /// Of `operations_per_s`; null where the phase was too short to tell, or the run had one level.
    pub operations_per_s_interval: Option<Interval>,
    /// Of the mean of the leading response time; null as above.
    pub response_mean_interval: Option<Interval>,
    /// Whether the load generator kept up.
    pub generator: Generator,
    /// How the server shared itself among the clients.
    pub fairness: Fairness,
    /// Response times and errors of the clients in comparison.
    #[serde(default)]
    pub spread: ClientSpread,
    /// Times without any answer, and requests that had none.
    #[serde(default)]
    pub silence: Silence,
    /// Reads that returned fewer bytes than asked for.
    #[serde(default)]
    pub short_reads: ShortReads,
    /// That it ended before its planned end; null where it did not.
    pub interruption: Option<Interruption>,
    /// Iterations by kind, in the workload's order; kinds without due iterations are left out.
    #[serde(default)]
    pub iterations: Vec<IterationKind>,
    /// Session requests outside of the measured phase, by procedure; all other numbers are without them.
    #[serde(default)]
    pub session_requests: Vec<SessionRequests>,
    /// The server's own metrics; null if not requested.
    pub server: Option<ServerSide>,
    /// The server's own counters; null if not requested.
    pub counters: Option<ServerCounters>,
    /// The server's guarantees: durability of writes, signatures, encryption, caching; null if unknown.
    pub guarantees: Option<Guarantees>,
}

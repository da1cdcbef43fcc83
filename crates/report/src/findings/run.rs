//! Additional content of a run compared with a capture: parameters of the load, and its evenness.

use serde::{Deserialize, Serialize};

use super::calls::Calls;
use super::capacity::Capacity;
use super::headline::Headline;
use super::times::Times;

/// How the load was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The server, without password.
    pub target: String,
    /// The workload's name.
    pub workload: String,
    /// Its actions, in a sentence.
    pub description: String,
    /// SHA-256 of the workload's text, hexadecimal; of several workloads one each, with spaces.
    pub workload_sha256: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Threads that made the load.
    pub threads: u32,
    /// Length of the warm-up before each measured phase, s.
    pub warmup_s: f64,
    /// Parameters negotiated with or requested from the server: dialect, signing, encryption, version; and the machine.
    pub facts: Vec<String>,
    /// The workload's parameters, as it declares them.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The highest load that met an objective; null if it was not searched.
    #[serde(default)]
    pub capacity: Option<Box<Capacity>>,
    /// Parts of the time of calls; null if not requested.
    #[serde(default)]
    pub calls: Option<Box<Calls>>,
}

/// A parameter of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value; of one that was varied all values, with commas.
    pub value: String,
    /// The value in bytes, where it is one size.
    pub bytes: Option<u64>,
}

impl Run {
    /// Whether there was no server: calls on a path of this machine.
    pub fn is_local(&self) -> bool {
        self.target.starts_with("file://")
    }
}

/// Whether the load generator kept up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// CPU time of the load threads, s, without busy-polling.
    pub cpu_s: f64,
    /// Its share of these threads' time, 0..=1: near 1 the generator is the bottleneck.
    pub cpu_share: f64,
    /// Processor time per request, s.
    pub cpu_per_operation_s: Option<f64>,
    /// CPU time of busy-polling before a start, while there was no other work, as a fraction of these threads' time, 0..=1; not included
    /// in the other fields. Null in recordings from before this was counted.
    pub polling_share: Option<f64>,
    /// Delay of intended starts in the generator; waiting for a free slot is not included.
    pub schedule_lag: Option<Times>,
    /// Seen by the program − received by the kernel; null where the kernel does not tell.
    pub wake_up_lag: Option<Times>,
    /// Round trip of the network as the kernel measured it on the connections; null where there are none.
    #[serde(default)]
    pub round_trip: Option<RoundTrip>,
    /// Step of the client's clock, s.
    pub clock_granularity_s: Option<f64>,
    /// Planned iterations that were due in the phase and not started when the drain ended.
    pub never_sent: u64,
    /// Answers to no request that waited: late, repeated, made up.
    pub unmatched_responses: u64,
    /// Requests that were not sent because a lease made them unnecessary, from connecting to logging off.
    #[serde(default)]
    pub requests_avoided: u64,
    /// Connections that were lost while their session continued on others, from connecting to logging off.
    #[serde(default)]
    pub channels_lost: u64,
    /// Repeated attempts to bind further connections to their sessions, from connecting to logging off. 0 in recordings from before they were
    /// counted.
    #[serde(default)]
    pub bindings_repeated: u64,
    /// Further connections of sessions that were lost before the end of the measured phase and not bound again. 0 in recordings from before they were counted.
    #[serde(default)]
    pub channels_given_up: u64,
    /// Requests that were sent again because the connection that they had gone out on was lost, from connecting to logging off.
    #[serde(default)]
    pub sent_again: u64,
    /// Time for which these threads were ready to run and had no processor, s; null where the system does not say.
    #[serde(default)]
    pub run_delay_s: Option<f64>,
    /// Steal time of this machine, summed over all processors, s; null if the system does not report it.
    #[serde(default)]
    pub stolen_s: Option<f64>,
    /// Requests that the generator started late or whose answers it read late, by more than waking up takes; null where the kernel does not
    /// say when answers came.
    #[serde(default)]
    pub late_requests: Option<u64>,
    /// Numbers that this lateness moved by more than their limit.
    #[serde(default)]
    pub moved: Vec<MovedNumber>,
}

impl Generator {
    /// The metrics of comparisons and conditions that the lateness moved, if `headline` leads. A moved throughput moves the data rate too.
    #[must_use]
    pub fn moved_metrics(&self, headline: Headline) -> Vec<String> {
        let since = headline.words();
        let of_number = |moved: &MovedNumber| match moved.number.as_str() {
            "throughput" => vec!["throughput".to_owned(), "bytes".to_owned()],
            number => number.strip_suffix(since).map(str::to_owned).into_iter().collect(),
        };
        self.moved.iter().flat_map(of_number).collect()
    }
}

/// A number that the generator's lateness moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MovedNumber {
    /// Which one: throughput, mean, p50, p99 from the intended start, …
    pub number: String,
    /// As reported, s (throughput: op/s).
    pub reported: f64,
    /// Without the lateness, likewise.
    pub on_time: f64,
}

/// Round trip of the network (TCP_INFO): from when the client's kernel sent bytes until the server's had acknowledged them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The least of any connection, s: no program has a part in it where the server's kernel acknowledged at once.
    pub least_s: f64,
    /// Smoothed, mean over the connections, s: includes acknowledgements that travel with answers.
    pub smoothed_s: f64,
}

/// How the server shared itself among the clients: iterations of each client, divided by their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Clients that were to work.
    pub clients: u64,
    /// Clients that ended no iteration.
    pub starved: u64,
    /// Smallest, over the mean.
    pub min: Option<f64>,
    /// Largest, over the mean.
    pub max: Option<f64>,
    /// Standard deviation, over the mean.
    pub stddev: Option<f64>,
    /// Jain's index: 1 where all are equal, 1/n where one has all.
    pub jain: Option<f64>,
    /// Whether differences are the server's: one thread of the load generator ran all clients, its threads were equally on time, or
    /// clients that could not connect make most of the differences. Otherwise the load generator may cause them.
    #[serde(default)]
    pub attributable: bool,
}

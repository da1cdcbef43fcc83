//! What a run adds to what a capture has: how the load was made, and one entry a load level.

use plimsoll_model::Guarantees;
use serde::{Deserialize, Serialize};

use super::calls::Calls;
use super::capacity::Capacity;
use super::server::ServerSide;
use super::{
    ClientSpread, Findings, Headline, Interruption, Interval, IterationKind, OperationRow, QueueDepth, ShortReads,
    Silence, Span, Times, Users, Validity,
};

/// How the load was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The server, without password.
    pub target: String,
    /// The workload's name.
    pub workload: String,
    /// What it does, in a sentence.
    pub description: String,
    /// SHA-256 of the workload's text, hexadecimal; of several workloads one each, with spaces.
    pub workload_sha256: String,
    /// What decides every draw.
    pub seed: u64,
    /// Threads that made the load.
    pub threads: u32,
    /// Length of the warm-up before each measured phase, s.
    pub warmup_s: f64,
    /// What was agreed with the server, or asked of it: dialect, signing, encryption, version; and the machine.
    pub facts: Vec<String>,
    /// The workload's parameters, as it declares them.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The highest load that met an objective; null if it was not searched.
    #[serde(default)]
    pub capacity: Option<Box<Capacity>>,
    /// Where the time of calls goes; null where nobody asked.
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

/// One load level: a data point of a load curve. Numbers are of its measured phase alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Its number, from 0: the column `stage` of the transactions table.
    pub number: u32,
    /// The load in words: `4 clients`, `2000 a second`.
    pub level: String,
    /// The load curve that it is a point of, where a run has several: `SMB`, `NFS`; null where it has one.
    pub curve: Option<String>,
    /// The parameter that was varied, and its value here; null where none was.
    pub varied: Option<Parameter>,
    /// Clients.
    pub clients: u64,
    /// Actions that a client keeps outstanding at most, over all its connections. An action is one message or several at a time; of an
    /// SMB2 compound each member is a request.
    pub depth: u32,
    /// Actions that all clients together keep outstanding at most: `clients` × `depth`.
    pub outstanding: u64,
    /// Connections of all clients together.
    pub connections: u64,
    /// Iterations asked for, 1/s; null in a closed loop.
    pub asked_per_s: Option<f64>,
    /// What else decides the load, in words: think time, how often users start, arrivals, time-out.
    #[serde(default)]
    pub pace: Vec<String>,
    /// Iterations that ended, 1/s. An iteration is one operation of a mix, or one run of a script.
    pub iterations_per_s: f64,
    /// The measured phase.
    pub span: Span,
    /// Whether its numbers may be used.
    pub validity: Validity,
    /// Requests: those of `response_time`, and those without an answer. Session traffic is not counted.
    pub count: u64,
    /// Answers with a status that is part of ordinary work, such as the end of a file.
    pub expected: u64,
    /// Refused and failed together.
    pub errors: u64,
    /// Requests to which the server said no.
    pub refused: u64,
    /// Requests that trouble kept from being carried out.
    pub failed: u64,
    /// Requests without an answer.
    pub unanswered: u64,
    /// Requests answered, 1/s.
    pub operations_per_s: f64,
    /// Of `operations_per_s`; null where the phase was too short to tell, or the run had one level.
    pub operations_per_s_interval: Option<Interval>,
    /// File data read, bytes/s.
    pub read_bytes_per_s: f64,
    /// File data written, bytes/s.
    pub write_bytes_per_s: f64,
    /// Which of its times leads: curves, sizes, repeats and the interval are of it.
    #[serde(default)]
    pub headline: Headline,
    /// Response times of all operations together.
    pub response_time: Option<Times>,
    /// Of the mean of the leading response time; null as above.
    pub response_mean_interval: Option<Interval>,
    /// Last byte of the response − intended start; charges a late start to the server.
    pub response_time_from_intended: Option<Times>,
    /// One row a procedure.
    pub operations: Vec<OperationRow>,
    /// Sums, as in the report's own `groups`.
    pub groups: Vec<OperationRow>,
    /// Requests outstanding at once.
    #[serde(default)]
    pub queue_depth: QueueDepth,
    /// Whether the load generator kept up.
    pub generator: Generator,
    /// How the server shared itself among the clients.
    pub fairness: Fairness,
    /// Response times and errors of the clients beside each other.
    pub spread: ClientSpread,
    /// Times without any answer, and requests that had none.
    #[serde(default)]
    pub silence: Silence,
    /// Reads that returned fewer bytes than asked for.
    #[serde(default)]
    pub short_reads: ShortReads,
    /// That it was stopped before its end; null where it was not.
    #[serde(default)]
    pub interruption: Option<Interruption>,
    /// Actions that did not succeed, by what happened, most frequent first; and attempts to connect that failed, and connections that were
    /// lost, which are no actions: their words begin with `connection attempt: ` and `lost connection: `.
    pub failures: Vec<FailureCount>,
    /// Users and their overload; null where users have no schedules of their own.
    pub users: Option<Users>,
    /// Iterations by kind, as the workload orders them; kinds of which none was due are left out.
    pub iterations: Vec<IterationKind>,
    /// What the server said of itself; null where nobody asked it.
    pub server: Option<ServerSide>,
    /// What the server guaranteed: durability of writes, signatures, encryption, caching; null where nobody asked.
    #[serde(default)]
    pub guarantees: Option<Guarantees>,
}

/// Ends the words of what failed before or after the measured phase.
pub const OUTSIDE_THE_PHASE: &str = " (not in the measured phase)";

impl Findings {
    /// Whether no server took part in one of its load levels: its calls went to a local directory.
    pub(crate) fn is_local(&self, stage: &Stage) -> bool {
        let calls = self.run.as_ref().and_then(|run| run.calls.as_deref());
        calls.is_some_and(|calls| calls.is_local(stage.number.into()))
    }

    /// The load levels that a server took part in.
    pub(crate) fn remote_stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().filter(|stage| !self.is_local(stage))
    }
}

/// Begins the words of a connection that could not be made: no action.
pub const CONNECTION_ATTEMPT: &str = "connection attempt: ";

/// Begins the words of a connection that was lost: no action, whatever was outstanding on it.
pub const LOST_CONNECTION: &str = "lost connection: ";

impl Run {
    /// Whether there was no server: calls on a path of this machine.
    pub fn is_local(&self) -> bool {
        self.target.starts_with("file://")
    }
}

impl Stage {
    /// Actions of the measured phase that did not succeed.
    pub fn failed(&self) -> u64 {
        self.failures_by_kind()[0]
    }

    /// Of the measured phase: actions that did not succeed, attempts to connect that failed, connections that were lost.
    pub fn failures_by_kind(&self) -> [u64; 3] {
        let [mut actions, mut attempts, mut lost] = [0_u64; 3];
        for FailureCount { cause, count } in self.failures.iter().filter(|one| !one.cause.ends_with(OUTSIDE_THE_PHASE))
        {
            let sum = match cause {
                cause if cause.starts_with(CONNECTION_ATTEMPT) => &mut attempts,
                cause if cause.starts_with(LOST_CONNECTION) => &mut lost,
                _ => &mut actions,
            };
            *sum = sum.saturating_add(*count);
        }
        [actions, attempts, lost]
    }

    /// Whether anything was measured: a level at which nobody could connect has no numbers, not even 0.
    pub fn was_measured(&self) -> bool {
        self.span.elapsed_s.is_some_and(|s| s > 0.0)
    }

    /// Its load in words, and the curve that it is of where the words do not say it.
    pub fn words(&self) -> String {
        self.words_with(&self.level)
    }

    /// Words about its load, and the curve that it is of where they do not say it. Levels of several curves have the same load.
    pub fn words_with(&self, load: &str) -> String {
        words(load, self.curve.as_deref())
    }

    /// What is raised from level to level: the rate asked for, or else the requests that may be outstanding.
    pub fn load(&self) -> f64 {
        load(self.asked_per_s, self.clients, self.depth)
    }
}

/// What decides the load besides levels and depth, in words; of levels that differ, each with its level.
pub fn pace(stages: &[Stage]) -> Vec<String> {
    let Some(first) = stages.first() else { return Vec::new() };
    if stages.iter().all(|stage| stage.pace == first.pace) {
        return first.pace.clone();
    }
    stages.iter().map(|stage| format!("{}: {}", stage.words(), stage.pace.join(", "))).collect()
}

/// How many actions may be outstanding, in words; `None` where there is no level.
pub fn outstanding(stages: &[Stage]) -> Option<String> {
    let range = |of: fn(&Stage) -> u64| {
        let (least, most) = (stages.iter().map(of).min()?, stages.iter().map(of).max()?);
        Some(if least == most { most.to_string() } else { format!("{least} to {most}") })
    };
    let plural = |count: &str, what: &str| format!("{count} {what}{}", if count == "1" { "" } else { "s" });
    let (all, depth) = (range(|stage| stage.outstanding)?, range(|stage| stage.depth.into())?);
    let (clients, connections) = (range(|stage| stage.clients)?, range(|stage| stage.connections)?);
    let (clients, connections) = (plural(&clients, "client"), plural(&connections, "connection"));
    let actions = plural(&all, "action");
    Some(format!(
        "at most {actions} outstanding: {clients} × depth {depth}, on {connections}; an action may be several requests"
    ))
}

/// A load level, and the curve that it is of where its words do not say it.
pub(super) fn words(level: &str, curve: Option<&str>) -> String {
    match curve {
        Some(curve) if !level.contains(curve) => format!("{level}, {curve}"),
        _ => level.to_owned(),
    }
}

/// A load in a number: iterations per second, or else the actions that may be outstanding.
pub fn load(asked_per_s: Option<f64>, clients: u64, depth: u32) -> f64 {
    asked_per_s.unwrap_or(clients as f64 * f64::from(depth.max(1)))
}

/// Whether the load generator kept up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Processor time of the threads that made the load, s, without what they polled.
    pub cpu_s: f64,
    /// Its share of these threads' time, 0..=1: near 1 the generator is the bottleneck.
    pub cpu_share: f64,
    /// Processor time per request, s.
    pub cpu_per_operation_s: Option<f64>,
    /// Processor time in which these threads, with nothing else to do, polled because a start was near, over their time, 0..=1; in
    /// none of the above. Null in recordings from before this was counted.
    pub polling_share: Option<f64>,
    /// When the generator got to a planned start − the planned instant; waiting for a free lane is not in it.
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
    /// Time for which these threads were ready to run and had no processor, s; null where the system does not say.
    #[serde(default)]
    pub run_delay_s: Option<f64>,
    /// Time for which a hypervisor kept this machine's processors from running, over all of them, s; null where the system does not say.
    #[serde(default)]
    pub stolen_s: Option<f64>,
    /// Requests that the generator started late or whose answers it read late, by more than waking up takes; null where the kernel does not
    /// say when answers came.
    #[serde(default)]
    pub late_requests: Option<u64>,
    /// Numbers that this lateness moved by more than their stated uncertainty.
    #[serde(default)]
    pub moved: Vec<MovedNumber>,
}

/// A number that the generator's lateness moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MovedNumber {
    /// Which one: throughput, mean, p50, p99 from the intended start, …
    pub number: String,
    /// As reported, s (throughput: operations/s).
    pub reported: f64,
    /// Without the lateness, likewise.
    pub on_time: f64,
}

/// Round trip of the network (TCP_INFO): from when the client's kernel sent bytes until the server's had acknowledged them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The least of any connection, s: no program has a part in it where the server's kernel acknowledged at once.
    pub least_s: f64,
    /// Smoothed, mean over the connections, s: acknowledgements that travel with answers are in it.
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

impl FailureCount {
    /// Whether an action of the measured phase failed; other causes are of connections, or of another time.
    pub(crate) fn is_action(&self) -> bool {
        let cause = &self.cause;
        !cause.starts_with(CONNECTION_ATTEMPT)
            && !cause.starts_with(LOST_CONNECTION)
            && !cause.ends_with(OUTSIDE_THE_PHASE)
    }
}

/// Actions that did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureCount {
    /// What happened: an error status, a refused connection, a time-out, wrong data, …
    pub cause: String,
    /// How many.
    pub count: u64,
}

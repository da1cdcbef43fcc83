//! The first statements of a report: the main waits of clients, and the next command.

use serde::{Deserialize, Serialize};

/// The answer before the tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// How long clients waited for answers, all together, s; null where no response time is known.
    pub waited_s: Option<f64>,
    /// Most important first.
    pub statements: Vec<Statement>,
    /// The command that shows more.
    pub next: Option<String>,
}

/// A sentence that a rule found to be true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The rule.
    pub rule: Rule,
    /// The sentence.
    pub text: String,
    /// The fraction of all time waited that this statement explains, 0..=1; null if the statement is not about waiting.
    pub share: Option<f64>,
    /// Whether it follows from the numbers alone.
    pub confidence: Confidence,
}

/// The rules, each with its threshold in docs/diagnosis.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Which operation clients waited for longest.
    Operation,
    /// Few requests that are a large part of all time waited.
    FewSlowRequests,
    /// A short period with a large part of all time waited, or without any answer.
    Burst,
    /// The minute with the most waiting.
    WorstMinute,
    /// Service time against sending and receiving.
    ServiceTime,
    /// Bytes that TCP had to send again.
    Retransmission,
    /// Requests that failed.
    Failures,
    /// A key of `--by` that is a large part of all time waited.
    Key,
    /// A client whose requests take longer than those of others.
    SlowClient,
    /// A server, likewise.
    SlowServer,
    /// A share, likewise.
    SlowShare,
    /// A file or directory, likewise.
    SlowPath,
    /// An operation that takes long for all.
    SlowOperation,
    /// A part of the time in which requests take longer than in the rest.
    SlowInterval,
    /// Requests after a pause take longer than other requests.
    AfterPause,
    /// Requests are slow at regular intervals.
    Periodic,
    /// Requests wait behind other requests.
    Queue,
    /// A receiver's window was 0.
    ZeroWindow,
    /// A receiver's window was smaller than the data of a round trip.
    SmallWindow,
    /// The end of a message waited for a delayed acknowledgement.
    DelayedAcknowledgement,
    /// The network's round trip.
    RoundTrip,
    /// A client whose round trip is much longer than that of others.
    FarClient,
    /// A network path that takes data slowly and evenly.
    NarrowPath,
    /// Packets from a certain size on do not arrive.
    BlackHole,
    /// Nothing comes back from a server.
    Unanswered,
    /// Connections were opened late because the packets for it were sent again.
    LateHandshakes,
    /// All requests take the same time at least.
    FixedDelay,
    /// Opens waited for other clients' leases and oplocks.
    LeaseBreaks,
    /// Requests waited for other clients' byte-range locks.
    LockWaits,
    /// A host waited for a DNS server.
    NameService,
    /// A session with connections that carry nothing, or much less than others.
    UnevenChannels,
    /// Clients had used up their SMB2 credits.
    CreditsExhausted,
    /// A client had used all slots of its NFSv4.1 sessions.
    SlotsExhausted,
    /// A server ended connections while requests waited.
    CutOff,
    /// Requests got no response for long.
    NoResponse,
    /// Clients could not open connections.
    Unopened,
    /// A server restarted.
    Restart,
    /// Statuses that mean trouble.
    ErrorStatuses,
    /// A server refused requests in its grace period.
    Grace,
    /// Requests for names that do not exist.
    AbsentNames,
    /// A flush for every few writes.
    Flushes,
    /// Small writes that each wait for stable storage.
    DurableWrites,
    /// Only negotiating, logging on or mounting takes long.
    SlowSetUp,
    /// Many small reads or writes, one at a time.
    SmallRequests,
    /// Listings of a directory.
    Listing,
    /// A client that makes most of the load.
    BusyClient,
    /// A client that connects again and again.
    Reconnects,
    /// No other rule applies.
    Nothing,
    /// Of a run: operations per second, and the response times beside them.
    Throughput,
    /// Of a load curve: where more load does not raise throughput.
    Knee,
    /// Of a run: the bottleneck, which is the load generator, the network or the server.
    Bottleneck,
    /// Of a run with a schedule: whether it was kept.
    Schedule,
    /// Of workloads that ran at the same time: what the others did to one.
    Interference,
    /// Of a search: the highest load that meets the objective, and the objective that the next load missed.
    Capacity,
    /// Of a breakdown: the part of a call that takes longest.
    Part,
    /// Of a breakdown: a call on the server beside one in a local directory.
    Local,
    /// Of a comparison: a difference.
    Difference,
    /// Of a comparison: no difference was shown.
    NoDifference,
}

/// How a statement was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The numbers show it directly.
    Measured,
    /// It follows from them where nothing unusual is the case.
    Inferred,
}

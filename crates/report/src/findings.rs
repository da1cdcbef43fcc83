//! The only view model: everything that a report can show, in the units of the report.
//!
//! The report JSON (`plimsoll.report/2`, see `schemas/`) is [`Report`] serialised, for one side or for several that are compared; the
//! terminal and HTML reports are made only from it. Times are seconds, sizes bytes, shares 0..=1. Text from captures (paths, shares,
//! users) is unchanged here; each renderer escapes it.

pub mod calls;
pub mod capacity;
mod capture;
mod channels;
mod client_path;
mod clients;
mod clocks;
pub(crate) mod compact;
mod compared;
pub mod comparison;
mod curve;
mod delegations;
mod depth;
mod diagnosis;
mod drill_down;
mod encrypted;
mod failures;
mod file_io;
mod headline;
pub mod history;
mod interference;
mod iterations;
mod lease_breaks;
mod letter;
mod level_facts;
mod load_level;
mod octave;
mod outage;
mod over_time;
mod overhead;
pub mod profile;
pub mod ranking;
mod reliable;
mod repeats;
mod report;
mod rows;
mod rpc_tls;
mod run;
mod server;
mod session_requests;
mod single;
mod sizes;
mod slots;
mod span;
mod times;

pub use capture::{AnomalyCount, Clock, OneSidedConnection, Resent, Unseen};
pub use channels::{Channel, Channels, MOST_LISTED, MOST_SESSIONS, Session};
pub use client_path::{ClientPathRow, MOST_PATHS, RoundTripTimes};
pub use clients::{ClientErrors, ClientRow, ClientSpread, MOST_CLIENT_ROWS, MOST_CLIENTS, OutlierClient, OutlierKind};
pub use clocks::differing_clocks;
pub use curve::{CurveMaximum, CurvePoint, FittedLaw, Interval, Knee, LOADS, LoadCurve};
pub use delegations::{DelegationRow, Delegations};
pub use depth::{DepthShare, QueueDepth};
pub use diagnosis::{Confidence, Diagnosis, Rule, Statement};
pub use drill_down::{DrillCommand, DrillDimension, DrillDown, DrillKey};
pub use encrypted::{Encrypted, Waited};
pub use failures::{
    CONNECTION_ATTEMPT, FAILED_ACTIONS, FailureCount, KEPT_OPERATIONS, LOST_CONNECTION, NO_SUCCESS, OUTSIDE_THE_PHASE,
    only_actions_failed,
};
pub(crate) use file_io::binary;
pub use file_io::{CacheShare, FileIo, IoDirection, RunShare, SizeShare, WorkingSet};
pub use headline::Headline;
pub use interference::{InterferedNumber, Interference, WorkloadShare};
pub use iterations::{IterationKind, Users};
pub use lease_breaks::{LeaseBreakRow, LeaseBreaks};
pub use letter::letter;
pub use level_facts::LevelFacts;
pub use load_level::{LoadLevel, load, outstanding, pace};
pub use octave::{IO_SIZE, Octave, SHARED};
pub use outage::{Interruption, ShortReads, Silence};
pub use over_time::{HeatMap, Series};
pub use overhead::Overhead;
pub use plimsoll_model::{About, PacketCounts, Reason, Validity, Verdict};
pub use repeats::{REPEAT, RepeatedLevel, Spread, besides_repeat};
pub use report::{Report, SCHEMA, TOOL};
pub use rows::{Breakdown, BreakdownRow, BreakdownSeries, Bucket, OperationRow, PercentilePoint, StatusCount};
pub use rpc_tls::{RpcTls, RpcTlsConnection};
pub use run::{Fairness, Generator, MovedNumber, Parameter, RoundTrip, Run};
use serde::{Deserialize, Serialize};
pub use server::{ServerCounters, ServerSide};
pub use session_requests::{OutsidePhase, SessionRequests};
pub use single::Slow;
pub use sizes::{SizeCurve, SizePoint};
pub use slots::{MOST_SLOT_ROWS, SlotRow, Slots};
pub use span::Span;
pub use times::Times;

/// Everything that a report can show of one side: a capture, a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// A, B, C, …: its place in the report.
    pub letter: String,
    /// The user's name for it: files, a target, a folder.
    pub name: String,
    /// The kind of measurement.
    pub kind: Kind,
    /// The analysed files or the target of the run, in words.
    pub source: Source,
    /// Whether the numbers may be used.
    pub validity: Validity,
    /// Warnings to read first.
    #[serde(default)]
    pub diagnosis: Diagnosis,
    /// The headline time: `series`, `heat_maps` and the order of `slowest` use it.
    #[serde(default)]
    pub headline: Headline,
    /// First and last packet.
    pub span: Span,
    /// Packet counts.
    pub packets: PacketCounts,
    /// The clock that the times come from.
    pub clock: Clock,
    /// Unpaired messages because of holes in the capture.
    pub unseen: Unseen,
    /// Waiting for bytes that TCP had to send again.
    #[serde(default)]
    pub resent: Resent,
    /// One row a procedure, in table order; long-lived requests are in `long_lived`. An NFSv4 compound is the operation that it is about.
    pub operations: Vec<OperationRow>,
    /// Sums: Open/Close, Other, Other.Attributes, Other.Directory, Other.Locking, Read, Write, Session, Compound, in this order; only
    /// those with traffic. "Other" is the sum of its three subgroups.
    pub groups: Vec<OperationRow>,
    /// Requests that wait by design (CHANGE_NOTIFY, blocking locks, pipe reads): reported apart.
    pub long_lived: Vec<OperationRow>,
    /// Rows outside of all sums: NFSv4 compounds as wholes, and their members besides the main operation. Shares are fractions of the
    /// compounds.
    #[serde(default)]
    pub members: Vec<OperationRow>,
    /// `--by`: one entry for each key, longest waiting first.
    pub breakdown: Option<Breakdown>,
    /// Bytes sent for the file data that was moved; null where none was, or where sizes are unknown.
    #[serde(default)]
    pub overhead: Option<Overhead>,
    /// Requests outstanding at once.
    pub queue_depth: QueueDepth,
    /// File access patterns; null without file data, or if not requested.
    #[serde(default)]
    pub io: Option<FileIo>,
    /// Slowest operations first.
    pub slowest: Vec<Slow>,
    /// Longest-waiting unanswered requests first (bounded; `unseen` has the counts).
    pub unanswered: Vec<Slow>,
    /// Throughput over time.
    pub series: Series,
    /// Latency over time.
    pub heat_maps: Vec<HeatMap>,
    /// Anomalies that occurred: missing or unreadable data.
    pub anomalies: Vec<AnomalyCount>,
    /// Sentences a reader must know before believing the numbers.
    pub warnings: Vec<String>,
    /// One-way messages (breaks, cancels).
    pub one_way: u64,
    /// Connections with file-server traffic.
    pub connections: u64,
    /// The network paths to clients, longest round trip first; empty for a run, which has no packets.
    #[serde(default)]
    pub client_paths: Vec<ClientPathRow>,
    /// Clients that are not in `client_paths`, which lists 64.
    #[serde(default)]
    pub client_paths_left_out: u64,
    /// Encrypted SMB 3 messages that were not read; null if there are none.
    #[serde(default)]
    pub encrypted: Option<Encrypted>,
    /// Connections with RPC over TLS, whose messages were not read; null if there are none.
    #[serde(default)]
    pub rpc_tls: Option<RpcTls>,
    /// Leases and oplocks that servers broke; null if there are none, and for a run, which has no packets.
    #[serde(default)]
    pub lease_breaks: Option<LeaseBreaks>,
    /// Delegations of NFS 4; null if the capture shows none, and for a run, whose facts have them.
    #[serde(default)]
    pub delegations: Option<Delegations>,
    /// NFS 4.1 sessions; null if the capture shows none, and for a run, whose facts have the slots.
    #[serde(default)]
    pub slots: Option<Slots>,
    /// Sessions with several connections; null if there are none, and for a run, whose load levels have it.
    #[serde(default)]
    pub channels: Option<Channels>,
    /// Parameters of the load; null for a capture.
    pub run: Option<Run>,
    /// One entry a load level, in the order in which they ran; empty for a capture.
    pub levels: Vec<LoadLevel>,
    /// Combined results of load levels, one curve of at least two loads each; empty for a capture.
    pub curves: Vec<LoadCurve>,
    /// Response time against message size, where sizes enough were tried at a load; empty for a capture.
    pub sizes: Vec<SizeCurve>,
    /// How much runs of a load level differ, where it was run three times or more; empty for a capture.
    #[serde(default)]
    pub repeats: Vec<RepeatedLevel>,
    /// Of workloads that ran at the same time, what the others did to each; empty where only one ran.
    #[serde(default)]
    pub interference: Vec<Interference>,
}

/// The kind of measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Captured packets.
    #[default]
    Capture,
    /// Load levels.
    Run,
    /// A search for the highest load.
    Capacity,
    /// Where the time of calls goes.
    Breakdown,
}

impl Kind {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kind::Capture => "capture",
            Kind::Run => "run",
            Kind::Capacity => "search for a capacity",
            Kind::Breakdown => "breakdown of calls",
        }
    }
}

/// The source of the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The tool and its version.
    pub tool: String,
    /// File names, in order; "-" for standard input, [`Source::interface`] for an interface.
    pub inputs: Vec<String>,
    /// Filters in force, as flags.
    pub filters: Vec<String>,
    /// Other options that decide what inputs and filters mean, as flags: the zone, files of host names and of session keys. A session key
    /// is not shown, only its flag.
    #[serde(default)]
    pub options: Vec<String>,
    /// Where the clock stood: wire or client.
    pub vantage: String,
    /// Title, labels and the system under test, as far as they were given.
    #[serde(default)]
    pub about: About,
}

impl Source {
    /// The option for times in UTC.
    pub const UTC: &str = "--utc";
    /// The option with a session key, which is a secret.
    pub const SESSION_KEY: &str = "--smb-session-key";

    /// The name of an input that is a network interface.
    pub fn interface(name: &str) -> String {
        format!("{INTERFACE}{name}")
    }

    /// Whether there are inputs that a command can read again: standard input and interfaces cannot, nor what needs a key that is not shown.
    pub fn is_readable_again(&self) -> bool {
        let is_file = |input: &String| input != "-" && !input.starts_with(INTERFACE);
        let has_key = self.options.iter().any(|option| option == Self::SESSION_KEY);
        !self.inputs.is_empty() && self.inputs.iter().all(is_file) && !has_key
    }

    /// Whether no filter has another option than these.
    pub(crate) fn has_only_filters(&self, options: &[&str]) -> bool {
        self.filters.iter().all(|filter| options.contains(&filter.split(' ').next().unwrap_or_default()))
    }

    /// The filters in one line; with the zone, where times of day depend on it.
    pub fn filter_words(&self) -> String {
        let is_time = |filter: &String| filter.starts_with("--from ") || filter.starts_with("--to ");
        let has_zone = self.filters.iter().any(is_time);
        let zone = self.options.iter().filter(|option| has_zone && *option == Self::UTC);
        self.filters.iter().chain(zone).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// Prefix of an interface's name.
const INTERFACE: &str = "interface ";

impl Findings {
    /// Parameters negotiated with the server; empty for a capture.
    pub fn facts(&self) -> &[String] {
        self.run.as_ref().map_or(&[], |run| &run.facts)
    }

    /// The server of a run.
    pub fn target(&self) -> Option<&str> {
        self.run.as_ref().map(|run| run.target.as_str())
    }

    /// The time that rates of the whole are over, s: of a capture its span without the time between its files; of a run the measured phases
    /// of its levels, without the pauses and warm-ups between them. None where no time passed.
    #[must_use]
    pub fn measured_s(&self) -> Option<f64> {
        let measured = match self.levels.is_empty() {
            true => self.span.covered_s(),
            false => {
                let counted = self.levels.iter().filter(|level| level.has_a_span_of_the_whole());
                Some(counted.filter_map(|level| level.span.elapsed_s).filter(|&s| s > 0.0).sum())
            }
        };
        measured.filter(|&s| s > 0.0)
    }

    /// Whether no server took part in one of its load levels: its calls went to a local directory.
    pub(crate) fn is_local(&self, level: &LoadLevel) -> bool {
        let calls = self.run.as_ref().and_then(|run| run.calls.as_deref());
        calls.is_some_and(|calls| calls.is_local(level.number.into()))
    }

    /// The load levels that a server took part in.
    pub(crate) fn remote_levels(&self) -> impl Iterator<Item = &LoadLevel> {
        self.levels.iter().filter(|level| !self.is_local(level))
    }
}

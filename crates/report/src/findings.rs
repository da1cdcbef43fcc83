//! The one view model: everything a report can show, in the units it is shown in, and nothing else.
//!
//! The report JSON (`plimsoll.report/1`, see `schemas/`) is this structure serialised; the terminal and HTML
//! reports are drawn from it alone. Times are seconds, sizes bytes, shares 0..=1. Text from captures (paths,
//! shares, users) is kept as it is here and made safe by each renderer.

pub mod calls;
pub mod capacity;
pub(crate) mod compact;
pub mod comparison;
mod curve;
mod depth;
mod headline;
mod octave;
mod outage;
pub mod ranking;
mod repeats;
mod run;
mod server;
mod sizes;
mod stations;
mod turns;

pub use curve::{CurveMaximum, CurvePoint, FittedLaw, Interval, Knee, LOADS, LoadCurve};
pub use depth::{DepthShare, QueueDepth};
pub use headline::Headline;
pub use octave::{Octave, SHARED};
pub use outage::{Interruption, ShortReads, Silence};
pub use plimsoll_model::{Reason, Validity, Verdict};
pub use repeats::{REPEAT, RepeatedLevel, Spread, besides_repeat};
pub use run::{
    FailureCount, Fairness, Generator, MovedNumber, OUTSIDE_THE_PHASE, Parameter, RoundTrip, Run, Stage, load,
    outstanding,
};
use serde::{Deserialize, Serialize};
pub use server::ServerSide;
pub use sizes::{SizeCurve, SizePoint};
pub use stations::{MOST_STATIONS, OddStation, StationErrors, StationSpread};
pub use turns::{TurnKind, Users};

/// The schema's name; its number changes when a field is removed or changes its meaning.
pub const SCHEMA: &str = "plimsoll.report/1";

/// Everything a report can show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was analysed or run, in words: file names, target.
    pub source: Source,
    /// Whether the numbers may be used.
    pub validity: Validity,
    /// The response time that leads: `series`, `heat_maps` and the order of `slowest` are of it.
    #[serde(default)]
    pub headline: Headline,
    /// First and last packet.
    pub span: Span,
    /// Packet counts (`model::PacketCounts`).
    pub packets: Packets,
    /// The clock that the times come from.
    pub clock: Clock,
    /// What the capture's holes made unpairable.
    pub unseen: Unseen,
    /// Waiting for bytes that TCP had to send again.
    #[serde(default)]
    pub resent: Resent,
    /// One row a procedure, in table order; held requests are in `held`. An NFSv4 compound is the operation that it is about.
    pub operations: Vec<OperationRow>,
    /// Sums: Open/Close, Other, Other.Attributes, Other.Directory, Other.Locking, Read, Write, Session, Compound, in
    /// this order, those with traffic. "Other" is the sum of its three subgroups.
    pub groups: Vec<OperationRow>,
    /// Requests that wait by design (CHANGE_NOTIFY, blocking locks, pipe reads): reported apart.
    pub held: Vec<OperationRow>,
    /// What no sum has: NFSv4 compounds as wholes, and their members beside the one that each is about. Shares are of the
    /// compounds.
    #[serde(default)]
    pub members: Vec<OperationRow>,
    /// `--by`: one entry a key, most operations first.
    pub breakdown: Option<Breakdown>,
    /// Requests outstanding at once.
    pub queue_depth: QueueDepth,
    /// Slowest operations first.
    pub slowest: Vec<Slow>,
    /// Longest-waiting unanswered requests first (bounded; `unseen` has the counts).
    pub unanswered: Vec<Slow>,
    /// Throughput over time.
    pub series: Series,
    /// Latency over time.
    pub heat_maps: Vec<HeatMap>,
    /// What could not be seen or understood, those that happened.
    pub anomalies: Vec<AnomalyCount>,
    /// Sentences a reader must know before believing the numbers.
    pub warnings: Vec<String>,
    /// One-way messages (breaks, cancels).
    pub one_way: u64,
    /// Connections with file-server traffic.
    pub connections: u64,
    /// How the load was made; null where somebody else made it (a capture).
    pub run: Option<Run>,
    /// One entry a load level, in the order in which they ran; empty for a capture.
    pub stages: Vec<Stage>,
    /// What load levels tell together, a curve of at least two loads each; empty for a capture.
    pub curves: Vec<LoadCurve>,
    /// Response time against message size, where sizes enough were tried at a load; empty for a capture.
    pub sizes: Vec<SizeCurve>,
    /// How much runs of a load level differ, where it was run three times or more; empty for a capture.
    #[serde(default)]
    pub repeats: Vec<RepeatedLevel>,
}

/// What was analysed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The tool and its version.
    pub tool: String,
    /// File names, in order; "-" for standard input.
    pub inputs: Vec<String>,
    /// Filters in force, as flags.
    pub filters: Vec<String>,
    /// Where the clock stood: wire or client.
    pub vantage: String,
}

/// Extent in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// First packet, ns since the Unix epoch.
    pub first_ns: Option<i64>,
    /// Last packet, ns since the Unix epoch.
    pub last_ns: Option<i64>,
    /// Between them, s.
    pub elapsed_s: Option<f64>,
}

impl Findings {
    /// The time that rates of the whole are over, s: of a capture its span; of a run the measured phases of its levels, without the
    /// pauses and warm-ups between them. None where no time passed.
    #[must_use]
    pub fn measured_s(&self) -> Option<f64> {
        let measured = match self.stages.is_empty() {
            true => self.span.elapsed_s,
            false => Some(self.stages.iter().filter_map(|stage| stage.span.elapsed_s).filter(|&s| s > 0.0).sum()),
        };
        measured.filter(|&s| s > 0.0)
    }
}

/// See `plimsoll_model::PacketCounts` for the definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each field has the name and meaning of plimsoll_model::PacketCounts")]
pub struct Packets {
    pub total: u64,
    pub tcp: u64,
    pub tcp_data: u64,
    pub ack_only: u64,
    pub ack_repeated: u64,
    pub udp: u64,
    pub other: u64,
    pub retransmitted: u64,
    pub out_of_order: u64,
    pub dropped_at_least: u64,
    pub dropped_estimate: u64,
    pub missing_bytes: u64,
    pub largest: u64,
    pub truncated: u64,
    pub continued: u64,
    pub commands: u64,
    pub command_first: u64,
    pub command_continued_sync: u64,
    pub command_continued_async: u64,
    pub command_ack: u64,
    pub command_retry: u64,
    pub captured_bytes: u64,
    pub wire_bytes: u64,
}

/// The capture clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Granularity, s.
    pub granularity_s: Option<f64>,
    /// The data only show that it is not coarser.
    pub at_most: bool,
    /// How often time went backwards between frames.
    pub backward_steps: u64,
}

/// Operations of which a half or all was not seen (`plimsoll_model::Unseen`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each field has the name and meaning of plimsoll_model::Unseen")]
pub struct Unseen {
    pub paired: u64,
    pub requests_after_gap: u64,
    pub responses_after_gap: u64,
    pub requests_after_cut: u64,
    pub responses_after_cut: u64,
    pub requests_one_sided: u64,
    pub responses_one_sided: u64,
    pub requests_waiting: u64,
    pub responses_before_start: u64,
    pub encrypted: u64,
    pub compressed: u64,
    /// Operations that the numbers do not contain, estimated.
    pub missing: u64,
    /// Their share of all operations, 0..=1; null where it cannot be estimated.
    pub share_missing: Option<f64>,
    /// The lower end of its interval (95 %).
    pub share_missing_low: Option<f64>,
    /// The upper end.
    pub share_missing_high: Option<f64>,
    /// Connections of which only one direction was captured.
    pub one_sided: u64,
    /// The first of them.
    pub one_sided_connections: Vec<OneSidedConnection>,
}

/// A connection of which only one direction was captured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OneSidedConnection {
    /// Where the captured packets came from, `address:port`.
    pub from: String,
    /// Where they went.
    pub to: String,
    /// Requests seen; 0 where only responses were.
    pub requests: u64,
    /// Responses seen.
    pub responses: u64,
}

/// Operations that waited for bytes that TCP had to send again (`plimsoll_model::Resent`). Null in a run, where nobody saw packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resent {
    /// Operations that waited 3 ms or longer.
    pub operations: Option<u64>,
    /// For how long in all, s.
    pub wait_s: Option<f64>,
    /// Operations that waited less: for packets sent again quickly, or only overtaken.
    pub brief_operations: Option<u64>,
    /// For how long in all, s.
    pub brief_wait_s: Option<f64>,
    /// Answered operations of which it is not known.
    pub unknown: Option<u64>,
}

/// One row of the tables: a procedure, a group, or a key of a breakdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationRow {
    /// Protocol label; empty in groups and breakdowns.
    pub protocol: String,
    /// Procedure name (`TRANSACTION2 FIND_FIRST2`); empty in groups and breakdowns.
    pub procedure: String,
    /// Name in seed 1's Appendix A, where it has one.
    pub seed_name: Option<String>,
    /// The command a subcommand belongs to (`TRANSACTION2`), else null: text reports nest by it. A row with a parent
    /// is part of its parent's row, which sums its subcommands and what had none; so add up rows without a parent
    /// only. (`WRITE_RAW async portion` alone is in no other row: it is no request, and groups have its bytes only.)
    pub parent: Option<String>,
    /// Operation label; empty in groups.
    pub operation: String,
    /// Group label.
    pub group: String,
    /// Requests.
    pub count: u64,
    /// Share of all requests, 0..=1.
    pub share: f64,
    /// Answered requests.
    pub answered: u64,
    /// Requests whose answer was not seen.
    pub unanswered: u64,
    /// Answers with a status that is part of ordinary work: the end of a file, no file of the name that was looked up. No
    /// errors.
    #[serde(default)]
    pub expected: u64,
    /// `refused` and `failed` together.
    pub errors: u64,
    /// The server did its work and said no.
    #[serde(default)]
    pub refused: u64,
    /// The server or its resources were in trouble, the connection broke, or the answer made no sense.
    #[serde(default)]
    pub failed: u64,
    /// Answers whose status was not seen, for a short snap length or encryption; they may be errors, and count as none.
    #[serde(default)]
    pub status_unknown: u64,
    /// Mean packets a pair, both ways; null where none was whole.
    pub packets_mean: Option<f64>,
    /// File data moved, bytes: a lower bound where `payload_unknown` is not 0, null where nothing is known.
    pub payload_bytes: Option<u64>,
    /// Operations that moved file data of which nobody knows how much.
    #[serde(default)]
    pub payload_unknown: u64,
    /// Request and response bytes: a lower bound where `wire_unknown` is not 0, null where nothing is known.
    pub wire_bytes: Option<u64>,
    /// Operations of which the size of a message is unknown.
    #[serde(default)]
    pub wire_unknown: u64,
    /// Last byte of the response − first byte of the request; null where none had both.
    pub response_time: Option<Times>,
    /// First byte of the response − last byte of the request.
    pub service_time: Option<Times>,
    /// Service times in powers of two of microseconds, from the fastest in use to the slowest; empty in groups and breakdowns.
    #[serde(default)]
    pub service_octaves: Vec<Octave>,
    /// Last byte of the response − intended start; null where nothing was scheduled (a capture).
    pub response_time_from_intended: Option<Times>,
    /// Which of its times leads: `distribution` and `percentiles` are of it.
    #[serde(default)]
    pub headline: Headline,
    /// The leading response times counted exactly in decades, from the fastest decade in use to the slowest.
    pub distribution: Vec<Bucket>,
    /// Answers by status other than success, most frequent first.
    pub statuses: Vec<StatusCount>,
    /// Cumulative distribution for charts: value at percentile steps.
    pub percentiles: Vec<PercentilePoint>,
}

/// A point of a percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentilePoint {
    /// 0..=100.
    pub percentile: f64,
    /// Response time, s.
    pub value_s: f64,
}

/// A distribution's summary, seconds. Percentiles come from a histogram that is exact to 0.1 %; the rest is exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "field names are the definition; see MEASUREMENT.md")]
pub struct Times {
    pub count: u64,
    pub min_s: f64,
    pub max_s: f64,
    pub mean_s: f64,
    /// Sample standard deviation; null for a single value.
    pub stddev_s: Option<f64>,
    pub p50_s: f64,
    pub p90_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
}

/// A decade of response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Upper edge, exclusive, s.
    pub below_s: f64,
    /// How many.
    pub count: u64,
}

/// Answers with one status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusCount {
    /// As on the wire.
    pub status: u32,
    /// Name in the standard, or hexadecimal.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Whether it counts as an error.
    pub error: bool,
    /// What it says of the request: expected, refused, failed or cancelled; succeeded where the status is 0.
    #[serde(default)]
    pub outcome: String,
}

/// `--by`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// client, server, share, user, path or connection.
    pub by: String,
    /// One a key, most operations first.
    pub rows: Vec<BreakdownRow>,
    /// Operations of keys that are not in `rows` (bounded), and of no known key.
    pub others: u64,
}

/// A key of a breakdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BreakdownRow {
    /// The key as text.
    pub key: String,
    /// Its numbers.
    #[serde(flatten)]
    pub row: OperationRow,
}

/// One operation, to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// Protocol label.
    pub protocol: String,
    /// Procedure name.
    pub procedure: String,
    /// Response time, or the time waited until the capture ended, s.
    pub response_time_s: f64,
    /// Response time from the intended start, s; null where nothing was scheduled.
    #[serde(default)]
    pub response_time_from_intended_s: Option<f64>,
    /// Service time, s.
    pub service_time_s: Option<f64>,
    /// First byte of the request, ns since the Unix epoch.
    pub at_ns: i64,
    /// Client as address:port.
    pub client: String,
    /// Server as address:port.
    pub server: String,
    /// Share, path, user where known.
    pub share: Option<String>,
    /// Path where known.
    pub path: Option<String>,
    /// User where known.
    pub user: Option<String>,
    /// Status name, where answered.
    pub status: Option<String>,
    /// First frame of the request.
    pub request_frame: Option<u64>,
    /// Last frame of the response.
    pub response_frame: Option<u64>,
    /// Wireshark display filter that shows both messages.
    pub display_filter: String,
}

/// Throughput over time, in equal bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Start of the first bin, ns since the Unix epoch.
    pub start_ns: i64,
    /// Width of a bin, s.
    pub bin_s: f64,
    /// Operations that ended in each bin.
    pub operations: Vec<u64>,
    /// Errors in each bin.
    pub errors: Vec<u64>,
    /// File data read, bytes a bin; a lower bound where `payload_unknown` is not 0.
    pub read_bytes: Vec<u64>,
    /// File data written, bytes a bin; likewise.
    pub write_bytes: Vec<u64>,
    /// Operations of each bin that moved file data of which nobody knows how much.
    #[serde(default)]
    pub payload_unknown: Vec<u64>,
    /// Mean of the leading response times of the operations that ended in the bin, s.
    pub response_mean_s: Vec<Option<f64>>,
}

/// Time × latency counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// "All" or a group's label.
    pub group: String,
    /// Start of the first column, ns since the Unix epoch.
    pub start_ns: i64,
    /// Width of a column, s.
    pub column_s: f64,
    /// Number of columns.
    pub columns: u32,
    /// Lower edges of the latency rows, s, rising; the last entry is the upper edge of the last row.
    pub edges_s: Vec<f64>,
    /// [column, row, count] of the cells that are not empty.
    pub cells: Vec<(u32, u32, u64)>,
}

/// An anomaly that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnomalyCount {
    /// `plimsoll_model::Anomaly::label`.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// In words.
    pub text: String,
}

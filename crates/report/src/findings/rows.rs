//! Rows of the tables: operations, groups and keys of a breakdown.

use serde::{Deserialize, Serialize};

use super::headline::Headline;
use super::octave::Octave;
use super::times::Times;
use crate::collect::thousands;

/// One row of the tables: a procedure, a group, or a key of a breakdown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationRow {
    /// Protocol label; empty in groups and breakdowns.
    pub protocol: String,
    /// Procedure name (`TRANSACTION2 FIND_FIRST2`); empty in groups and breakdowns.
    pub procedure: String,
    /// Name in Swartz's (1997) Appendix A, where it has one.
    pub netbench_name: Option<String>,
    /// The command that a subcommand belongs to (`TRANSACTION2`), otherwise null: text reports nest by it. A row with a parent is part of
    /// its parent's row, which sums its subcommands and the requests without one; so sum only rows without a parent. (Only `WRITE_RAW
    /// async portion` is in no other row: it is not a request, and groups include only its bytes.)
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
    /// Operations that moved an unknown amount of file data.
    #[serde(default)]
    pub payload_unknown: u64,
    /// Request and response bytes: a lower bound where `wire_unknown` is not 0, null where nothing is known.
    pub wire_bytes: Option<u64>,
    /// Operations with a message of unknown size.
    #[serde(default)]
    pub wire_unknown: u64,
    /// How long clients waited for the answers, all together, s: the sum of the leading response times, each message's once.
    #[serde(default)]
    pub waited_s: f64,
    /// Last byte of the response − first byte of the request; null where none had both.
    pub response_time: Option<Times>,
    /// First byte of the response − last byte of the request.
    pub service_time: Option<Times>,
    /// Service times in powers of two of microseconds, from the fastest in use to the slowest; empty in groups and breakdowns.
    #[serde(default)]
    pub service_octaves: Vec<Octave>,
    /// Last byte of the response − intended start; null where nothing was scheduled (a capture).
    pub response_time_from_intended: Option<Times>,
    /// The headline time: `distribution` and `percentiles` use it.
    #[serde(default)]
    pub headline: Headline,
    /// The leading response times counted exactly in decades, from the fastest decade in use to the slowest.
    pub distribution: Vec<Bucket>,
    /// Answers by status, most frequent first, without success.
    pub statuses: Vec<StatusCount>,
    /// Cumulative distribution for charts: value at percentile steps.
    pub percentiles: Vec<PercentilePoint>,
}

impl OperationRow {
    /// The response time that leads.
    pub fn headline_time(&self) -> Option<Times> {
        self.headline.pick(self.response_time, self.response_time_from_intended)
    }

    /// The suffix of "response time" in the heading of these rows: the kind of headline time.
    pub(crate) fn headline_words<'r>(rows: impl IntoIterator<Item = &'r OperationRow>) -> &'static str {
        rows.into_iter().next().map_or("", |row| row.headline.words())
    }

    /// Write_Raw's block has no answer (Swartz 1997, section 5): only its packets and bytes are known.
    pub(crate) fn is_asynchronous(&self) -> bool {
        self.protocol == "SMB1" && self.procedure == "WRITE_RAW async portion"
    }

    /// Failed requests without a status, for example commands of an AndX chain after the one that failed.
    pub(crate) fn failed_without_status(&self) -> u64 {
        let with_status = self.statuses.iter().filter(|status| status.outcome == "failed").map(|status| status.count);
        let without_response = self.count.saturating_sub(self.answered).saturating_sub(self.unanswered);
        self.failed.saturating_sub(with_status.sum()).min(without_response)
    }

    /// Whether no other row includes its requests: it is not a subcommand.
    pub fn is_counted_once(&self) -> bool {
        self.parent.is_none()
    }

    /// Whether several of its protocol's operations may share a message, and so its times: SMB2 compounds, SMB1 AndX chains. (An
    /// NFSv4 compound counts once.)
    pub fn may_share_messages(&self) -> bool {
        matches!(self.protocol.as_str(), "SMB1" | "SMB2")
    }

    /// File data divided by the number of requests that were not refused, failed or unanswered, bytes; `None` without file data, or if
    /// the amount is unknown.
    pub fn mean_payload(&self) -> Option<f64> {
        let bytes = self.payload_bytes.filter(|&bytes| bytes > 0 && self.payload_unknown == 0)?;
        let carried_out =
            [self.unanswered, self.refused, self.failed].into_iter().fold(self.count, u64::saturating_sub);
        (carried_out > 0).then(|| bytes as f64 / carried_out as f64)
    }

    /// All its service times together, s.
    pub fn service_total_s(&self) -> f64 {
        self.service_time.map_or(0.0, |times| times.mean_s * times.count as f64)
    }
}

/// A point of a percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentilePoint {
    /// 0..=100.
    pub percentile: f64,
    /// Response time, s.
    pub value_s: f64,
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
    /// The outcome of the request: expected, refused, failed or cancelled; succeeded if the status is 0; unknown if the status alone does not
    /// tell, because the rest of the answer was cut off.
    #[serde(default)]
    pub outcome: String,
}

/// `--by`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// The dimensions, as the flag has them: client,operation.
    pub by: String,
    /// The single subcommands or members.
    #[serde(default)]
    pub dimensions: Vec<String>,
    /// One for each key, longest waiting first.
    pub rows: Vec<BreakdownRow>,
    /// If there were too many keys to count each: the number of those that were counted, which occurred first. `rows` has the longest waiting
    /// of these only. Null if all keys were counted.
    #[serde(default)]
    pub first_keys: Option<u64>,
    /// Operations of keys that are not in `rows` (bounded).
    pub others: u64,
    /// How long clients waited for them, s.
    #[serde(default)]
    pub others_waited_s: f64,
    /// Their fraction of all time waited, 0..=1; null without waiting.
    #[serde(default)]
    pub others_waited_share: Option<f64>,
    /// Where the first bin of the rows' series begins, ns since the Unix epoch.
    #[serde(default)]
    pub start_ns: i64,
    /// Width of a bin, s.
    #[serde(default)]
    pub bin_s: f64,
    /// How many bins there are.
    #[serde(default)]
    pub bins: u64,
}

impl Breakdown {
    /// ` of the first 10,000 keys in the capture`; empty if all keys were counted.
    pub(crate) fn first_keys_words(&self) -> String {
        let words = |keys| format!(" of the first {} keys in the capture", thousands(keys));
        self.first_keys.map_or_else(String::new, words)
    }
}

/// A key of a breakdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BreakdownRow {
    /// The keys in one line.
    pub key: String,
    /// One text for each dimension; null where it is not known.
    #[serde(default)]
    pub keys: Vec<Option<String>>,
    /// Its fraction of all time waited, 0..=1; null without waiting.
    #[serde(default)]
    pub waited_share: Option<f64>,
    /// File data read and written per second of the measured time, bytes/s: a lower bound where `payload_unknown` is not 0; null where
    /// nothing is known, or no time passed.
    #[serde(default)]
    pub bytes_per_s: Option<f64>,
    /// Its numbers over time.
    #[serde(default)]
    pub series: BreakdownSeries,
    /// Its numbers.
    #[serde(flatten)]
    pub row: OperationRow,
}

/// A key's numbers over time: an operation counts where its answer ended. Bins before and after are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakdownSeries {
    /// Number of the first bin here, from 0.
    pub first_bin: u64,
    /// Operations by bin.
    pub operations: Vec<u64>,
    /// Errors by bin.
    pub errors: Vec<u64>,
    /// How long clients waited, by bin, s.
    pub waited_s: Vec<f64>,
    /// Mean response time by bin, s; null where none is known.
    pub response_mean_s: Vec<Option<f64>>,
}

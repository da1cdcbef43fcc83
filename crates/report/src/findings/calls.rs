//! Where the time of a call goes.

use plimsoll_stats::parts::Known;
use serde::{Deserialize, Serialize};

use super::profile::Profile;

/// Parts of the time of calls: the duration of each part, and its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// One entry a phase, in the order in which they ran.
    pub phases: Vec<CallPhase>,
    /// The same calls on the server and in a local directory.
    pub beside_local: Vec<LocalCall>,
    /// Requests that a call takes, by the path that it is about.
    pub requests: Vec<PathRequests>,
    /// The server's own counters over all phases, those that grew.
    pub counters: Vec<ServerCounter>,
    /// Processor time by function, of each side.
    #[serde(default)]
    pub profiles: Vec<Profile>,
    /// Unavailable data with reasons, in sentences.
    pub missing: Vec<String>,
}

/// A phase: one call again and again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallPhase {
    /// Its entry in `levels`.
    pub level: u64,
    /// The call in words.
    pub call: String,
    /// In a local directory, and not on the target.
    pub local: bool,
    /// Calls that were measured.
    pub calls: u64,
    /// Calls outstanding at most.
    pub outstanding: u32,
    /// Wall time from call to call, s: length of the phase / calls.
    pub whole_s: f64,
    /// Mean response time, s.
    pub response_s: Option<f64>,
    /// Share of its time in which the client computed, 0..=1.
    pub client_busy: f64,
    /// Cores of the server that were busy on average.
    pub server_cores_busy: Option<f64>,
    /// Read operations of the server's disks, 1/s.
    #[serde(default)]
    pub disk_reads_per_s: Option<f64>,
    /// The call that it is compared with: the previous one of the same place; null for the first.
    #[serde(default)]
    pub above: Option<String>,
    /// `whole_s` minus that of the call above, s.
    #[serde(default)]
    pub over_above_s: Option<f64>,
    /// Of the bytes that were read, those that came from disks; above 1 where more was read than asked for.
    pub from_disk: Option<f64>,
    /// The parts of a call.
    pub parts: Vec<CallPart>,
}

/// A part of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallPart {
    /// Which one.
    pub part: String,
    /// Mean per call, s; null where it is not known. A remainder below 0 says by how much parts overlap.
    pub seconds: Option<f64>,
    /// Its source.
    pub how: PartSource,
    /// How it was measured or inferred from what, or why it is missing.
    pub why: String,
    /// Whether it is a term of `whole_s`; the other parts are sums of terms, or additional information.
    pub adds: bool,
    /// `seconds` minus those of the same part of the call above, s; null if either is unknown.
    #[serde(default)]
    pub over_above_s: Option<f64>,
}

/// The source of the time of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartSource {
    /// Measured.
    Measured,
    /// Inferred from other numbers.
    Inferred,
    /// The time is not known.
    #[default]
    Missing,
}

plimsoll_model::words! {
    PartSource,
    "Every source.",
    "The word in reports and files.":
    Measured "measured", Inferred "inferred", Missing "missing"
}

impl From<Known> for PartSource {
    fn from(known: Known) -> Self {
        match known {
            Known::Measured(_) => PartSource::Measured,
            Known::Inferred(_) => PartSource::Inferred,
            Known::Missing(_) => PartSource::Missing,
        }
    }
}

/// A call on the server and in a local directory: mean response times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocalCall {
    /// The call in words.
    pub call: String,
    /// On the target, s.
    pub remote_s: f64,
    /// In the local directory, s.
    pub local_s: f64,
}

impl Calls {
    /// Whether a level ran in the local directory, without the server.
    pub fn is_local(&self, level: u64) -> bool {
        self.phases.iter().any(|phase| phase.level == level && phase.local)
    }

    /// Share of the data that came from disks, on the target and in the local directory.
    pub fn from_disk(&self, call: &str) -> [Option<f64>; 2] {
        let of = |local| self.phases.iter().find(|phase| phase.local == local && phase.call == call)?.from_disk;
        [of(false), of(true)]
    }

    /// Whether a call may be compared with the one in a local directory: both read the same fraction of the data from disks. Otherwise
    /// one reads a cache and the other a disk, and the difference is not the cost of being remote.
    pub fn comparable(&self, call: &str) -> bool {
        match self.from_disk(call) {
            [Some(remote), Some(local)] => (remote - local).abs() <= ALIKE,
            // The source of data that is read is unknown.
            [None, None] => NO_DATA.contains(&call),
            _ => false,
        }
    }
}

/// Maximum difference of fractions read from disks that count as equal.
const ALIKE: f64 = 0.05;
/// Calls that read no file data.
const NO_DATA: [&str; 2] = ["null", "getattr"];

/// Requests that a call takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathRequests {
    /// The call in words.
    pub call: String,
    /// The path that it is about.
    pub path: String,
    /// Its parts.
    pub depth: u32,
    /// Requests of the first such call of a connection, which knows nothing yet; null where that was not counted.
    pub first: Option<f64>,
    /// Requests of each later one.
    pub again: Option<f64>,
    /// Duration of the first call, s: the median over several connections, or the single call of a mounted directory.
    #[serde(default)]
    pub first_s: Option<f64>,
    /// How long each later one took, s: the median.
    #[serde(default)]
    pub again_s: Option<f64>,
    /// How long each later one of the same took in the local directory, s: the median.
    #[serde(default)]
    pub local_s: Option<f64>,
    /// Procedures of the first call, in order.
    pub procedures: Vec<String>,
}

/// A counter of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCounter {
    /// The server's name for it.
    pub name: String,
    /// How often it counted.
    pub count: u64,
    /// Mean time of the counted operations, s; null if the server does not time them.
    pub mean_s: Option<f64>,
    /// Mean part of it in which they waited inside the server, s; null if the server does not tell waiting and service apart.
    #[serde(default)]
    pub waiting_mean_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_reports_have_the_same_word_of_a_source() {
        for source in PartSource::ALL {
            assert_eq!(serde_json::to_value(source).unwrap(), source.label());
        }
    }
}

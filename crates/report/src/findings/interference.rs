//! What workloads that run at the same time do to each other.

use serde::{Deserialize, Serialize};

use super::comparison::{ComparedUnit, ComparedVerdict};
use super::curve::Interval;

/// Whose load a level has, in a run of several workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadShare {
    /// The workload.
    pub workload: String,
    /// Its place in the run, from 0: the run's own, then those that `--with` names.
    pub place: u32,
    /// The workloads that run at the same time; none where it runs alone.
    pub beside: Vec<String>,
    /// The round, from 0: in each, every workload runs alone, and all of them at the same time.
    pub round: u32,
}

impl WorkloadShare {
    /// Whether whoever looks on sees it: of several at the same time the first.
    pub fn is_watched(&self) -> bool {
        self.beside.is_empty() || self.place == 0
    }
}

/// A workload alone, and beside the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// The workload.
    pub workload: String,
    /// Its load, in words.
    pub load: String,
    /// The workloads that run at the same time.
    pub beside: Vec<String>,
    /// Rounds in which it ran alone and beside the others, and both may be used.
    pub rounds: u32,
    /// Its numbers.
    pub numbers: Vec<InterferedNumber>,
}

/// A number of a workload alone, and beside the others: means over the rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterferedNumber {
    /// What it is: throughput, bytes, mean, p95, p99; response times as `headline` of the levels says.
    pub metric: String,
    /// Its unit: 1/s, B/s, s.
    pub unit: ComparedUnit,
    /// Alone.
    pub alone: f64,
    /// Beside the others.
    pub beside: f64,
    /// Beside the others, over alone, less 1; null where it was 0 alone.
    pub change: Option<f64>,
    /// Holds the true change with 95 %; null with fewer than three rounds.
    pub change_interval: Option<Interval>,
    /// The probability of a difference as large where there is none; null with fewer than three rounds.
    pub p_value: Option<f64>,
    /// `better`, `worse` or `none shown` (Holm's procedure over all numbers of all workloads, 5 %); `cannot tell` if the load
    /// generator's lateness moved it in a round; null with fewer than three rounds.
    pub verdict: Option<ComparedVerdict>,
}

impl InterferedNumber {
    /// Whether the others made it worse.
    pub fn is_worse(&self) -> bool {
        self.verdict == Some(ComparedVerdict::Worse)
    }

    /// Whether the others changed it.
    pub fn is_changed(&self) -> bool {
        self.is_worse() || self.verdict == Some(ComparedVerdict::Better)
    }

    /// Whether it has no verdict because of the load generator's lateness.
    pub fn is_moved(&self) -> bool {
        self.verdict == Some(ComparedVerdict::CannotTell)
    }
}

//! The ranking: sweeps of several servers, point by point, their highest throughput, and the servers' ranks.

use serde::{Deserialize, Serialize};

use super::comparison::{ComparedUnit, Difference, Estimate};

/// The ranking in a comparison of sweeps. A *point* is a load that the curves of all sides have; points at which a side's numbers are not
/// valid are shown without ranks and do not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// The counted unit.
    #[serde(default)]
    pub by: RankedBy,
    /// One entry a load curve, in the baseline's order.
    pub curves: Vec<RankedCurve>,
    /// Geometric mean over all points at which every side has an interval (`of` tells how many): throughput, then mean response time;
    /// of iterations also file data, between the two.
    pub overall: Vec<Ranked>,
    /// Errors over all loads, valid or not; outages and differences between clients over those at which no load generator was late; empty
    /// of captures.
    #[serde(default)]
    pub stability: Vec<Ranked>,
    /// Points that count.
    pub points: u64,
    /// Points that do not, because a side's numbers may not be used there.
    pub not_used: u64,
    /// Number of compared pairs in all numbers with ranks; the differences that remain after Holm's adjustment determine the ranks.
    pub tested: u64,
}

/// The counted unit of a ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RankedBy {
    /// Operations answered, and their mean response time.
    #[default]
    Operations,
    /// Iterations, file data, and the mean time of an iteration: for sides with different protocols, in which the same work needs
    /// different operations.
    Iterations,
}

/// [`Ranked::metric`] of [`Ranking::stability`]: the share of requests that failed.
pub const ERRORS: &str = "errors";
/// The same: outages per hour.
pub const OUTAGES: &str = "outages";
/// The same: the standard deviation of the clients' iterations over their mean.
pub const CLIENT_SPREAD: &str = "client spread";

/// A load curve of every side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedCurve {
    /// As its levels say (`block=6kB`); null where there is one curve.
    pub curve: Option<String>,
    /// Its points, in order of load.
    pub points: Vec<RankedPoint>,
    /// The highest throughput of each side.
    pub highest: Ranked,
    /// The file data moved there, bytes/s; one per side.
    pub highest_bytes: Vec<Option<Estimate>>,
    /// The load at which it lies, in words; one per side.
    pub highest_at: Vec<Option<String>>,
}

/// A load of every side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedPoint {
    /// The load in words.
    pub load_name: String,
    /// Clients, requests outstanding, iterations per second, or users.
    pub load: f64,
    /// Whether it counts.
    pub used: bool,
    /// Operations answered, or iterations, 1/s.
    pub throughput: Ranked,
    /// Mean response time, or mean time of an iteration, s.
    pub mean: Ranked,
    /// File data, bytes/s; null where operations are counted.
    #[serde(default)]
    pub bytes: Option<Ranked>,
}

/// A number of every side, with the ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// throughput or mean; where iterations are counted: iterations, bytes or iteration time; of stability: errors, outages, client spread.
    pub metric: String,
    /// 1/s, B/s, s, 1/h or share.
    pub unit: ComparedUnit,
    /// One per side; null where it has nothing of the kind.
    pub estimates: Vec<Option<Estimate>>,
    /// 1 is best; one per side. A side ties with each side from which it was not shown to differ. Null without an interval, or if the
    /// point does not count or no other side has one.
    pub places: Vec<Option<u64>>,
    /// Every pair of sides that both have an interval.
    pub pairs: Vec<RankedPair>,
}

/// Two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedPair {
    /// The letter of the baseline side of this pair.
    pub baseline: String,
    /// The letter of the other side.
    pub other: String,
    /// Other − baseline; `holm_significant` covers all pairs of the ranking.
    pub difference: Difference,
}

impl Ranked {
    /// Its name in words.
    pub fn words(&self) -> &'static str {
        match self.metric.as_str() {
            "mean" => "mean response time",
            "iterations" => "iterations",
            "iteration time" => "mean time of an iteration",
            "bytes" => "file data",
            ERRORS => "failed requests",
            OUTAGES => "outages",
            CLIENT_SPREAD => "differences between clients",
            _ => "throughput",
        }
    }

    /// Whether the larger number is the better one.
    pub fn more_is_better(&self) -> bool {
        matches!(self.unit, ComparedUnit::PerSecond | ComparedUnit::BytesPerSecond)
    }

    /// The side that is ahead of all others alone, counted from 0; `None` if that was not shown, or there is no other side.
    pub fn winner(&self) -> Option<usize> {
        let mut placed = self.places.iter().enumerate().filter_map(|(at, place)| Some((at, (*place)?)));
        let (at, _) = placed.clone().find(|(_, place)| *place == 1)?;
        (placed.clone().count() > 1 && placed.all(|(other, place)| (place == 1) == (other == at))).then_some(at)
    }
}

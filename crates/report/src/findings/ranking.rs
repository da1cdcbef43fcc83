//! Who wins where: sweeps of several servers, point by point, their highest throughput, and the servers' places.

use serde::{Deserialize, Serialize};

use super::comparison::{Difference, Estimate};

/// Everything that a comparison of sweeps says of who is ahead. A *point* is a load of a curve that all sides have; those at which a
/// side's numbers may not be used are shown without places, and count nowhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// What is counted: [`OPERATIONS`], or [`ITERATIONS`] where sides speak different protocols, in which the same work is other operations.
    #[serde(default = "operations")]
    pub by: String,
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
    /// Pairs that were looked at, in all that has places: what remains of them after Holm's adjustment makes the places.
    pub tested: u64,
}

/// [`Ranking::by`]: operations answered, and their mean response time.
pub const OPERATIONS: &str = "operations";
/// [`Ranking::by`]: iterations, file data, and the mean time of an iteration.
pub const ITERATIONS: &str = "iterations";

/// [`Ranked::metric`] of [`Ranking::stability`]: the share of requests that failed.
pub const ERRORS: &str = "errors";
/// The same: outages per hour.
pub const OUTAGES: &str = "outages";
/// The same: the standard deviation of the clients' iterations over their mean.
pub const CLIENT_SPREAD: &str = "client spread";

fn operations() -> String {
    OPERATIONS.to_owned()
}

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
    pub level: String,
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

/// A number of every side, and who is ahead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// throughput or mean; where iterations are counted: iterations, bytes or iteration time; of stability: errors, outages, client spread.
    pub metric: String,
    /// 1/s, B/s, s, 1/h or share.
    pub unit: String,
    /// One per side; null where it has nothing of the kind.
    pub estimates: Vec<Option<Estimate>>,
    /// 1 the best; one per side. Who was not shown to differ from another shares its place; null without an interval, or where
    /// the point does not count or nobody else has one.
    pub places: Vec<Option<u64>>,
    /// Every pair of which both have an interval.
    pub pairs: Vec<RankedPair>,
}

/// Two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedPair {
    /// The letter of the one that is the baseline here.
    pub baseline: String,
    /// The letter of the other.
    pub other: String,
    /// Other − baseline; `holm_significant` is of all pairs of the ranking.
    pub difference: Difference,
}

impl Ranked {
    /// What it is, in words.
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
        matches!(self.unit.as_str(), "1/s" | "B/s")
    }

    /// Which side is ahead of all others, by itself, counted from 0; `None` where that was not shown, or there is no other.
    pub fn winner(&self) -> Option<usize> {
        let mut placed = self.places.iter().enumerate().filter_map(|(at, place)| Some((at, (*place)?)));
        let (at, _) = placed.clone().find(|(_, place)| *place == 1)?;
        (placed.clone().count() > 1 && placed.all(|(other, place)| (place == 1) == (other == at))).then_some(at)
    }
}

//! Additional content of a report of several sides: their numbers with uncertainties, and the differences.
//!
//! Intervals contain the true value with [`Method::confidence`]. Times are seconds, sizes bytes, shares 0..=1.

use plimsoll_model::Group;
use serde::{Deserialize, Serialize};

use super::Diagnosis;
pub use super::compared::{ComparedUnit, ComparedVerdict};
use super::letter::letter;
use super::ranking::Ranking;

/// In place of the smallest detectable difference, if captures lack operations.
pub(crate) const MAY_BE_HIDDEN: &str = "Missing operations may hide a difference.";

/// The time that capture files do not cover, as a part of a sentence: of each side its name and the part of the time between its files. `None`
/// if the files of all sides cover all of it.
#[must_use]
pub fn not_covered(sides: &[(String, f64)]) -> Option<String> {
    let mut words = Vec::new();
    for (name, share) in sides.iter().filter(|(_, share)| *share > 0.0) {
        let begin = if words.is_empty() { "the capture files of" } else { "those of" };
        let not = if words.is_empty() { "do not cover " } else { "" };
        words.push(format!("{begin} {name} {not}{:.1} %", (share * 100.0).min(99.9)));
    }
    (!words.is_empty()).then(|| format!("{} of the time between first and last packet", words.join(", ")))
}

/// How the sides of a report differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Warnings to read first.
    #[serde(default)]
    pub diagnosis: Diagnosis,
    /// Sentences a reader must know before believing the differences.
    pub warnings: Vec<String>,
    /// The servers' guarantees; those that forbid a ranking come first. Empty if unknown.
    #[serde(default)]
    pub guarantees: Vec<ComparedGuarantee>,
    /// Why there is no ranking and no decision: the sides guarantee different things. Null where they do not, or were compared regardless.
    #[serde(default)]
    pub refused: Option<String>,
    /// How the intervals were made.
    pub method: Method,
    /// One entry per side after the baseline: its capacity against the baseline's. Empty without a search for a capacity.
    #[serde(default)]
    pub capacities: Vec<ComparedCapacity>,
    /// The ranking; null with fewer than two common loads, or if the sides use different protocols.
    #[serde(default)]
    pub ranking: Option<Ranking>,
    /// One entry a load level that all sides have, in the baseline's order; one for captures.
    pub levels: Vec<ComparedLevel>,
    /// The conditions, and whether each failed.
    pub conditions: Vec<Condition>,
}

/// The capacity of a side against the baseline's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedCapacity {
    /// Both capacities in words.
    pub words: String,
    /// better, worse, none shown (the intervals overlap), or cannot tell.
    pub verdict: ComparedVerdict,
    /// Why the verdict is cannot tell; null otherwise.
    pub why: Option<String>,
}

/// A guarantee of all sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedGuarantee {
    /// Its subject.
    pub name: String,
    /// The guarantee of each side, in words; null if unknown.
    pub values: Vec<Option<String>>,
    /// A side differs from the baseline so that they are not to be ranked.
    pub unlike: bool,
}

/// How the intervals were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// Share of intervals that hold the true value, 0..=1.
    pub confidence: f64,
    /// Differences with a verdict: those of usable numbers.
    pub tested: u64,
    /// Expected number of false verdicts if there were no difference at all.
    pub by_chance: f64,
    /// In sentences.
    pub notes: Vec<String>,
}

/// A load level of all sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedLevel {
    /// Name of the level: its load in words, and its curve if there are several; "whole capture" for captures.
    pub level_name: String,
    /// Runs of each side.
    pub runs: Vec<u64>,
    /// Measured time of each side, all runs together, s.
    pub seconds: Vec<f64>,
    /// Where differences come from: batches (parts of runs), welch (runs), paired (runs, pair by pair).
    pub from: String,
    /// Letters of the sides whose numbers at this level must not be used: no difference from or to them has a verdict.
    #[serde(default)]
    pub invalid: Vec<String>,
    /// The metrics of each side that the load generator's lateness moved: no difference of these has a verdict.
    #[serde(default)]
    pub moved: Vec<Vec<String>>,
    /// How the load or the workload of each side after the baseline differs from the baseline's, a sentence: then no difference has a
    /// verdict. Null if they are equal or unknown, or were compared regardless.
    #[serde(default)]
    pub other_loads: Vec<Option<String>>,
    /// How the mix of operations of each side after the baseline differs from the baseline's, in words: then the times of all operations
    /// together have no verdict, except those that single operations support. Null if the mixes are alike or both loads are known.
    #[serde(default)]
    pub mixes: Vec<Option<String>>,
    /// All together, groups, operations, procedures.
    pub rows: Vec<ComparedRow>,
}

impl Comparison {
    /// Whether a warning is about different loads of the sides.
    #[must_use]
    pub fn is_of_loads(&self, warning: &str) -> bool {
        let mut sentences = self.levels.iter().flat_map(|level| &level.other_loads).flatten();
        sentences.any(|sentence| warning.starts_with(sentence.as_str()))
    }

    /// Whether a throughput differs without being better or worse.
    #[must_use]
    pub fn has_neutral(&self) -> bool {
        let metrics = self.levels.iter().flat_map(|level| &level.rows).flat_map(|row| &row.metrics);
        metrics.flat_map(|metric| metric.differences.iter().flatten()).any(Difference::is_neutral)
    }
}

impl ComparedLevel {
    /// How the load or the workload of the side at `place` (from 1) differs from the baseline's.
    #[must_use]
    pub fn other_load(&self, place: usize) -> Option<&str> {
        self.other_loads.get(place.checked_sub(1)?)?.as_deref()
    }

    /// How the mix of operations of the side at `place` (from 1) differs from the baseline's.
    #[must_use]
    pub fn other_mix(&self, place: usize) -> Option<&str> {
        self.mixes.get(place.checked_sub(1)?)?.as_deref()
    }

    /// The times of all operations together of the side at `place` (from 1) that have no verdict because of the mix, in words, and how the
    /// mix differs; `None` if there are none.
    pub(crate) fn times_without_verdict(&self, place: usize) -> Option<(String, &str)> {
        let (mix, at) = (self.other_mix(place)?, place.checked_sub(1)?);
        let all = self.rows.iter().find(|row| row.scope == "all")?;
        let is_moved = |name: &str| [0, place].iter().any(|&side| self.is_moved(side, name));
        let times =
            all.metrics.iter().filter(|metric| metric.unit == ComparedUnit::Seconds && !is_moved(&metric.metric));
        let verdicts =
            times.filter_map(|metric| Some((metric.metric.as_str(), metric.differences.get(at)?.as_ref()?.verdict)));
        let (none, some): (Vec<_>, Vec<_>) = verdicts.partition(|(_, verdict)| *verdict == ComparedVerdict::CannotTell);
        let names: Vec<&str> = none.into_iter().map(|(name, _)| name).collect();
        let (last, others) = names.split_last()?;
        let words = match others {
            _ if some.is_empty() => "the times".to_owned(),
            [] => (*last).to_owned(),
            others => format!("{} and {last}", others.join(", ")),
        };
        Some((words, mix))
    }

    /// The sides (the baseline, or the one at `place`) whose missing operations leave a difference without a verdict, in words; `None` if
    /// every difference that may have a verdict has one.
    pub(crate) fn sides_without_verdict(&self, place: usize) -> Option<String> {
        let open: Vec<&ComparedMetric> = self.without_verdict(place).collect();
        let lacks = |side: usize| open.iter().any(|metric| metric.is_missing_operations(side));
        let sides: Vec<String> = [0, place].into_iter().filter(|&side| lacks(side)).map(letter).collect();
        (!sides.is_empty()).then(|| sides.join(" and "))
    }

    /// How much of the time the capture files of the two sides do not cover, if this leaves a rate without a verdict.
    pub(crate) fn time_without_verdict(&self, place: usize) -> Option<String> {
        let share = |side: usize| self.without_verdict(place).map(move |metric| metric.between_files_share(side));
        let sides = [0, place].map(|side| (letter(side), share(side).fold(0.0, f64::max)));
        not_covered(&sides)
    }

    fn without_verdict(&self, place: usize) -> impl Iterator<Item = &ComparedMetric> {
        let is_open = move |metric: &&ComparedMetric| {
            let found = place.checked_sub(1).and_then(|at| metric.differences.get(at)?.as_ref());
            found.is_some_and(|found| found.verdict == ComparedVerdict::CannotTell)
        };
        self.rows.iter().flat_map(|row| &row.metrics).filter(is_open)
    }

    /// How operations lack, in words before the sides. Those of the group Compound may belong to other groups.
    pub(crate) fn lack(&self) -> &'static str {
        let has_compounds = self.rows.iter().any(|row| row.scope == "group" && row.name == Group::Compound.label());
        if has_compounds { "missing from, or not recognised in," } else { "missing from" }
    }

    /// Whether operations are missing that may change a number of all operations of the side at `place`, or of the baseline.
    pub(crate) fn lacks_operations(&self, place: usize) -> bool {
        let mut all = self.rows.iter().filter(|row| row.scope == "all").flat_map(|row| &row.metrics);
        all.any(|metric| metric.lacks_operations(place))
    }

    /// The moved metrics that the side at `place` has, in words; `None` if there are none.
    #[must_use]
    pub fn moved_words(&self, place: usize) -> Option<String> {
        let all = self.rows.iter().find(|row| row.scope == "all")?;
        let moved = all.metrics.iter().map(|metric| metric.metric.as_str()).filter(|name| self.is_moved(place, name));
        let names: Vec<&str> = moved.collect();
        let (last, others) = names.split_last()?;
        Some(if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) })
    }

    /// Whether the load generator's lateness moved this metric of the side at `place`; the baseline has place 0.
    #[must_use]
    pub fn is_moved(&self, place: usize, metric: &str) -> bool {
        self.moved.get(place).is_some_and(|moved| moved.iter().any(|one| one == metric))
    }
}

/// A row: the operations that it sums up, and its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRow {
    /// all, group, operation or procedure.
    pub scope: String,
    /// Label of the group, operation or procedure; "All".
    pub name: String,
    /// Protocol label of a procedure; otherwise empty.
    pub protocol: String,
    /// Those that at least one side has.
    pub metrics: Vec<ComparedMetric>,
}

/// One number of a row, of every side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedMetric {
    /// throughput, bytes, mean, p50, p90, p95, p99, p99.9 or errors.
    pub metric: String,
    /// 1/s, B/s, s or share.
    pub unit: ComparedUnit,
    /// Whether a user wants it large.
    pub more_is_better: bool,
    /// One per side; null where it has nothing of the kind.
    pub estimates: Vec<Option<Estimate>>,
    /// One per side after the baseline; null where one of the two has no interval.
    pub differences: Vec<Option<Difference>>,
    /// One per side: what the operations that its capture lacks, and the time between its files, may change; null if these change nothing.
    #[serde(default)]
    pub possible: Vec<Option<Possible>>,
}

/// What missing operations may change of a number: the true number divided by the measured one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Possible {
    /// At least.
    pub least: f64,
    /// At most; null if there is no limit.
    pub most: Option<f64>,
    /// The part of the time that lies between capture files, if it may change the number (a rate); otherwise 0. If nobody captured then,
    /// the true rate is higher by the factor 1 / (1 - this part).
    #[serde(default)]
    pub between_files_share: f64,
}

impl Possible {
    /// With the factors of missing operations, and the part of the time between files. `None` if nothing changes.
    #[must_use]
    pub fn of((least, most): (f64, f64), between_files_share: f64) -> Option<Self> {
        let most_of_all = Some(most).filter(|most| most.is_finite());
        let changes = (least, most, between_files_share) != (1.0, 1.0, 0.0);
        changes.then_some(Self { least, most: most_of_all, between_files_share })
    }

    /// The true number divided by the measured one, at least and at most.
    #[must_use]
    pub fn factors(&self) -> (f64, f64) {
        (self.least, self.most.unwrap_or(f64::INFINITY) / (1.0 - self.between_files_share))
    }

    /// Whether operations are missing that may change the number.
    #[must_use]
    pub fn has_missing_operations(&self) -> bool {
        (self.least, self.most) != (1.0, Some(1.0))
    }
}

impl ComparedMetric {
    /// The true number of the side at `place` divided by the measured one, at least and at most; the baseline has place 0.
    #[must_use]
    pub fn possible_at(&self, place: usize) -> (f64, f64) {
        let found = self.possible.get(place).copied().flatten();
        found.map_or((1.0, 1.0), |found| found.factors())
    }

    /// Whether operations are missing that may change this number of the side at `place`; the baseline has place 0.
    #[must_use]
    pub fn is_missing_operations(&self, place: usize) -> bool {
        self.possible.get(place).copied().flatten().is_some_and(|found| found.has_missing_operations())
    }

    /// The part of the time between the capture files of the side at `place` that may change this number; the baseline has place 0.
    #[must_use]
    pub fn between_files_share(&self, place: usize) -> f64 {
        self.possible.get(place).copied().flatten().map_or(0.0, |found| found.between_files_share)
    }

    /// Whether operations are missing that may change this number of the side at `place`, or of the baseline.
    pub(crate) fn lacks_operations(&self, place: usize) -> bool {
        [0, place].into_iter().any(|side| self.is_missing_operations(side))
    }

    /// Whether a report shows it in rows other than the total; the JSON has all metrics.
    pub(crate) fn is_brief(&self) -> bool {
        ["throughput", "mean", "p50", "p99"].contains(&self.metric.as_str())
    }
}

/// A number with its uncertainty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end of the interval; null if unknown.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Batches or runs that the interval comes from.
    pub of: Option<u64>,
    /// Why there is no interval: too short, too few.
    pub missing: Option<String>,
}

/// How a number differs from the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Number − baseline.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The same over the baseline; null where that may be zero.
    pub relative: Option<f64>,
    /// Lower end of the relative difference's interval.
    pub relative_low: Option<f64>,
    /// Upper end.
    pub relative_high: Option<f64>,
    /// better, worse, none shown, or cannot tell where one of the two must not be used, where the loads or mixes differ, or where
    /// operations that a capture lacks may be the difference. more or fewer of a throughput if a load is unknown.
    pub verdict: ComparedVerdict,
    /// Approximate probability of a difference this large if there is none.
    pub p_value: f64,
    /// Whether it remains significant if the probability of any false difference in the comparison is at most one in twenty (Holm).
    pub holm_significant: bool,
    /// The smallest relative change for the worse that would have been found 9 times of 10 at this length.
    pub detectable: Option<f64>,
}

impl Difference {
    /// Whether it is a difference of throughputs that is neither better nor worse, because the load of a side is unknown.
    #[must_use]
    pub fn is_neutral(&self) -> bool {
        matches!(self.verdict, ComparedVerdict::More | ComparedVerdict::Fewer)
    }
}

/// Something that was asked to fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// As the user wrote it.
    pub text: String,
    /// failed (the interval supports it), passed (the interval excludes it), or undecided.
    pub outcome: String,
    /// Why, a sentence for each level and side.
    pub because: Vec<String>,
}

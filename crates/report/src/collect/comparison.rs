//! A report of several sides, from the intervals of its runs.

mod capacities;
mod clocks;
mod contestant;
mod guarantees;
mod loads;
mod missing;
mod mix;
mod ranking;
mod work;

use plimsoll_stats::Intervals;
use plimsoll_stats::comparison::{
    self as stats, Basis, CONFIDENCE, Course, Metric, Scope, Side, estimate, holm, repeats,
};

pub use contestant::{Contestant, Ignore, IterationCost, LevelRuns, LoadPoint, MeasuredRun};
pub use loads::{differing_loads, time_out};
pub(super) use ranking::moved_metrics;
pub use ranking::protocols;
pub use work::differing_work;

use super::answers;
use crate::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedVerdict, Comparison, Difference, Estimate, Method,
};
use crate::findings::{Findings, Report, Rule, letter};

/// How the runs of different subjects were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Unknown.
    Apart,
    /// The first runs of all sides one after the other, then the second ones, and so on.
    InPairs,
}

/// A difference below this fraction of its interval is an error of rounding.
const ROUNDING: f64 = 1e-12;

impl Report {
    /// Compares the levels that all have. The first contestant is the baseline.
    pub fn compare(contestants: Vec<Contestant>, order: Order, warnings: Vec<String>) -> Report {
        Self::compare_as(contestants, order, warnings, Ignore::default())
    }

    /// The same in spite of these differences.
    pub fn compare_as(contestants: Vec<Contestant>, order: Order, mut warnings: Vec<String>, ignore: Ignore) -> Report {
        let mut levels: Vec<ComparedLevel> =
            common(&contestants).iter().map(|level| compared(&contestants, level, (order, ignore))).collect();
        let tested = judge_mixes(&mut levels);
        let (method, ranking) = (method(&levels, tested), ranking::ranking(&contestants, order));
        // A server is not ahead because more, or something else, was asked of it.
        let ranking = ranking.filter(|_| levels.iter().flat_map(|level| &level.other_loads).all(Option::is_none));
        let lossy = lossy_sides(&levels, contestants.len());
        if let (Some(_), Some(sides)) = (&ranking, &lossy) {
            let why = "lack operations, or do not cover all of the time";
            warnings.push(format!("The servers are not ranked, because the captures of {sides} {why}"));
        }
        let ranking = ranking.filter(|_| lossy.is_none());
        let guarantees = guarantees::compared(&contestants);
        let sides: Vec<Findings> = contestants.into_iter().map(|one| one.findings).collect();
        let refused = guarantees::refusal(&guarantees).filter(|_| !ignore.guarantees);
        let ranking = ranking.filter(|_| refused.is_none() && clocks::are_alike(&sides));
        let mut diagnosis = answers::comparison::diagnose(&sides, &levels, ranking.as_ref());
        if let Some(why) = &refused {
            diagnosis.statements.insert(0, answers::measured(Rule::Difference, format!("{why}.")));
        }
        let capacities = capacities::compared(&sides, refused.is_some(), ignore);
        diagnosis.statements.splice(0..0, capacities::statements(&capacities));
        let conditions = Vec::new();
        let comparison =
            Comparison { diagnosis, warnings, guarantees, refused, method, capacities, ranking, levels, conditions };
        Report::of(sides, Some(comparison))
    }
}

/// The common levels of all contestants. If each has only one level, these are compared whatever their names.
fn common(contestants: &[Contestant]) -> Vec<Vec<&LevelRuns>> {
    let Some((baseline, others)) = contestants.split_first() else { return Vec::new() };
    if contestants.iter().all(|one| one.levels.len() == 1) {
        return vec![contestants.iter().flat_map(|one| &one.levels).collect()];
    }
    let of_all = |level: &LevelRuns| -> Option<Vec<&LevelRuns>> {
        others.iter().map(|other| other.levels.iter().find(|its| its.level_name == level.level_name)).collect()
    };
    let with = |level| of_all(level).map(|others| [vec![level], others].concat());
    baseline.levels.iter().filter_map(with).collect()
}

fn compared(contestants: &[Contestant], level: &[&LevelRuns], (order, ignore): (Order, Ignore)) -> ComparedLevel {
    let intervals: Vec<&Intervals> = level.iter().flat_map(|one| &one.runs).map(|run| &run.intervals).collect();
    let from = from(level, order);
    let usable = |(one, its): (&Contestant, &&LevelRuns)| {
        its.point.as_ref().map_or(one.findings.validity.valid, |point| point.valid)
    };
    let usable: Vec<bool> = contestants.iter().zip(level).map(usable).collect();
    let unusable = (0..).zip(&usable).filter(|(_, usable)| !**usable).map(|(place, _)| letter(place));
    let other_loads = loads::others(contestants, level, ignore);
    let comparable: Vec<bool> = (0..level.len())
        .map(|place| usable.get(place).copied().unwrap_or(true) && loads::is_same(&other_loads, place))
        .collect();
    let moved = contestants.iter().zip(level).map(|(one, its)| ranking::moved_metrics(one, its)).collect::<Vec<_>>();
    let scopes = Scope::of(&intervals);
    let rows = scopes.iter().map(|&scope| judged(row(scope, level, from), &comparable, &moved));
    let rows = clocks::judged(missing::judged(rows.collect(), &scopes, contestants, level), contestants);
    let rows = loads::neutral(rows, level, ignore).into_iter();
    ComparedLevel {
        level_name: level.first().map(|first| first.level_name.clone()).unwrap_or_default(),
        runs: level.iter().map(|one| one.runs.len() as u64).collect(),
        seconds: level.iter().map(|one| one.runs.iter().map(MeasuredRun::seconds).sum()).collect(),
        from: from.label().to_owned(),
        invalid: unusable.collect(),
        moved,
        other_loads,
        mixes: mix::others(level, ignore),
        rows: rows.filter(|row| !row.metrics.is_empty()).collect(),
    }
}

/// The sides whose captures lack operations of a load level, or time between their files, in words.
fn lossy_sides(levels: &[ComparedLevel], sides: usize) -> Option<String> {
    let rows = || levels.iter().flat_map(|level| &level.rows).filter(|row| row.scope == "all");
    let is_lossy = |metric: &ComparedMetric, side: usize| metric.possible.get(side).is_some_and(Option::is_some);
    let lossy = (0..sides).filter(|&side| rows().flat_map(|row| &row.metrics).any(|metric| is_lossy(metric, side)));
    let names: Vec<String> = lossy.map(letter).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The row with verdicts only on usable numbers of the same load, because other numbers cannot be judged.
fn judged(mut row: ComparedRow, comparable: &[bool], moved: &[Vec<String>]) -> ComparedRow {
    for metric in &mut row.metrics {
        let is_usable = |place: usize| {
            comparable.get(place).copied().unwrap_or(true)
                && moved.get(place).is_none_or(|moved| !moved.contains(&metric.metric))
        };
        for (place, difference) in (1..).zip(&mut metric.differences) {
            let Some(difference) = difference.as_mut().filter(|_| !(is_usable(0) && is_usable(place))) else {
                continue;
            };
            (difference.verdict, difference.detectable) = (ComparedVerdict::CannotTell, None);
        }
    }
    row
}

/// Where differences come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Batches,
    Welch,
    Paired,
}

impl From {
    fn label(self) -> &'static str {
        match self {
            From::Batches => "batches",
            From::Welch => "welch",
            From::Paired => "paired",
        }
    }
}

fn from(level: &[&LevelRuns], order: Order) -> From {
    let counts: Vec<usize> = level.iter().map(|one| one.runs.len()).collect();
    match (counts.iter().all(|&count| count >= repeats::FEWEST), order) {
        (false, _) => From::Batches,
        (true, Order::InPairs) if counts.windows(2).all(|pair| pair[0] == pair[1]) => From::Paired,
        (true, _) => From::Welch,
    }
}

fn row(scope: Scope, level: &[&LevelRuns], from: From) -> ComparedRow {
    let courses: Vec<Vec<Course>> =
        level.iter().map(|one| one.runs.iter().map(|run| run.course(scope)).collect()).collect();
    let (word, protocol) = match scope {
        Scope::All => ("all", ""),
        Scope::Group(_) => ("group", ""),
        Scope::Operation(_) => ("operation", ""),
        Scope::Procedure(procedure) => ("procedure", procedure.row().protocol.label()),
    };
    let metrics = Metric::ALL.into_iter().filter_map(|metric| compare(metric, &courses, from));
    ComparedRow {
        scope: word.to_owned(),
        name: scope.name(),
        protocol: protocol.to_owned(),
        metrics: metrics.collect(),
    }
}

/// A number of one subject: over all its runs, and run by run where there are enough.
pub(super) struct Numbers {
    pub(super) estimate: stats::Estimate,
    /// Of each run; empty where one has none.
    runs: Vec<f64>,
    /// Minimum uncertainty of a single run's number, at any length.
    grain: f64,
    /// Of all runs as one, if the scatter of `runs` alone would say too little.
    pooled: Option<Side>,
}

impl Numbers {
    /// The same numbers in another unit, multiplied by `factor`.
    pub(super) fn times(self, factor: f64) -> Numbers {
        let runs = self.runs.iter().map(|run| run * factor).collect();
        // No metric of another unit has a pooled number.
        Numbers { estimate: self.estimate.times(factor), runs, grain: self.grain * factor, pooled: self.pooled }
    }
}

pub(super) fn numbers(metric: Metric, runs: &[Course]) -> Option<Numbers> {
    let each = || runs.iter().filter_map(|run| Some(estimate(metric, std::slice::from_ref(run))?.value));
    let values: Vec<f64> = each().collect();
    let shortest = runs.iter().map(Course::seconds).fold(f64::INFINITY, f64::min);
    let grain = repeats::grain(metric, values.iter().copied().fold(0.0, f64::max), shortest);
    let pooled = repeats::pooled(metric, runs);
    // A row that is missing in some runs gives no scatter between runs, and no pairs. A percentile of too few operations neither.
    let values = if values.len() == runs.len() && pooled.is_ok() { values } else { Vec::new() };
    let pooled = pooled.ok().flatten();
    let repeated = repeats::estimate(metric, &values, grain);
    let repeated = repeated.map(|found| pooled.map_or(found, |side| found.including(side.interval)));
    let estimate = repeated.or_else(|| estimate(metric, runs))?;
    Some(Numbers { estimate, runs: values, grain, pooled })
}

fn compare(metric: Metric, courses: &[Vec<Course>], from: From) -> Option<ComparedMetric> {
    let all: Vec<Option<Numbers>> = courses.iter().map(|runs| numbers(metric, runs)).collect();
    if all.iter().all(Option::is_none) {
        return None;
    }
    let baseline = all.first().and_then(Option::as_ref);
    let difference = |other: &Option<Numbers>| difference(metric, baseline?, other.as_ref()?, from);
    Some(ComparedMetric {
        metric: metric.label().to_owned(),
        unit: metric.unit().into(),
        more_is_better: metric.more_is_better(),
        differences: all.iter().skip(1).map(|other| difference(other).map(shown_difference)).collect(),
        estimates: all.iter().map(|one| one.as_ref().map(|one| shown(&one.estimate))).collect(),
        possible: vec![None; all.len()],
    })
}

fn difference(metric: Metric, a: &Numbers, b: &Numbers, from: From) -> Option<stats::Difference> {
    let grain = a.grain.max(b.grain);
    let found = match from {
        From::Paired => {
            let pairs: Vec<(f64, f64)> = a.runs.iter().copied().zip(b.runs.iter().copied()).collect();
            repeats::paired(metric, &pairs, grain)?
        }
        From::Welch => repeats::welch(metric, &a.runs, &b.runs, grain)?,
        From::Batches => return stats::Difference::of(&a.estimate, &b.estimate).ok(),
    };
    if a.pooled.or(b.pooled).is_none() {
        return Some(found);
    }
    let side = |one: &Numbers| one.pooled.or_else(|| Side::of_estimate(&one.estimate));
    Some(found.confirmed_by(&stats::Difference::of_sides(metric, &side(a)?, &side(b)?)))
}

pub(super) fn shown(estimate: &stats::Estimate) -> Estimate {
    let known = estimate.known.ok();
    let of = known.map(|known| match known.basis {
        Basis::Batches(count) | Basis::Runs(count) => count as u64,
    });
    Estimate {
        value: estimate.value,
        low: known.map(|known| known.interval.low),
        high: known.map(|known| known.interval.high),
        of,
        missing: estimate.known.err().map(|why| why.label().to_owned()),
    }
}

fn shown_difference(found: stats::Difference) -> Difference {
    Difference {
        value: settled(found.value, (found.interval.low, found.interval.high)),
        low: found.interval.low,
        high: found.interval.high,
        relative: found.relative,
        relative_low: found.relative_interval.map(|interval| interval.low),
        relative_high: found.relative_interval.map(|interval| interval.high),
        verdict: found.verdict.into(),
        p_value: found.p_value,
        holm_significant: false,
        detectable: found.detectable,
    }
}

/// Rounding makes the difference of equal numbers a little more or less than 0.
fn settled(value: f64, (low, high): (f64, f64)) -> f64 {
    if value.abs() <= ROUNDING * low.abs().max(high.abs()) { 0.0 } else { value }
}

/// Marks what remains of all differences together that have a verdict; tells how many there are. Rows that repeat another (an operation of
/// one procedure, a group of one operation) count again, which is on the safe side.
fn mark(levels: &mut [ComparedLevel]) -> u64 {
    let mut all: Vec<&mut Difference> = levels
        .iter_mut()
        .flat_map(|level| &mut level.rows)
        .flat_map(|row| &mut row.metrics)
        .flat_map(|metric| &mut metric.differences)
        .flatten()
        .filter(|difference| difference.verdict != ComparedVerdict::CannotTell)
        .collect();
    let p_values: Vec<Option<f64>> = all.iter().map(|difference| Some(difference.p_value)).collect();
    for (difference, remains) in all.iter_mut().zip(holm(&p_values, 1.0 - CONFIDENCE)) {
        difference.holm_significant = remains && difference.verdict != ComparedVerdict::NotShown;
    }
    all.len() as u64
}

/// The same, and takes away what a different mix of operations may explain. It ends, because each round takes away at least one verdict.
fn judge_mixes(levels: &mut [ComparedLevel]) -> u64 {
    let mut tested = mark(levels);
    while mix::judge(levels) {
        tested = mark(levels);
    }
    tested
}

fn method(levels: &[ComparedLevel], tested: u64) -> Method {
    let mut notes = Vec::new();
    let from = |wanted: From| levels.iter().any(|level| level.from == wanted.label());
    if from(From::Batches) {
        notes.push(
            "Intervals come from the variation between successive parts of each run. One run per side does not show how much a \
            second run would differ: repeat runs (plimsoll run --repeat 5, plimsoll duel) before you trust a small difference."
                .to_owned(),
        );
    }
    if from(From::Welch) {
        notes.push(
            "Intervals come from repeated runs (Welch's t-test), so they include the variation between runs."
                .to_owned(),
        );
    }
    if from(From::Paired) {
        notes.push(
            "Intervals come from pairs of runs made one right after the other (paired t-test). They include the variation \
            between runs, but not slow drift of the servers."
                .to_owned(),
        );
    }
    Method { confidence: CONFIDENCE, tested, by_chance: tested as f64 * (1.0 - CONFIDENCE), notes }
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn only_rounding_is_settled() {
        assert_eq!(settled(-8.9e-16, (-9.5, 9.5)).to_bits(), 0.0_f64.to_bits());
        assert_eq!(settled(-8.9e-16, (-1e-15, 1e-15)).to_bits(), (-8.9e-16_f64).to_bits());
        assert_eq!(settled(1e-6, (-9.5, 9.5)).to_bits(), 1e-6_f64.to_bits());
    }
}

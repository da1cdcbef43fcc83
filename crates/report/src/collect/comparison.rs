//! A report of several sides, from the intervals of its runs.

mod guarantees;
mod missing;
mod ranking;

use plimsoll_model::Procedure;
use plimsoll_stats::Intervals;
use plimsoll_stats::comparison::{
    self as stats, Basis, CONFIDENCE, Course, Metric, Scope, Verdict, estimate, holm, repeats,
};

pub use ranking::{IterationCost, protocols};

use super::answers;
use crate::findings::comparison::{
    CANNOT_TELL, ComparedLevel, ComparedMetric, ComparedRow, Comparison, Difference, Estimate, Method,
};
use crate::findings::{Findings, Report, Rule, letter};

/// One of the things that are compared, as it was measured.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// What a report of it alone shows.
    pub findings: Findings,
    /// Its load levels, by time.
    pub levels: Vec<LevelRuns>,
}

/// A load level: one run or several of the same.
#[derive(Clone, Debug)]
pub struct LevelRuns {
    /// The load in words, with the curve that it is of.
    pub level: String,
    /// Where it lies on a load curve; `None` where nobody made the load.
    pub point: Option<LoadPoint>,
    /// The runs, in the order in which they were made.
    pub runs: Vec<MeasuredRun>,
}

/// Where a load level lies on a load curve.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPoint {
    /// The curve, where there are several: the value of what was varied.
    pub curve: Option<String>,
    /// The load in words, without the curve.
    pub level: String,
    /// Clients, actions outstanding, iterations per second, or users.
    pub load: f64,
    /// What else decides the load, in words.
    pub pace: Vec<String>,
    /// Actions outstanding at most, over all clients.
    pub outstanding: u64,
    /// Whether the numbers of all its runs may be used.
    pub valid: bool,
    /// What an iteration took; `None` of a capture, and where none ended.
    pub iteration: Option<IterationCost>,
}

/// One run's measured phase.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// First and last instant, ns since the Unix epoch.
    pub span_ns: (i64, i64),
    /// What ended in it.
    pub intervals: Intervals,
}

/// How the runs of different subjects were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nobody knows.
    Apart,
    /// The first of each right after each other, then the second of each, and so on.
    InPairs,
}

/// What becomes of sides that guarantee different things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unlike {
    /// They are not ranked.
    #[default]
    Refused,
    /// They are ranked like any others.
    Ranked,
}

impl Report {
    /// Compares the levels that all have. The first contestant is the baseline.
    pub fn compare(contestants: Vec<Contestant>, order: Order, warnings: Vec<String>) -> Report {
        Self::compare_as(contestants, order, warnings, Unlike::Refused)
    }

    /// The same, where `unlike` says what becomes of sides that guarantee different things.
    pub fn compare_as(contestants: Vec<Contestant>, order: Order, warnings: Vec<String>, unlike: Unlike) -> Report {
        let mut levels: Vec<ComparedLevel> =
            common(&contestants).iter().map(|level| compared(&contestants, level, order)).collect();
        let tested = mark(&mut levels);
        let (method, ranking) = (method(&levels, tested), ranking::ranking(&contestants, order));
        let sides: Vec<Findings> = contestants.into_iter().map(|one| one.findings).collect();
        let guarantees = guarantees::compared(&sides);
        let refused = guarantees::refusal(&guarantees).filter(|_| unlike == Unlike::Refused);
        let ranking = ranking.filter(|_| refused.is_none());
        let mut diagnosis = answers::comparison::diagnose(&sides, &levels, ranking.as_ref());
        if let Some(why) = &refused {
            diagnosis.statements.insert(0, answers::measured(Rule::Difference, format!("{why}.")));
        }
        let conditions = Vec::new();
        let comparison = Comparison { diagnosis, warnings, guarantees, refused, method, ranking, levels, conditions };
        Report::of(sides, Some(comparison))
    }
}

/// The same level of every contestant. Where each has one alone, these are compared whatever they are called.
fn common(contestants: &[Contestant]) -> Vec<Vec<&LevelRuns>> {
    let Some((baseline, others)) = contestants.split_first() else { return Vec::new() };
    if contestants.iter().all(|one| one.levels.len() == 1) {
        return vec![contestants.iter().flat_map(|one| &one.levels).collect()];
    }
    let of_all = |level: &LevelRuns| -> Option<Vec<&LevelRuns>> {
        others.iter().map(|other| other.levels.iter().find(|its| its.level == level.level)).collect()
    };
    let with = |level| of_all(level).map(|others| [vec![level], others].concat());
    baseline.levels.iter().filter_map(with).collect()
}

fn compared(contestants: &[Contestant], level: &[&LevelRuns], order: Order) -> ComparedLevel {
    let intervals: Vec<&Intervals> = level.iter().flat_map(|one| &one.runs).map(|run| &run.intervals).collect();
    let from = from(level, order);
    let usable = |(one, its): (&Contestant, &&LevelRuns)| {
        its.point.as_ref().map_or(one.findings.validity.valid, |point| point.valid)
    };
    let usable: Vec<bool> = contestants.iter().zip(level).map(usable).collect();
    let unusable = (0..).zip(&usable).filter(|(_, usable)| !**usable).map(|(place, _)| letter(place));
    let rows = Scope::of(&intervals).into_iter().map(|scope| judged(row(scope, level, from), &usable));
    let rows = missing::judged(rows.collect(), contestants).into_iter();
    ComparedLevel {
        level: level.first().map(|first| first.level.clone()).unwrap_or_default(),
        runs: level.iter().map(|one| one.runs.len() as u64).collect(),
        seconds: level.iter().map(|one| one.runs.iter().map(MeasuredRun::seconds).sum()).collect(),
        from: from.label().to_owned(),
        invalid: unusable.collect(),
        rows: rows.filter(|row| !row.metrics.is_empty()).collect(),
    }
}

/// The row with verdicts on usable numbers alone: of others nobody can tell whether they are better or worse.
fn judged(mut row: ComparedRow, usable: &[bool]) -> ComparedRow {
    let is_usable = |place: usize| usable.get(place).copied().unwrap_or(true);
    for metric in &mut row.metrics {
        for (place, difference) in (1..).zip(&mut metric.differences) {
            let Some(difference) = difference.as_mut().filter(|_| !(is_usable(0) && is_usable(place))) else {
                continue;
            };
            (difference.verdict, difference.detectable) = (CANNOT_TELL.to_owned(), None);
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

impl MeasuredRun {
    /// Its length, s.
    pub fn seconds(&self) -> f64 {
        self.span_ns.1.saturating_sub(self.span_ns.0) as f64 / 1e9
    }

    /// A row over its time.
    pub fn course(&self, scope: Scope) -> Course {
        Course::new(&self.intervals, self.span_ns, |procedure: Procedure| scope.holds(procedure))
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
    /// What a single run's number is uncertain by at any length.
    grain: f64,
}

impl Numbers {
    /// The same in another unit: so many times as large.
    pub(super) fn times(self, factor: f64) -> Numbers {
        let runs = self.runs.iter().map(|run| run * factor).collect();
        Numbers { estimate: self.estimate.times(factor), runs, grain: self.grain * factor }
    }
}

pub(super) fn numbers(metric: Metric, runs: &[Course]) -> Option<Numbers> {
    let each = || runs.iter().filter_map(|run| Some(estimate(metric, std::slice::from_ref(run))?.value));
    let values: Vec<f64> = each().collect();
    let shortest = runs.iter().map(Course::seconds).fold(f64::INFINITY, f64::min);
    let grain = repeats::grain(metric, values.iter().copied().fold(0.0, f64::max), shortest);
    // A row that some runs do not have tells nothing of how runs differ, nor which of them are a pair.
    let values = if values.len() == runs.len() { values } else { Vec::new() };
    let estimate = repeats::estimate(metric, &values, grain).or_else(|| estimate(metric, runs))?;
    Some(Numbers { estimate, runs: values, grain })
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
        unit: metric.unit().label().to_owned(),
        more_is_better: metric.more_is_better(),
        differences: all.iter().skip(1).map(|other| difference(other).map(shown_difference)).collect(),
        estimates: all.iter().map(|one| one.as_ref().map(|one| shown(&one.estimate))).collect(),
    })
}

fn difference(metric: Metric, a: &Numbers, b: &Numbers, from: From) -> Option<stats::Difference> {
    let grain = a.grain.max(b.grain);
    match from {
        From::Paired => {
            let pairs: Vec<(f64, f64)> = a.runs.iter().copied().zip(b.runs.iter().copied()).collect();
            repeats::paired(metric, &pairs, grain)
        }
        From::Welch => repeats::welch(metric, &a.runs, &b.runs, grain),
        From::Batches => stats::Difference::of(&a.estimate, &b.estimate).ok(),
    }
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
        value: found.value,
        low: found.interval.low,
        high: found.interval.high,
        relative: found.relative,
        relative_low: found.relative_interval.map(|interval| interval.low),
        relative_high: found.relative_interval.map(|interval| interval.high),
        verdict: found.verdict.label().to_owned(),
        p_value: found.p_value,
        holm_significant: false,
        detectable: found.detectable,
    }
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
        .filter(|difference| difference.verdict != CANNOT_TELL)
        .collect();
    let p_values: Vec<Option<f64>> = all.iter().map(|difference| Some(difference.p_value)).collect();
    for (difference, remains) in all.iter_mut().zip(holm(&p_values, 1.0 - CONFIDENCE)) {
        difference.holm_significant = remains && difference.verdict != Verdict::NotShown.label();
    }
    all.len() as u64
}

fn method(levels: &[ComparedLevel], tested: u64) -> Method {
    let mut notes = Vec::new();
    let from = |wanted: From| levels.iter().any(|level| level.from == wanted.label());
    if from(From::Batches) {
        notes.push(
            "Intervals come from the differences between parts of each run. One run per side cannot show the effect of a \
            restart: repeat runs (plimsoll run --repeat 5, plimsoll duel) before you trust a small difference."
                .to_owned(),
        );
    }
    if from(From::Welch) {
        notes.push(
            "Intervals come from the differences between repeated runs (Welch), so they include the effect of a restart.".to_owned(),
        );
    }
    if from(From::Paired) {
        notes.push(
            "Intervals come from pairs of runs made one right after the other (paired t). They include the effect of a \
            restart, but not slow changes."
                .to_owned(),
        );
    }
    Method { confidence: CONFIDENCE, tested, by_chance: tested as f64 * (1.0 - CONFIDENCE), notes }
}

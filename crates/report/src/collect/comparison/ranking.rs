//! The ranking of servers, from the sweeps of several.

mod by;
mod stability;

use plimsoll_model::{Group, Protocol};
use plimsoll_stats::comparison::{
    CONFIDENCE, Course, Difference as Differs, Metric, Missing, Scope, Side, geometric_mean, holm, places,
};

use super::contestant::{Contestant, IterationCost, LevelRuns, LoadPoint};
use super::{Numbers, Order, common, difference, from, numbers};
use super::{shown, shown_difference};
use crate::findings::comparison::{ComparedUnit, ComparedVerdict, Estimate};
use crate::findings::ranking::{Ranked, RankedBy, RankedCurve, RankedPair, RankedPoint, Ranking};
use crate::findings::{LoadLevel, besides_repeat, letter};
use by::{factor, uneven};
use stability::{StabilityPoint, stability};

/// The ranking of sweeps; `None` where less than two points are of all, or where nothing can be counted that is the same for all:
/// they speak different protocols, and did not run the same workload.
pub(super) fn ranking(contestants: &[Contestant], order: Order) -> Option<Ranking> {
    let (levels, by) = (common(contestants), by_what(contestants)?);
    let of_level = |level: &Vec<&LevelRuns>| Some(Point::of(level, order, by)?.without_moved(contestants, level));
    let mut points: Vec<Point> = levels.iter().filter_map(of_level).collect();
    if points.len() < 2 || contestants.len() < 2 {
        return None;
    }
    if by == RankedBy::Iterations {
        forget_intervals_of_uneven(&mut points);
    }
    let mut curves: Vec<RankedCurve> = Vec::new();
    let mut names: Vec<Option<String>> = Vec::new();
    points.iter().for_each(|point| names.extend((!names.contains(&point.curve)).then(|| point.curve.clone())));
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    for name in names {
        let own: Vec<&Point> = points.iter().filter(|point| point.curve == name).collect();
        curves.push(curve(name, &own, by, contestants.len()));
    }
    let used: Vec<&Point> = points.iter().filter(|point| point.used).collect();
    let overall = by.metrics().iter().map(|metric| together(*metric, by, &used, contestants.len())).collect();
    let not_used = (points.len() - used.len()) as u64;
    let mut found = Ranking {
        by,
        curves,
        overall,
        stability: stable(contestants, &levels),
        points: used.len() as u64,
        not_used,
        tested: 0,
    };
    place(&mut found);
    Some(found)
}

/// The variation of iterations follows from that of requests if every iteration has the same number of requests. If that number differs
/// between loads, the variation is unknown.
fn forget_intervals_of_uneven(points: &mut [Point]) {
    let curves: Vec<Option<String>> = points.iter().map(|point| point.curve.clone()).collect();
    for curve in curves {
        let count = points.first().map_or(0, |point| point.costs.len());
        for one in 0..count {
            let of = |point: &Point| point.costs.get(one).copied().flatten().filter(|_| point.curve == curve);
            let costs: Vec<IterationCost> = points.iter().filter_map(of).collect();
            if !uneven(&costs) {
                continue;
            }
            for point in points.iter_mut().filter(|point| point.curve == curve) {
                for numbers in [&mut point.throughput, &mut point.mean] {
                    if let Some(Some(numbers)) = numbers.get_mut(one) {
                        numbers.estimate.known = Err(Missing::Uneven);
                    }
                }
            }
        }
    }
}

/// The unit by which these can be ranked.
fn by_what(contestants: &[Contestant]) -> Option<RankedBy> {
    if of_one_protocol(contestants) {
        return Some(RankedBy::Operations);
    }
    let workload = |one: &Contestant| Some(one.findings.run.as_ref()?.workload_sha256.clone());
    let first = contestants.first().and_then(workload)?;
    contestants.iter().all(|one| workload(one).as_ref() == Some(&first)).then_some(RankedBy::Iterations)
}

/// The protocols in which a contestant was asked for files; those that come before (logging on, portmap) tell nothing.
pub fn protocols(of: &Contestant) -> Vec<Protocol> {
    let rows = of
        .levels
        .iter()
        .flat_map(|level| &level.runs)
        .flat_map(|run| run.intervals.sum().rows().map(|(procedure, _)| procedure.row()).collect::<Vec<_>>());
    let spoken = rows.filter(|row| row.group != Group::Session && row.protocol != Protocol::Portmap);
    let mut all: Vec<Protocol> = spoken.map(|row| row.protocol).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn of_one_protocol(contestants: &[Contestant]) -> bool {
    let mut all = contestants.iter().map(protocols);
    let first = all.next();
    all.all(|spoken| Some(spoken) == first)
}

/// A load of every contestant.
struct Point {
    curve: Option<String>,
    load_name: String,
    load: f64,
    used: bool,
    from: super::From,
    by: RankedBy,
    /// The cost of an iteration; one entry per contestant, as in the fields below.
    costs: Vec<Option<IterationCost>>,
    throughput: Vec<Option<Numbers>>,
    bytes: Vec<Option<Numbers>>,
    mean: Vec<Option<Numbers>>,
}

impl Point {
    fn of(level: &[&LevelRuns], order: Order, by: RankedBy) -> Option<Point> {
        let places: Vec<&LoadPoint> = level.iter().filter_map(|one| one.point.as_ref()).collect();
        let first = places.first().filter(|_| places.len() == level.len())?;
        let courses: Vec<Vec<Course>> =
            level.iter().map(|one| one.runs.iter().map(|run| run.course(Scope::All)).collect()).collect();
        let costs: Vec<Option<IterationCost>> = places.iter().map(|place| place.iteration).collect();
        let number = |metric, (runs, cost): (&Vec<Course>, &Option<IterationCost>)| {
            let found = numbers(metric, runs)?;
            let factor = factor(metric, by, found.estimate.value, *cost)?;
            Some(found.times(factor))
        };
        let of = |metric| courses.iter().zip(&costs).map(|one| number(metric, one)).collect();
        Some(Point {
            by,
            costs: costs.clone(),
            curve: first.curve.clone(),
            load_name: first.load_name.clone(),
            load: first.load,
            used: places.iter().all(|place| place.valid) && level.iter().all(|one| !one.runs.is_empty()),
            from: from(level, order),
            throughput: of(Metric::Throughput),
            bytes: of(Metric::Bytes),
            mean: of(Metric::Mean),
        })
    }

    /// Without the intervals of means that the load generator's lateness moved. (If it moved a throughput, the point is not used at all.)
    fn without_moved(mut self, contestants: &[Contestant], level: &[&LevelRuns]) -> Point {
        for ((one, its), mean) in contestants.iter().zip(level).zip(&mut self.mean) {
            let is_moved = moved_metrics(one, its).iter().any(|metric| metric == Metric::Mean.label());
            if let Some(mean) = mean.as_mut().filter(|_| is_moved) {
                mean.estimate.known = Err(Missing::Late);
            }
        }
        self
    }

    fn numbers(&self, metric: Metric) -> &[Option<Numbers>] {
        match metric {
            Metric::Mean => &self.mean,
            Metric::Bytes => &self.bytes,
            _ => &self.throughput,
        }
    }

    fn ranked(&self, metric: Metric) -> Ranked {
        let all = self.numbers(metric);
        let is_late = |one: &Numbers| matches!(one.estimate.known, Err(Missing::Late));
        let pair = |a: usize, b: usize| {
            let (a, b) = (all.get(a)?.as_ref()?, all.get(b)?.as_ref()?);
            difference(metric, a, b, self.from).filter(|_| self.used && !is_late(a) && !is_late(b))
        };
        let estimates = all.iter().map(|one| one.as_ref().map(|one| shown(&one.estimate))).collect();
        unplaced(metric, self.by, estimates, pair)
    }
}

/// With all pairs, and no places yet.
fn unplaced(
    metric: Metric,
    by: RankedBy,
    estimates: Vec<Option<Estimate>>,
    pair: impl Fn(usize, usize) -> Option<Differs>,
) -> Ranked {
    let count = estimates.len();
    let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let pairs = all.filter_map(|(a, b)| Some((a, b, pair(a, b)?))).collect();
    with_pairs((by.label(metric), metric.unit().into()), estimates, pairs)
}

/// A number of every side with all pairs, and no places yet.
fn with_pairs(
    (metric, unit): (&str, ComparedUnit),
    estimates: Vec<Option<Estimate>>,
    pairs: Vec<(usize, usize, Differs)>,
) -> Ranked {
    let pairs = pairs.into_iter().map(|(a, b, found)| RankedPair {
        baseline: letter(a),
        other: letter(b),
        difference: shown_difference(found),
    });
    Ranked { metric: metric.to_owned(), unit, pairs: pairs.collect(), places: vec![None; estimates.len()], estimates }
}

/// Errors, outages and differences between clients at the loads that all have; empty if a side has captures. Only a load generator knows
/// its outages and iterations: a capture has none of either, which is not 0.
fn stable(contestants: &[Contestant], levels: &[Vec<&LevelRuns>]) -> Vec<Ranked> {
    if contestants.iter().any(|one| one.findings.run.is_none()) {
        return Vec::new();
    }
    let errors = |level: &&LevelRuns| {
        let courses: Vec<Course> = level.runs.iter().map(|run| run.course(Scope::All)).collect();
        Side::of_estimate(&numbers(Metric::Errors, &courses)?.estimate)
    };
    let point = |level: &Vec<&LevelRuns>| {
        let runs = contestants.iter().zip(level).map(|(one, its)| Some(levels_at(one, its.point.as_ref()?)));
        Some(StabilityPoint { errors: level.iter().map(errors).collect(), levels: runs.collect::<Option<_>>()? })
    };
    let found = stability(levels.iter().filter_map(point).collect(), contestants.len());
    found.into_iter().map(|one| with_pairs((one.metric, one.unit), one.estimates, one.differences)).collect()
}

/// The metrics of a side that the load generator's lateness moved in at least one run of a level: a difference of these may come from the
/// machines that made the load.
pub(in super::super) fn moved_metrics(of: &Contestant, level: &LevelRuns) -> Vec<String> {
    let Some(point) = &level.point else { return Vec::new() };
    let runs = levels_at(of, point);
    // The findings of a recording's transactions have no levels.
    let mut all = point.moved.clone();
    all.extend(runs.iter().flat_map(|run| run.facts.generator.moved_metrics(run.headline)));
    all.sort_unstable();
    all.dedup();
    all
}

fn levels_at<'a>(of: &'a Contestant, at: &LoadPoint) -> Vec<&'a LoadLevel> {
    let is_there = |level: &&LoadLevel| {
        level.facts.load_name == at.load_name
            && level.facts.curve.as_deref().and_then(besides_repeat) == at.curve.as_deref()
    };
    of.findings.levels.iter().filter(is_there).collect()
}

fn curve(name: Option<String>, points: &[&Point], by: RankedBy, count: usize) -> RankedCurve {
    let highest: Vec<Option<&Point>> = (0..count).map(|one| highest(points, one)).collect();
    let at = |one: usize| highest.get(one).copied().flatten();
    let number = |one: usize| at(one)?.throughput.get(one)?.as_ref();
    // Contestants reach their maxima at different loads, so these numbers are always independent.
    let pair = |a: usize, b: usize| Differs::of(&number(a)?.estimate, &number(b)?.estimate).ok();
    let estimates = (0..count).map(|one| number(one).map(|found| shown(&found.estimate))).collect();
    let bytes = |one: usize| at(one)?.bytes.get(one)?.as_ref().map(|found| shown(&found.estimate));
    let shown_point = |point: &&Point| RankedPoint {
        load_name: point.load_name.clone(),
        load: point.load,
        used: point.used,
        throughput: point.ranked(Metric::Throughput),
        mean: point.ranked(Metric::Mean),
        bytes: (by == RankedBy::Iterations).then(|| point.ranked(Metric::Bytes)),
    };
    RankedCurve {
        curve: name,
        points: points.iter().map(shown_point).collect(),
        highest: unplaced(Metric::Throughput, by, estimates, pair),
        highest_bytes: (0..count).map(bytes).collect(),
        highest_at: highest.iter().map(|point| point.map(|point| point.load_name.clone())).collect(),
    }
}

/// The point of a contestant's highest throughput; of several, the one with the lowest load.
fn highest<'p>(points: &[&'p Point], one: usize) -> Option<&'p Point> {
    let value = |point: &Point| Some(point.throughput.get(one)?.as_ref()?.estimate.value);
    let sound = points.iter().copied().filter(|point| point.used && value(point).is_some());
    sound.rev().max_by(|a, b| value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0)))
}

/// The geometric mean of a number over all points at which every contestant has it, with its interval.
fn together(metric: Metric, by: RankedBy, points: &[&Point], count: usize) -> Ranked {
    // A point at which one has no interval, or may have nothing at all, is left out for all.
    let of = |point: &&Point| -> Option<Vec<Side>> {
        point.numbers(metric).iter().map(|one| Side::of_estimate(&one.as_ref()?.estimate)).collect()
    };
    let sound = |sides: &Vec<Side>| sides.iter().all(|side| side.interval.low > 0.0);
    let all: Vec<Vec<Side>> = points.iter().filter_map(of).filter(sound).collect();
    let means: Vec<Option<Side>> = (0..count)
        .map(|one| geometric_mean(&all.iter().filter_map(|point| point.get(one).copied()).collect::<Vec<_>>()))
        .collect();
    let estimate = |side: &Side| Estimate {
        value: side.value,
        low: Some(side.interval.low),
        high: Some(side.interval.high),
        of: Some(all.len() as u64),
        missing: None,
    };
    let pair = |a: usize, b: usize| Some(Differs::of_sides(metric, means.get(a)?.as_ref()?, means.get(b)?.as_ref()?));
    unplaced(metric, by, means.iter().map(|mean| mean.as_ref().map(estimate)).collect(), pair)
}

/// Marks the significant differences among all pairs, and sets the ranks.
fn place(ranking: &mut Ranking) {
    let mut all: Vec<&mut Ranked> = Vec::new();
    for curve in &mut ranking.curves {
        all.push(&mut curve.highest);
        for point in curve.points.iter_mut().filter(|point| point.used) {
            all.extend([&mut point.throughput, &mut point.mean]);
            all.extend(&mut point.bytes);
        }
    }
    all.extend(&mut ranking.overall);
    all.extend(&mut ranking.stability);
    let p_values: Vec<Option<f64>> =
        all.iter().flat_map(|ranked| &ranked.pairs).map(|pair| Some(pair.difference.p_value)).collect();
    let mut remain = holm(&p_values, 1.0 - CONFIDENCE).into_iter();
    for ranked in all {
        for (pair, remains) in ranked.pairs.iter_mut().zip(&mut remain) {
            let leaves_out_zero = pair.difference.low > 0.0 || pair.difference.high < 0.0;
            pair.difference.holm_significant = remains && leaves_out_zero;
        }
        ranked.places = places_of(ranked);
    }
    ranking.tested = p_values.len() as u64;
}

fn places_of(ranked: &Ranked) -> Vec<Option<u64>> {
    // A number without an interval gets no rank, and does not affect the ranks of others.
    let known = |one: &Option<Estimate>| one.as_ref().filter(|one| one.low.is_some()).map(|one| one.value);
    let values: Vec<Option<f64>> = ranked.estimates.iter().map(known).collect();
    if values.iter().flatten().count() < 2 {
        return vec![None; values.len()];
    }
    let shown = |a: usize, b: usize| {
        let (first, second) = (letter(a.min(b)), letter(a.max(b)));
        let found = ranked.pairs.iter().find(|pair| pair.baseline == first && pair.other == second);
        let better = if b < a { ComparedVerdict::Better } else { ComparedVerdict::Worse };
        found.is_some_and(|pair| pair.difference.holm_significant && pair.difference.verdict == better)
    };
    places(&values, ranked.more_is_better(), shown)
}

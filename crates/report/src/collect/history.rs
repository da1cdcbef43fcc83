//! A history from recordings: series of runs of the same plan, and where their numbers change.

mod facts;
mod losses;
mod plan;

use plimsoll_stats::changes::{CARRYOVER, FEWEST_RUNS, MOST_RUNS, change_points};
use plimsoll_stats::comparison::{CONFIDENCE, Course, Metric, Scope, repeats};

use super::comparison::{Contestant, LevelRuns, MeasuredRun, moved_metrics, numbers, shown};
use super::losses::{between_files_share, missing, possible};
use crate::findings::TOOL;
use crate::findings::comparison::{ComparedVerdict, Estimate, Possible};
use crate::findings::history::{
    History, HistoryMethod, HistoryMetric, HistoryRun, HistorySeries, MetricChange, RunFact, SCHEMA,
};
use plan::Plan;

/// Histories without any change that show one in any number of any series, at most.
const FALSE_ALARMS: f64 = 0.05;
/// Minimum fraction of the requests for an operation with separate numbers.
const SMALLEST_SHARE: f64 = 0.05;
/// A series with fewer counted runs is not searched for changes.
const ENOUGH: usize = 2 * FEWEST_RUNS;
/// Numbers of all operations together.
const OF_ALL: [Metric; 1] = [Metric::Throughput];
/// Numbers of each operation.
const OF_OPERATIONS: [Metric; 3] = [Metric::P50, Metric::P95, Metric::P99];

/// A recording, as it was read.
pub struct RecordedRun {
    /// Its folder.
    pub recording: String,
    /// When it began; for levels that do not say when they did.
    pub started_ns: i64,
    /// Facts of its manifest that its findings do not have.
    pub facts: Vec<RunFact>,
    /// Its findings and its numbers.
    pub contestant: Contestant,
    /// The missing part, as the rest of a sentence.
    pub unfinished: Option<String>,
}

/// A run of a plan, with its numbers.
struct Run {
    shown: HistoryRun,
    rows: Vec<Row>,
    /// The metrics that the load generator's lateness moved.
    moved: Vec<String>,
}

/// A row of a run, with its numbers.
struct Row {
    scope: Scope,
    requests: u64,
    numbers: Vec<Number>,
}

/// A number of a row.
struct Number {
    metric: Metric,
    estimate: Option<Estimate>,
    /// What may be missing; `None` if nothing changes this number.
    possible: Option<Possible>,
}

impl Run {
    fn number(&self, scope: Scope, metric: Metric) -> Option<&Number> {
        let row = self.rows.iter().find(|row| row.scope == scope)?;
        row.numbers.iter().find(|number| number.metric == metric)
    }
}

/// Collects a history, recording by recording: only their numbers stay in memory.
#[derive(Default)]
pub struct HistoryCollector {
    series: Vec<(Plan, Vec<Run>)>,
    warnings: Vec<String>,
    /// Recordings of searches for a capacity.
    searches: usize,
}

impl HistoryCollector {
    /// Adds a recording; each of its load levels belongs to a series.
    pub fn add(&mut self, recorded: &RecordedRun) {
        let unfinished = recorded.unfinished.as_ref().map(|what| format!("{} {what}", recorded.recording));
        self.warnings.extend(unfinished);
        let of_run = recorded.contestant.findings.run.as_ref();
        self.searches += usize::from(of_run.is_some_and(|run| run.capacity.is_some()));
        for level in &recorded.contestant.levels {
            let (plan, run) = (Plan::of(&recorded.contestant, level), run(recorded, level));
            match self.series.iter_mut().find(|(known, _)| *known == plan) {
                Some((_, runs)) => runs.push(run),
                None => self.series.push((plan, vec![run])),
            }
        }
    }

    /// The history, with `warnings` about recordings that were not read.
    pub fn finish(self, warnings: Vec<String>) -> History {
        let mut warnings = [searches(self.searches), self.warnings, warnings].concat();
        let mut all = self.series;
        all.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.len()));
        let plans: Vec<Plan> = all.iter().map(|(plan, _)| plan.clone()).collect();
        // The series share the errors.
        let counted = |runs: &[Run]| runs.iter().filter(|run| run.shown.counted).count();
        let searched = all.iter().filter(|(_, runs)| counted(runs) >= ENOUGH);
        let share = FALSE_ALARMS / searched.count().max(1) as f64;
        let named = |(plan, runs): (Plan, Vec<Run>)| (plan.name_among(&plans), plan, runs);
        let series = all.into_iter().map(named);
        let series = series.map(|(name, plan, runs)| one_series(name, plan, runs, (share, &mut warnings))).collect();
        let method = HistoryMethod {
            false_alarms: FALSE_ALARMS,
            autocorrelation: CARRYOVER,
            fewest_runs: FEWEST_RUNS as u64,
            confidence: CONFIDENCE,
        };
        History { schema: SCHEMA.to_owned(), tool: TOOL.to_owned(), method, warnings, series }
    }
}

/// A search repeats and chooses loads for itself: its levels are no history.
fn searches(count: usize) -> Vec<String> {
    let words = match count {
        0 => return Vec::new(),
        1 => "1 recording is a search for a capacity".to_owned(),
        many => format!("{many} recordings are searches for a capacity"),
    };
    vec![format!("{words}; the history has only the load levels: to compare two capacities, use plimsoll compare")]
}

fn run(recorded: &RecordedRun, level: &LevelRuns) -> Run {
    let findings = &recorded.contestant.findings;
    let valid = level.point.as_ref().map_or(findings.validity.valid, |point| point.valid);
    let begin_ns = level.runs.first().map_or(recorded.started_ns, |run| run.span_ns.0);
    let intervals: Vec<_> = level.runs.iter().map(|run| &run.intervals).collect();
    let requests = |scope: Scope| -> u64 {
        let asked_for = |procedure| scope.holds(procedure) && Scope::All.holds(procedure);
        let count = |run: &MeasuredRun| Course::new(&run.intervals, run.span_ns, asked_for).sum().row.count;
        level.runs.iter().map(count).sum()
    };
    let answered: u64 = level.runs.iter().map(|run| run.course(Scope::All).sum().answered()).sum();
    let of_row = |scope: Scope| {
        let wanted: &[Metric] = match scope {
            Scope::All => &OF_ALL,
            Scope::Operation(_) => &OF_OPERATIONS,
            Scope::Group(_) | Scope::Procedure(_) => return None,
        };
        let courses: Vec<Course> = level.runs.iter().map(|run| run.course(scope)).collect();
        let number = |&metric: &Metric| {
            let estimate = numbers(metric, &courses).map(|found| shown(&found.estimate));
            let factors = possible(metric, &courses, missing(scope, findings, answered));
            Number { metric, estimate, possible: Possible::of(factors, between_files_share(metric, findings)) }
        };
        Some(Row { scope, requests: requests(scope), numbers: wanted.iter().map(number).collect() })
    };
    let shown = HistoryRun {
        recording: recorded.recording.clone(),
        begin_ns,
        counted: valid && !level.runs.is_empty(),
        validity: findings.validity.clone(),
        facts: facts::of(findings).into_iter().chain(recorded.facts.iter().cloned()).collect(),
    };
    let moved = moved_metrics(&recorded.contestant, level);
    Run { shown, rows: Scope::of(&intervals).into_iter().filter_map(of_row).collect(), moved }
}

fn one_series(
    name: String,
    plan: Plan,
    mut runs: Vec<Run>,
    (false_alarms, warnings): (f64, &mut Vec<String>),
) -> HistorySeries {
    runs.sort_by(|a, b| (a.shown.begin_ns, &a.shown.recording).cmp(&(b.shown.begin_ns, &b.shown.recording)));
    // Places of the runs that count: the newest, where there are too many.
    let mut counted: Vec<usize> = (0..runs.len()).filter(|&at| runs[at].shown.counted).collect();
    if counted.len() > MOST_RUNS {
        warnings.push(format!(
            "{name}: Plimsoll searched only the newest {MOST_RUNS} of {} runs for changes",
            counted.len()
        ));
        counted.drain(..counted.len() - MOST_RUNS);
    }
    let wanted = numbers_of(&runs, &counted);
    let mut metrics: Vec<HistoryMetric> = wanted.iter().map(|&(scope, metric)| one(scope, metric, &runs)).collect();
    // A capture does not show how much its clients requested.
    let is_neutral = plan.outstanding.is_none();
    changes(&mut metrics, &counted, (false_alarms, is_neutral));
    for ((scope, kind), metric) in wanted.into_iter().zip(&mut metrics) {
        let possible = |run: &Run| run.number(scope, kind).and_then(|number| number.possible);
        losses::judge(metric, &counted, &runs.iter().map(possible).collect::<Vec<_>>());
    }
    let runs: Vec<HistoryRun> = runs.into_iter().map(|run| run.shown).collect();
    let changes = facts::change_points(&runs, &counted, &metrics);
    HistorySeries {
        name,
        workload: plan.workload,
        workload_sha256: plan.sha256,
        target_kind: plan.target_kind,
        level_name: plan.level_name,
        pace: plan.pace,
        outstanding: plan.outstanding,
        runs,
        metrics,
        changes,
    }
}

/// The numbers of a series: of all rows that have enough of the requests.
fn numbers_of(runs: &[Run], counted: &[usize]) -> Vec<(Scope, Metric)> {
    let requests = |scope: Scope| -> u64 {
        let rows = counted.iter().filter_map(|&at| runs.get(at)).flat_map(|run| &run.rows);
        rows.filter(|row| row.scope == scope).map(|row| row.requests).sum()
    };
    let all = requests(Scope::All);
    let kept = |scope: Scope| match scope {
        Scope::Operation(_) => all > 0 && requests(scope) as f64 >= SMALLEST_SHARE * all as f64,
        _ => true,
    };
    let mut scopes: Vec<Scope> = Vec::new();
    for row in runs.iter().flat_map(|run| &run.rows) {
        if !scopes.contains(&row.scope) {
            scopes.push(row.scope);
        }
    }
    scopes.retain(|&scope| kept(scope));
    scopes.sort_by_key(|scope| (*scope != Scope::All, std::cmp::Reverse(requests(*scope))));
    let of_scope = |scope: Scope| {
        let wanted: &[Metric] = if scope == Scope::All { &OF_ALL } else { &OF_OPERATIONS };
        wanted.iter().map(move |&metric| (scope, metric))
    };
    scopes.into_iter().flat_map(of_scope).collect()
}

fn one(scope: Scope, metric: Metric, runs: &[Run]) -> HistoryMetric {
    let point = |run: &Run| run.number(scope, metric)?.estimate.clone();
    let is_moved = |run: &Run| run.moved.iter().any(|moved| moved == metric.label());
    HistoryMetric {
        scope: if scope == Scope::All { "all" } else { "operation" }.to_owned(),
        name: scope.name(),
        metric: metric.label().to_owned(),
        unit: metric.unit().into(),
        more_is_better: metric.more_is_better(),
        points: runs.iter().map(point).collect(),
        moved: (0..).zip(runs).filter(|(_, run)| is_moved(run)).map(|(at, _)| at).collect(),
        untested: None,
        changes: Vec::new(),
    }
}

/// A number that is searched for changes.
struct Searched<'m> {
    metric: &'m mut HistoryMetric,
    /// Places of the runs whose value counts.
    counted: Vec<usize>,
    values: Vec<f64>,
}

/// Finds the changes of all metrics. A value that the load generator's lateness moved does not count. Metrics with the same runs are
/// searched together; the groups share the errors.
fn changes(metrics: &mut [HistoryMetric], counted: &[usize], (false_alarms, is_neutral): (f64, bool)) {
    let mut groups: Vec<Vec<Searched<'_>>> = Vec::new();
    for metric in metrics {
        let is_moved = |at: usize| metric.moved.contains(&(at as u64));
        let counted: Vec<usize> = counted.iter().copied().filter(|&at| !is_moved(at)).collect();
        let values: Vec<f64> = counted.iter().filter_map(|&at| Some(metric.points.get(at)?.as_ref()?.value)).collect();
        match untested(&values, counted.len(), !metric.moved.is_empty()) {
            Some(why) => metric.untested = Some(why),
            None => {
                let searched = Searched { metric, counted, values };
                match groups.iter_mut().find(|group| group.iter().any(|one| one.counted == searched.counted)) {
                    Some(group) => group.push(searched),
                    None => groups.push(vec![searched]),
                }
            }
        }
    }
    let share = false_alarms / groups.len().max(1) as f64;
    for group in groups {
        let rows: Vec<Vec<f64>> = group.iter().map(|one| one.values.clone()).collect();
        for (one, cuts) in group.into_iter().zip(change_points(&rows, share)) {
            let Searched { metric, counted, values } = one;
            let of_cut = |place| change(metric, &values, (&cuts, place), (&counted, is_neutral));
            metric.changes = (0..cuts.len()).filter_map(of_cut).collect();
        }
    }
}

/// Why a number is not searched for changes.
fn untested(values: &[f64], runs: usize, are_moved: bool) -> Option<String> {
    let late = if are_moved { " and without a late load generator" } else { "" };
    match (runs, runs - values.len()) {
        (1, _) => Some(format!("only 1 run is valid{late}; at least {ENOUGH} are needed")),
        (runs, _) if runs < ENOUGH => Some(format!("only {runs} runs are valid{late}; at least {ENOUGH} are needed")),
        (_, 0) if values.iter().any(|value| value.is_nan() || *value <= 0.0) => Some("a run has 0".to_owned()),
        (_, 0) => None,
        (_, 1) => Some("1 run has no value".to_owned()),
        (_, many) => Some(format!("{many} runs have no value")),
    }
}

/// A change with its size: the runs since the previous change compared with those until the next.
fn change(
    metric: &HistoryMetric,
    values: &[f64],
    (cuts, place): (&[usize], usize),
    (counted, is_neutral): (&[usize], bool),
) -> Option<MetricChange> {
    let cut = *cuts.get(place)?;
    let from = place.checked_sub(1).and_then(|before| cuts.get(before)).copied().unwrap_or(0);
    let to = cuts.get(place + 1).copied().unwrap_or(values.len());
    let (before, after) = (values.get(from..cut)?, values.get(cut..to)?);
    let kind = Metric::ALL.into_iter().find(|known| known.label() == metric.metric)?;
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (was, is) = (mean(before), mean(after));
    let interval = repeats::welch(kind, before, after, 0.0).and_then(|found| found.relative_interval);
    let verdict = match (is > was, metric.more_is_better) {
        (true, true) if is_neutral => ComparedVerdict::More,
        (false, true) if is_neutral => ComparedVerdict::Fewer,
        (is_more, wanted) if is_more == wanted => ComparedVerdict::Better,
        _ => ComparedVerdict::Worse,
    };
    Some(MetricChange {
        run: *counted.get(cut)? as u64,
        before: was,
        after: is,
        relative: is / was - 1.0,
        relative_low: interval.map(|interval| interval.low).filter(|low| low.is_finite()),
        relative_high: interval.map(|interval| interval.high).filter(|high| high.is_finite()),
        verdict,
    })
}

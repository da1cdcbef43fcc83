//! How much repeats of a load level differ.

use std::fmt;

use plimsoll_stats::comparison::{Estimate, Metric, repeats};

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, significant, time};
use crate::findings::{Stage, Times};

/// A line a level that was run often enough; nothing where none was.
pub(super) fn draw(page: &mut Page<'_>, stages: &[Stage]) -> fmt::Result {
    let repeated: Vec<Vec<&Stage>> =
        by_level(stages).into_iter().filter(|runs| runs.len() >= repeats::FEWEST).collect();
    if repeated.is_empty() {
        return Ok(());
    }
    page.heading("Repeats of each level (mean over repeats, 95 % interval):")?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Level", "Runs", "op/s", "Mean", "p50", "p99"]);
    for runs in &repeated {
        let level = runs.first().map(|stage| stage.level.clone()).unwrap_or_default();
        let rate = of(Metric::Throughput, runs, |stage| Some(stage.operations_per_s));
        let times = |metric, pick: fn(&Times) -> f64| of(metric, runs, |stage| stage.response_time.as_ref().map(pick));
        table.row(vec![
            level,
            runs.len().to_string(),
            show(rate, significant),
            show(times(Metric::Mean, |t| t.mean_s), time),
            show(times(Metric::P50, |t| t.p50_s), time),
            show(times(Metric::P99, |t| t.p99_s), time),
        ]);
    }
    page.table(&table)?;
    page.paragraph(Role::Quiet, "", "±: what a new run changes is in it, and in no number of a single run.")
}

/// The runs of each level, in the order in which levels came first.
fn by_level(stages: &[Stage]) -> Vec<Vec<&Stage>> {
    let mut levels: Vec<Vec<&Stage>> = Vec::new();
    for stage in stages {
        match levels.iter_mut().find(|runs| runs.first().is_some_and(|first| first.level == stage.level)) {
            Some(runs) => runs.push(stage),
            None => levels.push(vec![stage]),
        }
    }
    levels
}

/// `None` unless every run has it.
fn of(metric: Metric, runs: &[&Stage], pick: impl Fn(&Stage) -> Option<f64>) -> Option<Estimate> {
    let values: Option<Vec<f64>> = runs.iter().map(|stage| pick(stage)).collect();
    repeats::estimate(metric, &values?, 0.0)
}

fn show(estimate: Option<Estimate>, number: fn(f64) -> String) -> String {
    let Some((value, known)) = estimate.and_then(|found| Some((found.value, found.known.ok()?))) else {
        return NONE.to_owned();
    };
    if value <= 0.0 {
        return number(value);
    }
    format!("{} ±{:.1} %", number(value), (known.interval.high - value) / value * 100.0)
}

//! The diagnosis of a search for a capacity: how much was carried, and which objective the next load missed.

use super::{measured, percentiles, rate};
use crate::collect::percent;
use crate::findings::capacity::{Capacity, CapacityOutcome, Trial, deciding};
use crate::findings::{Diagnosis, Findings, LoadLevel, Rule, Statement};
use crate::text::{duration, exact_load, load_name, lowered};

/// An operation that is named beside a missed objective has this part of all time waited there.
const NAMED_FROM: f64 = 0.3;

/// The answer; nothing where the search had none.
pub(super) fn diagnose(findings: &Findings, capacity: &Capacity) -> Diagnosis {
    let objective = capacity.objectives.join(", ");
    let unit = &capacity.unit;
    let lowered = lowered(capacity).map_or_else(String::new, |why| format!(" {why}."));
    let answer = match (capacity.outcome, capacity.low, capacity.high) {
        (CapacityOutcome::Found, Some(low), Some(high)) => format!(
            "The highest load that meets the objective ({objective}) is {load}; 95 % interval {low} to {high}.{lowered}",
            load = load_name(low, unit),
            low = exact_load(low),
            high = exact_load(high)
        ),
        (CapacityOutcome::AtLeast | CapacityOutcome::Unfinished, Some(low), _) => format!(
            "At least {load} {meets} the objective ({objective}).{lowered} The highest load that meets it is not known: {why}.",
            load = load_name(low, unit),
            meets = meets(low, unit),
            why = capacity.why.as_deref().unwrap_or("the search did not finish")
        ),
        // Single runs may have met it.
        (CapacityOutcome::NoLoad, ..) => format!(
            "No load meets the objective ({objective}): {why}.",
            why = capacity.why.as_deref().unwrap_or("even the lowest load misses it")
        ),
        _ => return Diagnosis::default(),
    };
    let mut statements = vec![measured(Rule::Capacity, answer)];
    let misses = lowest_misses(capacity);
    let missed = deciding(&misses);
    statements.extend(missed.and_then(|trial| first_miss(findings, trial, &misses, capacity)));
    statements.extend(missed.and_then(|trial| operation(level(findings, trial)?)));
    let within = capacity.trials.iter().filter(|one| one.met == Some(true) && Some(one.load) <= capacity.high);
    let best = within.max_by(|a, b| a.load.total_cmp(&b.load)).and_then(|trial| carried(level(findings, trial)?));
    statements.extend(best);
    Diagnosis { waited_s: None, statements, next: super::run::next(findings) }
}

/// The verb of a load: 1 client meets, 8 clients meet.
fn meets(load: f64, unit: &str) -> &'static str {
    if load_name(load, unit).ends_with('s') && !unit.contains('/') { "meet" } else { "meets" }
}

fn level<'f>(findings: &'f Findings, trial: &Trial) -> Option<&'f LoadLevel> {
    findings.levels.iter().find(|level| u64::from(level.number) == trial.level)
}

/// The highest load that met the objective in the confirming runs.
fn tested(capacity: &Capacity) -> Option<f64> {
    capacity.low_tested.or(capacity.low)
}

/// The lowest load above the answer that missed the objective: its runs that missed it.
fn lowest_misses(capacity: &Capacity) -> Vec<&Trial> {
    let above = |trial: &&Trial| trial.met == Some(false) && tested(capacity).is_none_or(|tested| trial.load > tested);
    let lowest = capacity.trials.iter().filter(above).map(|one| one.load).reduce(f64::min);
    capacity.trials.iter().filter(above).filter(|one| lowest.is_some_and(|lowest| one.load <= lowest)).collect()
}

fn first_miss(findings: &Findings, trial: &Trial, misses: &[&Trial], capacity: &Capacity) -> Option<Statement> {
    let because = trial.because.first()?;
    // Every run has its own value.
    let run = match misses.iter().all(|one| one.because.first().is_none_or(|other| other == because)) {
        true => String::new(),
        false => format!("; last run of {}", duration(trial.seconds)),
    };
    let load = load_name(trial.load, &capacity.unit);
    let times = level(findings, trial).and_then(LoadLevel::headline_time);
    let times = times
        .map_or_else(String::new, |times| format!(" Response times of all operations: {}.", percentiles(&times, ", ")));
    // Single runs of a lower load may have missed it.
    let lowest = match tested(capacity) {
        Some(tested) => format!("The lowest load above {}", exact_load(tested)),
        None => "The lowest load".to_owned(),
    };
    Some(measured(Rule::Capacity, format!("{lowest} that missed the objective is {load} ({because}{run}).{times}")))
}

/// Which operation clients waited for at the load that missed the objective.
fn operation(level: &LoadLevel) -> Option<Statement> {
    let rows = || level.operations.iter().filter(|row| row.parent.is_none());
    let all: f64 = rows().map(|row| row.waited_s).sum();
    let mut waited: Vec<(&str, f64)> = Vec::new();
    for row in rows() {
        match waited.iter_mut().find(|(label, _)| *label == row.operation) {
            Some((_, sum)) => *sum += row.waited_s,
            None => waited.push((&row.operation, row.waited_s)),
        }
    }
    let (label, most) = waited.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (all > 0.0 && most >= NAMED_FROM * all).then(|| {
        let (at, share) = (level.words(), percent(most / all));
        let text = format!("At {at}, the operation {label} accounts for {share} of all time waited.");
        measured(Rule::Operation, text)
    })
}

/// Throughput at the highest load that met the objective.
fn carried(level: &LoadLevel) -> Option<Statement> {
    let times = level.headline_time()?;
    let text = format!(
        "At {load}, the server answered {rate} op/s; response times: {times}.",
        load = level.words(),
        rate = rate(level.operations_per_s),
        times = percentiles(&times, ", "),
    );
    Some(measured(Rule::Throughput, text))
}

//! The highest load that met an objective, and all runs of the search.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{significant, time};
use crate::findings::capacity::{Capacity, CapacityOutcome, Trial, first_missed};

/// The answer, its basis, and one line per load; nothing without a search.
pub(super) fn draw(page: &mut Page<'_>, capacity: Option<&Capacity>) -> fmt::Result {
    let Some(capacity) = capacity else { return Ok(()) };
    page.heading(&format!("Capacity ({}):", capacity.objectives.join(", ")))?;
    page.blank()?;
    let role = if capacity.low.is_some() { Role::Heading } else { Role::Bad };
    page.paragraph(role, "  ", &answer(capacity))?;
    page.blank()?;
    let mut table = Table::new().left(4);
    table.head(&["Load", "Runs", "Measured", "Met", "First objective missed"]);
    for trials in by_load(&capacity.trials) {
        table.row(line(&trials));
    }
    page.table(&table)?;
    page.paragraph(Role::Quiet, "", &rests_on(capacity))
}

/// The answer in a sentence.
pub(crate) fn answer(capacity: &Capacity) -> String {
    let (unit, why) = (&capacity.unit, capacity.why.as_deref().unwrap_or_default());
    match (capacity.outcome, capacity.low, capacity.high) {
        (CapacityOutcome::Found, Some(low), Some(high)) => {
            format!("Capacity: {} (95 % interval {} to {}).", load_name(low, unit), exact(low), exact(high))
        }
        (CapacityOutcome::AtLeast | CapacityOutcome::Unfinished, Some(low), _) => {
            format!("Capacity: at least {}: {why}.", load_name(low, unit))
        }
        (CapacityOutcome::NoLoad, ..) => format!("No load meets the objective: {why}."),
        _ => format!("No capacity found: {why}."),
    }
}

/// Why the capacity is lower than the load that met the objective, in a sentence; `None` if it is not.
pub(crate) fn lowered(capacity: &Capacity) -> Option<String> {
    let (tested, subtracts) = subtracted(capacity)?;
    let (met, judged) = capacity.met_at(tested);
    let tested = load_name(tested, &capacity.unit);
    Some(format!(
        "{tested} met it in {met} of {judged} runs; Plimsoll subtracts {subtracts}, because a slow overload shows only in longer runs"
    ))
}

/// The load that met the objective, and how much lower the lower end of the interval is; `None` if it is that load.
fn subtracted(capacity: &Capacity) -> Option<(f64, String)> {
    let (low, tested, slack) = (capacity.low?, capacity.low_tested?, capacity.slack?);
    let rounds = match capacity.unit.contains('/') {
        true => "",
        false if tested < 1.0 + slack => " (but at least 1 user is left)",
        false => " and rounds down",
    };
    let percent = significant(100.0 * slack / (1.0 + slack));
    (low < tested).then(|| (tested, format!("{percent} %{rounds}")))
}

/// Confidence and cost of the answer.
pub(crate) fn rests_on(capacity: &Capacity) -> String {
    let runs = capacity.confirmations;
    let result = || format!("At least {runs} consecutive new runs confirmed this result. ");
    let mut words = match capacity.outcome {
        // At the upper end, runs of which the load generator may be the cause do not count.
        CapacityOutcome::Found => {
            format!("At least {runs} new runs confirmed each end of the interval, at the lower end consecutive ones. ")
        }
        CapacityOutcome::NoLoad => result(),
        CapacityOutcome::AtLeast | CapacityOutcome::Unfinished if capacity.low.is_some() => result(),
        _ => String::new(),
    };
    words.push_str(&format!("Measured for {}", time(capacity.seconds())));
    if let Some(ladder) = capacity.ladder_seconds() {
        words.push_str(&format!(
            "; a sweep from 0 to the upper end of the interval, in steps as wide as the interval and with one run per step, would measure \
            for {}",
            time(ladder)
        ));
    }
    words.push('.');
    if let Some((_, subtracts)) = subtracted(capacity) {
        words.push_str(&format!(
            " For the lower end of the interval, Plimsoll subtracts {subtracts} from the load that met the objective. Reason: at a load \
            slightly above the capacity, the queue grows so slowly that a single run can still meet the objective."
        ));
    }
    words
}

/// Runs of one load together, the lowest first.
pub(crate) fn by_load(trials: &[Trial]) -> Vec<Vec<&Trial>> {
    let mut sorted: Vec<&Trial> = trials.iter().collect();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    sorted.chunk_by(|a, b| a.load.total_cmp(&b.load).is_eq()).map(<[&Trial]>::to_vec).collect()
}

fn line(trials: &[&Trial]) -> Vec<String> {
    let load = trials.first().map_or(0.0, |one| one.load);
    let seconds = trials.iter().map(|one| one.seconds).sum();
    vec![exact(load), trials.len().to_string(), time(seconds), met_of(trials), first_missed(trials).to_owned()]
}

/// How many runs of a load met the objective, of those that could be judged.
pub(crate) fn met_of(trials: &[&Trial]) -> String {
    let judged = trials.iter().filter(|one| one.met.is_some()).count();
    let met = trials.iter().filter(|one| one.met == Some(true)).count();
    match (judged, trials.len() - judged) {
        (0, _) => "not judged".to_owned(),
        (_, 0) => format!("{met} of {judged}"),
        (_, unjudged) => format!("{met} of {judged}, {unjudged} not judged"),
    }
}

/// A load with its unit: 1 client, 2 clients, 1 iterations/s.
pub fn load_name(load: f64, unit: &str) -> String {
    let number = exact(load);
    let unit = if number == "1" && !unit.contains('/') { unit.strip_suffix('s').unwrap_or(unit) } else { unit };
    format!("{number} {unit}")
}

/// A load: integers unchanged, other numbers to five digits.
pub fn exact(load: f64) -> String {
    if load.fract() == 0.0 { format!("{load}") } else { format!("{load:.*}", digits(load)) }
}

fn digits(load: f64) -> usize {
    // Whole digits in front of the point; five in all.
    let front = load.abs().log10().floor().max(0.0) as usize + 1;
    5_usize.saturating_sub(front)
}

#[cfg(test)]
mod tests {
    use super::{Capacity, Trial, load_name, lowered, met_of, rests_on};

    #[test]
    fn runs_that_do_not_count_are_no_whole() {
        let of = |all: &[Option<bool>]| {
            let trial = |&met| Trial { level: 0, load: 1.0, brief: false, seconds: 1.0, met, because: Vec::new() };
            let all: Vec<Trial> = all.iter().map(trial).collect();
            met_of(&all.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(&[None, None]), "not judged", "not 0 of 0");
        assert_eq!(of(&[Some(true), Some(false)]), "1 of 2");
        assert_eq!(of(&[None, Some(false), None]), "0 of 1, 2 not judged", "of three runs");
    }

    #[test]
    fn a_load_has_the_value_of_the_run_that_decided() {
        let trial = |seconds, why: &str| Trial {
            level: 0,
            load: 3.0,
            brief: false,
            seconds,
            met: Some(false),
            because: vec![why.to_owned()],
        };
        let (probe, full) = (trial(0.5, "p99 < 5 ms: it was 9.00 ms"), trial(2.0, "p99 < 5 ms: it was 6.00 ms"));
        let row = super::line(&[&probe, &full]);
        assert_eq!(row.last().map(String::as_str), Some("p99 < 5 ms: it was 6.00 ms"));
    }

    /// Fewer than the table shows: the sentence says why.
    #[test]
    fn a_lowered_capacity_says_how_it_was_lowered() {
        let trial = |load| Trial { level: 0, load, brief: false, seconds: 1.0, met: Some(true), because: Vec::new() };
        let found = |unit: &str, low: f64, slack: f64| {
            let trials = [4.0; 2].into_iter().chain([8.0; 7]).map(trial).collect();
            let (unit, low, slack) = (unit.to_owned(), Some(low), Some(slack));
            Capacity { unit, low, low_tested: Some(8.0), slack, trials, ..Capacity::default() }
        };
        let of = |unit: &str, low: f64| lowered(&found(unit, low, 0.025));
        assert_eq!(
            of("users", 7.0).as_deref(),
            Some(
                "8 users met it in 7 of 7 runs; Plimsoll subtracts 2.44 % and rounds down, because a slow overload shows only in longer runs"
            )
        );
        assert!(of("iterations/s", 7.8).unwrap().contains("subtracts 2.44 %, because"));
        assert_eq!(of("users", 8.0), None);
        assert!(
            lowered(&found("users", 1.0, 9.0))
                .unwrap()
                .contains("subtracts 90.0 % (but at least 1 user is left), because")
        );
        // Eight to seven is more than the part that is subtracted, and one user is not lowered at all.
        let said = |low: f64| rests_on(&found("users", low, 0.025));
        assert!(
            said(7.0).contains("Plimsoll subtracts 2.44 % and rounds down from the load that met"),
            "{}",
            said(7.0)
        );
        assert!(!said(8.0).contains("lower end"), "{}", said(8.0));
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([load_name(1.0, "clients"), load_name(12.0, "clients")], ["1 client", "12 clients"]);
        assert_eq!(load_name(1.0, "iterations/s"), "1 iterations/s");
    }
}

//! Judges the conditions: one fails only if the whole interval supports it.

use std::ops::Range;

use plimsoll_report::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Comparison,
    Condition as JudgedCondition, not_covered,
};
use plimsoll_report::findings::{Findings, Report, differing_clocks, only_actions_failed};
use plimsoll_stats::comparison::Unit;

use super::condition::{Condition, Outcome, PossibleNumber, Threshold};
use crate::error::first_reason;

/// The conditions that are not held, as lines for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Those that failed.
    pub failed: Vec<String>,
    /// Those that are undecided.
    pub undecided: Vec<String>,
}

/// Advice for an interval that contains the limit.
const LONGER_RUNS: &str = "; longer or repeated runs give narrower intervals";
/// The same for captures, which cannot be repeated.
const LONGER_CAPTURES: &str = "; longer captures give narrower intervals";

/// Why an interval that excludes the limit decides nothing.
pub const MAY_CHANGE: &str = "operations are missing from the captures or not recognised, and with them the true number may be on the \
    other side of the limit";

/// The same of these sides with their names: perhaps only the time between their capture files may change the outcome.
#[must_use]
pub fn may_change(wanted: &Condition, sides: &[PossibleNumber; 2], names: [&str; 2]) -> String {
    // A number itself has nothing to do with the baseline.
    let is_value = matches!(wanted.threshold, Threshold::Value(_));
    let both = sides.iter().zip(names).skip(usize::from(is_value));
    if both.clone().any(|(side, _)| side.lacks_operations) {
        return MAY_CHANGE.to_owned();
    }
    let shares: Vec<(String, f64)> = both.map(|(side, name)| (name.to_owned(), side.between_files_share)).collect();
    let Some(why) = not_covered(&shares) else { return MAY_CHANGE.to_owned() };
    format!("{why}, and without this time the number may be on the other side of the limit")
}

/// A condition at a level, against a side.
struct Judged {
    outcome: Outcome,
    why: String,
    /// If it is undecided, more data may decide it.
    longer_helps: bool,
}

impl Judged {
    fn unknown(why: String) -> Self {
        Self { outcome: Outcome::Undecided, why, longer_helps: false }
    }
}

/// Judges every condition at every level against every side, and notes the outcomes in the comparison.
pub(super) fn judge(report: &mut Report, conditions: &[Condition]) -> Judgement {
    let mut judgement = Judgement::default();
    let Report { sides, comparison: Some(comparison), .. } = report else { return judgement };
    let longer = if sides.iter().any(Findings::is_of_client) { LONGER_RUNS } else { LONGER_CAPTURES };
    for condition in conditions {
        let outcomes = match &comparison.refused {
            Some(why) => vec![Judged::unknown(why.clone())],
            None => judge_one(sides, comparison, condition),
        };
        let worst = outcomes.iter().map(|judged| judged.outcome).max().unwrap_or(Outcome::Undecided);
        let decisive = || outcomes.iter().filter(|judged| judged.outcome == worst);
        let reasons: Vec<String> = decisive().map(|judged| judged.why.clone()).collect();
        let advice = if decisive().any(|judged| judged.longer_helps) { longer } else { "" };
        let (text, reason) = (&condition.text, first_reason(&reasons));
        match worst {
            Outcome::Passed => {}
            Outcome::Undecided => {
                judgement.undecided.push(format!("--fail-if {text:?} is undecided: {reason}{advice}"));
            }
            Outcome::Failed => judgement.failed.push(format!("--fail-if {text:?} failed: {reason}")),
        }
        comparison.conditions.push(JudgedCondition {
            text: text.clone(),
            outcome: worst.label().to_owned(),
            because: outcomes.into_iter().map(|judged| judged.why).collect(),
        });
    }
    judgement
}

fn judge_one(sides: &[Findings], comparison: &Comparison, wanted: &Condition) -> Vec<Judged> {
    let Some((baseline, others)) = sides.split_first() else { return Vec::new() };
    let mut said = Vec::new();
    for level in &comparison.levels {
        for (place, other) in others.iter().enumerate() {
            let judged = at(level, wanted, place, [baseline, other]);
            said.push(Judged { why: format!("{}, {}: {}", other.letter, level.level_name, judged.why), ..judged });
        }
    }
    said
}

fn at(level: &ComparedLevel, wanted: &Condition, place: usize, both: [&Findings; 2]) -> Judged {
    let unknown = Judged::unknown;
    let [_, other] = both;
    let failed = wanted.limits_errors() && only_actions_failed(&other.validity);
    let counts = |side: &&Findings| failed && side.letter == other.letter;
    if let Some(invalid) = both.into_iter().find(|side| !side.validity.valid && !counts(side)) {
        return unknown(format!("{} is INVALID (its numbers must not be used)", invalid.letter));
    }
    // The single runs of a search may be INVALID although its result is valid.
    if let Some(invalid) = both.into_iter().find(|side| level.invalid.contains(&side.letter) && !counts(side)) {
        return unknown(format!("the numbers of {} at this level are INVALID", invalid.letter));
    }
    if let Some(why) = not_comparable(level, wanted, place, both) {
        return unknown(why);
    }
    let Some(row) = row(level, &wanted.name) else { return unknown(format!("no numbers for {}", wanted.name)) };
    let Some(metric) = row.metrics.iter().find(|metric| metric.metric == wanted.metric.label()) else {
        return unknown(format!("{} has no {}", wanted.name, wanted.metric.label()));
    };
    let Some((low, high)) = interval(metric, wanted.threshold, place) else {
        return Judged { longer_helps: true, ..unknown(why_no_interval(metric, place)) };
    };
    let is_change = !matches!(wanted.threshold, Threshold::Value(_));
    // Whatever its verdict: the size of the difference includes the effect of the mix.
    let is_mixed = is_change && row.scope == "all" && metric.unit == ComparedUnit::Seconds;
    if let Some(mix) = level.other_mix(place + 1).filter(|_| is_mixed) {
        let numbers = wanted.interval_words((low, high));
        return unknown(format!(
            "the mix of operations differs ({mix}), which may cause or hide a difference ({numbers})"
        ));
    }
    let found = metric.differences.get(place).and_then(Option::as_ref);
    let is_open = level.invalid.is_empty() && found.is_some_and(|found| found.verdict == ComparedVerdict::CannotTell);
    let sides = possible(level, wanted, [0..1, place + 1..place + 2]);
    // With the limits of the true numbers, a condition far from the difference is certain.
    if is_open && is_change && sides.is_none() {
        let why = "operations missing from the captures may explain the whole difference";
        return unknown(format!("{why} ({})", wanted.interval_words((low, high))));
    }
    if !wanted.is_certain((low, high), sides) {
        let names = both.map(|side| side.letter.as_str());
        let why = sides.map_or_else(|| MAY_CHANGE.to_owned(), |sides| may_change(wanted, &sides, names));
        return unknown(format!("{why} (the 95 % interval is {})", wanted.interval_words((low, high))));
    }
    let why = format!("the 95 % interval is {}", wanted.interval_words((low, high)));
    match wanted.outcome((low, high)) {
        // Of the actions that failed, errors are only a part: requests without a response are not among them.
        Outcome::Passed if failed => {
            unknown(format!("{why}, but {} is INVALID: too many actions failed", other.letter))
        }
        outcome => Judged { outcome, why, longer_helps: true },
    }
}

/// Why this number of the sides cannot be judged, or not against the baseline.
fn not_comparable(
    level: &ComparedLevel,
    wanted: &Condition,
    place: usize,
    [baseline, other]: [&Findings; 2],
) -> Option<String> {
    let is_value = matches!(wanted.threshold, Threshold::Value(_));
    if let Some(loads) = level.other_load(place + 1).filter(|_| !is_value) {
        return Some(format!("{loads}; add --ignore-load to judge the difference nevertheless"));
    }
    let is_time = wanted.metric.unit() == Unit::Seconds;
    if let Some(clocks) = differing_clocks(baseline, other, place + 1).filter(|_| is_time && !is_value) {
        return Some(format!("{clocks}, which may cause or hide a difference"));
    }
    let metric = wanted.metric.label();
    // A number itself has nothing to do with the baseline.
    let sides = [(0, baseline), (place + 1, other)].into_iter().skip(usize::from(is_value));
    let (_, late) = sides.into_iter().find(|(at, _)| level.is_moved(*at, metric))?;
    Some(format!("the load generator of {} was late, so {metric} is not reliable", late.letter))
}

/// The numbers of a condition with what missing operations, and the time between capture files, may change: of the baseline and of the
/// other side, each of which may be several sides of the comparison. `None` without such a number, or if these change nothing.
#[must_use]
pub fn possible(level: &ComparedLevel, wanted: &Condition, sides: [Range<usize>; 2]) -> Option<[PossibleNumber; 2]> {
    let row = row(level, &wanted.name)?;
    let metric = row.metrics.iter().find(|metric| metric.metric == wanted.metric.label())?;
    let of_side = |places: Range<usize>| {
        let values = places.clone().filter_map(|place| Some(metric.estimates.get(place)?.as_ref()?.value));
        let widest = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        PossibleNumber {
            value: values.fold(0.0, f64::max),
            lacks_operations: places.clone().any(|place| metric.is_missing_operations(place)),
            between_files_share: places.clone().map(|place| metric.between_files_share(place)).fold(0.0, f64::max),
            factor: places.map(|place| metric.possible_at(place)).reduce(widest).unwrap_or((1.0, 1.0)),
        }
    };
    Some(sides.map(of_side)).filter(|sides| sides.iter().any(|side| side.factor != (1.0, 1.0)))
}

/// An operation before a group before a procedure of the same name (their numbers are the same where it matters). The name of a procedure
/// may have its protocol in front (SMB2 READ).
fn row<'c>(level: &'c ComparedLevel, name: &str) -> Option<&'c ComparedRow> {
    let is_named = |row: &ComparedRow| {
        let with_protocol = || format!("{} {}", row.protocol, row.name);
        row.name.eq_ignore_ascii_case(name) || row.scope == "procedure" && with_protocol().eq_ignore_ascii_case(name)
    };
    let named = |scope: &str| level.rows.iter().find(|row| row.scope == scope && is_named(row));
    ["all", "operation", "group", "procedure"].into_iter().find_map(named)
}

fn interval(metric: &ComparedMetric, threshold: Threshold, place: usize) -> Option<(f64, f64)> {
    let found = metric.differences.get(place).and_then(Option::as_ref);
    match threshold {
        Threshold::Relative(_) => found?.relative_low.zip(found?.relative_high),
        Threshold::Change(_) => found.map(|found| (found.low, found.high)),
        Threshold::Value(_) => {
            let estimate = metric.estimates.get(place + 1)?.as_ref()?;
            estimate.low.zip(estimate.high)
        }
    }
}

fn why_no_interval(metric: &ComparedMetric, place: usize) -> String {
    let missing = |at: usize| match metric.estimates.get(at) {
        Some(Some(estimate)) => estimate.missing.clone(),
        _ => Some("one side lacks this number".to_owned()),
    };
    match missing(place + 1).or_else(|| missing(0)) {
        Some(why) => format!("no interval: {}", missing_words(&why, &metric.metric)),
        None => no_ratio(metric.estimates.first().and_then(Option::as_ref).map_or(0.0, |baseline| baseline.value)),
    }
}

/// Why there is no relative change from a baseline with an interval.
fn no_ratio(baseline: f64) -> String {
    if baseline <= 0.0 {
        return "the baseline may be zero, so a relative change is undefined".to_owned();
    }
    "the interval of the baseline contains zero, because its runs, or the parts of its one run, are few or differ too much, so a relative change is undefined".to_owned()
}

/// `too few` alone does not say what is too few.
fn missing_words(why: &str, metric: &str) -> String {
    match why {
        "too few" => format!("too few requests for {metric}"),
        "too short" => "the measured time is too short".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! Judges the conditions: one fails only if the whole interval supports it.

use plimsoll_report::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Comparison, Condition as JudgedCondition,
};
use plimsoll_report::findings::{Findings, Report, only_actions_failed};

use super::condition::{Condition, Outcome, Threshold};
use crate::error::first_reason;

/// The conditions that are not held, as lines for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Those that failed.
    pub failed: Vec<String>,
    /// Those that could not be judged.
    pub undecided: Vec<String>,
}

/// Advice for an interval that contains the limit.
const LONGER_RUNS: &str = "; longer or repeated runs give narrower intervals";
/// The same for captures, which cannot be repeated.
const LONGER_CAPTURES: &str = "; longer captures give narrower intervals";

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
    let longer = if sides.iter().all(|side| side.run.is_none()) { LONGER_CAPTURES } else { LONGER_RUNS };
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
                judgement.undecided.push(format!("--fail-if {text:?} could not be judged: {reason}{advice}"));
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
            said.push(Judged { why: format!("{}, {}: {}", other.letter, level.words, judged.why), ..judged });
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
        let numbers = shown(low, high, wanted);
        return unknown(format!(
            "the mix of operations differs ({mix}), which may cause or hide a difference ({numbers})"
        ));
    }
    let found = metric.differences.get(place).and_then(Option::as_ref);
    let is_open = level.invalid.is_empty() && found.is_some_and(|found| found.verdict == ComparedVerdict::CannotTell);
    if is_open && is_change {
        let why = "operations missing from the captures may explain the whole difference";
        return unknown(format!("{why} ({})", shown(low, high, wanted)));
    }
    let why = format!("the 95 % interval is {}", shown(low, high, wanted));
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
        return Some(format!("{loads}; --ignore-load judges the difference in spite of that"));
    }
    let metric = wanted.metric.label();
    // A number itself has nothing to do with the baseline.
    let sides = [(0, baseline), (place + 1, other)].into_iter().skip(usize::from(is_value));
    let (_, late) = sides.into_iter().find(|(at, _)| level.is_moved(*at, metric))?;
    Some(format!("the load generator of {} was late, so {metric} is not reliable", late.letter))
}

/// An operation before a group before a procedure of the same name (their numbers are the same where it matters).
fn row<'c>(level: &'c ComparedLevel, name: &str) -> Option<&'c ComparedRow> {
    let named = |scope: &str| level.rows.iter().find(|row| row.scope == scope && row.name.eq_ignore_ascii_case(name));
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
        None => "the baseline may be zero, so a relative change is undefined".to_owned(),
    }
}

/// `too few` alone does not say what is too few.
fn missing_words(why: &str, metric: &str) -> String {
    match why {
        "too few" => format!("too few requests for {metric}"),
        "too short" => "the measured time is too short".to_owned(),
        other => other.to_owned(),
    }
}

fn shown(low: f64, high: f64, wanted: &Condition) -> String {
    let (factor, unit) = wanted.unit();
    match wanted.threshold {
        Threshold::Value(_) => format!("{:.3} to {:.3} {unit}", low * factor, high * factor),
        _ => format!("{:+.3} to {:+.3} {unit}", low * factor, high * factor),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_report::findings::comparison::{Difference, Estimate, Method};
    use plimsoll_report::findings::{FAILED_ACTIONS, Run};

    use plimsoll_model::{Reason, Validity};

    use super::*;

    /// p99 of reads: 10 ms, and `other` with an interval, and one of the relative difference.
    fn comparison(relative: Option<(f64, f64)>, valid: bool) -> Report {
        let estimate = Estimate { value: 0.011, low: Some(0.0105), high: Some(0.0115), of: Some(20), missing: None };
        let difference = relative.map(|(low, high)| Difference {
            value: 0.001,
            low: 0.0005,
            high: 0.0015,
            relative: Some(0.1),
            relative_low: Some(low),
            relative_high: Some(high),
            verdict: ComparedVerdict::Worse,
            p_value: 0.01,
            holm_significant: true,
            detectable: None,
        });
        let metric = ComparedMetric {
            metric: "p99".to_owned(),
            unit: ComparedUnit::Seconds,
            more_is_better: false,
            estimates: vec![Some(Estimate { value: 0.01, ..estimate.clone() }), Some(estimate)],
            differences: vec![difference],
        };
        let (scope, name) = ("operation".to_owned(), "read".to_owned());
        let rows = vec![ComparedRow { scope, name, protocol: String::new(), metrics: vec![metric] }];
        let (runs, seconds, from) = (vec![1, 1], vec![30.0, 30.0], "batches".to_owned());
        let levels = vec![ComparedLevel {
            words: "4 clients".to_owned(),
            runs,
            seconds,
            from,
            invalid: Vec::new(),
            moved: Vec::new(),
            other_loads: vec![None],
            mixes: vec![None],
            rows,
        }];
        let late = Validity::of((!valid).then(|| Reason::invalid("It was late.")));
        let side = |letter: &str, validity| Findings { letter: letter.to_owned(), validity, ..Findings::default() };
        let (warnings, method, conditions) = (Vec::new(), Method::default(), Vec::new());
        Report {
            schema: String::new(),
            tool: String::new(),
            sides: vec![side("A", Validity::default()), side("B", late)],
            comparison: Some(Comparison {
                diagnosis: Default::default(),
                warnings,
                guarantees: Vec::new(),
                refused: None,
                method,
                capacities: Vec::new(),
                ranking: None,
                levels,
                conditions,
            }),
        }
    }

    fn outcome(of: &Report, condition: &str) -> (Judgement, String) {
        let mut of = of.clone();
        let judgement = judge(&mut of, &[Condition::parse(condition).unwrap()]);
        (judgement, of.comparison.unwrap().conditions[0].outcome.clone())
    }

    #[test]
    fn only_a_whole_interval_decides() {
        let found = comparison(Some((0.06, 0.14)), true);
        for (condition, expected) in [
            ("read.p99 > +5%", "failed"),
            ("read.p99 > +10%", "undecided"),
            ("read.p99 > +15%", "passed"),
            ("read.p99 < +15%", "failed"),
            ("READ.p99 > 10ms", "failed"),
            ("read.p99 > 11ms", "undecided"),
            ("read.p99 > 12ms", "passed"),
            ("read.p99 > +400us", "failed"),
            ("write.p99 > +5%", "undecided"),
            ("read.mean > +5%", "undecided"),
        ] {
            let (Judgement { failed, undecided }, outcome) = outcome(&found, condition);
            assert_eq!(outcome, expected, "{condition}");
            let counts = match expected {
                "failed" => (1, 0),
                "undecided" => (0, 1),
                _ => (0, 0),
            };
            assert_eq!((failed.len(), undecided.len()), counts, "{condition}");
            assert!([failed, undecided].concat().iter().all(|why| why.contains(condition)), "{condition}");
        }
    }

    /// The report says of its difference that it cannot tell.
    fn cannot_tell(mut found: Report) -> Report {
        let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
        metric.differences[0].as_mut().unwrap().verdict = ComparedVerdict::CannotTell;
        found
    }

    #[test]
    fn another_mix_decides_nothing_about_the_times_of_all_operations() {
        let mixed = |mut found: Report| {
            let level = &mut found.comparison.as_mut().unwrap().levels[0];
            level.mixes = vec![Some("READ 50 % → 10 %".to_owned())];
            (level.rows[0].scope, level.rows[0].name) = ("all".to_owned(), "All".to_owned());
            found
        };
        let worse = mixed(comparison(Some((0.06, 0.14)), true));
        for found in [mixed(cannot_tell(comparison(Some((0.06, 0.14)), true))), worse.clone()] {
            // With the mix of the baseline, the first two might not fail, and the third might.
            for condition in ["p99 > +5%", "p99 > +400us", "p99 > +15%"] {
                let (judgement, word) = outcome(&found, condition);
                assert_eq!(word, "undecided", "{condition}");
                let why = "the mix of operations differs (READ 50 % → 10 %), which may cause or hide a difference";
                assert!(judgement.undecided[0].contains(why), "{judgement:?}");
            }
            assert_eq!(outcome(&found, "p99 > 10ms").1, "failed", "the number itself has no baseline");
        }
        let mut single = worse;
        let row = &mut single.comparison.as_mut().unwrap().levels[0].rows[0];
        (row.scope, row.name) = ("procedure".to_owned(), "READ".to_owned());
        assert_eq!(outcome(&single, "read.p99 > +5%").1, "failed", "the mix is no part of one procedure");
    }

    #[test]
    fn a_missing_interval_and_the_remedy_are_said() {
        let mut found = comparison(None, true);
        let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
        metric.estimates[1].as_mut().unwrap().missing = Some("too few".to_owned());
        let said = outcome(&found, "read.p99 > +5%").0.undecided[0].clone();
        assert!(
            said.contains("no interval: too few requests for p99; longer captures give narrower intervals"),
            "{said}"
        );
        found.sides.iter_mut().for_each(|side| side.run = Some(Run::default()));
        let said = outcome(&found, "read.p99 > +5%").0.undecided[0].clone();
        assert!(said.ends_with("; longer or repeated runs give narrower intervals"), "{said}");
    }

    #[test]
    fn a_number_that_the_load_generator_moved_decides_nothing() {
        let late = |moved: [&[&str]; 2]| {
            let mut found = comparison(Some((0.06, 0.14)), true);
            let names = moved.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            found.comparison.as_mut().unwrap().levels[0].moved = names.to_vec();
            found
        };
        let baseline = cannot_tell(late([&["p99"], &[]]));
        let (judgement, word) = outcome(&baseline, "read.p99 > +5%");
        assert_eq!(word, "undecided");
        assert!(judgement.undecided[0].contains("the load generator of A was late, so p99"), "{judgement:?}");
        assert_eq!(outcome(&baseline, "read.p99 > 10ms").1, "failed", "the number itself has no baseline");
        assert_eq!(outcome(&cannot_tell(late([&[], &["p99"]])), "read.p99 > 10ms").1, "undecided");
        assert_eq!(outcome(&late([&["mean"], &["mean", "p95"]]), "read.p99 > +5%").1, "failed", "others stand");
    }

    #[test]
    fn other_loads_decide_nothing_about_a_difference() {
        let mut found = cannot_tell(comparison(Some((0.06, 0.14)), true));
        let loads = "A had 40 iterations/s, B had 80 iterations/s: the loads differ";
        found.comparison.as_mut().unwrap().levels[0].other_loads = vec![Some(loads.to_owned())];
        let (judgement, word) = outcome(&found, "read.p99 > +5%");
        assert_eq!(word, "undecided");
        assert!(judgement.undecided[0].contains(loads), "{judgement:?}");
        assert_eq!(outcome(&found, "read.p99 > +400us").1, "undecided");
        assert_eq!(outcome(&found, "read.p99 > 10ms").1, "failed", "the number itself has no baseline");
    }

    /// Without this, no server with too many errors could fail a limit of the errors.
    #[test]
    fn numbers_that_are_invalid_because_actions_failed_can_fail_a_limit_of_the_errors() {
        let with = |side: usize, also: Option<&str>| {
            let mut found = comparison(Some((0.06, 0.14)), true);
            let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
            metric.metric = "errors".to_owned();
            let text = format!("1 of 20{FAILED_ACTIONS}5.00 % (limit 1 %)");
            let reasons = std::iter::once(text.as_str()).chain(also).map(Reason::invalid);
            found.sides[side].validity = Validity::of(reasons);
            found.comparison.as_mut().unwrap().levels[0].invalid = vec![found.sides[side].letter.clone()];
            found
        };
        let failing = with(1, None);
        // The interval of B is 1.05 to 1.15 %.
        assert_eq!(outcome(&failing, "read.errors > 1%").1, "failed");
        assert_eq!(outcome(&failing, "read.errors > +0.01%").1, "failed");
        let (judgement, word) = outcome(&failing, "read.errors > 2%");
        assert!(word == "undecided" && judgement.undecided[0].contains("B is INVALID: too many actions failed"));
        assert_eq!(outcome(&failing, "read.errors < 2%").1, "undecided");
        assert_eq!(outcome(&with(1, Some("The server was away.")), "read.errors > 1%").1, "undecided");
        assert_eq!(outcome(&with(0, None), "read.errors > 1%").1, "undecided", "the baseline");
    }

    #[test]
    fn invalid_numbers_support_nothing() {
        let found = comparison(Some((0.06, 0.14)), false);
        let (judgement, word) = outcome(&found, "read.p99 > +5%");
        assert!(judgement.undecided.len() == 1 && word == "undecided", "{judgement:?}, {word}");
        let lossy = cannot_tell(comparison(Some((0.06, 0.14)), true));
        let (judgement, word) = outcome(&lossy, "read.p99 > +5%");
        assert!(judgement.undecided.len() == 1 && word == "undecided", "{judgement:?}, {word}");
        assert!(judgement.undecided[0].contains("operations missing from the captures may explain"), "{judgement:?}");
        let mut search = comparison(Some((0.06, 0.14)), true);
        search.comparison.as_mut().unwrap().levels[0].invalid = vec!["B".to_owned()];
        let (judgement, word) = outcome(&search, "read.p99 > +5%");
        assert!(
            word == "undecided" && judgement.undecided[0].contains("of B at this level are INVALID"),
            "{judgement:?}"
        );
        let short = comparison(None, true);
        assert_eq!(outcome(&short, "read.p99 > +5%").1, "undecided");
    }
}

//! Conditions on comparisons of two sides.

use plimsoll_report::findings::comparison::{Difference, Estimate, Method, Possible};
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
        possible: Vec::new(),
    };
    let (scope, name) = ("operation".to_owned(), "read".to_owned());
    let rows = vec![ComparedRow { scope, name, protocol: String::new(), metrics: vec![metric] }];
    let (runs, seconds, from) = (vec![1, 1], vec![30.0, 30.0], "batches".to_owned());
    let levels = vec![ComparedLevel {
        level_name: "4 clients".to_owned(),
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
    single.comparison.as_mut().unwrap().levels[0].rows[0].protocol = "SMB2".to_owned();
    assert_eq!(outcome(&single, "SMB2 READ.p99 > +5%").1, "failed", "the name in the table");
    assert_eq!(outcome(&single, "NFS3 READ.p99 > +5%").1, "undecided", "another protocol");
}

#[test]
fn a_missing_interval_and_the_remedy_are_said() {
    let mut found = comparison(None, true);
    let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
    metric.estimates[1].as_mut().unwrap().missing = Some("too few".to_owned());
    let said = outcome(&found, "read.p99 > +5%").0.undecided[0].clone();
    assert!(said.contains("no interval: too few requests for p99; longer captures give narrower intervals"), "{said}");
    found.sides.iter_mut().for_each(|side| side.run = Some(Run::default()));
    let said = outcome(&found, "read.p99 > +5%").0.undecided[0].clone();
    assert!(said.ends_with("; longer or repeated runs give narrower intervals"), "{said}");
}

/// Few runs that differ much have an interval that contains zero, though the baseline is not zero.
#[test]
fn a_missing_ratio_has_the_reason_of_its_baseline() {
    let mut found = comparison(None, true);
    let said = |found: &Report| outcome(found, "read.p99 > +5%").0.undecided[0].clone();
    assert!(said(&found).contains("the interval of the baseline contains zero"), "{}", said(&found));
    let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
    metric.estimates[0].as_mut().unwrap().value = 0.0;
    assert!(said(&found).contains("the baseline may be zero"), "{}", said(&found));
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
    assert!(word == "undecided" && judgement.undecided[0].contains("of B at this level are INVALID"), "{judgement:?}");
    let short = comparison(None, true);
    assert_eq!(outcome(&short, "read.p99 > +5%").1, "undecided");
}

/// The missing operations may be the fastest or the slowest.
#[test]
fn captures_that_lack_operations_decide_only_what_these_cannot_change() {
    let lossy = |factor: (f64, f64)| {
        let mut found = comparison(Some((0.06, 0.14)), true);
        let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
        metric.possible = vec![None, Possible::of(factor, 0.0)];
        found
    };
    for (condition, decided) in [
        ("read.p99 > +5%", "failed"),
        ("read.p99 > +400us", "failed"),
        ("read.p99 > 10ms", "failed"),
        ("read.p99 > +15%", "passed"),
        ("read.p99 > +2ms", "passed"),
        ("read.p99 > 12ms", "passed"),
    ] {
        assert_eq!(outcome(&lossy((1.0, 1.0)), condition).1, decided, "{condition}");
        for factor in [(0.8, 1.3), (0.0, f64::INFINITY)] {
            let (judgement, word) = outcome(&lossy(factor), condition);
            assert_eq!(word, "undecided", "{condition}");
            assert!(judgement.undecided[0].contains(MAY_CHANGE), "{judgement:?}");
        }
    }
    assert_eq!(outcome(&lossy((0.99, 1.01)), "read.p99 > +1%").1, "failed", "one in a hundred is not the difference");
    let far = outcome(&cannot_tell(lossy((0.8, 1.3))), "read.p99 > +60%").1;
    assert_eq!(far, "passed", "there may be no difference, but it is not as large");
}

/// Half of B's time lies between its files: without it, B is as fast as A.
#[test]
fn time_between_capture_files_decides_nothing_that_it_may_change() {
    let with_gaps = |share: f64| {
        let mut found = comparison(Some((-0.45, -0.35)), true);
        let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
        (metric.metric, metric.unit, metric.more_is_better) = ("throughput".to_owned(), ComparedUnit::PerSecond, true);
        metric.possible = vec![None, Possible::of((1.0, 1.0), share)];
        found
    };
    for condition in ["read.throughput < -5%", "read.throughput < 0.02/s"] {
        assert_eq!(outcome(&with_gaps(0.0), condition).1, "failed", "{condition}");
        assert_eq!(outcome(&with_gaps(0.05), condition).1, "failed", "{condition}: not the whole difference");
        let (judgement, word) = outcome(&with_gaps(0.5), condition);
        assert_eq!(word, "undecided", "{condition}");
        let why = "the capture files of B do not cover 50.0 % of the time between first and last packet, and without";
        assert!(judgement.undecided[0].contains(why), "{judgement:?}");
        assert!(!judgement.undecided[0].contains("operations are missing"), "{judgement:?}");
    }
    assert_eq!(outcome(&with_gaps(0.5), "read.throughput < -60%").1, "passed", "with or without this time");
}

#[test]
fn times_of_a_capture_and_of_a_client_decide_nothing_about_a_difference() {
    let mut found = comparison(Some((0.06, 0.14)), true);
    let sides = found.sides.iter_mut().zip(["wire", "client"]);
    sides.for_each(|(side, vantage)| side.source.vantage = vantage.to_owned());
    for condition in ["read.p99 > +5%", "read.p99 > +400us"] {
        let (judgement, word) = outcome(&found, condition);
        assert_eq!(word, "undecided", "{condition}");
        let why = "B was measured in the client, A in a capture, where times are shorter";
        assert!(judgement.undecided[0].contains(why), "{judgement:?}");
    }
    assert_eq!(outcome(&found, "read.p99 > 10ms").1, "failed", "the number itself has no baseline");
    found.sides[0].source.vantage = "client".to_owned();
    assert_eq!(outcome(&found, "read.p99 > +5%").1, "failed", "two tables of runs");
}

/// All numbers of an interval below 1 us were 0.000 ms.
#[test]
fn a_failed_condition_shows_an_interval_beyond_its_limit() {
    let mut found = comparison(Some((0.06, 0.14)), true);
    let metric = &mut found.comparison.as_mut().unwrap().levels[0].rows[0].metrics[0];
    let difference = metric.differences[0].as_mut().unwrap();
    (difference.low, difference.high) = (60e-9, 90e-9);
    let (judgement, _) = outcome(&found, "read.p99 > +50ns");
    assert!(judgement.failed[0].ends_with("the 95 % interval is +60.000 to +90.000 ns"), "{judgement:?}");
}

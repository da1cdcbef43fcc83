//! Comparisons of captures that lack operations.

use plimsoll_report::findings::comparison::ComparedLevel;

use super::*;

/// Two captures with these mean response times, µs. Each lacks this part of all operations; `None`: unknown how many.
fn captures(means_us: [u64; 2], missing: [Option<f64>; 2]) -> Report {
    let [a, b] = means_us.map(|mean_us| run(mean_us, 0));
    compared_to(capture(a, missing[0]), capture(b, missing[1]))
}

fn capture(run: MeasuredRun, missing: Option<f64>) -> Contestant {
    let mut one = contestant("capture", vec![run]);
    let unseen = &mut one.findings.unseen;
    unseen.paired = 3_000;
    (unseen.share_missing, unseen.share_missing_low, unseen.share_missing_high) = (missing, missing, missing);
    one
}

fn compared_to(baseline: Contestant, other: Contestant) -> Report {
    Report::compare(vec![baseline, other], Order::Apart, Vec::new())
}

/// The same run with this number of further operations, of which nothing is known.
fn with_further(mut run: MeasuredRun, procedure: Procedure, count: u64, unanswered: u64) -> MeasuredRun {
    let mut interval = Interval::at(0, IntervalWidth::USUAL);
    let row = interval.row_mut(procedure);
    (row.count, row.unanswered) = (count, unanswered);
    run.intervals.add(interval);
    run
}

fn verdicts(report: &Report) -> [&'static str; 3] {
    ["mean", "p50", "p90"].map(|name| verdict(report, name))
}

/// The missing operations may be the fastest or the slowest. All times of a capture lie within a factor of 1.5.
#[test]
fn what_a_capture_lacks_is_no_difference_of_times() {
    let none = Some(0.0);
    assert_eq!(verdicts(&captures([1_000, 1_100], [none, none])), ["worse"; 3]);
    let few = verdicts(&captures([1_000, 1_100], [none, Some(0.001)]));
    assert_eq!(few, ["worse"; 3], "the fastest thousandth changes nothing");
    let many = verdicts(&captures([1_000, 1_100], [none, Some(0.4)]));
    assert_eq!(many[..2], ["cannot tell"; 2], "the fastest operations may be missing");
    let [mean, _, p90] = verdicts(&captures([1_000, 1_100], [Some(0.2), none]));
    assert_eq!([mean, p90], ["cannot tell"; 2], "the slowest fifth of the baseline may be missing");
    let unknown = verdicts(&captures([1_000, 9_000], [None, none]));
    assert_eq!(unknown, ["cannot tell"; 3], "nobody knows how many are missing");
    let much = verdicts(&captures([1_000, 9_000], [none, Some(0.1)]));
    assert_eq!(much[..2], ["worse"; 2], "more than the missing operations explain");
}

#[test]
fn missing_operations_are_said_to_be_the_reason() {
    let found = captures([1_000, 1_100], [Some(0.1), Some(0.0)]);
    let says = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let style = Style::plain(80);
    for text in [screen(&found, &style), to_string(&found, &style)].map(says) {
        assert!(text.contains("Operations are missing from A. These operations may be the fastest"), "{text}");
        assert!(!text.contains("too short"), "{text}");
    }
    let full = says(to_string(&found, &style));
    assert!(full.contains("Cannot tell some differences: operations are missing from A, and may be"), "{full}");
    let same = captures([1_000, 1_000], [Some(0.1), Some(0.0)]);
    let text = says(to_string(&same, &style));
    assert!(text.contains("Missing operations may hide a difference.") && !text.contains("too short"), "{text}");
    let mut out = Vec::new();
    write(&found, Layout::Pretty, &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(crate::against_schema(&value), Vec::<String>::new());
}

/// Two thirds of the time of B lie between its files: without them, it has more operations per second than A.
#[test]
fn time_between_capture_files_is_no_difference_of_rates() {
    let with_gaps = |between_files_s: f64| {
        let mut one = capture(run_of(50, 1_100, 0), Some(0.0));
        (one.findings.span.elapsed_s, one.findings.span.between_files_s) = (Some(30.0), between_files_s);
        compared_to(capture(run(1_000, 0), Some(0.0)), one)
    };
    let rates = |report: &Report| ["throughput", "bytes"].map(|name| verdict(report, name));
    assert_eq!(rates(&with_gaps(0.0)), ["fewer"; 2]);
    assert_eq!(rates(&with_gaps(3.0)), ["fewer"; 2], "a tenth is not the whole difference");
    let found = with_gaps(20.0);
    assert_eq!(rates(&found), ["cannot tell"; 2]);
    assert_eq!(verdict(&found, "mean"), "worse", "times do not depend on it");
    let why = "the capture files of B do not cover 66.7 % of the time between first and last packet";
    for text in [screen(&found, &Style::plain(200)), to_string(&found, &Style::plain(200))] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(why) && !text.contains("perations are missing"), "{text}");
    }
    let mut out = Vec::new();
    write(&found, Layout::Pretty, &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(crate::against_schema(&value), Vec::<String>::new());
}

/// Captures as points of curves had verdicts and ranks as if nothing was missing.
#[test]
fn each_point_of_a_curve_lacks_its_own_operations() {
    let curve = |missing: Option<f64>| {
        let mut one = swept((Protocol::Smb2, 8), [3.0, 3.0], "");
        one.findings.run = None;
        one.levels[1].findings = missing.map(|missing| capture(run(1_000, 0), Some(missing)).findings);
        one
    };
    let compared = |missing: f64| compared_to(curve(None), curve(Some(missing)));
    let lacks = |level: &ComparedLevel| {
        let all = level.rows.iter().find(|row| row.scope == "all").unwrap();
        all.metrics.iter().any(|metric| metric.possible[1].is_some())
    };
    let found = |report: &Report| of(report).levels.iter().map(lacks).collect::<Vec<_>>();
    let (whole, lossy) = (compared(0.0), compared(0.1));
    assert_eq!((found(&whole), of(&whole).ranking.is_some()), (vec![false, false], true));
    assert_eq!((found(&lossy), of(&lossy).ranking.is_some()), (vec![false, true], false));
    let why = "The servers are not ranked, because the captures of B lack operations";
    assert!(of(&lossy).warnings[0].starts_with(why), "{:?}", of(&lossy).warnings);
}

/// The share is that of the whole capture.
#[test]
fn all_missing_operations_may_match_the_filter() {
    let filtered = |filters: &[&str]| {
        let mut one = capture(run(1_100, 0), Some(0.001));
        one.findings.unseen.paired = 300_000;
        one.findings.source.filters = filters.iter().map(|&filter| filter.to_owned()).collect();
        compared_to(capture(run(1_000, 0), Some(0.0)), one)
    };
    let report = filtered(&["--op read"]);
    assert_eq!(verdict(&report, "mean"), "cannot tell");
    let least = |report: &Report| metric(report, "all", "throughput").possible_at(1).0;
    assert!(least(&filtered(&[])) > 1.0 && least(&report) == 1.0, "perhaps none is missing that matches");
}

/// Without requests that nobody answered: these may be most of the row, and have neither a rate nor a time.
#[test]
fn limits_are_of_the_operations_that_have_a_response_and_a_time() {
    let read = Procedure::of(Protocol::Smb2, 8);
    let against = |run: MeasuredRun| compared_to(capture(run_of(100, 1_000, 0), Some(0.0)), capture(run, Some(0.001)));
    let most = |report: &Report| metric(report, "operation", "throughput").possible_at(1).1;
    let (plain, unanswered) = (run(1_100, 0), with_further(run(1_100, 0), read, 9_000, 9_000));
    assert_eq!(most(&against(plain.clone())), most(&against(unanswered)));
    assert_eq!(verdict(&against(plain.clone()), "mean"), "worse");
    let without_time = against(with_further(plain, read, 1_500, 0));
    assert_eq!(verdict(&without_time, "mean"), "cannot tell", "the last packets of a third of the responses were lost");
}

#[test]
fn a_capture_of_requests_only_has_no_limits() {
    let mut none = MeasuredRun { intervals: Intervals::new(IntervalWidth::USUAL), ..run(1_000, 0) };
    none = with_further(none, Procedure::of(Protocol::Smb2, 8), 3_000, 3_000);
    let mut other = capture(none, Some(1.0));
    other.findings.unseen.paired = 0;
    let report = compared_to(capture(run(1_000, 0), Some(0.0)), other);
    assert_eq!(metric(&report, "all", "throughput").possible_at(1), (0.0, f64::INFINITY));
    let mut out = Vec::new();
    write(&report, Layout::Pretty, &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(crate::against_schema(&value), Vec::<String>::new());
}

#[test]
fn operations_that_are_not_recognised_are_not_said_to_be_missing() {
    let cut = with_further(run_of(50, 100, 0), Procedure::of(Protocol::Nfs4, 1), 1_800, 0);
    let both = [run(100, 0), cut].map(|run| contestant("capture", vec![run]));
    let text = to_string(&Report::compare(both.to_vec(), Order::Apart, Vec::new()), &Style::plain(200));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("perations are missing from, or not recognised in, B"), "{text}");
}

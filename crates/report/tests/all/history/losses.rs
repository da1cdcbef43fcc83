//! Histories of captures that lack operations.

use super::*;

/// From the night 7 on, the captures have a factor of `busier` of the requests, reads take `slower` times as long, and the captures lack
/// the part of all operations between the two shares.
fn captures(factors: (f64, f64), (share_low, share_high): (f64, f64)) -> History {
    nights(factors, |findings| {
        if share_high > 0.0 {
            findings.validity = Validity::of([Reason::partial("operations are missing")]);
            let unseen = &mut findings.unseen;
            (unseen.share_missing_low, unseen.share_missing_high) = (Some(share_low), Some(share_high));
            unseen.share_missing = Some(share_high);
        }
    })
}

/// The same with what the later captures lack.
fn nights((busier, slower): (f64, f64), lose: impl Fn(&mut Findings)) -> History {
    let mut collector = HistoryCollector::default();
    for night in 0..14 {
        let is_later = night >= 7;
        let (busier, slower) = if is_later { (busier, slower) } else { (1.0, 1.0) };
        let mut recorded = Night { busier, slower, ..Night::new(night) }.recorded();
        recorded.contestant.levels[0].point = None;
        let findings = &mut recorded.contestant.findings;
        findings.run = None;
        if is_later {
            lose(findings);
        }
        collector.add(&recorded);
    }
    collector.finish(Vec::new())
}

/// A loss of 20 % of the operations was called "All op/s -20 %, fewer".
#[test]
fn losses_of_captures_are_no_change_of_a_rate() {
    let changes = |history: &History| metric(history, "All op/s").changes.len();
    let lossy = captures((0.8, 1.0), (0.19, 0.21));
    assert_eq!(changes(&lossy), 0);
    let why = "operations are missing in 7 runs, which may cause or hide a change";
    assert_eq!(metric(&lossy, "All op/s").untested.as_deref(), Some(why));
    assert_eq!(against_schema(&lossy), Vec::<String>::new());
    let text = text::history(&lossy, &text::Style::plain(200), true);
    assert!(text.contains("14 runs, 7 of them PARTIAL"), "{text}");
    assert!(html::history(&lossy).unwrap().contains("8 (PARTIAL)"));
    assert_eq!(changes(&captures((0.8, 1.0), (0.0, 0.0))), 1, "nothing is missing");
    assert_eq!(changes(&captures((0.5, 1.0), (0.09, 0.11))), 1, "more than what is missing");
    assert_eq!(changes(&captures((1.0, 1.0), (0.19, 0.21))), 0, "no change was found");
}

#[test]
fn time_between_capture_files_is_no_change_of_a_rate() {
    let with_gaps = |between_files_s: f64| {
        nights((0.8, 1.1), |findings| {
            (findings.span.elapsed_s, findings.span.between_files_s) = (Some(100.0), between_files_s);
        })
    };
    let changes = |history: &History| ["All op/s", "read p95"].map(|label| metric(history, label).changes.len());
    assert_eq!(changes(&with_gaps(5.0)), [1, 1], "a twentieth of the time is not the whole change");
    let found = with_gaps(25.0);
    assert_eq!(changes(&found), [0, 1]);
    let why = "the capture files do not cover all of the time in 7 runs, which may cause or hide a change";
    assert_eq!(metric(&found, "All op/s").untested.as_deref(), Some(why));
}

/// The missing operations may be the fastest or the slowest.
#[test]
fn losses_of_captures_are_no_change_of_a_percentile() {
    let changes =
        |history: &History| ["read p50", "read p95", "read p99"].map(|label| metric(history, label).changes.len());
    let why = "operations are missing in 7 runs, which may cause or hide a change";
    assert_eq!(changes(&captures((1.0, 1.1), (0.0, 0.0))), [1, 1, 1], "nothing is missing");
    assert_eq!(changes(&captures((1.0, 1.1), (0.0, 0.001))), [1, 1, 1], "too few are missing");
    // If the fastest fifth is missing, the median is much lower than the measured one, and p95 is almost the same.
    let slower = captures((1.0, 1.1), (0.19, 0.21));
    assert_eq!(changes(&slower), [0, 1, 1]);
    assert_eq!(metric(&slower, "read p50").untested.as_deref(), Some(why));
    // If the slowest fifth is missing, nobody knows p95.
    let faster = captures((1.0, 0.9), (0.19, 0.21));
    assert_eq!(changes(&faster)[1..], [0, 0]);
    assert_eq!(metric(&faster, "read p95").untested.as_deref(), Some(why));
    assert_eq!(against_schema(&faster), Vec::<String>::new());
}

//! Sides that differ in more than their servers: in the workload, or in the place of the clock.

use super::*;

/// Other work is no difference of servers.
#[test]
fn different_workloads_have_no_verdict_and_no_ranking_unless_that_is_ignored() {
    let side = |workload: &str, sha256: &str| {
        let mut one = swept((Protocol::Smb2, 8), [2.0; 2], sha256);
        one.findings.run.iter_mut().for_each(|run| run.workload = workload.to_owned());
        one
    };
    let found = |other: Contestant, load: bool| {
        let both = vec![side("random-read", "x"), other];
        Report::compare_as(both, Order::Apart, Vec::new(), Ignore { load, ..Ignore::default() })
    };
    let unlike = found(side("getattr", "y"), false);
    let sentence = "A ran random-read, B ran getattr: the workloads differ";
    assert_eq!(of(&unlike).levels[0].other_loads, [Some(sentence.to_owned())]);
    assert_eq!(verdict(&unlike, "mean"), "cannot tell");
    assert!(of(&unlike).ranking.is_none());
    assert!(to_string(&unlike, &Style::default()).contains("the workloads differ"));
    for judged in [found(side("getattr", "y"), true), found(side("random-read", "y"), false)] {
        assert_eq!(of(&judged).levels[0].other_loads, [None], "ignored, or another version of the same file");
        assert!(of(&judged).ranking.is_some());
        assert_ne!(verdict(&judged, "mean"), "cannot tell");
    }
}

/// The client adds its own time to every request.
#[test]
fn times_of_a_capture_and_of_a_client_have_no_verdict() {
    let found = |vantages: [&str; 2]| {
        let mut both = [contestant("old", vec![run(1000, 0)]), contestant("new", vec![run_of(200, 1500, 0)])];
        for (one, vantage) in both.iter_mut().zip(vantages) {
            one.findings.source.vantage = vantage.to_owned();
        }
        Report::compare(both.to_vec(), Order::Apart, Vec::new())
    };
    let unlike = found(["wire", "client"]);
    assert_eq!((verdict(&unlike, "mean"), verdict(&unlike, "throughput")), ("cannot tell", "more"));
    let text = to_string(&unlike, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "B was measured in the client, A in a capture, where times are shorter";
    assert!(text.contains(why) && text.contains("No verdict on response times"), "{text}");
    assert!(!text.contains("B is worse") && !text.contains("too short to show"), "{text}");
    for vantages in [["wire"; 2], ["client"; 2]] {
        assert_eq!(verdict(&found(vantages), "mean"), "worse", "{vantages:?}");
    }
}

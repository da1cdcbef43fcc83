//! Breakdowns, searches for a capacity, and profiles.

use super::*;

/// A run whose question is where the time of a call goes, with a warm server and a cold local disk.
fn of_calls(remote_disk: f64, local_disk: f64) -> Findings {
    use plimsoll_report::findings::calls::{CallPhase, Calls, LocalCall};
    let mut findings = run();
    let phase = |local, from_disk, response_s| CallPhase {
        call: "random".into(),
        local,
        calls: if local { 252_870 } else { 11_000 },
        outstanding: 1,
        response_s: Some(response_s),
        from_disk: Some(from_disk),
        ..CallPhase::default()
    };
    findings.run.as_mut().unwrap().calls = Some(Box::new(Calls {
        phases: vec![phase(false, remote_disk, 176e-6), phase(true, local_disk, 100e-6)],
        beside_local: vec![LocalCall { call: "random".into(), remote_s: 176e-6, local_s: 100e-6 }],
        ..Calls::default()
    }));
    findings
}

fn summary_of(findings: &Findings) -> String {
    let page = crate::page(findings);
    page.split_once("<section id=\"summary\"").unwrap().1.split("</section>").next().unwrap().to_owned()
}

#[test]
fn a_breakdown_leads_with_its_calls_and_counts_local_ones_apart() {
    let summary = summary_of(&of_calls(0.0, 0.97));
    for said in
        ["on the target: random 176 µs", "11,000 calls were made on the target and 252,870 in a local directory"]
    {
        assert!(summary.contains(said), "{said}: {summary}");
    }
    for false_said in ["sent to the server", "Highest throughput", "by operation group"] {
        assert!(!summary.contains(false_said), "{false_said}: {summary}");
    }
}

#[test]
fn a_warm_server_is_not_compared_with_a_cold_disk() {
    let style = text::Style { colour: false, width: 100, sections: text::Sections::ALL };
    let shown = |remote, local| {
        let findings = of_calls(remote, local);
        let page = crate::page(&findings);
        let table =
            page.split_once("id=\"calls-local-caption\"").unwrap().1.split("</table>").next().unwrap().to_owned();
        (table, crate::shown(&findings, &style))
    };
    let (alike, differ) = (shown(0.96, 0.97), shown(0.0, 0.97));
    assert!(alike.0.contains("<td>1.8</td>") && alike.1.contains("1.76"), "{}", alike.0);
    assert!(!differ.0.contains("<td>1.8</td>") && !differ.1.contains("1.76"), "{}", differ.0);
    assert!(differ.0.contains("97.0 %") && differ.1.contains("otherwise one side may read"), "{}", differ.1);
}

#[test]
fn a_search_leads_with_the_capacity() {
    use plimsoll_report::findings::capacity::{Capacity, CapacityOutcome};
    let mut findings = run();
    let found = Capacity {
        unit: "clients".into(),
        outcome: CapacityOutcome::Found,
        low: Some(12.0),
        high: Some(13.0),
        objectives: vec!["p99 < 20ms".into()],
        ..Capacity::default()
    };
    findings.run.as_mut().unwrap().capacity = Some(Box::new(found));
    let summary = summary_of(&findings);
    let story = summary.split_once("class=\"story\"").unwrap().1;
    assert!(story.starts_with("><strong>Capacity: 12 clients (95 % interval 12 to 13)."), "{story}");
    assert!(!summary.contains("Highest throughput") && !summary.contains("The highest throughput was"), "{summary}");
}

/// Names of functions come from the programs that were sampled.
#[test]
fn a_flame_graph_is_a_picture_without_scripts() {
    let page = crate::page(&crate::example::run());
    assert_eq!(page.matches("</script>").count(), 4);
    let graph = page.split_once("id=\"flame-server\"").unwrap().1.split_once("</figure>").unwrap().0;
    // The whole width for both calls; a frame begins where the one before it in its row ends, below its caller's left edge.
    for frame in [
        "<svg class=\"s7\" x=\"0.0\" y=\"34\" width=\"720.0\" height=\"17\"><title>getattr: 60 samples, 60.0 %</title>",
        "<svg class=\"s7\" x=\"720.0\" y=\"34\" width=\"480.0\" height=\"17\"><title>ahead: 40 samples, 40.0 %</title>",
        "<svg class=\"s1\" x=\"960.0\" y=\"0\" width=\"120.0\" height=\"17\"><title>tcp_sendmsg (kernel): 10 samples, 10.0 %</title>",
        "<svg class=\"s4\" x=\"1140.0\" y=\"17\" width=\"60.0\" height=\"17\"><title>(no symbol) (smbd): 5 samples, 5.0 %</title>",
        "<text x=\"3\" y=\"12.5\">&lt;script&gt;alert(7)&lt;/script&gt;\\u{1b}[2J\\u{202e}</text>",
    ] {
        assert!(graph.contains(frame), "{frame}: {graph}");
    }
    assert!(graph.contains("5 of 100 samples (5.0 %) are in functions without a symbol."));
}

//! Runs: their load levels and curves.

use super::*;

/// Each level of a run has its own tables of Appendix A, with distinct names.
#[test]
fn every_load_level_has_its_own_tables() {
    let findings = run();
    let markup = markup(&crate::page(&findings));
    assert_eq!(markup.matches("<details>").count(), findings.levels.len());
    let mut ids: Vec<&str> = markup.split(" id=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    for level in &findings.levels {
        for table in ["groups", "operations", "decades"] {
            assert!(
                ids.contains(&format!("level-{}-{table}-caption", level.number).as_str()),
                "{table} of {}",
                level.facts.load_name
            );
        }
    }
    ids.sort_unstable();
    assert_eq!(ids.windows(2).find(|pair| pair[0] == pair[1]), None, "an id stands twice");
    let means = markup.split("id=\"load-groups-caption\"").nth(1).unwrap().split("</table>").next().unwrap();
    assert_eq!(means.matches("<tr>").count(), findings.levels.len() + 1);
    // One level has the page to itself.
    let mut one = run();
    one.levels.truncate(1);
    assert!(!crate::page(&one).contains("<details>"));
}

/// A line a subject a level, and a mark only where there is something to differ from.
#[test]
fn the_compact_page_has_every_point_of_every_subject() {
    let report = points();
    let comparison = report.comparison.as_ref().unwrap();
    let markup = markup(&html::compact(&report).unwrap());
    let table = markup.split("class=\"points\"").nth(1).unwrap().split("</table>").next().unwrap();
    assert_eq!(table.matches("<tr>").count(), 1 + 2 * comparison.levels.len());
    let lines: Vec<&str> = table.split("<tr>").skip(2).collect();
    let marks = |line: &str| ["▲", "▼", "<small>=</small>"].map(|mark| line.matches(mark).count());
    // Operations, data and seven groups, at the first level and at the last: reads differ under load only.
    assert_eq!([marks(lines[0]), marks(lines[1])], [[0, 0, 0], [8, 0, 1]]);
    assert_eq!([marks(lines[12]), marks(lines[13])], [[0, 0, 0], [9, 0, 0]]);
    assert!(lines[1].contains("16.2 MB/s") && lines[1].contains("130 Mbit/s"), "{}", lines[1]);
    let worse = html::compact(&compared()).unwrap();
    assert!(worse.contains("▼5 %*") && worse.contains("--fail-if"), "what was asked to fail is told");
}

#[test]
fn a_run_shows_its_load_levels_and_no_packets() {
    let mut findings = busy();
    let row = findings.operations[0].clone();
    findings.run = Some(Run { target: NASTY[1].into(), workload: "mixed".into(), ..Run::default() });
    findings.levels = vec![LoadLevel {
        facts: LevelFacts {
            pace: vec!["no think time".to_owned(), "timeout 30.0 s".to_owned()],
            load_name: "17 clients".into(),
            clients: 17,
            depth: 1,
            connections: 17,
            validity: findings.validity.clone(),
            ..LevelFacts::default()
        },
        outstanding: 17,
        iterations_per_s: 4321.0,
        span: findings.span,
        count: 5,
        operations_per_s: 4321.0,
        response_time: row.response_time,
        operations: vec![row],
        queue_depth: findings.queue_depth.clone(),
        failures: vec![FailureCount { cause: "timed out".into(), count: 123 }],
        ..LoadLevel::default()
    }];
    let markup = markup(&crate::page(&findings));
    for shown in ["17 clients", "4,321/s", "timed out", "id=\"levels\""] {
        assert!(markup.contains(shown), "{shown} is not shown");
    }
    assert!(!markup.contains("id=\"packets\"") && !markup.contains("<img"));
}

/// Failures, slowest requests and unknown values: text and page say the same, and nothing beyond the known facts.
#[test]
fn a_run_claims_only_what_its_levels_show() {
    let mut findings = run();
    let failure = |cause: &str, count| FailureCount { cause: cause.into(), count };
    for level in &mut findings.levels {
        level.span.elapsed_s = Some(2.0);
        level.facts.validity = Validity::default();
        level.failures = vec![
            failure("connection attempt: connection refused", 24),
            failure("lost connection: connection reset", 6),
            failure("connection reset", 1),
        ];
        level.facts.silence.unanswered_wait_s = Some(1_000.0);
        level.facts.generator.unmatched_responses = 6;
    }
    let levels = findings.levels.len() as u64;
    let style = text::Style { colour: false, width: 200, sections: text::Sections::ALL };
    let both = |findings: &Findings| (crate::shown(findings, &style), markup(&crate::page(findings)));
    let (shown, page) = both(&findings);
    assert!(findings.levels.iter().all(|level| level.failed() == 1), "connections are no actions");
    let connections = format!("{} failed attempts to connect, {} lost connections", 24 * levels, 6 * levels);
    assert!(
        shown.contains(&connections) && page.contains(&format!("{} attempts to connect failed", 24 * levels)),
        "{shown}"
    );
    assert!(shown.contains("≥ 1000000") && page.contains("max ≥ "), "the longest wait is a lower bound");
    assert!(shown.contains("6 responses matched no outstanding request") && page.contains("6 responses matched no"));
    assert!(shown.contains("no think time") && shown.contains("timeout 30.0 s") && page.contains("timeout 30.0 s"));
    assert!(shown.contains("actions outstanding: ") && shown.contains("an action may be several requests"));
    assert!(
        !page.contains("sent to the server") && page.contains("The measured phases lasted"),
        "pauses are no part of it"
    );
    // Without valid levels there is no maximum; and a level that was not run is not 0.
    for level in &mut findings.levels {
        level.facts.validity = Validity::invalid("it was late");
        (level.span.elapsed_s, level.operations_per_s) = (None, 0.0);
    }
    let (shown, page) = both(&findings);
    assert!(page.contains("No load level is valid, so the highest throughput is unknown"), "{page}");
    let load_name = &findings.levels[0].facts.load_name;
    let row =
        shown.lines().find(|line| line.trim_start().starts_with(load_name.as_str()) && line.contains(" ! ")).unwrap();
    assert!(row.split(" ! ").nth(1).unwrap().trim_start().starts_with('-'), "{row}");
}

/// Between levels there are pauses, warm-ups and connections to make: nothing is measured there.
#[test]
fn rates_of_a_run_leave_out_what_lies_between_levels() {
    let mut findings = run();
    let levels = findings.levels.len();
    assert!(levels > 1);
    findings.span.elapsed_s = Some(1_000.0);
    findings.levels.iter_mut().for_each(|level| level.span.elapsed_s = Some(2.0));
    assert_eq!(findings.measured_s(), Some(2.0 * levels as f64));
    let style = text::Style { colour: false, width: 100, sections: text::Sections::ALL };
    let shown = crate::shown(&findings, &style);
    let row = shown.split("averaged over the measured time").nth(1).expect("the table is there");
    let together = row.lines().find_map(|line| line.trim().strip_prefix("Together")).expect("all of them");
    let cells: Vec<f64> = together.split_whitespace().take(2).map(|cell| cell.parse().unwrap()).collect();
    assert!((cells[1] / (cells[0] / (2.0 * levels as f64)) - 1.0).abs() < 0.006, "{together}");
    let capture = busy();
    assert_eq!(capture.measured_s(), capture.span.elapsed_s);
}

#[test]
fn levels_of_several_curves_say_which_one() {
    let findings = varied();
    let page = crate::page(&findings);
    let markup = markup(&page);
    for table in ["levels-caption", "load-groups-caption", "silence-caption", "generator-caption", "failures-caption"] {
        let body = markup.split_once(&format!("id=\"{table}\"")).expect(table).1.split("</table>").next().unwrap();
        let heads: Vec<&str> = body.split("scope=\"row\">").skip(1).filter_map(|row| row.split('<').next()).collect();
        assert!(!heads.is_empty() && heads.iter().all(|head| head.contains("block=")), "{table}: {heads:?}");
        let mut distinct = heads.clone();
        distinct.dedup();
        assert_eq!(distinct, heads, "{table}");
    }
    let charts = page.split_once("id=\"charts\">").unwrap().1.split("</script>").next().unwrap();
    assert!(charts.contains("16 clients, block=30kB") && !charts.contains("\"4 clients\""), "{charts}");
    assert!(markup.contains("<em>16 clients, block="), "the story names the level with its value");
}

/// Past its highest throughput a closed loop's curve iterations back: a band would fold over itself.
#[test]
fn a_curve_that_turns_back_has_strokes_and_no_band() {
    let figure = |findings: &Findings| {
        let page = crate::page(findings);
        let figure = page.split_once("id=\"figure-throughput-response\"").unwrap().1;
        figure.split("</figure>").next().unwrap().to_owned()
    };
    let mut findings = run();
    findings.levels.retain(|level| level.facts.curve.as_deref() == Some("SMB"));
    assert!(figure(&findings).contains("class=\"band"), "throughput rises: a band");
    let last = findings.levels.len() - 1;
    findings.levels[last].operations_per_s = findings.levels[0].operations_per_s;
    assert!(!figure(&findings).contains("class=\"band"), "throughput falls: strokes");
}

#[test]
fn long_names_of_levels_do_not_lie_over_each_other() {
    let mut findings = varied();
    let start = findings.heat_maps[0].start_ns;
    let end = f64::from(findings.heat_maps[0].columns) * findings.heat_maps[0].column_s;
    let step = end / findings.levels.len() as f64;
    for (place, level) in (0_u32..).zip(&mut findings.levels) {
        level.span.first_ns = Some(start + (f64::from(place) * step * 1e9) as i64);
    }
    let page = crate::page(&findings);
    let heat = page.split_once("id=\"figure-heat\"").unwrap().1.split("</figure>").next().unwrap();
    assert!(heat.contains("rotate(90 ") && heat.contains("block=30kB"), "they go down along their lines");
}

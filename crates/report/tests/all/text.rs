//! The terminal report, held to golden files and to its objectives.

use crate::example::{self, bless};
use plimsoll_model::SystemUnderTest;
use plimsoll_report::findings::{About, Confidence, Findings, Headline, Reason, Rule, Statement, Validity};
use plimsoll_report::safe;
use plimsoll_report::text::{LINES, Section, Sections, Style, appendix_a, screen};
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn the_whole_report() {
    bless::hold(&golden("rich.txt"), &crate::shown(&example::rich(), &Style::default()), "the_whole_report");
}

/// A run has no capture, and its client stops waiting before the run ends.
#[test]
fn requests_without_a_response_have_no_age_in_a_run() {
    let unanswered = example::rich().unanswered;
    let run = crate::shown(&Findings { unanswered, ..example::run() }, &Style::default());
    let (_, list) = run.split_once("Requests without a response:").unwrap();
    assert!(list.contains("1. SMB1 READ_ANDX, frame 91000") && !list.contains("age: 1645"), "{list}");
}

#[test]
fn the_first_screens() {
    let without_keys = Findings { breakdown: None, ..example::rich() };
    let run = Findings { breakdown: None, ..example::run() };
    for (name, findings) in
        [("rich", without_keys), ("keys", example::rich()), ("run", run), ("empty", example::empty())]
    {
        let text = screen(&findings.into(), &Style::default());
        bless::hold(&golden(&format!("screen-{name}.txt")), &text, "the_first_screens");
    }
}

#[test]
fn a_first_screen_is_short_and_narrow() {
    let without_keys = Findings { breakdown: None, ..example::rich() };
    for findings in [example::rich(), without_keys, example::run(), example::empty()] {
        let report = findings.into();
        for width in (Style::MIN_WIDTH..=200).step_by(5) {
            let text = screen(&report, &Style::plain(width));
            assert!(text.lines().all(|line| safe::columns(line) <= usize::from(width)), "{width}: {text}");
            assert!(width < 80 || text.lines().count() <= LINES, "{width}: {text}");
            assert!(text.contains("--full"), "{text}");
        }
    }
}

#[test]
fn titles_and_labels_leave_a_first_screen_short() {
    let long = |words: &str| words.repeat(20);
    let labels = [("build".to_owned(), long("one two ")), ("host".to_owned(), long("ä"))].into();
    let notes = vec![long("a note "), long("another ")];
    let system = Some(SystemUnderTest { notes, ..SystemUnderTest::default() });
    let about = About { title: Some(long("a title ")), labels, system };
    let told = |mut side: Findings| {
        side.source.about = about.clone();
        side
    };
    let reasons = (0..20).map(|at| Reason::invalid(format!("Reason {at}")));
    let rich = || Findings { breakdown: None, ..example::rich() };
    let run = Findings { breakdown: None, ..example::run() };
    let invalid = Findings { validity: Validity::of(reasons), ..rich() };
    for findings in [example::rich(), rich(), run, example::empty(), invalid] {
        let report = told(findings).into();
        for width in (Style::MIN_WIDTH..=200).step_by(5) {
            let text = screen(&report, &Style::plain(width));
            assert!(text.lines().all(|line| safe::columns(line) <= usize::from(width)), "{width}: {text}");
            assert!(width < 80 || text.lines().count() <= LINES, "{width}: {text}");
            assert!(
                ["Title: a title", "Labels: build=one", "System: a note"].iter().all(|line| text.contains(line)),
                "{text}"
            );
        }
    }
}

/// With any amount of findings, omitted lines are counted and the next command stays.
#[test]
fn a_long_diagnosis_leaves_room_for_the_tables() {
    let mut findings = example::rich();
    let statement = findings.diagnosis.statements.first().cloned().unwrap_or_else(|| Statement {
        rule: Rule::Nothing,
        text: "Something that takes more than one line of the report, for it has a lot of words in it.".to_owned(),
        share: None,
        confidence: Confidence::Measured,
    });
    findings.diagnosis.statements = vec![statement; 40];
    // Its table stands in the place of the usual ones.
    findings.breakdown = None;
    findings.diagnosis.next = Some("plimsoll analyze trace.pcap --by client".to_owned());
    let text = screen(&findings.into(), &Style::default());
    assert!(text.lines().count() <= LINES && text.contains(" more: --section diagnosis"), "{text}");
    assert!(text.contains("Slowest requests") && text.contains("Waited") && text.contains("Next: plimsoll"), "{text}");
}

#[test]
fn a_long_warning_is_shown_where_nothing_else_needs_the_room() {
    let long = |count: usize| vec!["the clock is coarse ".repeat(count)];
    let with = |warnings| screen(&Findings { warnings, ..Findings::default() }.into(), &Style::plain(80));
    let (shown, counted) = (with(long(20)), with(long(400)));
    assert_eq!(shown.matches("coarse").count(), 20, "{shown}");
    assert!(!shown.contains("--section packets"), "{shown}");
    assert!(!counted.contains("coarse") && counted.contains("\n1 warning: --section packets\n"), "{counted}");
    let two = with([long(400), long(1)].concat());
    assert!(two.contains("\n2 warnings: --section packets\n"), "{two}");
    let both = with([long(1), long(1)].concat());
    assert!(both.contains("Warning: the clock is coarse") && both.contains("1 more warning: --section"), "{both}");
}

#[test]
fn the_mark_of_an_invalid_level_is_explained() {
    let style = Style { sections: Sections::NONE.with(Section::Run), ..Style::default() };
    let text = crate::shown(&example::run(), &style);
    assert!(text.contains(" !") && text.contains("!: INVALID level; use only those of its numbers"), "{text}");
}

#[test]
fn a_whole_report_has_a_verdict() {
    let style = Style { sections: Sections::NONE, ..Style::default() };
    assert!(crate::shown(&Findings::default(), &style).contains("\n\nVALID\n"));
    let validity = Validity::of([Reason::partial("half is missing")]);
    let partial = crate::shown(&Findings { validity, ..Findings::default() }, &style);
    assert!(partial.contains("PARTIAL: half is missing") && !partial.contains("VALID\n"), "{partial}");
}

#[test]
fn a_section_without_content_says_so() {
    let style = Style { sections: Sections::NONE.with(Section::Run), ..Style::default() };
    assert!(crate::shown(&example::rich(), &style).ends_with("Section run: nothing in this report.\n"));
}

#[test]
fn a_missing_part_of_a_call_has_a_reason_and_the_parts_have_a_section() {
    let findings = example::run();
    let text = screen(&findings.clone().into(), &Style::plain(80));
    assert!(text.contains("Missing: server CPU: why server CPU <is>\n"), "{text}");
    let style = Style { sections: Sections::NONE.with(Section::Breakdown), ..Style::default() };
    let text = crate::shown(&findings, &style);
    assert!(text.contains("Where the time of a call goes") && !text.contains("nothing in this report"), "{text}");
    let both = Style { sections: style.sections.with(Section::Run), ..style };
    assert_eq!(crate::shown(&findings, &both).matches("Where the time of a call goes (").count(), 1);
}

#[test]
fn a_report_of_nothing() {
    bless::hold(&golden("empty.txt"), &crate::shown(&example::empty(), &Style::default()), "a_report_of_nothing");
}

#[test]
fn a_run_shows_its_load_levels() {
    let sections = [Section::Packets, Section::Run, Section::Summary, Section::Errors, Section::Unseen];
    let sections = sections.into_iter().fold(Sections::NONE, Sections::with);
    let text = crate::shown(&example::run(), &Style { sections, ..Style::default() });
    assert!(text.lines().all(|line| safe::columns(line) <= 80), "{text}");
    bless::hold(&golden("run.txt"), &text, "a_run_shows_its_load_levels");
}

/// Times from the intended start cannot be compared with times from the first byte of the request.
#[test]
fn levels_with_and_without_a_schedule_have_separate_tables() {
    let mut findings = example::run();
    findings.run.as_mut().unwrap().calls = None;
    findings.levels[1].headline = Headline::ResponseTimeFromIntended;
    findings.levels[1].response_time_from_intended.as_mut().unwrap().p99_s = 0.03;
    let text = crate::shown(&findings, &Style::plain(100));
    let row = |heading: &str, level: &str| -> Vec<f64> {
        let table = text.split_once(heading).unwrap_or_else(|| panic!("no {heading}: {text}")).1;
        let line = table.lines().find(|line| line.starts_with(level)).unwrap();
        line.split_whitespace().rev().take(3).filter_map(|cell| cell.parse().ok()).collect()
    };
    // Failed, the uncorrected p99, and the p99 from the intended start.
    let with =
        row("Load levels with a schedule (response times of all operations from the intended start in", "64 clients");
    assert_eq!(with, [2.0, 22.25, 30.0], "{text}");
    let without = row("Load levels without a schedule (response times of all operations in", "1 clients");
    assert_eq!(without, [2.0, 22.25], "{text}");
    assert!(text.contains("Slowest: from the intended start at levels with a schedule"), "{text}");
    let page = crate::page(&findings);
    for id in [
        "levels-caption",
        "levels-without-schedule-caption",
        "silence-caption",
        "load-groups-caption",
        "load-groups-without-schedule-caption",
    ] {
        assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    // All levels of one kind share a table.
    findings.levels[0].headline = Headline::ResponseTimeFromIntended;
    let text = crate::shown(&findings, &Style::plain(100));
    assert!(text.contains("Load levels (response times of all operations from the intended start in"), "{text}");
    assert!(!text.contains(" with a schedule"), "{text}");
}

#[test]
fn each_load_level_has_an_appendix_a() {
    let text = appendix_a(&example::run().into(), &Style::default());
    assert!(text.lines().all(|line| safe::columns(line) <= 80), "{text}");
    bless::hold(&golden("appendix-a.txt"), &text, "each_load_level_has_an_appendix_a");
    // A level with a long name is still identified.
    let mut long = example::run();
    long.levels[1].facts.curve = Some("block=30kB".into());
    long.run.as_mut().unwrap().target = format!("smb://u@host/{}", "share".repeat(30));
    let text = appendix_a(&long.into(), &Style::default());
    assert!(text.lines().all(|line| safe::columns(line) <= 80), "{text}");
    assert!(text.lines().any(|line| line.ends_with("share - 64 clients, block=30kB *")), "{text}");
}

#[test]
fn a_capture_has_one_appendix_a() {
    let (findings, style) = (example::rich(), Style::default());
    let (text, whole) = (appendix_a(&findings.clone().into(), &style), crate::shown(&findings, &style));
    let headings = [
        "Packets:",
        "Response times per command",
        "Response times per group",
        "Response times of long-lived requests",
        "Group - Read:",
        "Warnings",
    ];
    for heading in headings {
        assert!(text.contains(heading), "{heading}");
    }
    for heading in ["Response time by operation group", "Slowest operations"] {
        assert!(whole.contains(heading) && !text.contains(heading), "{heading}");
    }
    assert!(text.lines().all(|line| whole.lines().any(|other| other == line)), "nothing is told another way");
}

#[test]
fn a_share_without_a_path_is_named_as_a_share() {
    let mut findings = example::rich();
    findings.breakdown = None;
    findings.slowest.truncate(1);
    (findings.slowest[0].path, findings.slowest[0].share) = (None, Some("plimsoll".into()));
    let text = screen(&findings.clone().into(), &Style::plain(80));
    assert!(text.contains("DELETE (path unknown, share plimsoll)"), "{text}");
    findings.slowest[0].procedure = "TREE_CONNECT".into();
    let text = screen(&findings.into(), &Style::plain(80));
    assert!(text.contains("TREE_CONNECT share plimsoll"), "{text}");
}

#[test]
fn loopback_times_show_digits() {
    let mut findings = example::rich();
    findings.breakdown = None;
    findings.slowest.clear();
    for row in findings.operations.iter_mut().chain(&mut findings.groups) {
        for times in [&mut row.response_time, &mut row.service_time].into_iter().flatten() {
            for value in [
                &mut times.min_s,
                &mut times.max_s,
                &mut times.mean_s,
                &mut times.p50_s,
                &mut times.p90_s,
                &mut times.p95_s,
                &mut times.p99_s,
                &mut times.p999_s,
            ] {
                *value /= 1000.0;
            }
            times.stddev_s = times.stddev_s.map(|value| value / 1000.0);
        }
        for bucket in &mut row.distribution {
            bucket.below_s /= 1000.0;
        }
    }
    let sections = Sections::NONE
        .with(Section::Commands)
        .with(Section::Groups)
        .with(Section::Percentiles)
        .with(Section::Distributions);
    let text = crate::shown(&findings, &Style { sections, ..Style::default() });
    assert!(!text.contains("0.00000 "), "{text}");
    assert!(text.contains("in µs"), "{text}");
    bless::hold(&golden("loopback.txt"), &text, "loopback_times_show_digits");
}

#[test]
fn no_line_is_wider_than_asked() {
    let findings = example::rich();
    for width in (Style::MIN_WIDTH..=200).step_by(3) {
        for line in crate::shown(&findings, &Style::plain(width)).lines() {
            let narrow = safe::columns(line) <= usize::from(width);
            assert!(narrow || line.trim_start().starts_with("frame.number"), "{width}: {line}");
        }
    }
}

#[test]
fn nothing_in_a_name_acts() {
    let text = crate::shown(&example::rich(), &Style::default());
    assert!(text.chars().all(|c| c == '\n' || (!c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c))));
    assert!(text.contains(r"\u{1b}[31mRED\u{202e}TXT.EXE\u{a}INVALID"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("INVALID")), "a name cannot forge a verdict");
}

#[test]
fn colour_changes_no_text() {
    let plain = crate::shown(&example::rich(), &Style::default());
    let coloured = crate::shown(&example::rich(), &Style { colour: true, ..Style::default() });
    assert_ne!(plain, coloured);
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        stripped.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn sections_can_be_left_out() {
    let rich = example::rich();
    let run = example::run();
    let of = |findings: &plimsoll_report::findings::Findings, sections| {
        crate::shown(findings, &Style { sections, ..Style::default() })
    };
    assert_eq!(of(&rich, Sections::NONE).lines().count(), 5, "the title and the verdict");
    for section in Section::ALL {
        let findings = if matches!(section, Section::Run | Section::Clients) { &run } else { &rich };
        let (one, others) = (of(findings, Sections::NONE.with(section)), of(findings, Sections::ALL.without(section)));
        assert!(one.lines().count() > 6, "{section:?}");
        let own = one.lines().skip(5).find(|line| !line.is_empty() && !line.starts_with("INVALID")).unwrap();
        assert!(!others.contains(own), "{section:?}: {own}");
    }
}

#[test]
fn an_invalid_measurement_says_so_first() {
    let mut findings = example::rich();
    findings.validity = Validity::invalid("all messages are encrypted");
    let text = crate::shown(&findings, &Style::default());
    assert_eq!(text.lines().nth(4), Some("INVALID: all messages are encrypted"));
}

//! The terminal report, held to golden files and to its objectives.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::example::{self, bless};
use plimsoll_report::findings::Validity;
use plimsoll_report::safe;
use plimsoll_report::text::{Section, Sections, Style, appendix_a};
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn the_whole_report() {
    bless::hold(&golden("rich.txt"), &crate::shown(&example::rich(), &Style::default()), "the_whole_report");
}

#[test]
fn a_report_of_nothing() {
    bless::hold(&golden("empty.txt"), &crate::shown(&example::empty(), &Style::default()), "a_report_of_nothing");
}

#[test]
fn a_run_shows_its_load_levels() {
    let text = crate::shown(&example::run(), &Style { sections: Sections::BRIEF, ..Style::default() });
    assert!(text.lines().all(|line| safe::columns(line) <= 80), "{text}");
    bless::hold(&golden("run.txt"), &text, "a_run_shows_its_load_levels");
}

#[test]
fn each_load_level_has_an_appendix_a() {
    let text = appendix_a(&example::run().into(), &Style::default());
    assert!(text.lines().all(|line| safe::columns(line) <= 80), "{text}");
    bless::hold(&golden("appendix-a.txt"), &text, "each_load_level_has_an_appendix_a");
    // A level whose name is long says which one it is all the same.
    let mut long = example::run();
    long.stages[1].curve = Some("block=30kB".into());
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
        "Long-lived requests",
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
fn loopback_times_show_digits() {
    let mut findings = example::rich();
    findings.breakdown = None;
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
    assert!(text.contains("in microseconds (µs)"), "{text}");
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
    assert_eq!(of(&rich, Sections::NONE).lines().count(), 3, "the title");
    for section in Section::ALL {
        let findings = if section == Section::Run { &run } else { &rich };
        let (one, others) = (of(findings, Sections::NONE.with(section)), of(findings, Sections::ALL.without(section)));
        assert!(one.lines().count() > 4, "{section:?}");
        let own = one.lines().skip(3).find(|line| !line.is_empty() && !line.starts_with("INVALID")).unwrap();
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

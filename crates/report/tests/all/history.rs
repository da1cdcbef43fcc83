//! Histories of simulated recordings: their changes, other facts that changed, and all output formats.

mod losses;

use plimsoll_model::{Procedure, Protocol};
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint, MeasuredRun};
use plimsoll_report::collect::history::{HistoryCollector, RecordedRun};
use plimsoll_report::findings::history::{FactChange, History, HistoryMetric, RunFact};
use plimsoll_report::findings::{About, Findings, LevelFacts, LoadLevel, MovedNumber, Reason, Run, Source, Validity};
use plimsoll_report::json::{Layout, write_history};
use plimsoll_report::{html, text};
use plimsoll_stats::{IntervalRecorder, IntervalWidth, Intervals};
use plimsoll_testkit::{Random, transaction};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::LazyLock;

static SCHEMA: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| crate::validator(include_str!("../../../../schemas/plimsoll.history.1.schema.json")));
const S: i64 = 1_000_000_000;
/// 2026-10-20 02:00:00 UTC, and each night after it.
const FIRST: i64 = 1_792_461_600 * S;
const DAY: i64 = 86_400 * S;
/// Length of each measured phase, s.
const SECONDS: i64 = 12;
/// SMB2 CREATE, READ and WRITE.
const CODES: [u16; 3] = [5, 8, 9];

struct Night {
    night: i64,
    /// How much longer reads take than usual.
    slower: f64,
    labels: Vec<(&'static str, String)>,
    valid: bool,
    /// Numbers that the load generator's lateness moved.
    moved: &'static [&'static str],
    /// How many more requests the clients sent than usual.
    busier: f64,
    load_name: &'static str,
    workload: &'static str,
}

impl Night {
    fn new(night: i64) -> Self {
        let labels = vec![("commit", format!("{:07x}", (night + 3) * 0x2_3ab1))];
        let (moved, busier) = (&[][..], 1.0);
        Self { night, slower: 1.0, labels, valid: true, moved, busier, load_name: "8 clients", workload: "mixed" }
    }

    /// 7 in 10 requests are reads, 1 in 50 is an open.
    fn intervals(&self, begin_ns: i64) -> Intervals {
        let mut random = Random::new(self.night as u64 + 5);
        // The common factor of a night: a standard deviation of 0.5 %.
        let of_night = [0; 3].map(|_| 1.0 + 0.005 * random.normal());
        let mut recorder = IntervalRecorder::new(Intervals::new(IntervalWidth::USUAL));
        let count = (SECONDS as f64 * 250.0 * self.busier) as i64 + (random.normal() * 10.0) as i64;
        for request in 0..count {
            let kind = match random.uniform() {
                few if few < 0.02 => 0,
                most if most < 0.72 => 1,
                _ => 2,
            };
            let usual_ns = [2e6, 4e5, 9e5][kind] * (0.2 * random.normal()).exp();
            let slower = if kind == 1 { self.slower } else { 1.0 };
            let ended = begin_ns + (request * SECONDS * S) / count + 1;
            let took_ns = (usual_ns * slower * of_night[kind]) as i64;
            recorder.record(&transaction(Procedure::of(Protocol::Smb2, CODES[kind]), ended, took_ns));
        }
        recorder.finish()
    }

    fn recorded(&self) -> RecordedRun {
        let begin_ns = FIRST + self.night * DAY;
        let labels = self.labels.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let source = Source {
            tool: "plimsoll 0.1.0".to_owned(),
            about: About { labels, ..About::default() },
            ..Source::default()
        };
        let run = Run {
            target: "smb://bench@oak/data".to_owned(),
            workload: self.workload.to_owned(),
            workload_sha256: "5d41402abc4b2a76b9719d911017c592".to_owned(),
            facts: vec!["SMB 3.1.1".to_owned()],
            ..Run::default()
        };
        let late = Reason::invalid("At 8 clients: the load generator was late");
        let validity = Validity::of((!self.valid).then_some(late));
        let mut level = LoadLevel {
            facts: LevelFacts { load_name: self.load_name.to_owned(), ..LevelFacts::default() },
            ..LoadLevel::default()
        };
        let of_number = |number: &&str| MovedNumber { number: (*number).to_owned(), ..MovedNumber::default() };
        level.facts.generator.moved = self.moved.iter().map(of_number).collect();
        let findings = Findings { run: Some(run), source, validity, levels: vec![level], ..Findings::default() };
        let point = LoadPoint {
            curve: None,
            load_name: self.load_name.to_owned(),
            load: 8.0,
            pace: vec!["no think time".to_owned()],
            outstanding: 8,
            valid: self.valid,
            moved: Vec::new(),
            guarantees: None,
            iteration: None,
        };
        let span_ns = (begin_ns, begin_ns + SECONDS * S);
        let runs = vec![MeasuredRun { span_ns, intervals: self.intervals(begin_ns) }];
        let levels =
            vec![LevelRuns { level_name: self.load_name.to_owned(), point: Some(point), runs, findings: None }];
        RecordedRun {
            recording: format!("nightly/{:02}", self.night),
            started_ns: begin_ns,
            facts: vec![RunFact { name: "Client kernel".to_owned(), value: "6.12.9".to_owned() }],
            contestant: Contestant { findings, levels },
            unfinished: None,
        }
    }
}

fn history(nights: &[Night]) -> History {
    let mut collector = HistoryCollector::default();
    // In reverse order of the folders.
    nights.iter().rev().for_each(|night| collector.add(&night.recorded()));
    collector.finish(Vec::new())
}

/// Three weeks; from the night 13 on the kernel is another, and reads take 5 % longer. In the night 4 the client was busy.
fn three_weeks() -> Vec<Night> {
    let night = |night: i64| {
        let mut one = Night::new(night);
        one.labels.push(("kernel", if night < 13 { "6.11" } else { "6.12" }.to_owned()));
        one.slower = if night < 13 { 1.0 } else { 1.05 };
        one.valid = night != 4;
        one
    };
    (0..21).map(night).collect()
}

/// The history of [`three_weeks`].
pub(crate) fn three_weeks_history() -> History {
    history(&three_weeks())
}

fn metric<'h>(history: &'h History, label: &str) -> &'h HistoryMetric {
    history.series[0].metrics.iter().find(|metric| metric.label() == label).unwrap()
}

fn against_schema(history: &History) -> Vec<String> {
    let value = serde_json::to_value(history).unwrap();
    SCHEMA.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn a_step_is_found_with_the_label_that_changed() {
    let history = history(&three_weeks());
    let [series] = &history.series[..] else { panic!("{:?}", history.series.len()) };
    assert_eq!(series.name, "mixed on smb, 8 clients");
    assert!(series.runs.windows(2).all(|pair| pair[0].begin_ns < pair[1].begin_ns));
    let labels: Vec<String> = series.metrics.iter().map(HistoryMetric::label).collect();
    // Opens are 2 % of the requests.
    assert_eq!(labels, ["All op/s", "read p50", "read p95", "read p99", "write p50", "write p95", "write p99"]);
    let p50 = metric(&history, "read p50");
    let [change] = &p50.changes[..] else { panic!("{:?}", p50.changes) };
    assert_eq!((change.run, change.verdict.label()), (13, "worse"));
    let (low, high) = (change.relative_low.unwrap(), change.relative_high.unwrap());
    assert!(0.03 < low && low < change.relative && change.relative < high && high < 0.07, "{change:?}");
    for unchanged in ["All op/s", "write p50", "write p95"] {
        assert_eq!(metric(&history, unchanged).changes, [], "{unchanged}");
    }
    let point = series.changes.iter().find(|point| point.run == 13).unwrap();
    assert_eq!(point.begin_ns, FIRST + 13 * DAY);
    let kernel = FactChange {
        name: "Label kernel".to_owned(),
        before: Some("6.11".to_owned()),
        after: Some("6.12".to_owned()),
        runs_later: 0,
    };
    assert_eq!(point.also_changed, [kernel]);
    let [commit] = &point.labels[..] else { panic!("{:?}", point.labels) };
    assert_eq!(commit.name, "Label commit", "every run has another commit: none of them is constant");
}

#[test]
fn a_fact_that_changed_near_the_step_is_named_with_its_distance() {
    let mut nights = three_weeks();
    for night in &mut nights {
        night.labels = vec![("switch", if night.night < 11 { "old" } else { "new" }.to_owned())];
    }
    let history = history(&nights);
    let also = &history.series[0].changes.iter().find(|point| point.run == 13).unwrap().also_changed;
    assert!(also.len() == 1 && also[0].runs_later == -2, "{also:?}");
}

#[test]
fn an_invalid_run_is_shown_and_does_not_count() {
    let mut nights = three_weeks();
    for night in nights.iter_mut().skip(16) {
        (night.valid, night.slower) = (false, 9.0);
    }
    let history = history(&nights);
    assert_eq!(history.series[0].runs.iter().filter(|run| !run.counted).count(), 6);
    let p50 = metric(&history, "read p50");
    assert!(p50.points[20].as_ref().unwrap().value > 3e-3, "it is shown");
    // Three runs are left after the step: as few as there may be.
    assert!(p50.changes.iter().all(|change| change.run == 13 && change.after < 1e-3), "{:?}", p50.changes);
}

/// A change that begins where the load generator becomes late is no change of the server.
#[test]
fn a_value_that_the_load_generator_moved_is_shown_and_does_not_count() {
    let late = |from: usize, moved: &'static [&'static str]| {
        let mut nights = three_weeks();
        for night in nights.iter_mut().skip(from) {
            (night.moved, night.slower) = (moved, 9.0);
        }
        history(&nights)
    };
    let runs = |history: &History, label: &str| -> Vec<u64> {
        metric(history, label).changes.iter().map(|change| change.run).collect()
    };
    let unnoticed = late(16, &[]);
    assert!(runs(&unnoticed, "read p50").contains(&16), "{:?}", runs(&unnoticed, "read p50"));
    let found = late(16, &["p50", "p95"]);
    let p50 = metric(&found, "read p50");
    assert!(p50.changes.iter().all(|change| change.run == 13 && change.after < 1e-3), "{:?}", p50.changes);
    assert_eq!((p50.moved.as_slice(), p50.points[20].is_some()), (&[16, 17, 18, 19, 20][..], true));
    assert!(runs(&found, "read p99").contains(&16), "p99 is reliable: {:?}", runs(&found, "read p99"));
    let screen = text::history(&found, &text::Style::plain(80), false);
    assert!(screen.contains("Not counted, because the load generator was late: read p50 of 5"), "{screen}");
    assert!(screen.lines().count() <= 40, "{screen}");
    assert!(html::history(&found).unwrap().contains("Not counted, because the load generator was late"));
    assert_eq!(against_schema(&found), Vec::<String>::new());
    let all = late(0, &["p50"]);
    let why = metric(&all, "read p50").untested.as_deref().unwrap();
    assert_eq!(why, "only 0 runs are valid and without a late load generator; at least 6 are needed");
    assert_eq!(metric(&all, "write p95").untested, None);
}

/// The number changed at one of the runs since the last one that counts for it: a label of the last run before would be blamed wrongly.
#[test]
fn a_change_behind_moved_values_may_be_of_any_run_since_the_last_that_counts() {
    let labels = |moved_by_night: fn(i64) -> &'static [&'static str]| {
        let night = |night: i64| {
            let mut one = Night { slower: if night < 11 { 1.0 } else { 1.05 }, ..Night::new(night) };
            one.labels =
                vec![("commit", format!("n{night}")), ("kernel", if night < 11 { "6.11" } else { "6.12" }.into())];
            one.moved = moved_by_night(night);
            one
        };
        let history = history(&(0..21).map(night).collect::<Vec<_>>());
        let [point] = &history.series[0].changes[..] else { panic!("{:?}", history.series[0].changes) };
        let of = |changes: &[FactChange]| {
            let shown = |one: &FactChange| (one.name.clone(), one.before.clone().unwrap(), one.after.clone().unwrap());
            changes.iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(point.run, 15);
        (of(&point.labels), of(&point.also_changed))
    };
    let fact = |name: &str, before: &str, after: &str| vec![(name.to_owned(), before.to_owned(), after.to_owned())];
    let expected = (fact("Label commit", "n9", "n15"), fact("Label kernel", "6.11", "6.12"));
    let all_moved = |night| if (10..15).contains(&night) { &["p50", "p95", "p99"][..] } else { &[] };
    assert_eq!(labels(all_moved), expected);
    // Where the numbers that change there count in different runs, the widest range holds for all.
    let some_moved = |night| match night {
        10 => &["p50"][..],
        11..15 => &["p50", "p95", "p99"],
        _ => &[],
    };
    assert_eq!(labels(some_moved), expected);
}

/// The load generator was late for p50 in nearly every run: the other numbers were searched, and do not change.
#[test]
fn numbers_that_were_not_searched_are_named_beside_no_change() {
    let late = |from: i64, moved: &'static [&'static str]| {
        let one = |night| Night { moved: if night < from { &[] } else { moved }, ..Night::new(night) };
        history(&(0..8).map(one).collect::<Vec<_>>())
    };
    let said = |history: &History, wanted: &str| {
        let [screen, page] = [text::history(history, &text::Style::plain(200), true), html::history(history).unwrap()];
        assert!(screen.contains(wanted) && page.contains(wanted), "{wanted}\n{screen}");
        [screen, page]
    };
    let some = late(2, &["p50"]);
    let why = "only 2 runs are valid and without a late load generator; at least 6 are needed";
    said(&some, &format!("No change found. Not searched for changes: read p50, write p50 ({why})."));
    assert_eq!(against_schema(&some), Vec::<String>::new());
    let every = late(2, &["p50", "p95", "p99", "throughput"]);
    for shown in said(&every, &format!("Not searched for changes: {why}.")) {
        assert!(!shown.contains("No change found"), "{shown}");
    }
    for shown in said(&late(8, &[]), "No change found.") {
        assert!(!shown.contains("Not searched"), "{shown}");
    }
}

/// Nobody knows what the clients of a capture asked for.
#[test]
fn more_requests_of_captures_are_neither_better_nor_worse() {
    let verdict = |is_capture: bool| {
        let mut collector = HistoryCollector::default();
        for night in 0..12 {
            let busier = if night < 6 { 1.0 } else { 1.2 };
            let mut recorded = Night { busier, ..Night::new(night) }.recorded();
            if is_capture {
                recorded.contestant.findings.run = None;
                recorded.contestant.levels[0].point = None;
            }
            collector.add(&recorded);
        }
        let history = collector.finish(Vec::new());
        assert_eq!(against_schema(&history), Vec::<String>::new());
        metric(&history, "All op/s").changes.iter().map(|change| change.verdict.label()).collect::<Vec<_>>()
    };
    assert_eq!((verdict(false), verdict(true)), (vec!["better"], vec!["more"]));
}

#[test]
fn other_plans_are_other_series() {
    let mut nights = three_weeks();
    nights.truncate(9);
    for (night, change) in nights.iter_mut().zip([0, 0, 0, 0, 0, 0, 1, 1, 2]) {
        match change {
            0 => {}
            1 => night.load_name = "16 clients",
            _ => night.workload = "home-folders",
        }
    }
    let history = history(&nights);
    let found: Vec<(&str, usize)> =
        history.series.iter().map(|series| (series.name.as_str(), series.runs.len())).collect();
    let expected =
        [("mixed on smb, 8 clients", 6), ("mixed on smb, 16 clients", 2), ("home-folders on smb, 8 clients", 1)];
    assert_eq!(found, expected);
    assert_eq!(history.series[1].metrics[0].untested.as_deref(), Some("only 2 runs are valid; at least 6 are needed"));
    // The same words, but not the same text of the workload.
    let mut collector = HistoryCollector::default();
    for night in 0..2 {
        let mut recorded = Night::new(night).recorded();
        if let Some(run) = &mut recorded.contestant.findings.run {
            run.workload_sha256 = format!("{night}123456789");
        }
        collector.add(&recorded);
    }
    let names: Vec<String> = collector.finish(Vec::new()).series.into_iter().map(|series| series.name).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        ["mixed on smb, 8 clients, workload text 01234567", "mixed on smb, 8 clients, workload text 11234567"]
    );
}

/// A change that one series shows alone is not significant among many series: they share the false alarms.
#[test]
fn more_series_need_larger_changes() {
    let changed = |history: &History| metric(history, "read p50").changes.len();
    let short = || (0..12).map(|night| Night { slower: if night < 6 { 1.0 } else { 1.0375 }, ..Night::new(night) });
    let alone = history(&short().collect::<Vec<_>>());
    let mut many: Vec<Night> = short().collect();
    // The longest series comes first.
    many.push(Night { slower: 1.0375, ..Night::new(12) });
    for load_name in
        ["1 client", "2 clients", "3 clients", "4 clients", "5 clients", "6 clients", "7 clients", "9 clients"]
    {
        many.extend((0..12).map(|night| Night { load_name, ..Night::new(night) }));
    }
    let among = history(&many);
    assert_eq!((among.series[0].name.as_str(), among.series.len()), ("mixed on smb, 8 clients", 9));
    assert_eq!((changed(&alone), changed(&among)), (1, 0));
    assert!(among.series.iter().all(|series| series.changes.is_empty()));
}

#[test]
fn an_unfinished_recording_is_said_to_be_one() {
    let mut collector = HistoryCollector::default();
    collector.add(&RecordedRun { unfinished: Some("was interrupted".to_owned()), ..Night::new(0).recorded() });
    assert_eq!(collector.finish(vec!["more".to_owned()]).warnings, ["nightly/00 was interrupted", "more"]);
}

#[test]
fn searches_for_a_capacity_are_said_to_have_no_history() {
    let search = |night: i64| {
        let mut recorded = Night::new(night).recorded();
        recorded.contestant.findings.run.as_mut().unwrap().capacity = Some(Box::default());
        recorded
    };
    let mut collector = HistoryCollector::default();
    collector.add(&search(0));
    collector.add(&search(1));
    let said = collector.finish(Vec::new()).warnings;
    assert!(
        said.len() == 1 && said[0].starts_with("2 recordings are searches for a capacity; the history has"),
        "{said:?}"
    );
}

#[test]
fn the_screen_is_a_screen() {
    let mut nights = three_weeks();
    for load_name in ["1 client", "2 clients", "4 clients", "16 clients", "32 clients", "64 clients"] {
        nights.extend((0..7).map(|night| Night { load_name, ..Night::new(night) }));
    }
    let history = history(&nights);
    let screen = text::history(&history, &text::Style::plain(80), false);
    assert!(screen.lines().count() <= 40, "{} lines\n{screen}", screen.lines().count());
    assert!(screen.contains("more series: --full"), "{screen}");
    for width in [40, 80, 132] {
        for full in [false, true] {
            let shown = text::history(&history, &text::Style::plain(width), full);
            let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.into(), "{widest} of {width}\n{shown}");
        }
    }
    assert!(text::history(&history, &text::Style::plain(80), true).contains("64 clients"));
}

#[test]
fn hostile_names_stay_text() {
    let nasty = "</script><script>alert(1)//\u{202e}\u{1b}[2J<img src=x>";
    let mut nights = three_weeks();
    for night in &mut nights {
        night.labels.push(("x", format!("{nasty}{}", night.night / 13)));
        night.workload = "<img src=x onerror=alert(2)>";
    }
    let history = history(&nights);
    let page = html::history(&history).unwrap();
    // Findings, charts, the library, our script.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (4, 4));
    assert!(!page.contains("<img") && !page.contains(['\u{202e}', '\u{1b}']));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)//\\u{202e}\\u{1b}[2J"));
    let shown = text::history(&history, &text::Style::plain(80), true);
    assert!(!shown.contains(['\u{202e}', '\u{1b}']) && shown.contains("also changed: Label x </script>"), "{shown}");
    let data = page.split_once("id=\"findings\">").unwrap().1.split_once("</script>").unwrap().0;
    assert_eq!(serde_json::from_str::<History>(data).unwrap(), history);
    assert!(page.len() < 2_000_000, "{}", page.len());
}

#[test]
fn the_page_draws_every_number_and_marks_its_changes() {
    let history = history(&three_weeks());
    let page = html::history(&history).unwrap();
    let charts = page.split_once("id=\"charts\">").unwrap().1.split_once("</script>").unwrap().0;
    let charts: Value = serde_json::from_str(charts).unwrap();
    let choices = charts[0]["choices"].as_array().unwrap();
    assert_eq!(choices.len(), history.series[0].metrics.len());
    let p50 = choices.iter().find(|choice| choice["name"] == "read p50").unwrap();
    assert_eq!(p50["chart"]["x"]["marks"][0]["at"], 13.5, "between the 13th and the 14th run");
    let series: Vec<&str> =
        p50["chart"]["series"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(series, ["Runs", "Runs that do not count", "Mean between changes"]);
    assert!(page.contains("also changed: Label kernel 6.11 -&gt; 6.12"));
}

#[test]
fn json_keeps_to_the_schema() {
    let nights = three_weeks();
    for some in [&nights[..], &nights[..2], &[]] {
        let history = history(some);
        assert_eq!(against_schema(&history), Vec::<String>::new());
        let mut out = Vec::new();
        write_history(&history, Layout::Pretty, &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<History>(&out).unwrap(), history);
    }
    let mut value = serde_json::to_value(history(&nights)).unwrap();
    for place in
        ["", "/method", "/series/0", "/series/0/runs/0", "/series/0/metrics/1/changes/0", "/series/0/changes/0"]
    {
        value.pointer_mut(place).unwrap()["unheard_of"] = Value::from(1);
        assert!(!SCHEMA.is_valid(&value), "{place:?}");
        value.pointer_mut(place).unwrap().as_object_mut().unwrap().remove("unheard_of");
    }
    assert!(SCHEMA.is_valid(&value));
}

/// docs/history.md shows the screen of [`three_weeks`].
#[test]
fn the_document_shows_what_is_printed() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/history.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("```text\n").unwrap();
    let (_, after) = rest.split_once("```\n").unwrap();
    let screen = text::history(&history(&three_weeks()), &text::Style::plain(80), false);
    crate::example::bless::hold(&path, &format!("{before}```text\n{screen}```\n{after}"), "history");
}

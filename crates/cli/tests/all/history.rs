//! `plimsoll history` on recordings: of captures as a library makes them, and of real runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use plimsoll_model::{Coverage, Names, Procedure, Protocol, Sink};
use plimsoll_report::findings::{About, Findings, Source};
use plimsoll_results::record::{Measurement, RecordTo, Rows, SyncRecorder};
use plimsoll_stats::{Options, Statistics};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Random, transaction};
use serde_json::Value;

use crate::output_in;

const MS: i64 = 1_000_000;
/// 2026-10-20 02:00:00 UTC.
const FIRST: i64 = 1_792_461_600_000 * MS;
const HOUR: i64 = 3_600_000 * MS;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a command that must succeed; returns its output.
fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let ended = output_in(folder, arguments);
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    text(&ended.stdout)
}

fn held_to_schema(history: &str) -> Value {
    static SCHEMA: LazyLock<jsonschema::Validator> =
        LazyLock::new(|| crate::recorded::schema("plimsoll.history.1.schema.json"));
    let value = serde_json::from_str(history).unwrap();
    let wrong: Vec<String> = SCHEMA.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    value
}

/// The recording of a capture in which 400 reads of about 1 ms were seen, `slower` times as long.
fn record(folder: &Path, hour: i64, slower: f64, label: (&str, String)) {
    let labels = [(label.0.to_owned(), label.1)].into_iter().collect();
    let source = Source {
        tool: "plimsoll 0.1.0".to_owned(),
        vantage: "wire".to_owned(),
        about: About { labels, ..About::default() },
        ..Source::default()
    };
    let measured = Measurement::Analyze { source: source.clone(), captures: Vec::new(), link: None };
    let to = RecordTo { folder: folder.to_owned(), rows: Rows::None, overwrite: false, command: Vec::new() };
    let (names, mut statistics) = (Names::default(), Statistics::new(Options::default()));
    let mut recorder = SyncRecorder::begin(to.begin(&measured, "clock", 0).unwrap()).unwrap();
    let (begin, mut random) = (FIRST + hour * HOUR, Random::new(hour as u64));
    for read in 1..=400 {
        let took_ns = (1e6 * slower * (0.1 * random.normal()).exp()) as i64;
        let seen = transaction(Procedure::of(Protocol::Smb2, 8), begin + read * 50 * MS, took_ns);
        recorder.transaction(&seen, &names);
        statistics.transaction(&seen, &names);
    }
    let span_ns = (Some(begin), Some(begin + 20_001 * MS));
    let coverage = Coverage { first_ns: span_ns.0, last_ns: span_ns.1, ..Coverage::default() };
    let findings = Findings::collect(&statistics, &coverage, &names, source, plimsoll_observe::status_name);
    recorder.end((&statistics, &coverage), span_ns, &names, BTreeMap::new()).unwrap().finish(false, &findings).unwrap();
}

#[test]
fn a_folder_of_recordings_has_a_history() {
    let scratch = Scratch::new("history");
    let folder = scratch.path();
    for hour in 0..14 {
        // The order of the names differs from that of the times.
        let (name, late) = (format!("many/{}", 50 - hour), hour >= 8);
        let kernel = if late { "6.12" } else { "6.11" };
        record(&folder.join(name), hour, if late { 1.2 } else { 1.0 }, ("kernel", kernel.to_owned()));
    }
    let screen = succeeds(folder, &["history", "many", "--utc", "--html", "h.html", "--json", "h.json"]);
    for line in [
        "14 recordings, 2026-10-20 02:00:00 to 15:00:00 UTC\n",
        "capture: 14 runs\n",
        "From 2026-10-20 10:00:00 UTC, many/42:\n",
        "  also changed: Label kernel 6.11 -> 6.12\n",
    ] {
        assert!(screen.contains(line), "{line} is missing from\n{screen}");
    }
    assert!(screen.lines().count() <= 40 && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let json = fs::read_to_string(folder.join("h.json")).unwrap();
    let history = held_to_schema(&json);
    let metrics = history["series"][0]["metrics"].as_array().unwrap();
    let p50 = metrics.iter().find(|metric| metric["metric"] == "p50").unwrap();
    assert_eq!(p50["changes"][0]["run"], 8, "{p50:#}");
    let size = p50["changes"][0]["relative"].as_f64().unwrap();
    assert!((0.17..0.23).contains(&size), "{size}");
    let page = fs::read_to_string(folder.join("h.html")).unwrap();
    assert!(page.contains("also changed: Label kernel 6.11 -&gt; 6.12"));
    // The same recordings under other names, or twice, give the same history. A damaged one is left out.
    assert_eq!(succeeds(folder, &["history", "many", "many/50", "./many", "--json", "-"]), json);
    fs::create_dir(folder.join("many/broken")).unwrap();
    fs::write(folder.join("many/broken/manifest.json"), "{\"schema\": \"plimsoll.recording/1\"}").unwrap();
    let warned = held_to_schema(&succeeds(folder, &["history", "many", "--json", "-"]));
    let warning = warned["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("Left out: \"many/broken/manifest.json\" is damaged"), "{warning}");
    assert_eq!(warned["series"], history["series"]);
    assert_eq!(succeeds(folder, &["history", "many", "-q"]), "");
}

#[test]
fn runs_have_series_by_their_plan() {
    let scratch = Scratch::new("history-runs");
    let folder = scratch.path();
    let run = ["run", "getattr", "-q", "--target", "embedded:nfs", "--duration", "200ms", "--warmup", "10ms"];
    for (name, more) in [("a", ["--label", "build=1"]), ("b", ["--label", "build=2"]), ("c", ["--clients", "2"])] {
        let record = format!("H/{name}");
        let ended = output_in(folder, &[&run[..], &["--record", &record], &more].concat());
        // The machine may be too busy for a valid one.
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", text(&ended.stderr));
    }
    let history = held_to_schema(&succeeds(folder, &["history", "H", "--json", "-"]));
    let of = |place: usize| {
        let series = &history["series"][place];
        let runs: Vec<&str> =
            series["runs"].as_array().unwrap().iter().map(|run| run["recording"].as_str().unwrap()).collect();
        (series["name"].as_str().unwrap().to_owned(), runs)
    };
    assert_eq!(of(0), ("getattr on embedded:nfs, 4 clients".to_owned(), vec!["H/a", "H/b"]));
    assert_eq!(of(1), ("getattr on embedded:nfs, 2 clients".to_owned(), vec!["H/c"]));
    for run in history["series"][0]["runs"].as_array().unwrap() {
        assert_eq!(run["counted"], run["validity"]["valid"], "{run:#}");
    }
    assert!(!history.to_string().contains("NaN"));
    assert!(succeeds(folder, &["history", "H", "--full"]).contains("at least 6 are needed"));
}

#[test]
fn what_has_no_recording_is_an_error() {
    let scratch = Scratch::new("history-errors");
    let folder = scratch.path();
    fs::create_dir(folder.join("empty")).unwrap();
    let said = |arguments: &[&str]| {
        let ended = output_in(folder, &[&["history"], arguments].concat());
        (ended.status.code(), text(&ended.stderr))
    };
    let (code, why) = said(&["empty"]);
    assert!(code == Some(3) && why.contains("empty: no recording in this folder; name a folder written with --record"));
    assert_eq!(said(&["nowhere"]).0, Some(3));
    assert_eq!(said(&[]).0, Some(2));
    assert_eq!(said(&["empty", "--html", "-"]).0, Some(2));
}

//! `plimsoll report DIR --export`: other programs read the same counts as in the report.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

fn plimsoll(folder: &Path, arguments: &[&str]) -> Option<i32> {
    output(crate::plimsoll().args(arguments).current_dir(folder)).status.code()
}

/// A recording in `R`, and its report as JSON, with the exports that are asked for.
fn exported(name: &str, capture: &str, exports: &[&str]) -> (Scratch, Value) {
    let scratch = Scratch::new(name);
    let (folder, captures) = (scratch.path(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures"));
    let capture = captures.join(capture).join("capture.pcap.zst");
    assert!(matches!(plimsoll(folder, &["analyze", capture.to_str().unwrap(), "-q", "--record", "R"]), Some(0 | 4)));
    let exports: Vec<&str> = exports.iter().flat_map(|&file| ["--export", file]).collect();
    let code = plimsoll(folder, &[&["report", "R", "-q", "--json", "R.json"], &exports[..]].concat());
    assert!(matches!(code, Some(0 | 4)));
    let report = crate::only_side(&fs::read(folder.join("R.json")).unwrap());
    (scratch, report)
}

fn tag(row: &Value) -> String {
    format!("{}.{}", row["protocol"].as_str().unwrap(), row["procedure"].as_str().unwrap()).replace(' ', "_")
}

/// The rows of a report that are not sums of other rows.
fn rows(report: &Value) -> Vec<&Value> {
    let all = report["operations"].as_array().unwrap();
    let has_parts = |row: &Value| {
        all.iter().any(|other| other["parent"] == row["procedure"] && other["protocol"] == row["protocol"])
    };
    all.iter().filter(|row| !has_parts(row)).collect()
}

/// Answered operations of a report, by tag.
fn counts(report: &Value) -> BTreeMap<String, u64> {
    rows(report)
        .into_iter()
        .filter(|row| !row["response_time"].is_null())
        .map(|row| (tag(row), row["response_time"]["count"].as_u64().unwrap()))
        .collect()
}

/// The histograms of a log by tag, all lines of each together, and the seconds of its first and last instants.
pub(crate) fn read_log(log: &[u8]) -> (BTreeMap<String, Histogram<u64>>, (f64, f64)) {
    let (mut by_tag, mut span) = (BTreeMap::new(), (f64::INFINITY, 0.0f64));
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.unwrap() else { continue };
        let base64 = &base64::engine::general_purpose::STANDARD;
        let bytes = base64::Engine::decode(base64, line.encoded_histogram()).unwrap();
        let part: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        let tag = line.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
        let whole = by_tag.entry(tag).or_insert_with(|| Histogram::new(3).unwrap());
        whole.add(&part).unwrap();
        let from = line.start_timestamp().as_secs_f64();
        span = (span.0.min(from), span.1.max(from + line.duration().as_secs_f64()));
    }
    (by_tag, span)
}

#[test]
fn a_histogram_log_holds_the_histograms_of_the_report() {
    for capture in ["smb2-samba", "nfs-ganesha"] {
        let (scratch, report) = exported("export-hlog", capture, &["R.hlog"]);
        let log = fs::read(scratch.path().join("R.hlog")).unwrap();
        let (mut by_tag, (from, to)) = read_log(&log);
        let all = by_tag.remove("").unwrap();
        let found: BTreeMap<String, u64> = by_tag.iter().map(|(tag, times)| (tag.clone(), times.len())).collect();
        assert_eq!(found, counts(&report));
        for row in rows(&report).into_iter().filter(|row| !row["response_time"].is_null()) {
            let tag = tag(row);
            let (p99, exact) = (by_tag[&tag].value_at_quantile(0.99) as f64, &row["response_time"]);
            // A report's percentile lies within the exact extremes.
            let p99 = (p99 / 1e9).min(exact["max_s"].as_f64().unwrap());
            assert_eq!(Some(p99), exact["p99_s"].as_f64(), "{tag}");
        }
        assert!(!all.is_empty() && all.len() <= found.values().sum());
        let elapsed = report["span"]["elapsed_s"].as_f64().unwrap();
        assert!(from >= 0.0 && to <= elapsed + 0.001, "{from} to {to} of {elapsed}");
    }
}

#[test]
fn percentiles_are_hdrhistograms_text() {
    let (scratch, _) = exported("export-hgrm", "smb2-samba", &["R.hgrm", "R.hlog"]);
    let log = fs::read(scratch.path().join("R.hlog")).unwrap();
    let all = read_log(&log).0.remove("").unwrap();
    let text = fs::read_to_string(scratch.path().join("R.hgrm")).unwrap();
    assert!(text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"), "{text}");
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect::<Vec<f64>>();
    let lines: Vec<Vec<f64>> = text.lines().skip(2).take_while(|line| !line.starts_with('#')).map(numbers).collect();
    assert!(lines.len() > 20);
    for line in &lines {
        let so_far = all.count_between(0, (line[0] * 1e6).round() as u64);
        assert_eq!(so_far as f64, line[2], "{line:?}");
        assert!(line[2] / all.len() as f64 >= line[1] - 1e-9, "{line:?}");
    }
    let last = lines.last().unwrap();
    assert_eq!((last[1], last[2], last.len()), (1.0, all.len() as f64, 3));
    let foot: Vec<&str> = text.lines().filter(|line| line.starts_with("#[")).collect();
    assert_eq!(foot.len(), 3);
    assert!(foot[1].ends_with(&format!("Total count    = {:12}]", all.len())), "{foot:?}");
}

/// A workload with a schedule, and one without: their response times have different starts.
#[test]
fn levels_of_both_kinds_state_their_kind() {
    let _alone = crate::alone();
    let scratch = Scratch::new("export-mixed");
    let folder = scratch.path();
    let mut run = vec!["run", "getattr", "--target", "embedded:nfs", "--clients", "1", "--rate", "40", "-q"];
    run.extend(["--with", "random-read,clients=1,think=5ms,size=64KiB", "--repeat", "1"]);
    run.extend(["--warmup", "0s", "--duration", "200ms", "--record", "R"]);
    assert!(matches!(plimsoll(folder, &run), Some(0 | 4)));
    assert!(matches!(plimsoll(folder, &["report", "R", "-q", "--export", "R.hlog"]), Some(0 | 4)));
    let log = fs::read_to_string(folder.join("R.hlog")).unwrap();
    let comments: Vec<&str> = log.lines().filter(|line| line.starts_with("#[")).collect();
    assert!(comments[0].starts_with("#[Response times in ns, recorded by "), "{comments:?}");
    for (load, start) in [("40 iterations/s", "the intended start"), ("1 client", "the first byte of the request")] {
        let level = format!(": {load}; response times from {start}]");
        assert_eq!(comments.iter().filter(|line| line.ends_with(&level)).count(), 2, "{level}: {comments:?}");
    }
    assert_eq!(plimsoll(folder, &["report", "R", "-q", "--export", "R.hgrm"]), Some(3), "one distribution of both");
}

/// `cargo xtask test` names an interpreter that has the modules, where it could make one.
fn python(script: &str, file: &Path) -> Option<String> {
    let interpreter = std::env::var("PLIMSOLL_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut python = Command::new(&interpreter);
    let mut imports = Command::new(&interpreter);
    let has_it = Running::start(imports.args(["-c", "import prometheus_client.openmetrics.parser"]));
    if !has_it.is_ok_and(|running| running.end().status.success()) {
        crate::skip("needs Python with prometheus_client");
        return None;
    }
    let output = output(python.args(["-c", script]).arg(file));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

const READ_METRICS: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
found = {}
for family in text_string_to_metric_families(open(sys.argv[1]).read()):
    for sample in family.samples:
        tag = (sample.labels.get('protocol', '') + '.' + sample.labels.get('procedure', '')).replace(' ', '_')
        if sample.name in ('plimsoll_requests_total', 'plimsoll_errors_total', 'plimsoll_response_time_seconds_count',
                           'plimsoll_response_time_seconds_sum'):
            found.setdefault(sample.name, {})[tag] = sample.value
print(json.dumps(found))
";

#[test]
fn a_parser_of_openmetrics_reads_the_sums_of_the_report() {
    let (scratch, report) = exported("export-om", "smb2-samba", &["R.om"]);
    let Some(read) = python(READ_METRICS, &scratch.path().join("R.om")) else { return };
    let found: Value = serde_json::from_str(&read).unwrap();
    let rows = rows(&report);
    assert_eq!(found["plimsoll_requests_total"].as_object().unwrap().len(), rows.len());
    for row in rows {
        let tag = tag(row);
        let number = |name: &str| found[format!("plimsoll_{name}")][&tag].as_f64().unwrap();
        assert_eq!(number("requests_total"), row["count"].as_f64().unwrap(), "{tag}");
        assert_eq!(number("errors_total"), row["errors"].as_f64().unwrap(), "{tag}");
        let times = &row["response_time"];
        let count = times["count"].as_f64().unwrap_or(0.0);
        assert_eq!(number("response_time_seconds_count"), count, "{tag}");
        let (sum, mean) = (number("response_time_seconds_sum"), times["mean_s"].as_f64().unwrap_or(0.0));
        assert!((sum - mean * count).abs() <= 1e-9 * sum, "{tag}: {sum}");
    }
}

#[test]
fn a_name_of_no_format_is_usage() {
    let scratch = Scratch::new("export-usage");
    assert_eq!(plimsoll(scratch.path(), &["report", "R", "--export", "R.csv"]), Some(2));
    assert_eq!(plimsoll(scratch.path(), &["report", "R", "--export", "nowhere/R.om"]), Some(3), "no such folder");
}

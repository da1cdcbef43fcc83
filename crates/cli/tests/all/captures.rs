//! Results for unexpected captures: other traffic, damaged files, wrong arguments.

use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Frame, Link, Side, Tcp, Traffic, pcap, rpc};
use serde_json::Value;

use crate::output_of;

/// Exit code of an analysis without a verdict.
const NO_VERDICT: i32 = 4;

/// Consecutive GETATTRs, four frames each, from 2001-09-09T01:46:40Z on.
fn frames(xids: std::ops::Range<u32>) -> Vec<Frame> {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::between_ports(700, 2049);
    traffic.all(&tcp.handshake());
    for xid in xids {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
    }
    traffic.frames
}

fn write(folder: &Path, name: &str, frames: &[Frame]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, pcap(Link::Ethernet, frames)).unwrap();
    path.display().to_string()
}

/// The report of an analysis as JSON, and its exit code.
fn analyze(arguments: &[&str]) -> (Value, i32) {
    let output = output_of(&[&["analyze", "--json", "-"], arguments].concat());
    let report = crate::only_side(&output.stdout);
    assert!(!report.is_null(), "{}", String::from_utf8_lossy(&output.stderr));
    (report, output.status.code().unwrap())
}

fn reasons(report: &Value) -> String {
    let of =
        |list: &Value| list.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    of(&report["validity"]["reasons"]).join("\n")
}

#[test]
fn filters_that_match_nothing_are_named_with_what_there_is() {
    let scratch = Scratch::new("captures-filters");
    let capture = write(scratch.path(), "a.pcap", &frames(1..101));
    for filter in
        [["--server", "192.0.2.99"], ["--operation", "write"], ["--from", "2026-01-01T00:00:00Z"], ["--from", "1h"]]
    {
        let (report, code) = analyze(&[&[capture.as_str()], &filter[..]].concat());
        assert_eq!((code, report["validity"]["verdict"].as_str()), (NO_VERDICT, Some("invalid")), "{filter:?}");
        let reason = reasons(&report);
        assert!(reason.starts_with(&format!("No operation matches {}", filter[0])), "{reason}");
        let span = "100 operations, from 2001-09-09 01:46:40.000000 UTC to 2001-09-09 01:46:40.020200 UTC";
        assert!(reason.contains(span) && !reason.contains("recognised"), "{reason}");
        assert_eq!(report["operations"].as_array().unwrap().len(), 0);
    }
    // A recording of such an analysis says the same when it is shown again.
    let filtered = ["--server", "192.0.2.99"];
    let folder = scratch.path().join("recording").display().to_string();
    let (shown, _) = analyze(&[&[capture.as_str(), "--record", &folder], &filtered[..]].concat());
    let again = output_of(&["report", &folder, "--json", "-"]);
    let code = again.status.code();
    let again = crate::only_side(&again.stdout);
    assert_eq!((code, &again["validity"]), (Some(NO_VERDICT), &shown["validity"]));

    let (report, code) = analyze(&[&capture, "--operation", "getattr"]);
    assert_eq!((code, report["validity"]["verdict"].as_str()), (0, Some("valid")));
}

/// A report that is printed says why its numbers are invalid: the line that goes with the exit code does not say it again.
#[test]
fn why_numbers_are_invalid_is_said_once() {
    let scratch = Scratch::new("captures-invalid");
    let capture = write(scratch.path(), "a.pcap", &frames(1..3));
    let filtered = ["analyze", capture.as_str(), "--operation", "write"];
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = output_of(&filtered);
    assert_eq!(printed.status.code(), Some(NO_VERDICT));
    let (report, line) = (text(&printed.stdout), text(&printed.stderr));
    assert!(report.contains(": INVALID\n! No operation matches --operation write"), "{report}");
    assert!(line.contains("INVALID") && line.lines().count() == 1 && !line.contains("No operation"), "{line}");
    let quiet = output_of(&[&filtered[..], &["-q"]].concat());
    let line = text(&quiet.stderr);
    assert!(quiet.stdout.is_empty() && line.lines().count() == 1 && line.contains("No operation matches"), "{line}");
}

#[test]
fn a_comparison_says_which_capture_has_nothing_that_matches() {
    let scratch = Scratch::new("captures-compared");
    let [a, b] = ["a.pcap", "b.pcap"].map(|name| write(scratch.path(), name, &frames(1..101)));
    let compared = output_of(&["compare", &a, &b, "--server", "192.0.2.99"]);
    let text = String::from_utf8_lossy(&compared.stdout).replace('\n', " ");
    assert_eq!(compared.status.code(), Some(NO_VERDICT), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("No operation matches --server 192.0.2.99: the capture has 100 operations"), "{text}");
}

#[test]
fn a_file_that_is_cut_off_makes_the_verdict_partial_and_one_without_times_invalid() {
    let scratch = Scratch::new("captures-damaged");
    let whole = write(scratch.path(), "a.pcap", &frames(1..101));
    let bytes = std::fs::read(&whole).unwrap();
    let cut = scratch.path().join("cut.pcap").display().to_string();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let (report, code) = analyze(&[&cut]);
    assert_eq!((code, report["validity"]["verdict"].as_str()), (0, Some("partial")));
    assert!(reasons(&report).contains("1 capture file: cut off in the middle of a record, or"), "{}", reasons(&report));

    let timeless: Vec<Frame> = frames(1..101).into_iter().map(|frame| Frame { time_ns: 0, ..frame }).collect();
    let (report, code) = analyze(&[&write(scratch.path(), "timeless.pcap", &timeless)]);
    assert_eq!((code, report["validity"]["verdict"].as_str()), (NO_VERDICT, Some("invalid")));
    assert!(
        reasons(&report).contains("Times cannot be measured: all 203 packets have the same timestamp, 1970-01-01"),
        "{}",
        reasons(&report)
    );
}

#[test]
fn files_of_a_ring_are_read_in_order_and_none_twice() {
    let scratch = Scratch::new("captures-ring");
    let all = frames(1..101);
    let first = write(scratch.path(), "1.pcap", &all[..100]);
    let second = write(scratch.path(), "2.pcap", &all[100..]);
    let warnings = |report: &Value| report["warnings"].to_string();
    let (ordered, _) = analyze(&[&first, &second]);
    let (swapped, code) = analyze(&[&second, &first]);
    assert_eq!((code, &swapped["operations"]), (0, &ordered["operations"]));
    assert_eq!(swapped["slowest"], ordered["slowest"]);
    assert!(
        warnings(&swapped)
            .contains("2 capture files: read in the order of their first timestamps, not in the given order.")
    );
    assert!(!warnings(&ordered).contains("sorted by the first"));

    let link = scratch.path().join("link.pcap");
    std::os::unix::fs::symlink(&first, &link).unwrap();
    let refused = output_of(&["analyze", &first, &link.display().to_string()]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("same file as") && error.contains("name the file only once"), "{error}");

    let copy = scratch.path().join("copy.pcap").display().to_string();
    std::fs::copy(&first, &copy).unwrap();
    let (report, _) = analyze(&[&first, &copy]);
    assert!(
        warnings(&report).contains("1 capture file: given twice (the first packets are equal)."),
        "{}",
        warnings(&report)
    );
}

/// How often an anomaly happened.
fn count_of(report: &Value, kind: &str) -> u64 {
    let one = report["anomalies"].as_array().unwrap().iter().find(|one| one["kind"] == kind);
    one.map_or(0, |one| one["count"].as_u64().unwrap())
}

/// Ten years, in nanoseconds.
const TEN_YEARS_NS: i64 = 3_652 * 86_400 * 1_000_000_000;

#[test]
fn one_damaged_time_stamp_makes_no_capture_of_ten_years() {
    let scratch = Scratch::new("captures-outlier");
    let sound = frames(1..101);
    let whole = write(scratch.path(), "sound.pcap", &sound);
    let (expected, _) = analyze(&[&whole]);
    // The first frame is a SYN; 99 and 100, counted from 0, are a request and its response, and the last is a response.
    for (at, lost) in [(0, 0), (99, 1), (100, 1), (sound.len() - 1, 1)] {
        let damages: [fn(i64) -> i64; 2] = [|time| time + TEN_YEARS_NS, |_| 0];
        for damage in damages {
            let mut damaged = sound.clone();
            damaged[at].time_ns = damage(damaged[at].time_ns);
            let capture = write(scratch.path(), "damaged.pcap", &damaged);
            let (report, code) = analyze(&[&capture]);
            assert_eq!((code, report["validity"]["verdict"].as_str()), (0, Some("partial")), "frame {at}");
            let reason = "1 packet: left out because the timestamp is more than a day away from those of the packets before and after.";
            assert!(reasons(&report).contains(reason), "{}", reasons(&report));
            assert_eq!(count_of(&report, "time_outlier"), 1);
            assert!(report["span"]["elapsed_s"].as_f64().unwrap() < 1.0, "{}", report["span"]);
            let answered = |report: &Value| report["operations"][0]["answered"].as_u64().unwrap();
            assert!(answered(&report) >= answered(&expected) - lost, "frame {at}");
            let most = |report: &Value| report["operations"][0]["response_time"]["max_s"].as_f64().unwrap();
            assert!(most(&report) <= most(&expected), "frame {at}");

            // A time since the start counts from the first packet that is believed.
            let (all, _) = analyze(&[&capture, "--from", "0s", "--to", "1m"]);
            assert_eq!(answered(&all), answered(&report), "frame {at}");
            let (_, code) = analyze(&[&capture, "--from", "1m"]);
            assert_eq!(code, NO_VERDICT, "frame {at}");
        }
    }
}

#[test]
fn a_jump_of_the_time_stamps_is_said_and_makes_no_response_time() {
    let scratch = Scratch::new("captures-jump");
    let mut frames = frames(1..101);
    // The clock is set between a request and its response.
    let (before, behind) = frames.split_at_mut(100);
    let request = before.iter().rposition(|frame| frame.bytes.len() > 100).unwrap();
    assert!(request >= 96 && !behind.is_empty());
    behind.iter_mut().for_each(|frame| frame.time_ns += TEN_YEARS_NS);
    let (report, code) = analyze(&[&write(scratch.path(), "jump.pcap", &frames)]);
    assert_eq!(code, 0);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("1 timestamp jump: by more than a day."), "{warnings}");
    assert_eq!((count_of(&report, "time_jump"), count_of(&report, "response_behind_jump")), (1, 1));
    assert_eq!(report["operations"][0]["answered"], 100);
    assert!(report["operations"][0]["response_time"]["max_s"].as_f64().unwrap() < 1.0, "{}", report["operations"][0]);
}

#[test]
fn an_answer_whose_status_was_cut_off_has_not_succeeded() {
    let scratch = Scratch::new("captures-status");
    let mut frames = frames(1..101);
    // Behind the handshake come requests and responses in turn; the status is the last word of a response.
    frames.iter_mut().skip(4).step_by(2).take(30).for_each(|frame| frame.bytes.truncate(frame.bytes.len() - 4));
    let capture = write(scratch.path(), "cut.pcap", &frames);
    let table = scratch.path().join("table.csv").display().to_string();
    let (report, _) = analyze(&[&capture, "--transactions", &table]);
    let row = &report["operations"][0];
    assert_eq!((&row["answered"], &row["status_unknown"], &row["errors"]), (&100.into(), &30.into(), &0.into()));
    assert_eq!(report["groups"][0]["status_unknown"], 30);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("The status of 30 responses is not known"), "{warnings}");
    let table = std::fs::read_to_string(table).unwrap();
    assert_eq!((table.matches(",unknown,").count(), table.matches(",succeeded,").count()), (30, 70), "{table}");
}

//! Filters and `--by`: a row of a breakdown equals a report that is filtered to its key.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name).join("capture.pcap.zst")
}

fn analyze(name: &str, arguments: &[&str]) -> Value {
    report(&capture(name), arguments)
}

fn report(file: &Path, arguments: &[&str]) -> Value {
    let output = output(
        Command::new(env!("CARGO_BIN_EXE_plimsoll")).arg("analyze").arg(file).args(["--json", "-"]).args(arguments),
    );
    let report = crate::only_side(&output.stdout);
    assert!(!report.is_null(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    report
}

/// Requests, errors and nanoseconds waited, over all rows that are no part of another.
fn sums(rows: &Value) -> (u64, u64, u64) {
    let rows: Vec<&Value> = rows.as_array().unwrap().iter().filter(|row| row["parent"].is_null()).collect();
    let sum = |name: &str| rows.iter().map(|row| row[name].as_u64().unwrap()).sum();
    let waited: f64 = rows.iter().map(|row| row["waited_s"].as_f64().unwrap()).sum();
    (sum("count"), sum("errors"), (waited * 1e9).round() as u64)
}

/// A key as the value of its flag.
fn value(dimension: &str, key: &str) -> String {
    match dimension {
        // Of a path the breakdown names the share, too.
        "path" => format!("/{}", key.rsplit_once(": ").unwrap().1.replace('\\', "/").trim_start_matches('/')),
        _ => key.to_owned(),
    }
}

#[test]
fn a_row_is_the_report_of_its_key() {
    for (capture, by) in [
        ("smb2-samba", "client,operation"),
        ("smb2-samba", "status"),
        ("smb2-samba", "user,share"),
        ("smb2-samba", "path"),
        ("netbench-samba", "client,operation,status"),
        ("nfs-ganesha", "server,status"),
        ("nfs-ganesha", "share,operation"),
    ] {
        let whole = analyze(capture, &["--by", by]);
        let breakdown = &whole["breakdown"];
        assert_eq!((breakdown["by"].as_str(), breakdown["others"].as_u64()), (Some(by), Some(0)));
        let rows = breakdown["rows"].as_array().unwrap();
        assert_eq!(sums(&breakdown["rows"]), sums(&whole["operations"]), "{capture} by {by}: nothing is lost");
        let waited: Vec<f64> = rows.iter().map(|row| row["waited_s"].as_f64().unwrap()).collect();
        assert!(waited.is_sorted_by(|a, b| a >= b), "longest waiting first");
        for row in rows.iter().filter(|row| row["keys"].as_array().unwrap().iter().all(Value::is_string)).take(5) {
            let mut arguments = Vec::new();
            for (dimension, key) in by.split(',').zip(row["keys"].as_array().unwrap()) {
                arguments.push(format!("--{dimension}={}", value(dimension, key.as_str().unwrap())));
            }
            let filtered = analyze(capture, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
            let one = serde_json::json!([row]);
            assert_eq!(sums(&filtered["operations"]), sums(&one), "{capture} {arguments:?}");
            assert_eq!(filtered["source"]["filters"].as_array().unwrap().len(), arguments.len());
        }
    }
}

/// Bytes per second, times the length of the capture, are the bytes.
#[test]
fn a_row_has_its_data_rate() {
    let whole = analyze("smb2-samba", &["--by", "user"]);
    let elapsed_s = whole["span"]["elapsed_s"].as_f64().unwrap();
    let rows = whole["breakdown"]["rows"].as_array().unwrap();
    let moved = |row: &Value| row["payload_bytes"].as_f64().unwrap();
    for row in rows {
        let rate = row["bytes_per_s"].as_f64().unwrap();
        assert!((rate * elapsed_s - moved(row)).abs() < 1.0, "{rate} B/s for {elapsed_s} s: {row}");
    }
    assert!(rows.iter().map(moved).sum::<f64>() > 9e5, "{rows:?}");
}

#[test]
fn a_row_has_its_series() {
    let whole = analyze("netbench-samba", &["--by", "client"]);
    let breakdown = &whole["breakdown"];
    let bins = breakdown["bins"].as_u64().unwrap();
    assert!((2..=64).contains(&bins));
    for row in breakdown["rows"].as_array().unwrap() {
        let series = &row["series"];
        let all = |name: &str| series[name].as_array().unwrap().clone();
        let ended: u64 = all("operations").iter().map(|count| count.as_u64().unwrap()).sum();
        let waited: f64 = all("waited_s").iter().map(|s| s.as_f64().unwrap()).sum();
        assert_eq!(ended, row["answered"].as_u64().unwrap());
        assert!((waited - row["waited_s"].as_f64().unwrap()).abs() < 1e-9);
        assert!(series["first_bin"].as_u64().unwrap() + all("operations").len() as u64 <= bins);
    }
}

#[test]
fn filters_combine_and_exclude() {
    let count = |arguments: &[&str]| sums(&analyze("netbench-samba", arguments)["operations"]).0;
    let (all, errors, _) = sums(&analyze("netbench-samba", &[])["operations"]);
    let of = |client: &str| count(&["--client", client]);
    let one = of("10.77.0.101");
    assert!(one > 0 && one < all);
    assert_eq!(of("!10.77.0.101"), all - one);
    assert_eq!(count(&["--client", "10.77.0.101", "--client", "10.77.0.102"]), one + of("10.77.0.102"));
    assert_eq!(of("10.77.0.0/24"), all);
    assert_eq!(count(&["--client", "10.77.0.0/24", "--client", "!10.77.0.101"]), all - one);
    let slow = analyze("netbench-samba", &["--slower-than", "100ms"]);
    assert_eq!(sums(&slow["operations"]).0, 8);
    assert_eq!(slow["slowest"].as_array().unwrap().len(), 8);
    assert_eq!(count(&["--slower-than", "100ms", "--status", "SHARING_VIOLATION", "--operation", "remove"]), 8);
    assert_eq!(count(&["--status", "error"]), errors);
    assert_eq!(count(&["--path", "*"]) + count(&["--path", "!*"]), all, "a path that is not known is no path");
}

#[test]
fn values_that_mean_nothing_are_refused() {
    for (flag, value, why) in [
        ("--client", "10.0.0.0/40", "expected an address"),
        ("--status", "NO_SUCH_STATUS", "expected a status name"),
        ("--path", "a[", "unclosed character class"),
        ("--by", "client,client", "1 to 3 different keys"),
        ("--by", "client,colour", "expected one of client, server"),
        ("--slower-than", "soon", "expected"),
    ] {
        let output = output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(["analyze", "x.pcap", flag, value]));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(why), "{flag} {value}: {text}");
    }
}

/// Without what only captures know: names of hosts (`keys` are addresses everywhere), and rates over the time from the first packet. (A
/// table begins with its first request.)
fn comparable(mut report: Value) -> Value {
    for row in report["breakdown"]["rows"].as_array_mut().into_iter().flatten() {
        for only_of_captures in ["key", "bytes_per_s"] {
            assert!(row.as_object_mut().unwrap().remove(only_of_captures).is_some());
        }
    }
    report
}

/// A table and a recording of all transactions answer as the capture itself.
#[test]
fn tables_and_recordings_answer_as_their_capture() {
    for name in ["smb2-samba", "nfs-ganesha"] {
        let scratch = Scratch::new("drill-down-tables");
        let path = |file: &str| scratch.path().join(file);
        let all = ["--record-transactions=all", "-q"];
        let [parquet, csv, folder] = ["ops.parquet", "ops.csv", "R"].map(path);
        analyze(name, &["--transactions", parquet.to_str().unwrap()]);
        analyze(
            name,
            &[&["--transactions", csv.to_str().unwrap(), "--record", folder.to_str().unwrap()], &all[..]].concat(),
        );
        for filters in [
            &["--by", "client,operation,status"][..],
            &["--slower-than", "1ms", "--by", "path", "--operation", "!session"],
            &["--from", "10ms", "--status", "succeeded"],
        ] {
            let of_capture = comparable(analyze(name, filters));
            for input in [&parquet, &csv, &folder] {
                let of_table = comparable(report(input, filters));
                for part in
                    ["operations", "groups", "long_lived", "members", "breakdown", "queue_depth", "series", "heat_maps"]
                {
                    assert_eq!(of_table[part], of_capture[part], "{part} of {} with {filters:?}", input.display());
                }
                // A table alone does not show what the capture lost; its recording does.
                let of_its_capture = of_capture["validity"]["verdict"].as_str();
                let expected = if input == &folder { of_its_capture } else { Some("partial") };
                assert_eq!(of_table["validity"]["verdict"].as_str(), expected, "{}", input.display());
            }
        }
    }
}

#[test]
fn comparisons_filter_tables_as_they_filter_captures() {
    let scratch = Scratch::new("drill-down-compare");
    let table = scratch.path().join("ops.parquet");
    analyze("smb2-samba", &["--transactions", table.to_str().unwrap()]);
    let compared = |a: &Path| {
        let b = capture("netbench-samba");
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let output = output(command.arg("compare").arg(a).arg(b).args(["--json", "-", "--operation", "open"]));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = report["comparison"]["levels"][0]["rows"].as_array().unwrap().clone();
        // Without the throughput: a table begins with its first request, a capture with its first packet.
        rows.iter().map(|row| row["metrics"].as_array().unwrap()[1..].to_vec()).collect::<Vec<_>>()
    };
    let (of_table, of_capture) = (compared(&table), compared(&capture("smb2-samba")));
    assert!(of_capture.iter().flatten().count() > 5);
    assert_eq!(of_table, of_capture);
}

#[test]
fn a_recording_without_all_transactions_is_refused() {
    let scratch = Scratch::new("drill-down-sample");
    let folder = scratch.path().join("R");
    analyze("smb2-samba", &["--record", folder.to_str().unwrap()]);
    let output = output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).arg("analyze").arg(&folder));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("record again with --record-transactions all"), "{text}");
}

#[test]
fn hosts_have_names() {
    let scratch = Scratch::new("drill-down-hosts");
    let hosts = scratch.path().join("hosts");
    std::fs::write(
        &hosts,
        "10.77.0.101 alice alice.example # her laptop\n10.77.0.102 bob\u{1b}[2J\n10.77.0.103 ALICE\n",
    )
    .unwrap();
    let hosts = format!("--hosts={}", hosts.display());
    let named = analyze("netbench-samba", &[&hosts, "--by", "client,operation", "--operation", "remove"]);
    let rows = named["breakdown"]["rows"].as_array().unwrap();
    // VM is the client's own name in its logon.
    let key = |ip: &str| rows.iter().find(|row| row["keys"][0] == ip).unwrap()["key"].as_str().unwrap().to_owned();
    assert_eq!(
        (key("10.77.0.101"), key("10.77.0.104")),
        ("10.77.0.101 (alice), remove".into(), "10.77.0.104 (VM), remove".into())
    );
    let count = |arguments: &[&str]| sums(&analyze("netbench-samba", arguments)["operations"]).0;
    let both = count(&["--client", "10.77.0.101", "--client", "10.77.0.103"]);
    assert_eq!(count(&[&hosts, "--client", "Alice"]), both, "two addresses claim the name, and both are meant");
    assert_eq!(count(&[&hosts, "--client", "alice.example"]), count(&["--client", "10.77.0.101"]));
    let plain =
        |arguments: &[&str]| output(crate::plimsoll().arg("analyze").arg(capture("netbench-samba")).args(arguments));
    let text = String::from_utf8(plain(&[&hosts, "--by", "client"]).stdout).unwrap();
    assert!(text.contains(r"10.77.0.102 (bob\u{1b}[2J)") && !text.contains('\u{1b}'), "{text}");
    let unknown = plain(&["--client", "carol"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("--client carol: unknown host name"));
}

/// A requested table is on the first screen.
#[test]
fn the_first_screen_has_the_table_of_by() {
    for by in ["client", "client,operation", "path,operation,status"] {
        let output = output(crate::plimsoll().arg("analyze").arg(capture("netbench-samba")).args(["--by", by]));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(&format!("\nBy {by}, longest waiting first")), "{text}");
        assert!(text.lines().count() <= 40, "{text}");
    }
}

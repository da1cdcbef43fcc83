//! `plimsoll analyze`: usage and results.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};

use plimsoll_testkit::command::{output, output_fed};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};
use serde_json::Value;

/// A name that would colour a terminal, close a script and turn text round.
const NASTY: &str = "\u{1b}[31m</script><b>\u{202e}x";

/// Two clients of one NFS server: 50 GETATTRs, and an unanswered LOOKUP of a hostile name.
fn capture() -> Vec<u8> {
    let server: SocketAddr = "192.0.2.1:2049".parse().unwrap();
    let mut traffic = Traffic::new(Link::Ethernet);
    for client in ["192.0.2.7:801", "192.0.2.8:802"] {
        let mut tcp = Tcp::new(client.parse().unwrap(), server);
        traffic.all(&tcp.handshake());
        for xid in 1..=25u32 {
            traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
            traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
        }
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::lookup(99, b"root", NASTY)));
    }
    traffic.pcap()
}

fn analyze(arguments: &[&str], input: Option<&[u8]>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("analyze").args(arguments);
    match input {
        Some(input) => output_fed(&mut command, input.to_vec()),
        None => output(&mut command),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    crate::only_side(&output.stdout)
}

fn count(report: &Value, procedure: &str) -> u64 {
    let rows = report["operations"].as_array().unwrap();
    rows.iter().find(|row| row["procedure"] == procedure).map_or(0, |row| row["count"].as_u64().unwrap())
}

#[test]
fn a_capture_becomes_a_report() {
    let folder = Scratch::new("report");
    let path = folder.file("a.pcap", capture());
    let output = analyze(&[text(&path), "--full"], None);
    assert_eq!(output.status.code(), Some(0));
    let report = String::from_utf8(output.stdout).unwrap();
    for expected in ["GETATTR", "LOOKUP", "Packets:", "Elapsed time", "Queue depth", "frame.number =="] {
        assert!(report.contains(expected), "{expected} is missing from\n{report}");
    }
    assert!(!report.contains('\u{1b}') && !report.contains('\u{202e}'), "names must not act in a terminal");
    assert!(report.contains("\\u{1b}[31m"), "the name is shown, made safe");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "", "nobody watches: no progress bar");
}

#[test]
fn standard_input_in_and_json_out() {
    let output = analyze(&["-", "--json", "-"], Some(&capture()));
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&whole["schema"], &whole["sides"][0]["letter"]), (&"plimsoll.report/2".into(), &"A".into()));
    crate::held_to_schema(&whole);
    let report = json(&output);
    assert_eq!((count(&report, "GETATTR"), count(&report, "LOOKUP")), (50, 2));
    assert_eq!(report["unanswered"].as_array().unwrap().len(), 2);
}

#[test]
fn files_in_order_are_one_capture() {
    let folder = Scratch::new("ring");
    let bytes = capture();
    let (a, b) = (folder.file("a.pcap", &bytes), folder.file("b.pcap", &bytes));
    let report = json(&analyze(&[text(&a), text(&b), "--json", "-"], None));
    assert_eq!(report["packets"]["total"].as_u64().unwrap() % 2, 0);
    assert_eq!(report["source"]["inputs"].as_array().unwrap().len(), 2);
}

#[test]
fn filters_and_breakdowns() {
    let folder = Scratch::new("filters");
    let path = folder.file("a.pcap", capture());
    let run = |flags: &[&str]| json(&analyze(&[&[text(&path), "--json", "-"], flags].concat(), None));
    let lookups = run(&["--operation", "lookup"]);
    assert_eq!((count(&lookups, "GETATTR"), count(&lookups, "LOOKUP")), (0, 2));
    assert_eq!(lookups["source"]["filters"][0], "--operation lookup");
    let elsewhere = analyze(&[text(&path), "--server", "192.0.2.99", "--quiet"], None);
    assert_eq!(elsewhere.status.code(), Some(4), "nothing measured is not valid");
    let by_client = run(&["--by", "client"]);
    assert_eq!(by_client["breakdown"]["rows"].as_array().unwrap().len(), 2);
    let early = run(&["--from", "0", "--to", "1ms"]);
    assert_eq!(count(&early, "GETATTR"), 4, "a request every 200 µs, the handshake before them");
    assert!((early["span"]["elapsed_s"].as_f64().unwrap() - 1e-3).abs() < 1e-9, "rates are of what is left");
}

#[test]
fn tables_and_pages_are_written() {
    let folder = Scratch::new("files");
    let path = folder.file("a.pcap", capture());
    let (csv, html) = (folder.path().join("t.csv"), folder.path().join("p.html"));
    let output = analyze(&[text(&path), "-q", "--transactions", text(&csv), "--html", text(&html)], None);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    let rows = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(rows.lines().count(), 1 + 52);
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("GETATTR") && !page.contains("<b>\u{202e}"));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Scratch::new("errors");
    let code = |arguments: &[&str]| {
        let output = analyze(arguments, None);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, message) = code(&["/nonexistent.pcap"]);
    assert_eq!(status, Some(3));
    assert!(message.contains("/nonexistent.pcap"));
    let garbage = folder.file("garbage.bin", [0x42_u8; 4096]);
    let (status, message) = code(&[text(&garbage)]);
    assert_eq!(status, Some(3));
    assert!(message.contains("editcap"), "the way out is named: {message}");
    let path = folder.file("a.pcap", capture());
    assert_eq!(code(&[text(&path), "--by", "colour"]).0, Some(2));
    assert_eq!(code(&[text(&path), "--html", "/nonexistent/p.html"]).0, Some(3));
    assert_eq!(code(&[text(&path), "--transactions", "t.xlsx"]).0, Some(2));
    assert_eq!(code(&[]).0, Some(2));
    let cut = folder.file("cut.pcap", &capture()[..2_000]);
    let (status, _) = code(&[text(&cut), "-q"]);
    assert_eq!(status, Some(0), "a file that ends in the middle of a record is used up to there");
}

//! LADDIS: its mix on the wire, and levels that end where the server is too slow.

use std::collections::BTreeMap;

use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use serde_json::Value;

use crate::{available, ganesha, instant, output_of, plimsoll, report_of};

/// LADDIS's table, %.
const TABLE: [(&str, f64); 10] = [
    ("LOOKUP", 34.0),
    ("READ", 22.0),
    ("WRITE", 15.0),
    ("GETATTR", 13.0),
    ("READLINK", 8.0),
    ("READDIR", 3.0),
    ("CREATE", 2.0),
    ("SETATTR", 1.0),
    ("REMOVE", 1.0),
    ("FSSTAT", 1.0),
];

/// Enough calls for shares within a point: each client deals its mix in rounds of a hundred, and the last one is a part.
const ENOUGH: f64 = 2_000.0;

/// Runs the mix for this time, and counts the requests of the measured phase in a tap.
fn calls_of_a_run(target: &str, tap: &str, duration: &str) -> BTreeMap<String, f64> {
    let load = ["--rate", "600", "--warmup", "2s", "--duration", duration, "--json", "-", "-q", "--tap", tap];
    let ran = report_of(plimsoll().args([&["run", "laddis", "--target", target][..], &load].concat()));
    let level = &ran["levels"][0];
    let excused = ganesha::lists_of_what_went(level);
    let failed: u64 = level["failures"].as_array().unwrap().iter().map(|cause| cause["count"].as_u64().unwrap()).sum();
    // Of such a listing the operation, or operation and request, may have begun before the measured phase.
    let most = excused + ganesha::lists_outside(level);
    assert!(level["errors"] == excused && failed <= most, "{level:#}");
    let [from, to] = ["first_ns", "last_ns"].map(|end| instant(&level["span"][end]));
    let wire = report_of(plimsoll().args(["analyze", tap, "--from", &from, "--to", &to, "--json", "-", "-q"]));
    let rows = wire["operations"].as_array().unwrap().iter();
    rows.map(|row| (row["procedure"].as_str().unwrap().to_owned(), row["count"].as_f64().unwrap())).collect()
}

/// Every call of the table is within a point of its share of the requests, and there is no other call.
#[test]
fn the_mix_on_the_wire_is_that_of_the_table() {
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let (scratch, target) = (Scratch::new("laddis"), ganesha.target(Export::Data));
    let tap = scratch.path().join("tap.pcapng");
    let run = |duration| calls_of_a_run(&target, tap.to_str().unwrap(), duration);
    // 5 s are enough, unless the server is too slow for all that is due.
    let runs = ["5s", "20s", "80s"].into_iter().map(run);
    let counted = runs.map(|counts| (counts.values().sum::<f64>(), counts)).find(|(all, _)| *all > ENOUGH);
    let Some((all, counts)) = counted else { panic!("not {ENOUGH} calls in 80 s at 600 iterations per second") };
    for (procedure, share) in TABLE {
        let seen = 100.0 * counts.get(procedure).copied().unwrap_or(0.0) / all;
        assert!((seen - share).abs() <= 1.0, "{procedure}: {seen:.2} %, in the table {share} %: {counts:?}");
    }
    assert_eq!(counts.len(), TABLE.len(), "{counts:?}");
}

/// Its durable writes, too: the SMB server refuses those that are not unbuffered.
#[test]
fn every_operation_succeeds_on_the_embedded_servers() {
    for target in ["embedded:smb", "embedded:nfs"] {
        // One client looks up 120 names before its first iteration; eight did not come to their writes on a machine with other work.
        let load = ["--clients", "1", "--rate", "100", "--warmup", "0s", "--duration", "4s", "--json", "-", "-q"];
        let ran = report_of(plimsoll().args([&["run", "laddis", "--target", target][..], &load].concat()));
        let level = &ran["levels"][0];
        assert_eq!((&level["errors"], &level["failures"]), (&0.into(), &serde_json::json!([])), "{target}: {level:#}");
        let operations = ran["operations"].as_array().unwrap();
        assert!(operations.iter().any(|row| row["procedure"] == "WRITE"), "{target}: {operations:?}");
    }
}

#[test]
fn levels_end_where_the_server_is_too_slow() {
    let levels = |more: &[&str]| {
        let load = ["--levels", "1,2,3", "--warmup", "0s", "--duration", "200ms", "--json", "-", "-q"];
        report_of(plimsoll().args([&["run", "getattr", "--target", "embedded:nfs"][..], &load, more].concat()))
    };
    let count = |report: &Value| report["levels"].as_array().map(Vec::len);
    let said = |report: &Value| report["run"]["facts"].to_string();
    let slow = levels(&["--stop-above", "1ns"]);
    assert_eq!(count(&slow), Some(1));
    assert!(said(&slow).contains("no further levels after 1 client: the mean response time"), "{}", said(&slow));
    let quick = levels(&["--stop-above", "1h"]);
    assert_eq!(count(&quick), Some(3));
    assert!(!said(&quick).contains("no further levels"));
    let each = levels(&["--stop-above", "1ns", "--repeat", "2"]);
    assert_eq!(count(&each), Some(2), "every repeat begins anew");
    assert!(said(&each).contains("no further levels of repeat 2 after 1 client"), "{}", said(&each));
    let code = output_of(&["run", "getattr", "--target", "embedded:nfs", "--stop-above", "1ms"]).status.code();
    assert_eq!(code, Some(2), "there are no levels to stop");
}

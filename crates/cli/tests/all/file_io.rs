//! How files are read and written: against workloads whose truth is known, from the run, its table and its capture alike.

use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::{alone, report_of};

fn plimsoll(arguments: &[&str]) -> Value {
    report_of(crate::plimsoll().args(arguments))
}

/// `io` of a run, of its table and of its capture; and the run's requests of this operation.
fn drive(workload: &str, target: &str, folder: &Path) -> ([Value; 3], u64) {
    let of = |ending: &str| folder.join(format!("{workload}-{}.{ending}", &target[9..])).to_str().unwrap().to_owned();
    let [capture, table] = ["pcapng", "csv"].map(of);
    let mut fixed =
        vec!["run", workload, "--target", target, "--clients", "2", "--warmup", "0s", "--duration", "200ms"];
    fixed.extend(["--tap", &capture, "--transactions", &table, "--json", "-", "-q"]);
    let run = plimsoll(&fixed);
    let [of_table, of_capture] = [&table, &capture].map(|file| plimsoll(&["analyze", file, "--json", "-", "-q"]));
    let reads = run["groups"].as_array().unwrap().iter().find(|row| row["group"] == "Read");
    let reads = reads.unwrap()["count"].as_u64().unwrap();
    ([run, of_table, of_capture].map(|mut report| report["io"].take()), reads)
}

fn number(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("{of}"))
}

#[test]
fn reads_at_random_and_in_order_are_told_apart_and_counted_exactly() {
    let _alone = alone();
    let scratch = Scratch::new("file-io");
    for target in ["embedded:smb", "embedded:nfs"] {
        // docs/streaming-and-iops.md: 8 KiB at random places; 1 MiB in order.
        let ([run, table, capture], reads) = drive("random-read", target, scratch.path());
        assert_eq!(table, capture, "{target}: the table and the capture of one run");
        let sizes = run["reads"]["sizes"].as_array().unwrap();
        assert_eq!((sizes.len(), number(&sizes[0]["from"])), (1, 8192), "{target}: {sizes:?}");
        assert_eq!((number(&run["reads"]["requests"]), number(&run["reads"]["bytes"])), (reads, reads * 8192));
        let [first, sequential, strided, random] =
            ["first", "sequential", "strided", "random"].map(|order| number(&run["reads"][order]));
        assert_eq!(first + sequential + strided + random, reads);
        assert!(random * 100 >= (reads - first) * 90, "{target}: {random} of {reads}, {sequential} {strided}");

        let ([run, table, capture], reads) = drive("stream-read", target, scratch.path());
        assert_eq!(table, capture, "{target}: the table and the capture of one run");
        assert_eq!(number(&run["reads"]["requests"]), reads);
        let (first, sequential) = (number(&run["reads"]["first"]), number(&run["reads"]["sequential"]));
        assert!(sequential * 100 >= (reads - first) * 90, "{target}: {sequential} of {reads}, {}", run["reads"]);
    }
}

#[test]
fn the_section_says_the_same_as_the_json() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/netbench-samba/capture.pcap.zst");
    let io = plimsoll(&["analyze", capture, "--json", "-", "-q"])["io"].take();
    let (reads, writes) = (number(&io["reads"]["requests"]), number(&io["writes"]["requests"]));
    assert!(reads > 0 && writes > 0 && number(&io["unknown"]) == 0, "{io:#}");
    let printed = output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(["analyze", capture, "--section", "io"]));
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let row = |name: &str| printed.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{printed}"));
    assert!(row("Reads  ").contains(&reads.to_string()) && row("Writes  ").contains(&writes.to_string()), "{printed}");
    assert!(printed.contains("Working set: "), "{printed}");
    // Without being asked for it is not added up.
    let plain = output(Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(["analyze", capture]));
    assert!(!String::from_utf8_lossy(&plain.stdout).contains("Working set"));
}

//! A week of recordings with many transactions: engines give the same answers to the queries of docs/queries.md.
//!
//! With `PLIMSOLL_EXACT=1`: 100 million transactions and all queries, also in Spark if it is installed, with time and memory. Otherwise
//! some ten thousand transactions and two queries. The rows come from captures in `captures/`, copied to days, servers and clients.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use plimsoll_testkit::command::{Running, output_within};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::workspace;

use crate::queries::QUERIES;
use crate::recorded_sql::{can_import, python};
use crate::replicated::{Capture, DAY_S};

/// Captures with their snap length and their part of all transactions. NetBench's have most packets per operation.
const CAPTURES: [(&str, u32, f64); 3] =
    [("netbench-samba", 200, 0.1), ("smb2-samba", 512, 0.5), ("nfs-ganesha", 512, 0.4)];
const TRANSACTIONS: f64 = 100e6;
const DAYS: u64 = 7;
/// 2026-11-16, a Monday.
const FIRST_DAY_S: u64 = 1_794_787_200;
/// No engine may take longer.
const LIMIT: Duration = Duration::from_secs(3_600);
/// Runs `ask.py`, and says what it took at most.
const ASK: &str = "
import resource, runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
";

fn is_exact() -> bool {
    std::env::var_os("PLIMSOLL_EXACT").is_some()
}

/// Analyses a stream of packets to a recording.
fn record(recording: &Path, write: impl FnOnce(std::process::ChildStdin)) {
    let mut plimsoll = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    plimsoll.args(["analyze", "-", "-q", "--record-transactions", "all", "--record"]).arg(recording);
    let (running, input) = Running::start_fed(&mut plimsoll).unwrap();
    write(input);
    let output = running.end_within(LIMIT);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What Python says of all rows of recordings.
fn rows(folder: &Path, what: &str) -> u64 {
    let script = "
import duckdb, sys
print(duckdb.sql(f\"select {sys.argv[2]} from read_parquet('{sys.argv[1]}/*/level-*/transactions-*.parquet', union_by_name = true)\").fetchall()[0][0])
";
    let output = output_within(python().args(["-c", script]).arg(folder).arg(what), LIMIT);
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// The recordings of a week; how many transactions they must have.
fn recordings(scratch: &Path) -> u64 {
    let (all, days) = if is_exact() { (TRANSACTIONS, DAYS) } else { (0.0, 2) };
    let mut expected = 0;
    for (name, cut, share) in CAPTURES {
        let capture = workspace().join("captures").join(name).join("capture.pcap.zst");
        let capture = Capture::read(&capture, cut, scratch);
        let once = scratch.join("once").join(name);
        record(&once.join("R"), |mut input| capture.write_day(FIRST_DAY_S, 1, &mut input));
        let of_one = rows(&once, "count(*)");
        let copies = ((all * share / DAYS as f64 / of_one as f64).ceil() as u64).max(2);
        for day in 0..days {
            let folder = scratch.join("week").join(format!("{name}-{day}"));
            let write = |input| capture.write_day(FIRST_DAY_S + day * DAY_S, copies, &mut BufWriter::new(input));
            record(&folder, write);
            expected += copies * of_one;
        }
    }
    expected
}

/// The answer of an engine, with what it took.
fn ask(engine: &str, query: &str, folder: &Path) -> (String, String) {
    let (queries, begun) = (workspace().join("queries"), Instant::now());
    let mut command = python();
    command
        .args(["-c", ASK])
        .arg(queries.join("ask.py"))
        .arg(engine)
        .arg(queries.join(format!("{query}.sql")))
        .arg(folder);
    let output = output_within(command.current_dir(folder), LIMIT);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine} {query}: {said}");
    let kib: f64 = said.lines().last().unwrap().parse().unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    (String::from_utf8(output.stdout).unwrap(), format!("{engine} {seconds:.1} s, {:.0} MiB", kib / 1024.0))
}

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path: PathBuf| if path.is_dir() { bytes(&path) } else { path.metadata().unwrap().len() }).sum()
}

#[test]
fn engines_agree_on_many_transactions() {
    if !can_import("duckdb, datafusion, pyarrow") {
        return;
    }
    let scratch = Scratch::new("queries-of-many");
    let (week, begun) = (scratch.path().join("week"), Instant::now());
    let expected = recordings(scratch.path());
    let (seconds, gib) = (begun.elapsed().as_secs_f64(), bytes(&week) as f64 / f64::from(1 << 30));
    let found = rows(&week, "count(*)");
    println!("many: {found} transactions, analysed and recorded in {seconds:.0} s, {gib:.2} GiB");
    assert_eq!(found, expected, "copies have the transactions of the capture");
    assert!(found > if is_exact() { 99_999_999 } else { 40_000 }, "{found}");
    let queries: &[&str] =
        if is_exact() { &QUERIES } else { &["percentiles-by-hour", "response-time-by-client-and-hour"] };
    let mut engines = vec!["duckdb", "datafusion"];
    if is_exact() && can_import("pyspark") {
        engines.push("spark");
    }
    for query in queries {
        let answers: Vec<(String, String)> = engines.iter().map(|engine| ask(engine, query, &week)).collect();
        let costs: Vec<&str> = answers.iter().map(|(_, cost)| cost.as_str()).collect();
        let lines = answers[0].0.lines().count();
        println!("many: {query}, {lines} lines: {}", costs.join("; "));
        assert!(lines > 3, "{query}: {lines} lines");
        let differs = |other: &&(String, String)| other.0 != answers[0].0;
        assert!(!answers.iter().any(|other| differs(&other)), "{query}: answers differ");
    }
}

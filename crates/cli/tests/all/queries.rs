//! The queries of docs/queries.md give the same answers in DuckDB and DataFusion, and the numbers of the reports.

use std::path::Path;
use std::process::{Command, Output};

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::workspace;
use serde_json::Value;

use crate::recorded_sql::{can_import, python};

const ENGINES: [&str; 2] = ["duckdb", "datafusion"];
pub(crate) const QUERIES: [&str; 6] = [
    "errors-by-day",
    "mix-by-day",
    "percentiles-by-hour",
    "response-time-by-client-and-hour",
    "slowest-files",
    "two-weeks",
];
/// A week in seconds.
const WEEK_S: &str = "604800";

fn record(capture: &Path, recording: &Path) -> Value {
    record_some(capture, recording, "all")
}

/// `rows`: which transactions have a row.
fn record_some(capture: &Path, recording: &Path, rows: &str) -> Value {
    let mut plimsoll = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    plimsoll.arg("analyze").arg(capture).args(["-q", "--json", "-", "--by", "client", "--record-transactions", rows]);
    let output = output(plimsoll.arg("--record").arg(recording));
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&output.stderr));
    crate::only_side(&output.stdout)
}

/// Two weeks of recordings: NetBench in both, NFS in the first. The report of the first week's NetBench capture.
fn recordings(folder: &Path) -> Value {
    let captures = workspace().join("captures");
    let [netbench, nfs] = ["netbench-samba", "nfs-ganesha"].map(|name| captures.join(name).join("capture.pcap.zst"));
    let later = folder.join("later.pcap");
    let mut shift = Command::new("editcap");
    assert!(output(shift.args(["-t", WEEK_S]).arg(&netbench).arg(&later)).status.success());
    record(&nfs, &folder.join("R/nfs"));
    record(&later, &folder.join("R/later"));
    record(&netbench, &folder.join("R/netbench"))
}

fn asked(engine: &str, query: &str, folder: &Path) -> Output {
    let queries = workspace().join("queries");
    let mut command = python();
    command.arg(queries.join("ask.py")).arg(engine).arg(queries.join(format!("{query}.sql"))).arg(folder.join("R"));
    output(&mut command)
}

fn ask(engine: &str, query: &str, folder: &Path) -> Vec<Vec<String>> {
    let output = asked(engine, query, folder);
    assert!(output.status.success(), "{engine} {query}: {}", String::from_utf8_lossy(&output.stderr));
    let answer = String::from_utf8(output.stdout).unwrap();
    answer.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn engines_agree_with_each_other_and_with_the_report() {
    if !can_import("duckdb, datafusion, pyarrow") {
        return;
    }
    let scratch = Scratch::new("queries");
    let report = recordings(scratch.path());
    let answers = QUERIES.map(|query| {
        let [answer, other] = ENGINES.map(|engine| ask(engine, query, scratch.path()));
        assert!(answer.len() > 3 && answer == other, "{query}:\n{answer:?}\n{other:?}");
        answer
    });
    // DELETE is the only remove of SMB1.
    let rows = report["operations"].as_array().unwrap();
    let delete = rows.iter().find(|row| row["procedure"] == "DELETE").unwrap();
    let is_remove = |row: &&Vec<String>| row.contains(&"SMB1".to_owned()) && row.contains(&"remove".to_owned());
    let weeks = answers[5].iter().find(is_remove).unwrap();
    let numbers: Vec<f64> = weeks[2..].iter().map(|number| number.parse().unwrap()).collect();
    let count = delete["count"].as_f64().unwrap();
    assert_eq!(numbers[..2], [count, count], "{weeks:?}");
    for (found, name) in [(numbers[2], "p50_s"), (numbers[4], "p99_s")] {
        let exact = delete["response_time"][name].as_f64().unwrap() * 1e9;
        assert!((found / exact - 1.0).abs() <= 1e-3, "{name}: {found} for {exact}");
    }
    assert_eq!(numbers[2..].iter().step_by(2).collect::<Vec<_>>(), numbers[3..].iter().step_by(2).collect::<Vec<_>>());
    // Four clients, each with an own address.
    let clients = answers[3].iter().filter(|row| row[1].starts_with("10.77.0.10")).count();
    assert!(clients >= 8, "four clients in two weeks: {:?}", answers[3]);
}

/// SMB2 compounds: a client waits for all their members at the same time.
#[test]
fn clients_wait_as_long_as_in_the_report() {
    if !can_import("duckdb") {
        return;
    }
    let scratch = Scratch::new("query-waits");
    let capture = workspace().join("captures/smb2-samba/capture.pcap.zst");
    let report = record(&capture, &scratch.path().join("R/smb2"));
    let answer = ask("duckdb", "response-time-by-client-and-hour", scratch.path());
    let rows = report["breakdown"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let client = row["keys"][0].as_str().unwrap();
        let waited: f64 =
            answer.iter().filter(|line| line[1] == client).map(|line| line[6].parse::<f64>().unwrap()).sum();
        assert_eq!(waited, (row["waited_s"].as_f64().unwrap() * 1e9).round(), "{client}: {answer:?}");
    }
}

/// Samples, copies, and unfinished levels: an answer is of every request, and of each once.
#[test]
fn an_answer_is_of_every_request_once() {
    if !can_import("json") {
        return;
    }
    let scratch = Scratch::new("query-copies");
    let folder = scratch.path();
    let [smb2, nfs] =
        ["smb2-samba", "nfs-ganesha"].map(|name| workspace().join("captures").join(name).join("capture.pcap.zst"));
    record_some(&smb2, &folder.join("R/smb2"), "none");
    let refused = |query: &str| {
        let output = asked("duckdb", query, folder);
        assert!(!output.status.success(), "{query}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        refused("slowest-files").contains("recorded with --record-transactions none"),
        "{}",
        refused("slowest-files")
    );
    record_some(&nfs, &folder.join("sample/R/nfs"), "sample");
    let sampled = String::from_utf8(asked("duckdb", "slowest-files", &folder.join("sample")).stderr).unwrap();
    assert!(sampled.contains("recorded with --record-transactions sample"), "{sampled}");
    if can_import("duckdb") {
        // Other tables need no rows of transactions; a killed program's level does not count.
        let before = ask("duckdb", "mix-by-day", folder);
        let (whole, partial) = (folder.join("R/smb2/level-0000"), folder.join("R/smb2/level-0001.partial"));
        std::fs::create_dir(&partial).unwrap();
        std::fs::copy(whole.join("intervals.parquet"), partial.join("intervals.parquet")).unwrap();
        assert_eq!(ask("duckdb", "mix-by-day", folder), before);
    }
    // The same capture by another name.
    let again = folder.join("again/R");
    std::fs::copy(&smb2, folder.join("copy.pcap.zst")).unwrap();
    record_some(&smb2, &again.join("one"), "none");
    record_some(&folder.join("copy.pcap.zst"), &again.join("other"), "none");
    let twice = String::from_utf8(asked("duckdb", "mix-by-day", &folder.join("again")).stderr).unwrap();
    assert!(twice.contains("would count twice"), "{twice}");
    record_some(&nfs, &folder.join("R/nfs"), "none");
    let mut merge = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    merge.args(["merge", "R/smb2", "R/nfs", "-q", "--record", "R/all"]).current_dir(folder);
    assert!(output(&mut merge).status.success());
    assert!(refused("mix-by-day").contains("would count twice"), "{}", refused("mix-by-day"));
}

/// The page's way to a data set in parts keeps every row.
#[test]
fn a_data_set_in_parts_has_every_row() {
    if !can_import("duckdb") {
        return;
    }
    let scratch = Scratch::new("query-parts");
    recordings(scratch.path());
    let page = std::fs::read_to_string(workspace().join("docs/queries.md")).unwrap();
    let (_, copy) = page.split_once("```sql\n").unwrap();
    let (copy, _) = copy.split_once("```\n").unwrap();
    let script = "
import duckdb, sys
duckdb.sql(sys.argv[1])
rows = lambda files, more: duckdb.sql(f\"select count(*), sum(response_bytes) from read_parquet('{files}'{more})\").fetchall()
print(rows('R/*/level-*/transactions-*.parquet', ', union_by_name = true') == rows('set/**/*.parquet', ''))
days = \"select distinct protocol, day from read_parquet('set/**/*.parquet', hive_partitioning = true) where protocol = 'SMB1'\"
print(len(duckdb.sql(days).fetchall()))
";
    let output = output(python().args(["-c", script, copy]).current_dir(scratch.path()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "True\n2\n", "{}", String::from_utf8_lossy(&output.stderr));
}

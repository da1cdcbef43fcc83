//! The queries of docs/queries.md give the same answers in DuckDB and DataFusion, and the numbers of the reports.

use std::path::{Path, PathBuf};
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
/// Runs `ask.py` for several queries in one process, because the import of an engine takes seconds. A form feed ends each answer.
const ASK_ALL: &str = "
import runpy, sys
ask, engine, folder, *queries = sys.argv[1:]
for query in queries:
    sys.argv = [ask, engine, query, folder]
    runpy.run_path(ask)
    print(end='\\f')
";
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

fn ask_py() -> PathBuf {
    workspace().join("queries/ask.py")
}

fn file(query: &str) -> PathBuf {
    workspace().join(format!("queries/{query}.sql"))
}

fn asked(engine: &str, query: &str, folder: &Path) -> Output {
    output(python().arg(ask_py()).arg(engine).arg(file(query)).arg(folder.join("R")))
}

fn ask(engine: &str, query: &str, folder: &Path) -> Vec<Vec<String>> {
    let output = asked(engine, query, folder);
    assert!(output.status.success(), "{engine} {query}: {}", String::from_utf8_lossy(&output.stderr));
    rows(&String::from_utf8(output.stdout).unwrap())
}

/// An engine's answers to queries in files.
fn ask_all(engine: &str, queries: &[PathBuf], folder: &Path) -> Vec<Vec<Vec<String>>> {
    let mut command = python();
    command.args(["-c", ASK_ALL]).arg(ask_py()).arg(engine).arg(folder.join("R")).args(queries);
    let output = output(&mut command);
    assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = said.split_terminator('\u{c}').map(rows).collect();
    assert_eq!(answers.len(), queries.len(), "{engine}: {said}");
    answers
}

fn rows(answer: &str) -> Vec<Vec<String>> {
    answer.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn engines_agree_with_each_other_and_with_the_report() {
    if !can_import("duckdb, datafusion, pyarrow") {
        return;
    }
    let scratch = Scratch::new("queries");
    let report = recordings(scratch.path());
    let [answers, others] = ENGINES.map(|engine| ask_all(engine, &QUERIES.map(file), scratch.path()));
    for (query, (answer, other)) in QUERIES.iter().zip(answers.iter().zip(&others)) {
        assert!(answer.len() > 3 && answer == other, "{query}:\n{answer:?}\n{other:?}");
    }
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

#[test]
fn names_of_tables_may_have_any_case() {
    if !can_import("duckdb, datafusion, pyarrow") {
        return;
    }
    let scratch = Scratch::new("query-case");
    record(&workspace().join("captures/smb2-samba/capture.pcap.zst"), &scratch.path().join("R/smb2"));
    let queries = ["intervals", "INTERVALS", "Intervals"].map(|table| {
        let query = scratch.path().join(format!("{table}.sql"));
        std::fs::write(&query, format!("SELECT sum(operations) AS operations FROM {table}")).unwrap();
        query
    });
    for engine in ENGINES {
        let answers = ask_all(engine, &queries, scratch.path());
        assert!(answers.iter().all(|answer| answer.len() == 2 && *answer == answers[0]), "{engine}: {answers:?}");
    }
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

/// A run of 300 ms with a row per transaction. The machine may be too busy for a valid run.
fn run(recording: &Path, load: &[&str]) -> Value {
    let mut run = vec!["run", "getattr", "--target", "embedded:nfs", "--clients", "1", "--warmup", "0s", "-q"];
    run.extend(["--duration", "300ms", "--json", "-", "--record-transactions", "all", "--record"]);
    run.push(recording.to_str().unwrap());
    let ran = crate::output_of(&[&run[..], load].concat());
    assert!(matches!(ran.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ran.stderr));
    crate::only_side(&ran.stdout)
}

fn longest(answer: &[Vec<String>]) -> f64 {
    answer[1..].iter().map(|row| row[5].parse::<f64>().unwrap()).fold(0.0, f64::max)
}

/// A run with a schedule: as in the report and in the tables of histograms, times are from the intended start.
#[test]
fn times_of_a_schedule_are_from_the_intended_start() {
    if !can_import("duckdb") {
        return;
    }
    let _alone = crate::alone();
    let scratch = Scratch::new("query-headline");
    let folder = scratch.path();
    let report = run(&folder.join("R/rate"), &["--rate", "40"]);
    let rows = report["operations"].as_array().unwrap().iter();
    let longest_s = rows.filter_map(|row| row["response_time_from_intended"]["max_s"].as_f64()).fold(0.0, f64::max);
    let answer = ask("duckdb", "response-time-by-client-and-hour", folder);
    assert_eq!(longest(&answer), (longest_s * 1e9).round(), "{answer:?}");
    // Times of a closed loop have another start.
    run(&folder.join("R/closed"), &["--think", "10ms"]);
    let both = asked("duckdb", "slowest-files", folder);
    let said = String::from_utf8_lossy(&both.stderr).into_owned();
    assert!(!both.status.success() && said.contains("some levels have a schedule"), "{said}");
    assert!(asked("duckdb", "errors-by-day", folder).status.success(), "numbers of operations have no start");
}

/// In the clock of the capture, each response was captured 1 ms before its request.
#[test]
fn a_response_before_its_request_has_no_time() {
    if !can_import("duckdb") {
        return;
    }
    let scratch = Scratch::new("query-negative");
    record(&workspace().join("captures/nfs-ganesha/capture.pcap.zst"), &scratch.path().join("R/nfs"));
    assert!(ask("duckdb", "response-time-by-client-and-hour", scratch.path()).len() > 1);
    let script = r#"
import duckdb, os, sys
rows = f"select * replace (cast(request_first_ns - to_milliseconds(1) as timestamp_ns) as response_last_ns) from '{sys.argv[1]}'"
duckdb.sql(f"copy ({rows}) to '{sys.argv[1]}.new' (format parquet)")
os.rename(sys.argv[1] + '.new', sys.argv[1])
"#;
    let file = scratch.path().join("R/nfs/level-0000/transactions-0000.parquet");
    let changed = output(python().args(["-c", script]).arg(file));
    assert!(changed.status.success(), "{}", String::from_utf8_lossy(&changed.stderr));
    assert_eq!(ask("duckdb", "response-time-by-client-and-hour", scratch.path()).len(), 1);
}

/// Changes a manifest as if another command had written it.
fn edit(recording: &Path, change: impl Fn(&mut Value)) {
    let path = recording.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    std::fs::write(path, manifest.to_string()).unwrap();
}

/// An answer comes with the verdict on its recordings; a copied folder is refused, even if the manifest names no capture.
#[test]
fn verdicts_are_said_and_copied_folders_refused() {
    if !can_import("duckdb") {
        return;
    }
    let scratch = Scratch::new("query-verdict");
    let (folder, recording) = (scratch.path(), scratch.path().join("R/nfs"));
    record(&workspace().join("captures/nfs-ganesha/capture.pcap.zst"), &recording);
    edit(&recording, |manifest| {
        manifest["validity"] = serde_json::json!({
            "verdict": "invalid", "valid": false, "reasons": ["late\u{1b}[2J", "other"], "invalid_reasons": 1
        });
        manifest["measured"]["captures"] = serde_json::json!([]);
        manifest["measured"]["source"]["filters"] = serde_json::json!(["--from 0s"]);
    });
    let answer = asked("duckdb", "mix-by-day", folder);
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(answer.status.success() && said.contains("nfs: INVALID: late [2J\n"), "{said}");
    assert!(output(Command::new("cp").arg("-r").arg(&recording).arg(folder.join("R/copy"))).status.success());
    let twice = asked("duckdb", "mix-by-day", folder);
    let said = String::from_utf8_lossy(&twice.stderr).into_owned();
    assert!(!twice.status.success() && said.contains("would count twice"), "{said}");
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
    // A manifest may state any number of files. The recording that this one replaces is no further one.
    let few = folder.join("few/R/nfs");
    record_some(&nfs, &few, "all");
    let manifest = std::fs::read_to_string(few.join("manifest.json")).unwrap();
    std::fs::create_dir(few.join("replaced")).unwrap();
    std::fs::write(few.join("replaced/manifest.json"), &manifest).unwrap();
    std::fs::write(few.join("manifest.json"), manifest.replace("\"parts\": 1", "\"parts\": 4294967295")).unwrap();
    let missing = String::from_utf8(asked("duckdb", "slowest-files", &folder.join("few")).stderr).unwrap();
    assert!(missing.contains("expected 4294967295 files transactions-NNNN.parquet, found 1"), "{missing}");
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

//! The questions of docs/recordings.md, asked with DuckDB, have the answers that stand there; pandas reads the tables too.
//!
//! `PLIMSOLL_BLESS=1 cargo test -p plimsoll --test all recorded_sql` writes the answers anew: read what changed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{skip, workspace};

/// `cargo xtask test` names an interpreter that has the modules, where it could make one.
pub(crate) fn python() -> Command {
    Command::new(std::env::var("PLIMSOLL_PYTHON").unwrap_or_else(|_| "python3".to_owned()))
}

/// The modules of Python that tests need.
const MODULES: [&str; 6] = ["datafusion", "duckdb", "json", "pandas", "pyarrow", "pyspark"];

/// Those that are installed. They are not imported, because that takes seconds.
static INSTALLED: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let script = "
import importlib.util, sys
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))
";
    let running = Running::start(python().args(["-c", script]).args(MODULES));
    let said = running.map_or_else(|_| Vec::new(), |running| running.end().stdout);
    String::from_utf8(said).unwrap().split_whitespace().map(str::to_owned).collect()
});

/// Whether Python has these modules; says so where it has not.
pub(crate) fn can_import(modules: &str) -> bool {
    let can = modules.split(", ").all(|name| {
        assert!(MODULES.contains(&name), "{name} is not looked for");
        INSTALLED.contains(name)
    });
    if !can {
        skip(format_args!("needs Python with {modules}"));
    }
    can
}

/// The recording `R` that the questions are asked of.
fn recording(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let mut plimsoll = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    plimsoll.arg("analyze").arg(workspace().join("captures/smb2-samba/capture.pcap.zst"));
    let recorded = plimsoll.args(["-q", "--record", "R", "--record-transactions", "all"]).current_dir(scratch.path());
    assert!(matches!(output(recorded).status.code(), Some(0 | 4)));
    scratch
}

fn answer(folder: &Path, script: &str, argument: &str) -> String {
    let output = output(python().args(["-c", script, argument]).current_dir(folder));
    assert!(output.status.success(), "{argument}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_documented_questions_have_the_documented_answers() {
    if !can_import("duckdb") {
        return;
    }
    let (scratch, file) = (recording("recorded-sql"), workspace().join("docs/recordings.md"));
    let page = std::fs::read_to_string(&file).unwrap();
    let script = "
import duckdb, sys
table = duckdb.sql(sys.argv[1])
print(' | '.join(table.columns))
for row in table.fetchall(): print(' | '.join(map(str, row)))
";
    let (mut answered, mut rest, mut questions) = (String::new(), page.as_str(), 0);
    while let Some((before, from_sql)) = rest.split_once("```sql\n") {
        let (sql, after) = from_sql.split_once("```\n").unwrap();
        let (between, after) = after.split_once("```text\n").unwrap();
        let (_, after) = after.split_once("```\n").unwrap();
        let said = answer(scratch.path(), script, sql);
        answered += &format!("{before}```sql\n{sql}```\n{between}```text\n{said}```\n");
        (rest, questions) = (after, questions + 1);
    }
    answered += rest;
    assert_eq!(questions, 5);
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        std::fs::write(&file, &answered).unwrap();
    }
    assert!(std::fs::read_to_string(&file).unwrap() == answered, "docs/recordings.md should say\n{answered}");
}

#[test]
fn pandas_reads_the_tables() {
    if !can_import("pandas, pyarrow") {
        return;
    }
    let scratch = recording("recorded-pandas");
    let script = "
import pandas
read = lambda name: pandas.read_parquet(f'R/level-0000/{name}.parquet')
intervals, histograms = read('intervals'), read('histograms')
print(intervals['response_count'].sum() == histograms['count'].sum(), intervals['count'].sum() > 800)
print(str(intervals['start_ns'].dtype), len(read('transactions-0000')) > 800)
";
    assert_eq!(answer(scratch.path(), script, ""), "True True\ndatetime64[ns, UTC] True\n");
}

//! Independent readers agree: DuckDB and pandas, if Python has them.

use std::process::{Command, Stdio};

use plimsoll_model::Names;

use super::{samples, write};

/// `cargo xtask test` names an interpreter that has the modules, where it could make one.
fn python() -> String {
    std::env::var("PLIMSOLL_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Whether Python can import the modules; says why not.
fn can_import(modules: &[&str]) -> bool {
    let import = format!("import {}", modules.join(", "));
    let outcome = Command::new(python()).args(["-c", &import]).stdin(Stdio::null()).output();
    let can = outcome.is_ok_and(|output| output.status.success());
    if !can {
        plimsoll_testkit::skip(format_args!("needs Python with {}", modules.join(", ")));
    }
    can
}

fn run(script: &str, path: &std::path::Path) -> String {
    let output = Command::new(python()).args(["-c", script]).arg(path).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn duckdb_reads_the_table() {
    if !can_import(&["duckdb"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut names = Names::default();
    let mut transactions: Vec<_> = samples::NASTY.map(|name| samples::full(&mut names, name)).into();
    transactions.push(samples::bare());
    let query = "
import duckdb, sys
table = sys.argv[1]
one = lambda sql: duckdb.sql(sql.format(table)).fetchall()
print(one(\"select typeof(id), typeof(status), typeof(request_first_ns), typeof(path), typeof(long_lived) from '{}' limit 1\"))
print(one(\"select count(*), count(status), count(response_last_ns), count(path), count(level) from '{}'\"))
print(one(\"select epoch_ns(response_last_ns) - epoch_ns(request_first_ns), id, status, server from '{}' limit 1\"))
print(repr([row[0] for row in one(\"select path from '{}' where path is not null\")]))
";
    let parquet = folder.path().join("t.parquet");
    write(&parquet, &transactions, &names);
    let said = run(query, &parquet);
    let mut lines = said.lines();
    // DuckDB has one type of nanoseconds, and returns it without a zone; its values are UTC.
    let types = lines.next().unwrap();
    assert!(types.starts_with("[('UBIGINT', 'UINTEGER', 'TIMESTAMP"), "{types}");
    assert!(types.ends_with("'VARCHAR', 'BOOLEAN')]"), "{types}");
    assert_eq!(lines.next().unwrap(), "[(13, 12, 12, 12, 12)]");
    assert_eq!(lines.next().unwrap(), "[(4, 18446744073709551614, 3221225524, '[2001:db8::1]:445')]");
    assert!(lines.next().unwrap().contains("Zürich/東京"));
}

#[test]
fn duckdb_reads_the_same_from_csv() {
    if !can_import(&["duckdb"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut names = Names::default();
    let transactions = [samples::full(&mut names, "a,\"b\"\n=c"), samples::bare()];
    write(&folder.path().join("t.parquet"), &transactions, &names);
    write(&folder.path().join("t.csv"), &transactions, &names);
    let query = "
import duckdb, sys
folder = sys.argv[1]
sql = 'select path, id, status, response_bytes, outcome, long_lived, server from {}'
csv = duckdb.sql(sql.format(f\"read_csv('{folder}/t.csv', header=true)\")).fetchall()
parquet = duckdb.sql(sql.format(f\"'{folder}/t.parquet'\")).fetchall()
print(csv == parquet, len(csv), csv if csv != parquet else '')
";
    assert_eq!(run(query, folder.path()).trim(), "True 2");
}

#[test]
fn pandas_reads_the_table() {
    if !can_import(&["pandas", "pyarrow"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut names = Names::default();
    write(&path, &[samples::full(&mut names, "p"), samples::bare()], &names);
    let query = "
import pandas, sys
table = pandas.read_parquet(sys.argv[1], dtype_backend='numpy_nullable')
print(list(table.columns)[0], list(table.columns)[-1], len(table))
print(table['request_first_ns'].dtype, table['request_first_ns'][0].value, table['request_first_ns'].isna().tolist())
print(table['id'].dtype, table['id'][0], table['status'].isna().tolist(), table['path'].isna().tolist())
";
    let said = run(query, &path);
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "protocol client_index 2",
            "datetime64[ns, UTC] 1700000000000000001 [False, True]",
            "UInt64 18446744073709551614 [False, True] [False, True]",
        ]
    );
}

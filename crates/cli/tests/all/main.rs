//! The command, as users run it: all tests that start `plimsoll`, in one program.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may stop where it stands, and prints figures")]

mod accounts;
mod anonymize;
mod bisect;
mod breakdown;
mod broken_leases;
mod capacity;
mod captures;
mod chained;
mod channels;
mod claims;
mod closure;
mod compared_points;
mod compared_recordings;
mod compared_sweeps;
mod comparing;
mod counted;
mod delegations;
mod documents;
mod drill_down;
mod durable;
mod embedded;
mod encrypted;
mod exports;
mod faults;
mod file_io;
mod first_screen;
mod from_disk;
mod ganesha;
mod gate;
mod gate_run;
mod golden;
mod guarantees;
mod history;
mod home_folders;
mod kerberos;
mod labels;
mod laddis;
mod lossy_wire;
mod merged;
mod netbench;
mod nfs_sessions;
mod nfs_version;
mod old_kernels;
mod page_commands;
mod parts;
mod parts_agree;
mod phase_hooks;
mod pictures;
mod planted;
mod queries;
mod queries_of_many;
mod questions;
mod recorded;
mod recorded_sql;
mod recorded_tables;
mod replay;
mod replicated;
mod reserved_ports;
mod rows;
mod rpc_tls;
mod run;
mod serve;
mod server_side;
mod shell;
mod stories;
mod sweep;
mod targets;
mod threads;
mod verdicts;
mod watch;
mod watch_browser;
mod watch_capacity;
mod watch_cost;
mod watch_delay;
mod watch_faults;
mod watch_flood;
mod watch_hour;
mod watch_learned;
mod watch_loss;
mod watch_metrics;
mod watch_mirror;
mod watch_netns;
mod watch_recorded;
mod watch_removed;
mod watch_run;
mod watch_saved;
mod watch_screen;
mod watch_tmux;
mod with;
mod workloads;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::{Samba, available};
use plimsoll_testkit::skip;

/// One test at a time drives a separate server under a time limit: two cores are too few for two servers and two clients.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The program of long proofs that measure it.
fn measured_program() -> std::path::PathBuf {
    std::env::var_os("PLIMSOLL_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into()).into()
}

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The program.
fn plimsoll() -> Command {
    Command::new(env!("CARGO_BIN_EXE_plimsoll"))
}

/// Runs the program with these arguments.
fn output_of(arguments: &[&str]) -> Output {
    output(plimsoll().args(arguments))
}

/// The same in a folder.
fn output_in(folder: &Path, arguments: &[&str]) -> Output {
    output(plimsoll().args(arguments).current_dir(folder))
}

/// Starts the program in a folder, where its output is in the files `out` and `err`.
fn begin_in(folder: &Path, arguments: &[&str]) -> Running {
    Running::start_in(plimsoll().args(arguments).current_dir(folder), folder).unwrap()
}

/// Runs a command: its exit code, and all that it says.
fn code_and_text(command: &mut Command) -> (Option<i32>, String) {
    let ended = output(command);
    (ended.status.code(), String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap())
}

/// All that a command says, which ends with 0, or with 4 on a busy machine.
fn text_of(command: &mut Command) -> String {
    let (code, said) = code_and_text(command);
    assert!(matches!(code, Some(0 | 4)), "{command:?}: {code:?}: {said}");
    said
}

/// The report that a command prints as JSON. The machine may be too busy for a valid one: only the requests matter.
fn report_of(command: &mut Command) -> serde_json::Value {
    let ended = output(command);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{command:?}: {said}");
    only_side(&ended.stdout)
}

/// Requests of each procedure in a table or capture.
fn requests(folder: &Path, input: &str) -> BTreeMap<String, u64> {
    let ran = output_in(folder, &["analyze", input, "--json", "-", "-q"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let side = only_side(&ran.stdout);
    let rows = side["operations"].as_array().unwrap().iter();
    rows.map(|row| (row["procedure"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap())).collect()
}

/// The rows of a run's table (CSV), without their load levels: of a table with levels, `analyze` leaves out preparation and warm-up.
/// Returns the name of the new table.
fn without_levels(folder: &Path, table: &str) -> String {
    let text = std::fs::read_to_string(folder.join(table)).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let level = head.split(',').position(|column| column == "level").unwrap();
    let mut all = format!("{head}\n");
    for row in rows.lines() {
        let mut fields: Vec<&str> = row.split(',').collect();
        // No field of these runs has a comma.
        assert_eq!(fields.len(), head.split(',').count(), "{row}");
        fields[level] = "";
        all.push_str(&fields.join(","));
        all.push('\n');
    }
    let name = format!("all-of-{table}");
    std::fs::write(folder.join(&name), all).unwrap();
    name
}

/// An instant of a report, ns, as the flags of `analyze` take it.
fn instant(ns: &serde_json::Value) -> String {
    let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(ns.as_u64().unwrap());
    humantime::format_rfc3339_nanos(at).to_string()
}

/// A Samba with these settings; without one, why the test skips.
fn samba(settings: &[&str]) -> Option<Samba> {
    available(Samba::start(settings))
}

/// The only side of a report in JSON; null where there is no report.
fn only_side(report: &[u8]) -> serde_json::Value {
    let mut report: serde_json::Value = serde_json::from_slice(report).unwrap_or_default();
    if report.is_null() {
        return report;
    }
    let sides = report["sides"].as_array().map(Vec::len);
    assert!(report["comparison"].is_null() && sides == Some(1), "{sides:?} sides");
    report["sides"][0].take()
}

fn json(file: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// The only side of a report in a file, which is held to its schema.
fn side_in(file: &Path) -> serde_json::Value {
    held_to_schema(&json(file));
    only_side(&std::fs::read(file).unwrap())
}

/// A report in JSON, of one side or of several.
fn held_to_schema(report: &serde_json::Value) {
    static SCHEMA: LazyLock<jsonschema::Validator> =
        LazyLock::new(|| recorded::schema("plimsoll.report.2.schema.json"));
    let wrong: Vec<String> = SCHEMA.iter_errors(report).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

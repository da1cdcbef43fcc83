//! The command, as users run it: all tests that start `plimsoll`, in one program.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may stop where it stands, and says why it skips")]

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
mod watch_recorded;
mod watch_run;
mod watch_screen;
mod watch_tmux;
mod with;
mod workloads;

/// One test at a time drives a separate server under a time limit: two cores are too few for two servers and two clients.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The program of long proofs that measure it.
fn measured_program() -> std::path::PathBuf {
    std::env::var_os("PLIMSOLL_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into()).into()
}

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A Samba with these settings; without one, why the test skips.
fn samba(settings: &[&str]) -> Option<plimsoll_testkit::servers::Samba> {
    let started = plimsoll_testkit::servers::Samba::start(settings);
    started.inspect_err(|reason| println!("SKIPPED: {reason}")).ok()
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

/// A report in JSON, of one side or of several.
fn held_to_schema(report: &serde_json::Value) {
    const SCHEMA: &str = include_str!("../../../../schemas/plimsoll.report.2.schema.json");
    let schema = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let wrong: Vec<String> = schema.iter_errors(report).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! An NFS server that takes calls from source ports below 1024 alone.

use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use serde_json::Value;

use crate::available;

/// Runs `getattr`; returns the exit code, the report, the output, and the source ports in the table of transactions.
fn run(target: &str, clients: &str) -> (Option<i32>, Value, String, Vec<u16>) {
    let folder = Scratch::new("reserved-ports");
    let rows = folder.path().join("rows.csv");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["run", "getattr", "--target", target, "--clients", clients, "--think", "10ms", "--warmup", "0s"]);
    command.args(["--duration", "2s", "--json", "-", "-q", "--transactions"]).arg(&rows);
    let ended = output(&mut command);
    let report = crate::only_side(&ended.stdout);
    let table = std::fs::read_to_string(rows).unwrap_or_default();
    let client = table.lines().next().and_then(|head| head.split(',').position(|name| name == "client"));
    let port = |line: &str| line.split(',').nth(client?)?.rsplit(':').next()?.parse().ok();
    let ports = table.lines().skip(1).map(|line| port(line).unwrap()).collect();
    (ended.status.code(), report, String::from_utf8(ended.stderr).unwrap(), ports)
}

#[test]
fn it_refuses_others_and_serves_those() {
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let plain = ganesha.target(Export::Privileged);
    let (code, _, said, _) = run(&plain, "3");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("?resvport"), "what to do is said: {said}");

    let target = format!("{plain}&resvport");
    let (code, report, said, ports) = run(&target, "3");
    // The machine may be too busy for a valid run.
    assert!(matches!(code, Some(0 | 4)), "{said}");
    let level = &report["levels"][0];
    assert_eq!((&level["errors"], level["failures"].as_array().map(Vec::len)), (&0.into(), Some(0)), "{level:#}");
    assert!(report["run"]["facts"].to_string().contains("source ports below 1024"), "{}", report["run"]);
    assert!(ports.len() > 10 && ports.iter().all(|port| *port < 1024), "{ports:?}");

    let (code, _, said, _) = run(&target, "1024");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("1024 connections") && said.contains("there are only 1023"), "{said}");
}

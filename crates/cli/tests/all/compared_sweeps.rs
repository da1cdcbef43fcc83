//! Compares the recorded sweeps of two servers: the faster one wins, and a server never wins against itself.

use std::fs;
use std::path::Path;
use std::time::Duration;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::servers::faulty::{Fault, Faulty, Framing, Rule, Which};
use serde_json::Value;

use crate::faults::command::copy;
use crate::output_in;

/// Additional delay of the slower server: about twenty times the other one's time.
const SLOWER: Duration = Duration::from_millis(4);

/// Runs `plimsoll` in a folder; returns its exit code and output.
fn plimsoll(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let ended = output_in(folder, arguments);
    // The machine may be too busy for a valid one.
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
    (ended.status.code(), String::from_utf8(ended.stdout).unwrap())
}

/// Measured phase of a sweep's load levels, s.
const PHASE_S: f64 = 1.5;

/// Clients and sizes, in a shortened form, recorded.
fn sweep(folder: &Path, target: &str, recording: &str) {
    let workload = ["sweep", "blocks-read", "-q", "--target", target, "--vary", "block=0.75kB,6kB", "--think", "2ms"];
    let load = ["--levels", "1,2", "--warmup", "100ms", "--duration", "1500ms", "--record", recording];
    plimsoll(folder, &[&workload[..], &load].concat());
}

/// A comparison's ranking, checked against the schema; its output, and its page.
fn ranking(folder: &Path, sides: &[&str]) -> (Value, String, String) {
    let outputs = ["--json", "compared.json", "--html", "compared.html"];
    let (_, text) = plimsoll(folder, &[&["compare", "--section", "ranking"], sides, &outputs].concat());
    let found: Value = serde_json::from_slice(&fs::read(folder.join("compared.json")).unwrap()).unwrap();
    crate::held_to_schema(&found);
    (found["comparison"]["ranking"].clone(), text, fs::read_to_string(folder.join("compared.html")).unwrap())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Everything that has places.
fn ranked(ranking: &Value) -> Vec<Value> {
    let of_curve = |curve: &Value| {
        let points = list(&curve["points"]).iter().filter(|point| point["used"] == true);
        let both = points.flat_map(|point| [point["throughput"].clone(), point["mean"].clone()]);
        both.chain([curve["highest"].clone()]).collect::<Vec<_>>()
    };
    let curves = list(&ranking["curves"]).iter().flat_map(of_curve);
    curves.chain(list(&ranking["overall"]).iter().cloned()).collect()
}

fn places(of: &Value) -> Vec<Option<u64>> {
    list(&of["places"]).iter().map(Value::as_u64).collect()
}

#[test]
fn a_slower_server_is_second_and_nobody_wins_against_himself() {
    let scratch = Scratch::new("compared-sweeps");
    let folder = scratch.path();
    let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let slower = Rule::answers(Which::From(0), Fault::Delayed(SLOWER));
    let proxy = Faulty::start(server.address(), Framing::Rpc, vec![slower]).unwrap();
    let port = |address: std::net::SocketAddr| address.port().to_string();
    let slow = server.target().replace(&port(server.address()), &port(proxy.address()));
    sweep(folder, &server.target(), "quick");
    sweep(folder, &slow, "slow");

    let (found, text, page) = ranking(folder, &["quick", "slow"]);
    let curves: Vec<&Value> = list(&found["curves"]).iter().map(|curve| &curve["curve"]).collect();
    assert_eq!(curves, ["block=0.75kB", "block=6kB"]);
    assert_eq!(found["points"].as_u64().unwrap() + found["not_used"].as_u64().unwrap(), 4);
    // On a busy machine it may not be shown, which is no win either; that it is shown everywhere on an idle one is a test under a
    // virtual clock (run/ranked_servers.rs).
    assert!(ranked(&found).iter().all(|one| places(one) != [Some(2), Some(1)]), "{found:#}");
    for part in ["Throughput (op/s), block=6kB:", "Highest throughput", "Ranking of the servers", "B over A"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(!text.contains("B against A, 1 client"), "every number of each level is another section");
    assert!(page.contains("id=\"ranking\"") && page.contains("Highest throughput of each server"));

    // In reverse order, and against itself.
    let (found, ..) = ranking(folder, &["slow", "quick"]);
    assert!(ranked(&found).iter().all(|one| places(one) != [Some(1), Some(2)]), "{found:#}");
    ["same", "again"].into_iter().for_each(|name| copy(&folder.join("quick"), folder.join(name)));
    let (found, text, _) = ranking(folder, &["quick", "same", "again"]);
    for one in ranked(&found) {
        assert!(places(&one).iter().all(|place| matches!(place, None | Some(1))), "{one:#}");
    }
    // Where the machine was so busy that a level may not be used, there may be no pair to look at.
    let some_unused = found["not_used"].as_u64() > Some(0);
    assert!(text.contains("none shown") || some_unused, "{text}");
}

/// Different protocols and a local folder: iterations, data and time per iteration are comparable in all of them.
#[test]
fn servers_of_different_protocols_and_a_local_folder_are_ranked_by_iterations() {
    let scratch = Scratch::new("compared-protocols");
    let folder = scratch.path();
    let local = format!("file://{}", scratch.folder("local").display());
    for (target, recording) in [("embedded:smb", "smb"), ("embedded:nfs", "nfs"), (local.as_str(), "local")] {
        sweep(folder, target, recording);
    }
    let (found, text, page) = ranking(folder, &["smb", "nfs", "local"]);
    assert_eq!(found["by"], "iterations");
    let metrics: Vec<&Value> = list(&found["overall"]).iter().map(|one| &one["metric"]).collect();
    assert_eq!(metrics, ["iterations", "bytes", "iteration time"]);
    for curve in list(&found["curves"]) {
        for point in list(&curve["points"]) {
            let value = |of: &str, side: usize| point[of]["estimates"][side]["value"].as_f64();
            let block = if curve["curve"] == "block=6kB" { 6e3 } else { 750.0 };
            for side in 0..3 {
                // On a busy machine none may have ended.
                let Some((iterations, bytes)) = value("throughput", side).zip(value("bytes", side)) else { continue };
                // Each reads 100 blocks, a file's last block may be short; and each client is within one at both ends of the phase.
                let at_the_ends = 4.0 / (iterations * PHASE_S);
                let each = bytes / iterations / block / 100.0;
                assert!(each > 0.5 - at_the_ends && each < 1.001 + at_the_ends, "{each}, side {side}: {point:#}");
            }
        }
    }
    assert!(
        text.contains("Iterations (iterations/s), block=6kB:") && text.contains("by mean time of an iteration"),
        "{text}"
    );
    assert!(page.contains("Data against load") && page.contains("mean time of an iteration"));
}

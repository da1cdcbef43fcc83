//! `plimsoll gate`: its exit codes and files, on servers whose latency is known.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::servers::faulty::{Fault, Faulty, Framing, Rule, Which};

/// Load that two busy cores bear: what is tested is not how fast they are.
const SHORT: [&str; 10] =
    ["--warmup", "20ms", "--duration", "200ms", "--clients", "2", "--think", "5ms", "--depth", "1"];

/// A server whose answers come so much later, and its target.
fn server(later: Duration) -> (Embedded, Faulty, String) {
    let embedded = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let late = Rule::answers(Which::From(0), Fault::Delayed(later));
    let proxy = Faulty::start(embedded.address(), Framing::Rpc, vec![late]).unwrap();
    let [port, proxied] = [embedded.address(), proxy.address()].map(|address| address.port().to_string());
    let target = embedded.target().replace(&port, &proxied);
    (embedded, proxy, target)
}

fn gate(folder: &Path, sides: [&str; 2], more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["gate", sides[0], sides[1], "getattr"]).args(SHORT).args(more).current_dir(folder);
    output(&mut command)
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn the_same_server_passes() {
    let scratch = Scratch::new("gate-same");
    let more = ["--fail-if", "getattr.mean > +400%", "--most-rounds", "30", "--csv", "runs.csv", "--junit", "gate.xml"];
    let ended = gate(scratch.path(), ["embedded:nfs", "embedded:nfs"], &more);
    let (text, said) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    // The machine may be too busy for valid runs.
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{text}{said}");
    if ended.status.code() == Some(0) {
        assert!(text.starts_with("PASSED: 1 of 1 condition, after "), "{text}");
        assert!(text.contains("getattr.mean at 2 clients: ") && text.contains("limit +400%: passed after"), "{text}");
        assert!(read(scratch.path(), "gate.xml").contains("failures=\"0\" errors=\"0\" skipped=\"0\""));
    }
    let runs = read(scratch.path(), "runs.csv");
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = runs.lines().map(cells).collect();
    assert_eq!(lines[0].last().unwrap(), "getattr.mean_s");
    let order: Vec<&str> = lines[1..5].iter().map(|line| line[2].as_str()).collect();
    assert!(order == ["A", "B", "B", "A"] && (lines.len() - 1).is_multiple_of(4), "{runs}");
}

#[test]
fn a_slower_server_fails_and_the_pull_request_says_so() {
    let scratch = Scratch::new("gate-slower");
    let [(_a, _old, old), (_b, _new, new)] = [1, 30].map(|ms| server(Duration::from_millis(ms)));
    let files = ["--markdown", "gate.md", "--junit", "gate.xml", "--json", "gate.json"];
    let more = [&["--fail-if", "getattr.mean > +3%", "--most-rounds", "40"][..], &files].concat();
    let ended = gate(scratch.path(), [&old, &new], &more);
    let (text, said) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert!(matches!(ended.status.code(), Some(1 | 4)), "{text}{said}");
    let report: serde_json::Value = serde_json::from_str(&read(scratch.path(), "gate.json")).unwrap();
    assert!(report["comparison"]["warnings"].to_string().contains("A gate stops"), "{report}");
    if ended.status.code() == Some(1) {
        assert!(text.starts_with("FAILED: 1 of 1 condition, after "), "{text}");
        assert!(said.contains("getattr.mean at 2 clients: +") && said.contains("limit +3%: failed after"), "{said}");
        assert!(read(scratch.path(), "gate.md").starts_with("### Plimsoll gate: FAILED: 1 of 1 condition"));
        assert!(read(scratch.path(), "gate.xml").contains("<failure message=\"getattr.mean at 2 clients: +"));
        assert_eq!(report["comparison"]["conditions"][0]["outcome"], "failed");
    }
}

#[test]
fn a_budget_that_is_too_small_decides_nothing() {
    let scratch = Scratch::new("gate-budget");
    let sides = ["embedded:nfs", "embedded:nfs"];
    let more = ["--fail-if", "getattr.mean > +3%", "--budget", "1ms", "--junit", "gate.xml"];
    let ended = gate(scratch.path(), sides, &more);
    let text = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(4), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(text.starts_with("UNDECIDED: 1 of 1 condition, after 1 round"), "{text}");
    assert!(read(scratch.path(), "gate.xml").contains("<skipped message=\""));
    let bisect = gate(scratch.path(), sides, &[&more[..4], &["--exit-undecided", "125", "-q"]].concat());
    assert!(bisect.status.code() == Some(125) && bisect.stdout.is_empty());
    // What the workload never does ends the gate at the first round that counts.
    let unknown = gate(scratch.path(), sides, &["--fail-if", "readlink.mean > +3%"]);
    let said = String::from_utf8(unknown.stdout).unwrap();
    assert!(unknown.status.code() == Some(4) && said.starts_with("UNDECIDED: 1 of 1 condition"), "{said}");
}

#[test]
fn a_gate_needs_a_condition() {
    let scratch = Scratch::new("gate-usage");
    let sides = ["embedded:nfs", "embedded:nfs"];
    let ended = gate(scratch.path(), sides, &[]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8(ended.stderr).unwrap().contains("gate needs a condition"));
    assert_eq!(gate(scratch.path(), sides, &["--fail-if", "mean > 3%"]).status.code(), Some(2));
}

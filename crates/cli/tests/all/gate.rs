//! `plimsoll gate`: its exit codes and files, on servers whose latency is known.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::servers::faulty::{Fault, Faulty, Framing, Rule, Which};

use crate::faults::command::copy;

/// A load that two busy cores can generate: speed is not tested.
pub(crate) const SHORT: [&str; 10] =
    ["--warmup", "20ms", "--duration", "200ms", "--clients", "2", "--think", "5ms", "--depth", "1"];

/// A server that delays its answers by this time, and its target.
pub(crate) fn server(later: Duration) -> (Embedded, Faulty, String) {
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
    // An operation that the workload never performs ends the gate at the first counted round.
    let unknown = gate(scratch.path(), sides, &["--fail-if", "readlink.mean > +3%"]);
    let said = String::from_utf8(unknown.stdout).unwrap();
    assert!(unknown.status.code() == Some(4) && said.starts_with("UNDECIDED: 1 of 1 condition"), "{said}");
}

/// The lines with conditions of a printed gate.
pub(crate) fn decided(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.contains(", limit ")).map(str::to_owned).collect()
}

#[test]
fn recordings_of_a_gate_are_judged_as_the_gate_was() {
    let scratch = Scratch::new("gate-recorded");
    let [(_a, _old, old), (_b, _new, new)] = [1, 30].map(|ms| server(Duration::from_millis(ms)));
    let conditions = ["--fail-if", "getattr.mean > +3%", "--fail-if", "getattr.mean > 10s"];
    let more = ["--most-rounds", "6", "--record", "kept", "--csv", "live.csv"];
    let live = gate(scratch.path(), [&old, &new], &[&conditions[..], &more].concat());
    let again = |sides: [&str; 2]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["gate", sides[0], sides[1], "--csv", "again.csv", "--json", "again.json"]).args(conditions);
        output(command.current_dir(scratch.path()))
    };
    let ended = again(["kept/A", "kept/B"]);
    let [first, second] = [&live, &ended].map(|ended| String::from_utf8(ended.stdout.clone()).unwrap());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(live.status.code(), ended.status.code(), "{first}{second}{said}");
    assert_eq!((decided(&first), decided(&second).len()), (decided(&second), 2), "{first}{second}{said}");
    let [live, again_csv] = ["live.csv", "again.csv"].map(|name| read(scratch.path(), name));
    let numbers = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.split(',').enumerate().filter(|(at, _)| *at != 3).map(|(_, cell)| cell).collect())
            .collect()
    };
    assert_eq!(numbers(&live), numbers(&again_csv), "all but the sides' names");
    // In reverse order, the second and third run of a round are the baseline's: there are no rounds, and each run is judged once.
    let turned = again(["kept/B", "kept/A"]);
    let text = String::from_utf8(turned.stdout).unwrap();
    let report: serde_json::Value = serde_json::from_str(&read(scratch.path(), "again.json")).unwrap();
    assert!(text.contains(", from recorded runs: ") && text.contains("were not measured alternately"), "{text}");
    assert!(report["comparison"]["warnings"].to_string().contains("were not measured alternately"), "{report}");
    if text.starts_with("PASSED") {
        assert!(text.contains("getattr.mean at 2 clients: -9"), "30 ms against 1 ms: {text}");
    }
}

/// Golden captures are the same on every machine: so are the decisions.
#[test]
fn recordings_of_captures_are_judged() {
    let scratch = Scratch::new("gate-captures");
    let planted = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/planted");
    let plimsoll = |arguments: &[&str]| output(crate::plimsoll().args(arguments).current_dir(scratch.path()));
    let record = |name: &str, capture: &str, more: &[&str]| {
        let capture = planted.join(format!("{capture}.pcap.zst")).display().to_string();
        let ended = plimsoll(&[&["analyze", &capture, "--record", name, "-q"], more].concat());
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    };
    for (name, from, to) in [("a", "0", "2"), ("b", "2", "4"), ("c", "4", "6"), ("d", "6", "8")] {
        record(name, "healthy-samba", &["--from", from, "--to", to]);
    }
    record("slow", "slow-server", &[]);
    let words =
        |ended: &Output| String::from_utf8_lossy(&ended.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let conditions =
        ["--ignore-guarantees", "--fail-if", "mean > +20%", "--markdown", "gate.md", "--junit", "gate.xml"];
    let judge = |sides: &[&str]| plimsoll(&[&["gate"], &conditions[..], sides].concat());
    let slower = judge(&["a", "b", "c", "d", "slow"]);
    let text = words(&slower);
    assert_eq!(slower.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&slower.stderr));
    assert!(
        text.starts_with("FAILED: 1 of 1 condition, from recorded runs: 4 of the baseline, 1 of the candidate"),
        "{text}"
    );
    assert!(text.contains("limit +20%: failed from 4 and 1 recordings") && text.contains("A a, B b, C c"), "{text}");
    assert!(read(scratch.path(), "gate.md").contains("failed from 4 and 1 recordings"));
    assert!(read(scratch.path(), "gate.xml").contains("failures=\"1\""));
    let same = plimsoll(&["gate", "--ignore-guarantees", "--fail-if", "mean > +100%", "a", "c", "--", "b", "d"]);
    assert_eq!(same.status.code(), Some(0), "{}", words(&same));
    assert!(words(&same).contains("passed from 2 and 2 recordings"), "{}", words(&same));
    // A single recording per side does not show the effect of a restart, and a copy of it is no second one.
    let single = judge(&["a", "slow"]);
    assert_eq!(single.status.code(), Some(4), "{}", words(&single));
    assert!(
        words(&single).contains("no interval (needs 4 runs in total, at least 1 of each side)"),
        "{}",
        words(&single)
    );
    copy(&scratch.path().join("b"), scratch.path().join("copied"));
    let twice = judge(&["a", "b", "copied", "slow"]);
    assert!(words(&twice).contains("undecided from 0 and 0 runs"), "{}", words(&twice));
    assert!(
        twice.status.code() == Some(4) && words(&twice).contains("runs of the baseline overlap in time"),
        "{}",
        words(&twice)
    );
    for sides in [&["a", "a"][..], &["a", "b", "--", "./a"]] {
        let refused = judge(sides);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("would be compared with itself"), "{said}");
    }
    let behind = plimsoll(&["gate", "a", "--", "b", "--fail-if", "mean > +5%"]);
    assert!(String::from_utf8_lossy(&behind.stderr).contains("--fail-if: options go before --"));
    let load = judge(&["a", "slow", "--duration", "3s", "--budget", "1m"]);
    let said = String::from_utf8_lossy(&load.stderr).into_owned();
    assert!(load.status.code() == Some(2) && said.contains("--duration, --budget: without effect"), "{said}");
    let mixed = judge(&["a", "nfs://server/export"]);
    assert_eq!(mixed.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&mixed.stderr).contains("nfs://server/export: not a recording"));
}

#[test]
fn a_gate_needs_a_condition() {
    let scratch = Scratch::new("gate-usage");
    let sides = ["embedded:nfs", "embedded:nfs"];
    let ended = gate(scratch.path(), sides, &[]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8(ended.stderr).unwrap().contains("gate needs at least one condition"));
    assert_eq!(gate(scratch.path(), sides, &["--fail-if", "mean > 3%"]).status.code(), Some(2));
}

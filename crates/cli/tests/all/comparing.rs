//! `plimsoll compare`, `plimsoll duel` and `plimsoll run --repeat`: usage and results.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};
use serde_json::Value;

use crate::output_of;

/// Thirty seconds of 30 GETATTRs per second, answered after `mean_us` on average, between half and one and a half of it.
fn capture(mean_us: i64) -> Vec<u8> {
    capture_of(900, mean_us)
}

/// The same with `requests` in 30 seconds.
fn capture_of(requests: u32, mean_us: i64) -> Vec<u8> {
    capture_without(requests, mean_us, |_| false)
}

/// The same, which lacks the responses of some requests.
fn capture_without(requests: u32, mean_us: i64, is_lost: impl Fn(u32) -> bool) -> Vec<u8> {
    let (client, server): (SocketAddr, SocketAddr) =
        ("192.0.2.7:801".parse().unwrap(), "192.0.2.1:2049".parse().unwrap());
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::new(client, server));
    traffic.all(&tcp.handshake());
    let start = traffic.time_ns;
    let mut state = 1_u32;
    for xid in 1..=requests {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let answered_after = mean_us * 1_000 * (500 + i64::from(state >> 16) % 1_000) / 1_000;
        traffic.time_ns = start + i64::from(xid) * (29_700_000_000 / i64::from(requests));
        let asked = traffic.time_ns;
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
        traffic.time_ns = asked + answered_after;
        let response = tcp.data(Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
        traffic.all((!is_lost(xid)).then_some(&response));
    }
    traffic.pcap()
}

/// Two captures: the second server is a fifth slower.
fn captures(test: &str) -> (Scratch, [PathBuf; 2]) {
    let scratch = Scratch::new(test);
    let file = |name: &str, mean_us| {
        let path = scratch.path().join(name);
        std::fs::write(&path, capture(mean_us)).unwrap();
        path
    };
    let both = [file("old.pcap", 2_000), file("new.pcap", 2_400)];
    (scratch, both)
}

fn compare([a, b]: &[PathBuf; 2], more: &[&str]) -> Output {
    output_of(&[&["compare", a.to_str().unwrap(), b.to_str().unwrap()], more].concat())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// The first difference of a number of all operations together.
fn all<'v>(comparison: &'v Value, metric: &str) -> &'v Value {
    let metrics = comparison["comparison"]["levels"][0]["rows"][0]["metrics"].as_array().unwrap();
    &metrics.iter().find(|one| one["metric"] == metric).unwrap()["differences"][0]
}

#[test]
fn a_slower_server_is_worse_and_the_same_is_not() {
    let (scratch, both) = captures("compare");
    let output = compare(&both, &["--full"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for expected in
        ["B against A, whole capture", "All operations", "Group Other.Attributes", "NFS3 GETATTR", "worse *"]
    {
        assert!(text.contains(expected), "{expected} is missing from\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let found = json(&compare(&both, &["--json", "-"]));
    assert_eq!(found["schema"], "plimsoll.report/2");
    let mean = all(&found, "mean");
    assert_eq!((mean["verdict"].as_str(), mean["holm_significant"].as_bool()), (Some("worse"), Some(true)));
    assert!((mean["relative"].as_f64().unwrap() - 0.2).abs() < 0.01, "{mean:#}");
    assert_eq!(all(&found, "throughput")["verdict"], "none shown");
    let [a, _] = both;
    let copy = scratch.path().join("copy.pcap");
    std::fs::copy(&a, &copy).unwrap();
    let same = json(&compare(&[a, copy], &["--json", "-"]));
    assert_eq!(all(&same, "mean")["verdict"], "none shown");
}

/// Nobody knows what the clients of a capture asked for: half of the requests are no slower server. A condition compares the numbers.
#[test]
fn fewer_requests_of_a_capture_are_not_worse() {
    let scratch = Scratch::new("compare-fewer");
    let both = [900, 450].map(|requests| {
        let path = scratch.path().join(format!("{requests}.pcap"));
        std::fs::write(&path, capture_of(requests, 2_000)).unwrap();
        path
    });
    let verdict = |more: &[&str]| all(&json(&compare(&both, more)), "throughput")["verdict"].clone();
    assert_eq!(verdict(&["--json", "-"]), "fewer");
    assert_eq!(verdict(&["--json", "-", "--ignore-load"]), "worse");
    assert_eq!(compare(&both, &["--fail-if", "throughput < -5%"]).status.code(), Some(1));
    let text = String::from_utf8(compare(&both, &[]).stdout).unwrap();
    assert!(text.contains("B and A differ in throughput: op/s -50 %") && !text.contains("B is worse"), "{text}");
}

#[test]
fn filters_hold_for_both_and_short_is_said_to_be_short() {
    let (_scratch, both) = captures("compare-filter");
    let found = json(&compare(&both, &["--to", "20s", "--json", "-"]));
    let seconds = found["comparison"]["levels"][0]["seconds"][0].as_f64().unwrap();
    assert!((19.9..=20.0).contains(&seconds), "{seconds}");
    let output = compare(&both, &["--to", "500ms", "--full"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("too short") && text.contains("cannot tell"), "{text}");
}

#[test]
fn conditions_fail_where_the_interval_supports_it() {
    let (_scratch, both) = captures("compare-fail");
    let code = |more: &[&str]| compare(&both, more).status.code();
    assert_eq!(code(&["--fail-if", "getattr.mean > +10%"]), Some(1));
    assert_eq!(code(&["--fail-if", "mean > +50%", "--fail-if", "throughput < -5%"]), Some(0));
    let undecided = compare(&both, &["--fail-if", "getattr.mean > +20%"]);
    assert_eq!(undecided.status.code(), Some(4));
    assert!(String::from_utf8(undecided.stdout).unwrap().contains(": UNDECIDED"));
    assert_eq!(code(&["--fail-if", "getattr.mean > +20%", "--exit-undecided", "125"]), Some(125));
    assert_eq!(code(&["--exit-undecided", "125"]), Some(2), "it means nothing without a condition");
    let wrong = compare(&both, &["--fail-if", "getattr.men > +10%"]);
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(said.contains("  getattr.men > +10%\n          ^^^\n"), "{said}");
}

/// The missing operations may be the fastest or the slowest.
#[test]
fn conditions_on_times_of_a_capture_that_lacks_operations_are_undecided() {
    let (scratch, [a, b]) = captures("compare-lossy");
    let lossy = scratch.path().join("lossy.pcap");
    std::fs::write(&lossy, capture_without(900, 2_400, |xid| xid % 5 == 0)).unwrap();
    for (condition, code) in [("getattr.mean > +10%", 1), ("getattr.p50 > 2600us", 0)] {
        let against = |other: &PathBuf| compare(&[a.clone(), other.clone()], &["--fail-if", condition, "-q"]);
        assert_eq!(against(&b).status.code(), Some(code), "{condition}");
        let ended = against(&lossy);
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(4) && said.contains("missing from the captures"), "{condition}: {said}");
    }
}

#[test]
fn a_quiet_gate_names_its_condition_in_one_line() {
    let (_scratch, both) = captures("compare-quiet");
    for (conditions, code, word) in [
        (&["--fail-if", "getattr.mean > +10%"][..], 1, "failed"),
        (&["--fail-if", "getattr.mean > +20%"], 4, "is undecided"),
        (&["--fail-if", "getattr.mean > +20%", "--exit-undecided", "125"], 125, "is undecided"),
    ] {
        let ended = compare(&both, &[conditions, &["-q"]].concat());
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(code) && ended.stdout.is_empty(), "{:?}: {said}", ended.status);
        let expected = format!("plimsoll: --fail-if \"{}\" {word}: B, whole capture: ", conditions[1]);
        assert!(said.starts_with(&expected) && said.lines().count() == 1, "{said}");
    }
    let held = compare(&both, &["--fail-if", "getattr.mean > +50%", "-q"]);
    assert!(held.status.code() == Some(0) && held.stderr.is_empty());
}

#[test]
fn a_closed_pipe_does_not_hide_the_verdict() {
    let (scratch, both) = captures("compare-pipe");
    // Standard output is a pipe whose only reader is gone before anything is written.
    let script = r#"mkfifo "$0" && exec 4<>"$0" 5>"$0" && exec 4<&- && exec "$@" >&5"#;
    let into = |pipe: &str, more: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, pipe, env!("CARGO_BIN_EXE_plimsoll"), "compare"]).args(&both).args(more);
        output(shell.current_dir(scratch.path()))
    };
    for (pipe, more, code) in [
        ("holds", &["--fail-if", "mean > +50%"][..], 0),
        ("fails", &["--fail-if", "getattr.mean > +10%"], 1),
        ("fails-json", &["--fail-if", "getattr.mean > +10%", "--json", "-"], 1),
    ] {
        let ended = into(pipe, more);
        let said = String::from_utf8(ended.stderr).unwrap();
        let lines = said.lines().filter(|line| line.starts_with("plimsoll:")).count();
        assert!(
            ended.status.code() == Some(code) && lines == usize::from(code == 1) && !said.contains("pipe"),
            "{pipe}: {:?}: {said}",
            ended.status
        );
    }
}

#[test]
fn what_cannot_be_compared_is_said() {
    let (_scratch, [a, _]) = captures("compare-not");
    let one = a.to_str().unwrap();
    assert_eq!(output_of(&["compare", one]).status.code(), Some(2));
    assert_eq!(output_of(&["compare", one, "-"]).status.code(), Some(2));
    assert_eq!(output_of(&["compare", one, "/nonexistent/b.pcap"]).status.code(), Some(3));
}

/// A load that two busy cores can generate: speed is not tested.
const SHORT: [&str; 10] =
    ["--warmup", "50ms", "--duration", "300ms", "--clients", "2", "--think", "5ms", "--depth", "1"];

fn spawn(arguments: &[&str], output: &Path) -> Running {
    Running::start_in(crate::plimsoll().args(arguments), output).unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_duel_goes_turn_by_turn_and_compares_pairs() {
    let scratch = Scratch::new("duel");
    let found = scratch.path().join("found.json");
    let sides = ["duel", "embedded:nfs", "embedded:nfs --clients 1", "getattr", "--rounds", "2", "--full"];
    let arguments = [&sides[..], &SHORT, &["--json", found.to_str().unwrap()]].concat();
    // The machine may be too busy for a valid one.
    let code = spawn(&arguments, scratch.path()).end().status.code();
    assert!(matches!(code, Some(0 | 4)), "{}", read(scratch.path(), "err"));
    let found: Value = serde_json::from_str(&read(scratch.path(), "found.json")).unwrap();
    assert_eq!(found["sides"][1]["name"], "embedded:nfs --clients 1");
    assert_eq!(found["comparison"]["levels"][0]["runs"], serde_json::json!([4, 4]));
    assert_eq!(found["comparison"]["levels"][0]["from"], "paired");
    let warned = found["comparison"]["warnings"].to_string();
    assert!(warned.contains("the loads differ"), "{warned}");
    let text = read(scratch.path(), "out");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("4 runs") && words.contains("(paired t-test)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn an_interrupted_duel_keeps_whole_rounds() {
    let scratch = Scratch::new("duel-stop");
    let found = scratch.path().join("found.json");
    let sides = ["duel", "embedded:nfs", "embedded:nfs", "getattr", "--rounds", "10000", "-q"];
    let child = spawn(&[&sides[..], &SHORT, &["--json", found.to_str().unwrap()]].concat(), scratch.path());
    // Some rounds, on most machines; what follows holds for none as well.
    std::thread::sleep(Duration::from_secs(4));
    child.signal(rustix::process::Signal::INT);
    let (code, said) = (child.end().status.code(), read(scratch.path(), "err"));
    if said.contains("before the first round") {
        assert_eq!(code, Some(4), "{said}");
        return;
    }
    let found: Value = serde_json::from_str(&read(scratch.path(), "found.json")).unwrap();
    let runs: Vec<u64> = found["comparison"]["levels"][0]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|runs| runs.as_u64().unwrap())
        .collect();
    assert!(runs[0] == runs[1] && runs[0] > 0 && runs[0].is_multiple_of(2), "{runs:?}");
}

#[test]
fn an_interrupted_first_round_is_no_verdict() {
    let scratch = Scratch::new("duel-stop-at-once");
    let condition = ["--fail-if", "mean > +90%"];
    for (command, more, code) in [
        ("duel", &[][..], 4),
        ("gate", &condition, 4),
        ("gate", &[&condition[..], &["--exit-undecided", "125"]].concat(), 125),
    ] {
        let sides = [command, "embedded:nfs", "embedded:nfs", "getattr", "-q", "--duration", "60s"];
        let mut child = spawn(&[&sides[..], more].concat(), scratch.path());
        child.wait_until(|child| crate::faults::catches(child.id()));
        child.signal(rustix::process::Signal::INT);
        assert_eq!(child.end().status.code(), Some(code), "{command}: {}", read(scratch.path(), "err"));
    }
}

#[test]
fn sides_that_make_no_sense_are_usage() {
    let code = |a: &str, b: &str| output_of(&["duel", a, b, "getattr"]).status.code();
    assert_eq!(code("embedded:nfs --deep 3", "embedded:nfs"), Some(2));
    assert_eq!(code("embedded:nfs", "ftp://host/"), Some(2));
    assert_eq!(code("embedded:nfs", "nfs://127.0.0.1:1/export"), Some(3));
}

#[test]
fn repeats_are_levels_and_their_scatter_is_shown() {
    let scratch = Scratch::new("repeat");
    let report = scratch.path().join("report.json");
    let page = scratch.path().join("report.html");
    let what = ["run", "getattr", "--target", "embedded:nfs", "--repeat", "3", "--json", report.to_str().unwrap()];
    let page = ["--html", page.to_str().unwrap(), "--full"];
    let code = spawn(&[&what[..], &page, &SHORT].concat(), scratch.path()).end().status.code();
    assert!(matches!(code, Some(0 | 4)), "{}", read(scratch.path(), "err"));
    let report = crate::only_side(read(scratch.path(), "report.json").as_bytes());
    let levels = report["levels"].as_array().unwrap();
    let curves: Vec<&str> = levels.iter().map(|level| level["curve"].as_str().unwrap()).collect();
    assert_eq!(curves, ["repeat 1", "repeat 2", "repeat 3"]);
    assert!(levels.iter().all(|level| level["load_name"] == "2 clients"));
    let text = read(scratch.path(), "out");
    assert!(text.contains("Repeats of each level") && text.contains("2 clients, repeat 3"), "{text}");
    let repeats = &report["repeats"][0];
    assert_eq!((&repeats["load_name"], &repeats["levels"]), (&"2 clients".into(), &serde_json::json!([0, 1, 2])));
    let rates: Vec<f64> = levels.iter().map(|level| level["operations_per_s"].as_f64().unwrap()).collect();
    let mean = repeats["operations_per_s"]["mean"].as_f64().unwrap();
    assert!((mean / (rates.iter().sum::<f64>() / 3.0) - 1.0).abs() < 1e-9, "{mean} of {rates:?}");
    let page = read(scratch.path(), "report.html");
    assert!(page.contains("Repeats of each level") && page.contains(&format!("\"mean\":{mean}")), "the same numbers");
}

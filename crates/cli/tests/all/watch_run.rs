//! A run with live output: the shown numbers equal its table of transactions, and the run is unaffected.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::{LIMIT, Running, output};
use plimsoll_testkit::servers::{Export, Ganesha, Scratch};
use plimsoll_testkit::terminal::{InTerminal, start};
use rustix::process::Signal;
use serde_json::Value;

use crate::available;

const SIZE: (u16, u16) = (100, 30);

fn plimsoll(target: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    command.args(["run", "mixed", "--target", target, "--warmup", "500ms", "--clients", "3"]).args(arguments);
    command
}

/// A run that a test ends.
fn endless(target: &str, arguments: &[&str]) -> Command {
    plimsoll(target, &[arguments, &["--duration", "10m", "--think", "5ms"]].concat())
}

fn seen(bytes: &[u8]) -> vt100::Parser {
    let [columns, rows] = [SIZE.0, SIZE.1].map(|size| NonZeroU16::new(size).unwrap());
    let mut parser = vt100::Parser::new(rows, columns, 0);
    parser.process(bytes);
    parser
}

fn wait_for(running: &InTerminal, text: &str) {
    running.wait_until(|bytes| seen(bytes).screen().contents().contains(text));
}

/// The terminal is as it was, and shows the usual report.
fn assert_left(running: &mut InTerminal, before: &str, says: &str) {
    let status = running.end();
    let bytes = running.bytes();
    // A busy machine may make the numbers invalid.
    assert!(matches!(status.code(), Some(0 | 4)), "{status:?}: {}", String::from_utf8_lossy(&bytes));
    let parser = seen(&bytes);
    assert!(!parser.screen().alternate_screen() && !parser.screen().hide_cursor());
    assert_eq!(running.settings(), before);
    assert!(String::from_utf8_lossy(&bytes).contains(says), "{}", parser.screen().contents());
}

#[test]
fn the_screen_shows_level_pace_and_generator_and_then_comes_the_report() {
    let _alone = crate::alone();
    let mut running = start(&mut endless("embedded:smb", &["--watch", "--utc"]), SIZE);
    let before = running.settings_before();
    wait_for(&running, "mixed on embedded:smb");
    wait_for(&running, "3 clients: measuring, ");
    wait_for(&running, "3 of 3 clients connected");
    wait_for(&running, "no rate limit");
    running.type_keys("o");
    wait_for(&running, "Time waited in the last minute, by operation");
    running.type_keys("t");
    wait_for(&running, "Service times, 1 column = 1 s");
    running.wait_until(|bytes| {
        let text = seen(bytes).screen().contents();
        text.contains("Load generator: on time, ") || text.contains("Load generator: NOT RELIABLE: ")
    });
    let screen = seen(&running.bytes());
    assert!(
        screen.screen().alternate_screen() && !screen.screen().contents().contains("lost"),
        "a run loses no packets"
    );
    running.type_keys("q");
    assert_left(&mut running, &before, "requests on 3 connections");
}

#[test]
fn q_and_signals_end_a_run_as_ctrl_c_does_without_a_view() {
    let _alone = crate::alone();
    for end in [None, Some(Signal::INT), Some(Signal::TERM)] {
        let mut running = start(&mut endless("embedded:nfs", &["--watch"]), SIZE);
        let before = running.settings_before();
        wait_for(&running, "3 clients: measuring, ");
        wait_for(&running, "> ");
        match end {
            None => running.type_keys("q"),
            Some(signal) => running.signal(signal),
        }
        assert_left(&mut running, &before, "stopped early");
    }
}

/// All that the page's stream says until it ends: the events by name.
fn events(address: SocketAddr, path: &str) -> Vec<(String, Value)> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(stream, "GET /{path}events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let event = |text: &str| {
        let (name, rest) = text.strip_prefix("event: ")?.split_once("\ndata: ")?;
        let data = rest.lines().next()?;
        Some((name.to_owned(), serde_json::from_str(data).unwrap()))
    };
    text.split_once("\r\n\r\n").unwrap().1.split("\n\n").filter_map(event).collect()
}

/// The events of the page of a run that ends by itself.
fn events_of(mut running: Running) -> Vec<(String, Value)> {
    assert_eq!(running.wait_until(|running| running.said()[1].contains(" in a browser")), None, "{:?}", running.said());
    let said = running.said()[1].clone();
    let address = said.split("open http://").nth(1).unwrap().split(' ').next().unwrap();
    let (host, path) = address.split_once('/').unwrap();
    let events = events(host.parse().unwrap(), path);
    let ended = running.end();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    events
}

/// Response times, ns, of all transactions of a table by the second in which they ended.
fn by_second(table: &Path) -> BTreeMap<i64, Vec<i64>> {
    let text = std::fs::read_to_string(table).unwrap();
    let mut lines = text.lines();
    let places: HashMap<&str, usize> =
        lines.next().unwrap().split(',').enumerate().map(|(at, name)| (name, at)).collect();
    let mut seconds: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for line in lines {
        // Names of this workload have no commas.
        let cells: Vec<&str> = line.split(',').collect();
        let ns = |name: &str| -> i64 { cells[places[name]].parse().unwrap() };
        let (first, last) = (ns("request_first_ns"), ns("response_last_ns"));
        seconds.entry(last.div_euclid(1_000_000_000)).or_default().push(last - first);
    }
    seconds
}

#[test]
fn browsers_get_the_seconds_of_the_table_and_the_end() {
    let _alone = crate::alone();
    let scratch = Scratch::new("watch-run");
    let table = scratch.path().join("table.csv");
    let arguments = ["--browser", "--duration", "4s", "--think", "5ms", "--transactions", table.to_str().unwrap()];
    let events = events_of(Running::start(&mut plimsoll("embedded:nfs", &arguments)).unwrap());
    let of = |wanted: &str| events.iter().filter(|(name, _)| name == wanted).map(|(_, data)| data).collect::<Vec<_>>();
    let (abouts, seconds, states) = (of("about"), of("second"), of("state"));
    assert!(abouts[0]["input"].as_str().unwrap().starts_with("mixed on embedded:nfs"), "{abouts:?}");
    let table = by_second(&table);
    let mut found = 0;
    for second in &seconds {
        let mut times = table.get(&second["start_s"].as_i64().unwrap()).cloned().unwrap_or_default();
        times.sort_unstable();
        assert_eq!(second["operations"].as_u64(), Some(times.len() as u64), "{}", second["start_s"]);
        assert_eq!(second["max_ns"].as_i64(), times.last().copied());
        if let Some(p50) = second["p50_ns"].as_f64() {
            let exact = times[times.len().div_ceil(2) - 1] as f64;
            assert!((p50 / exact - 1.0).abs() < 0.002, "{p50} ns, not {exact}");
        }
        let served: u64 = second["service"].as_array().unwrap().iter().map(|cell| cell[1].as_u64().unwrap()).sum();
        assert_eq!(served, times.len() as u64);
        found += times.len();
    }
    assert_eq!(found, table.values().map(Vec::len).sum::<usize>(), "all of the run, to its last second");
    assert!(found > 100, "{found} transactions");
    let lines = |state: &Value| state["run"]["lines"].to_string();
    assert!(states.iter().any(|state| lines(state).contains("3 clients: measuring, ")), "{states:?}");
    assert!(states.iter().any(|state| lines(state).contains("Load generator: ")), "{states:?}");
    let last = states.last().unwrap();
    assert_eq!((&last["ended"], &last["losses"]), (&true.into(), &Value::Null));
    assert_eq!(last["run"]["levels"][0][0], "3 clients", "{last}");
}

/// Runs a command that drives a server at rates, and checks what its page says meanwhile. Returns the names of the levels that are over.
fn levels_of(command: &[&str]) -> Vec<String> {
    let mut served = Running::start(crate::plimsoll().args(["serve", "nfs", "--listen", "127.0.0.1:0"])).unwrap();
    let (url, pid) = (served.first_line(), served.id().to_string());
    let mut running = crate::plimsoll();
    running.args(command).args(["--clients", "4", "--rate", "1", "--warmup", "300ms", "--browser"]);
    running.args(["--target", &url, "--server-pid", &pid]);
    let events = events_of(Running::start(&mut running).unwrap());
    let states: Vec<&Value> = events.iter().filter(|(name, _)| name == "state").map(|(_, data)| data).collect();
    let lines = |state: &&Value| -> Vec<String> { serde_json::from_value(state["run"]["lines"].clone()).unwrap() };
    let all: Vec<Vec<String>> = states.iter().map(lines).collect();
    let measuring: Vec<&Vec<String>> = all.iter().filter(|lines| lines[0].contains(": measuring, ")).collect();
    for lines in &measuring {
        let rate = lines[0].split(' ').next().unwrap();
        assert!(lines[0].starts_with(&format!("{rate} iterations/s: measuring, ")), "{lines:?}");
        assert!(lines[0].ends_with("  4 of 4 clients connected"), "{lines:?}");
        assert!(lines[1].contains(&format!(" (asked for {rate})  ")), "{lines:?}");
    }
    let achieved = |lines: &Vec<String>| lines[1].split(' ').nth(3).and_then(|rate| rate.parse::<f64>().ok());
    assert!(measuring.iter().any(|lines| achieved(lines) > Some(0.0)), "{all:?}");
    let generator = ["Load generator: on time, ", "Load generator: NOT RELIABLE: "];
    assert!(all.iter().any(|lines| generator.iter().any(|begin| lines[2].starts_with(begin))), "{all:?}");
    let is_of_server = |line: &String| line.starts_with("Server: ") && line.contains(" cores busy");
    assert!(all.iter().any(|lines| lines.get(3).is_some_and(is_of_server)), "{all:?}");
    let levels: Vec<[String; 5]> = serde_json::from_value(states.last().unwrap()["run"]["levels"].clone()).unwrap();
    let names: Vec<String> = levels.into_iter().map(|[name, ..]| name).collect();
    for name in &names {
        assert!(measuring.iter().any(|lines| lines[0].starts_with(&format!("{name}: "))), "{name}: {all:?}");
    }
    names
}

#[test]
fn browsers_see_the_levels_of_a_sweep() {
    let _alone = crate::alone();
    let names = levels_of(&["sweep", "getattr", "--levels", "100,200", "--duration", "4s"]);
    assert_eq!(names, ["100 iterations/s", "200 iterations/s"]);
}

#[test]
fn browsers_see_the_runs_of_a_search_for_a_capacity() {
    let _alone = crate::alone();
    // One run that only brackets the capacity: it has a quarter of this length. On a busy machine it is repeated.
    let bounds = ["--start", "100", "--most", "200", "--runs", "1", "--duration", "16s"];
    let names = levels_of(&[&["capacity", "getattr", "--hold", "p50 < 10s"][..], &bounds].concat());
    assert!(!names.is_empty() && names.iter().all(|name| name == "100 iterations/s"), "{names:?}");
}

#[test]
fn browsers_see_the_servers_own_counters_of_the_last_level() {
    let Some(ganesha) = available(Ganesha::start_counting()) else { return };
    let _alone = crate::alone();
    let scratch = Scratch::new("watch-counters");
    let report = scratch.path().join("report.json");
    let flags = ["--browser", "--duration", "1s", "--ganesha-bus", ganesha.bus().unwrap()];
    let mut command = plimsoll(&ganesha.target(Export::Data), &flags);
    let events = events_of(Running::start(command.arg("--json").arg(&report)).unwrap());
    let state = events.iter().rfind(|(name, _)| name == "state").map(|(_, state)| state).unwrap();
    let lines: Vec<String> = serde_json::from_value(state["run"]["lines"].clone()).unwrap();
    let line = lines.iter().find_map(|line| line.strip_prefix("The server's own counters, last level: "));
    let json = crate::only_side(&std::fs::read(&report).unwrap());
    let counters = json["levels"][0]["counters"]["counters"].as_array().unwrap();
    let first = line.unwrap().split(' ').take(2).collect::<Vec<_>>().join(" ");
    let is_first = |one: &Value| format!("{} {}", one["name"].as_str().unwrap(), one["count"]) == first;
    assert!(counters.iter().any(is_first) && line.unwrap().ends_with("  (3 clients)"), "{lines:?}: {counters:?}");
}

#[test]
fn metrics_have_the_run_and_no_capture() {
    let _alone = crate::alone();
    let mut running = Running::start(&mut endless("embedded:smb", &["--metrics", "127.0.0.1:0"])).unwrap();
    assert_eq!(running.wait_until(|running| running.said()[1].contains("metrics at http://")), None);
    let said = running.said()[1].clone();
    let address: SocketAddr =
        said.split("metrics at http://").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
    let scrape = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let reads = |text: &str| -> Option<f64> {
        let line =
            text.lines().find(|line| line.starts_with("plimsoll_operation_requests_total{operation=\"read\"}"))?;
        line.rsplit(' ').next()?.parse().ok()
    };
    assert_eq!(running.wait_until(|_| reads(&scrape()).is_some_and(|reads| reads > 10.0)), None);
    let first = reads(&scrape()).unwrap();
    assert_eq!(running.wait_until(|_| reads(&scrape()).is_some_and(|reads| reads > first)), None);
    let text = scrape();
    assert!(text.contains("input=\"mixed on embedded:smb") && text.ends_with("# EOF\n"), "{text}");
    assert!(!text.contains("plimsoll_capture"), "{text}");
    running.signal(Signal::INT);
    assert!(matches!(running.end().status.code(), Some(0 | 4)));
}

#[test]
fn flags_that_mean_nothing_are_refused() {
    for (arguments, says) in [
        (&["--watch", "--quiet"][..], "--quiet"),
        (&["--listen", "127.0.0.1:0"], "--browser"),
        (&["--allow-remote"], "requires --metrics or --browser"),
        (&["--browser", "--listen", "0.0.0.0:0"], "--allow-remote"),
    ] {
        let ended = output(&mut plimsoll("embedded:nfs", arguments));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.code() == Some(2) && said.contains(says), "{arguments:?}: {:?} {said}", ended.status);
    }
}

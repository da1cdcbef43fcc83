//! The screen of a watch in tmux, at 80 × 24 and 200 × 50: each second's numbers, those of the last minute, and the table of clients are
//! those of a report in JSON, names have no effect, and the terminal is restored.

use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::tmux::Tmux;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, rpc, smb2};
use serde_json::Value;

use crate::skip;

const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");
const SIZES: [(u16, u16); 2] = [(80, 24), (200, 50)];
const SECONDS: u32 = 6;
const MS: i64 = 1_000_000;
/// Effects in a terminal without escaping: set the title, clear the screen, reverse text.
const HOSTILE: &str = "a\u{1b}]2;pwned\u{7}\u{1b}[2J\u{1b}[?1049l\u{202e}\rb";

/// Six seconds of READs from 2001-09-09T01:46:40Z on, each second with more, longer and larger ones, and every other second with an
/// error. A second client has one slow READ in each.
fn write_capture(path: &Path) {
    let mut traffic = Traffic::new(Link::Ethernet);
    let start_ns = traffic.time_ns;
    let slow = Tcp::new(([10, 0, 0, 3], 701).into(), ([10, 0, 0, 2], 2049).into());
    let mut connections = [Tcp::between_ports(700, 2049), slow];
    connections.iter_mut().for_each(|tcp| traffic.all(&tcp.handshake()));
    let mut messages = Vec::new();
    let mut add = |connection, xid, (sent_ms, took_ms): (i64, i64), reply: Vec<u8>| {
        messages.push((sent_ms, connection, Side::Client, rpc::record(&rpc::read(xid, b"file", 4_096))));
        messages.push((sent_ms + took_ms, connection, Side::Server, rpc::record(&reply)));
    };
    for second in 0..SECONDS {
        let (begin_ms, count) = (1_000 * i64::from(second), 4 + 3 * second);
        for number in 0..count {
            let xid = 100 * (second + 1) + number;
            // 70: NFS3ERR_STALE.
            let fails = second % 2 == 0 && number == 0;
            let data = vec![7; 500 * (second as usize + 1)];
            let reply = if fails { rpc::reply(xid, &rpc::words(&[70, 0])) } else { rpc::read_reply(xid, &data) };
            let sent_ms = begin_ms + 10 + i64::from(900 * number / count);
            add(0, xid, (sent_ms, 2 + i64::from(second * 3 + number)), reply);
        }
        let xid = 9_000 + second;
        add(1, xid, (begin_ms + 100, 300 + 50 * i64::from(second)), rpc::read_reply(xid, b"slow"));
    }
    messages.sort_by_key(|(ms, ..)| *ms);
    for (ms, connection, side, bytes) in messages {
        traffic.time_ns = start_ns + ms * MS;
        traffic.send(&mut connections[connection], side, &bytes);
    }
    std::fs::write(path, traffic.pcap()).unwrap();
}

/// What `analyze` says of the seconds from the first one to the end of the last one.
fn analyze(capture: &Path, (first, end): (u32, u32), flags: &[&str]) -> Value {
    let [from, to] = [first, end].map(|second| format!("2001-09-09T01:46:{}Z", 40 + second));
    let mut analyze = Command::new(PLIMSOLL);
    analyze.arg("analyze").arg(capture).args(["--from", &from, "--to", &to, "--json", "-"]).args(flags);
    crate::only_side(&output(&mut analyze).stdout)
}

/// The numbers of such seconds: operations per second, p50, p99, errors per second, mean number of outstanding requests, MB per second.
fn report(capture: &Path, (first, end): (u32, u32)) -> [f64; 6] {
    let report = analyze(capture, (first, end), &[]);
    let row = report["operations"].as_array().unwrap().first().unwrap();
    assert_eq!(row["procedure"], "READ", "{row:#}");
    let (times, seconds) = (&row["response_time"], f64::from(end - first));
    let number = |value: &Value| value.as_f64().unwrap();
    let [count, errors, waited, bytes] =
        ["count", "errors", "waited_s", "payload_bytes"].map(|name| number(&row[name]) / seconds);
    [count, number(&times["p50_s"]), number(&times["p99_s"]), errors, waited, bytes / 1e6]
}

/// The clients of such seconds, those that waited longest first: operations per second, percentage of the time waited, mean, p99, errors.
fn clients(capture: &Path, (first, end): (u32, u32)) -> Vec<(String, [f64; 5])> {
    let report = analyze(capture, (first, end), &["--by", "client"]);
    let client = |row: &Value| {
        let times = &row["response_time"];
        let numbers = [&row["count"], &row["waited_share"], &times["mean_s"], &times["p99_s"], &row["errors"]];
        let [count, share, mean, p99, errors] = numbers.map(|value| value.as_f64().unwrap());
        let name = row["keys"][0].as_str().unwrap().to_owned();
        (name, [count / f64::from(end - first), share * 100.0, mean, p99, errors])
    };
    report["breakdown"]["rows"].as_array().unwrap().iter().map(client).collect()
}

/// What the screen of a second should show.
#[derive(Debug)]
struct Expected {
    time: String,
    now: [f64; 6],
    /// Of all seconds until its end: they are less than a minute.
    lately: [f64; 6],
    clients: Vec<(String, [f64; 5])>,
}

/// Largest relative error of a number with three significant digits.
const DIGITS: f64 = 0.005;
/// The same in a row of the table. The percentage has one decimal, and p99 is that of a row of the heat map.
const ROW_DIGITS: [f64; 5] = [DIGITS, 0.02, DIGITS, 0.15, 0.0];

impl Expected {
    fn of(capture: &Path, second: u32) -> Self {
        Self {
            time: format!("2001-09-09 01:46:{} UTC", 40 + second),
            now: report(capture, (second, second + 1)),
            lately: report(capture, (0, second + 1)),
            clients: clients(capture, (0, second + 1)),
        }
    }

    /// Whether the screen, of this number of lines, shows it.
    fn is_on(&self, screen: &str, rows: u16) -> bool {
        let lines: Vec<&str> = screen.lines().collect();
        let is_near = |line: usize, label: &str, expected: [f64; 6]| {
            numbers(lines[line], label).is_some_and(|shown| are_near(shown, expected, [DIGITS; 6]))
        };
        let table = lines.iter().position(|line| line.starts_with("Time waited in the last minute, by client"));
        let shown = table.and_then(|at| lines.get(at + 2..)).unwrap_or_default();
        let is_row = |(line, (name, expected)): (&&str, &(String, [f64; 5]))| {
            client(line).is_some_and(|(shown, numbers)| shown == name && are_near(numbers, *expected, ROW_DIGITS))
        };
        lines.len() == usize::from(rows)
            && lines[0].contains(&self.time)
            && is_near(2, "now", self.now)
            && is_near(3, "1 min", self.lately)
            && shown.len() >= self.clients.len()
            && shown.iter().zip(&self.clients).all(is_row)
    }
}

fn are_near<const N: usize>(shown: [f64; N], expected: [f64; N], errors: [f64; N]) -> bool {
    let mut numbers = shown.into_iter().zip(expected).zip(errors);
    numbers.all(|((shown, expected), error)| (shown - expected).abs() <= error * expected)
}

/// A time on the screen, s.
fn time(number: &str, unit: &str) -> Option<f64> {
    let of = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * of)
}

/// The numbers in a line of the screen; `None` while it is not drawn.
fn numbers(line: &str, label: &str) -> Option<[f64; 6]> {
    let words: Vec<&str> = line.strip_prefix(label)?.split_whitespace().collect();
    let &[count, p50, p50_unit, p99, p99_unit, errors, depth, mb, "0"] = &words[..] else { return None };
    let number = |word: &str| word.parse::<f64>().ok();
    let [p50, p99] = [time(p50, p50_unit)?, time(p99, p99_unit)?];
    Some([number(count)?, p50, p99, number(errors)?, number(depth)?, number(mb)?])
}

/// The client and the numbers in a row of the table.
fn client(line: &str) -> Option<(&str, [f64; 5])> {
    let words: Vec<&str> = line.trim_start_matches("> ").split_whitespace().collect();
    let &[name, count, share, mean, mean_unit, p99, p99_unit, errors] = &words[..] else { return None };
    let number = |word: &str| word.parse::<f64>().ok();
    let [mean, p99] = [time(mean, mean_unit)?, time(p99, p99_unit)?];
    Some((name, [number(count)?, number(share.strip_suffix('%')?)?, mean, p99, number(errors)?]))
}

fn tmux(size: (u16, u16)) -> Option<Tmux> {
    let tmux = Tmux::start(size);
    if let Err(reason) = &tmux {
        skip(reason);
    }
    tmux.ok()
}

#[test]
fn tmux_shows_the_numbers_of_each_second_as_a_report_has_them() {
    let scratch = Scratch::new("watch-tmux");
    let capture = scratch.path().join("capture.pcap");
    write_capture(&capture);
    let all: Vec<Expected> = (0..SECONDS).map(|second| Expected::of(&capture, second)).collect();
    assert!(all.iter().all(|expected| expected.clients.len() == 2), "{all:?}");
    for size in SIZES {
        let Some(tmux) = tmux(size) else { return };
        tmux.type_line(&format!("{PLIMSOLL} watch --utc {}", capture.display()));
        tmux.wait_until("end of the capture", |screen| screen.contains("END"));
        for expected in all.iter().rev() {
            // tmux may have drawn only the first lines of a second when it is asked.
            let screen = tmux.wait_until(&format!("{expected:?}"), |screen| expected.is_on(screen, size.1));
            let lines: Vec<&str> = screen.lines().collect();
            let keys = lines.last().unwrap();
            assert!(
                keys.starts_with("q quit") && lines.iter().all(|line| line.chars().count() <= size.0.into()),
                "{screen}"
            );
            tmux.press("Left");
        }
        tmux.press("q");
        tmux.wait_until("prompt", |screen| screen.trim_end().ends_with('$'));
    }
}

#[test]
fn tmux_is_left_as_it_was_after_q_ctrl_c_and_sigterm() {
    let scratch = Scratch::new("watch-tmux-left");
    let capture = scratch.path().join("capture.pcap");
    write_capture(&capture);
    for (size, way) in SIZES.into_iter().flat_map(|size| ["q", "C-c", "TERM"].map(|way| (size, way))) {
        let Some(tmux) = tmux(size) else { return };
        tmux.type_line("stty -g > before; echo $((40 + 2)) lines before");
        tmux.wait_until("prompt", |screen| screen.contains("42 lines before\n$"));
        tmux.type_line(&format!("sh -c 'echo $$ > id; exec {PLIMSOLL} watch --utc {}'", capture.display()));
        tmux.wait_until("end of the capture", |screen| screen.contains("END"));
        assert_eq!(tmux.state("#{alternate_on} #{cursor_flag}"), "1 0");
        // This key would end the watch, and leave its screen in the terminal.
        tmux.press("C-\\");
        match way {
            "TERM" => {
                let id = std::fs::read_to_string(tmux.folder().join("id")).unwrap();
                assert!(output(Command::new("kill").arg(id.trim())).status.success());
            }
            key => tmux.press(key),
        }
        tmux.wait_until("prompt", |screen| screen.trim_end().ends_with('$') && !screen.contains("q quit"));
        tmux.type_line("echo status $?; stty -g > after; echo $((80 + 8)) lines after");
        tmux.wait_until("prompt", |screen| screen.contains("88 lines after\n$"));
        assert_eq!(tmux.state("#{alternate_on} #{cursor_flag}"), "0 1", "{way}");
        let setting = |name| std::fs::read_to_string(tmux.folder().join(name)).unwrap();
        assert_eq!(setting("before"), setting("after"), "{way}");
        let history = tmux.history();
        let places = ["42 lines before", "requests on 2 connections", "status 0", "88 lines after"]
            .map(|text| history.find(text));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{way}: {places:?}\n{history}");
        assert!(!history.contains("q quit"), "{way}: {history}");
    }
}

/// Otherwise the shell stops it when it changes the terminal, and nothing is captured.
#[test]
fn a_watch_in_the_background_of_a_shell_prints_lines() {
    let scratch = Scratch::new("watch-tmux-background");
    let capture = scratch.path().join("capture.pcap");
    write_capture(&capture);
    let Some(tmux) = tmux(SIZES[1]) else { return };
    tmux.type_line(&format!("{PLIMSOLL} watch --utc {} &", capture.display()));
    tmux.wait_until("report", |_| tmux.history().contains("requests on 2 connections"));
    let history = tmux.history();
    assert!(history.contains(" op/s  p50 ") && !history.contains("Stopped"), "{history}");
}

#[test]
fn names_do_nothing_in_tmux() {
    let scratch = Scratch::new("watch-tmux-names");
    let capture = scratch.path().join("capture.pcap");
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::between_ports(50_000, 445);
    traffic.all(&tcp.handshake());
    traffic.step_ns = 50 * MS;
    for id in 1..=40 {
        let name = if id % 2 == 0 { HOSTILE } else { "plain.txt" };
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::create(id, name).bytes()));
        traffic.send(&mut tcp, Side::Server, &nbss(&smb2::created(id, smb2::file(1)).bytes()));
    }
    std::fs::write(&capture, traffic.pcap()).unwrap();
    for size in SIZES {
        let Some(tmux) = tmux(size) else { return };
        let title = tmux.state("#{pane_title}");
        tmux.type_line(&format!("{PLIMSOLL} watch --utc {}", capture.display()));
        tmux.wait_until("end of the capture", |screen| screen.contains("END"));
        tmux.press("f");
        let screen =
            tmux.wait_until("table of files", |screen| screen.contains("plain.txt") && screen.contains("u{202e}"));
        let lines: Vec<&str> = screen.lines().collect();
        assert!(lines[0].starts_with("plimsoll  ") && lines.last().unwrap().starts_with("q quit"), "{screen}");
        assert!(!screen.contains('\u{202e}') && screen.contains("a\\u{1b"), "{screen}");
        // Drilled down, the name is in the head of the table.
        tmux.press("Enter");
        tmux.wait_until("name in the head", |screen| screen.contains("within file"));
        assert_eq!((tmux.state("#{pane_title}"), tmux.state("#{alternate_on}")), (title, "1".to_owned()));
        tmux.press("q");
        tmux.wait_until("prompt", |screen| screen.trim_end().ends_with('$') && !screen.contains("q quit"));
    }
}

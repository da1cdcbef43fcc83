//! The screen of a watch in tmux, at 80 × 24 and 200 × 50: each second's numbers are those of a report in JSON, names have no effect, and
//! the terminal is restored.

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
    let mut connections = [Tcp::between_ports(700, 2049), Tcp::between_ports(701, 2049)];
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

/// A second's numbers as `analyze` has them: operations, p50, p99, errors, mean number of outstanding requests, MB.
fn report(capture: &Path, second: u32) -> [f64; 6] {
    let [from, to] = [second, second + 1].map(|second| format!("2001-09-09T01:46:{}Z", 40 + second));
    let mut analyze = Command::new(PLIMSOLL);
    let analyzed = output(analyze.arg("analyze").arg(capture).args(["--from", &from, "--to", &to, "--json", "-"]));
    let report = crate::only_side(&analyzed.stdout);
    let row = report["operations"].as_array().unwrap().first().unwrap();
    assert_eq!(row["procedure"], "READ", "{row:#}");
    let number = |value: &Value| value.as_f64().unwrap();
    let times = &row["response_time"];
    let counts = [&row["count"], &times["p50_s"], &times["p99_s"], &row["errors"], &row["waited_s"]].map(number);
    let [count, p50, p99, errors, waited] = counts;
    [count, p50, p99, errors, waited, number(&row["payload_bytes"]) / 1e6]
}

/// The same numbers in a line of the screen.
fn numbers(line: &str) -> [f64; 6] {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &["now", count, p50, p50_unit, p99, p99_unit, errors, depth, mb, "0"] = &words[..] else { panic!("{line}") };
    let number = |word: &str| word.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
    let unit = |unit: &str| match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        _ => panic!("{line}"),
    };
    [
        number(count),
        number(p50) * unit(p50_unit),
        number(p99) * unit(p99_unit),
        number(errors),
        number(depth),
        number(mb),
    ]
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
    let reports: Vec<[f64; 6]> = (0..SECONDS).map(|second| report(&capture, second)).collect();
    for size in SIZES {
        let Some(tmux) = tmux(size) else { return };
        tmux.type_line(&format!("{PLIMSOLL} watch --utc {}", capture.display()));
        tmux.wait_until("end of the capture", |screen| screen.contains("END"));
        for second in (0..SECONDS).rev() {
            let time = format!("2001-09-09 01:46:{} UTC", 40 + second);
            let screen = tmux.wait_until("such a second", |screen| {
                let is_of = screen.lines().next().is_some_and(|head| head.contains(&time));
                is_of && screen.lines().count() == usize::from(size.1)
            });
            let lines: Vec<&str> = screen.lines().collect();
            let (shown, report) = (numbers(lines[2]), reports[second as usize]);
            for (shown, report) in shown.iter().zip(report) {
                // Three significant digits.
                assert!((shown - report).abs() <= 0.005 * report, "{time}: {shown} for {report}\n{screen}");
            }
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

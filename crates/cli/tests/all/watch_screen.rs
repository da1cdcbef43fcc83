//! The screen of a watch, in terminals of several sizes: it shows the report's numbers, and restores the terminal.

use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::terminal::{InTerminal, start};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};
use rustix::process::Signal;

const SIZES: [(u16, u16); 2] = [(80, 24), (200, 50)];
/// The end of a drawing: all of its lines are there.
const DRAWN: &[u8] = b"\x1b[?2026l";

fn plimsoll() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    command
}

/// Five seconds of ten GETATTRs of 10 ms each, from 2001-09-09T01:46:40Z on.
fn write_capture(folder: &Path) -> String {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::between_ports(700, 2049);
    traffic.step_ns = 10_000_000;
    traffic.all(&tcp.handshake());
    for xid in 1..=50 {
        traffic.step_ns = 10_000_000;
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
        traffic.step_ns = 90_000_000;
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
    }
    let path = folder.join("capture.pcap");
    std::fs::write(&path, traffic.pcap()).unwrap();
    path.display().to_string()
}

/// The visible screen.
fn seen(bytes: &[u8], (columns, rows): (u16, u16)) -> vt100::Parser {
    let [rows, columns] = [rows, columns].map(|size| NonZeroU16::new(size).unwrap());
    let mut parser = vt100::Parser::new(rows, columns, 0);
    parser.process(bytes);
    parser
}

/// Waits until this is on a screen that is drawn to its end.
fn wait_for(watching: &InTerminal, size: (u16, u16), text: &str) {
    watching.wait_until(|bytes| bytes.ends_with(DRAWN) && seen(bytes, size).screen().contents().contains(text));
}

/// The terminal is as it was, and shows the report.
fn assert_left(watching: &mut InTerminal, size: (u16, u16), before: &str) {
    let status = watching.end();
    let bytes = watching.bytes();
    let parser = seen(&bytes, size);
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&bytes));
    assert!(!parser.screen().alternate_screen() && !parser.screen().hide_cursor());
    assert_eq!(watching.settings(), before);
    assert!(String::from_utf8_lossy(&bytes).contains("50 requests on 1 connection"), "{}", parser.screen().contents());
}

#[test]
fn the_screen_shows_what_a_report_of_that_second_says_and_follows_keys() {
    let scratch = Scratch::new("watch-screen");
    let capture = write_capture(scratch.path());
    let second = ["--from", "2001-09-09T01:46:44Z", "--to", "2001-09-09T01:46:45Z", "--json", "-"];
    let report = output(plimsoll().args(["analyze", &capture]).args(second));
    let report = crate::only_side(&report.stdout);
    let row = &report["operations"][0];
    assert_eq!((row["count"].as_u64(), row["errors"].as_u64().unwrap_or(0)), (Some(10), 0), "{row:#}");
    for size in SIZES {
        let mut watching = start(plimsoll().args(["watch", &capture, "--utc"]).current_dir(scratch.path()), size);
        let before = watching.settings_before();
        wait_for(&watching, size, "END");
        wait_for(&watching, size, "01:46:44 UTC");
        let screen = seen(&watching.bytes(), size);
        let rows: Vec<String> = screen.screen().rows(0, size.0).collect();
        let now: Vec<&str> = rows[2].split_whitespace().collect();
        assert_eq!(now[..6], ["now", "10.0", "10.0", "ms", "10.0", "ms"], "{rows:#?}");
        assert!(rows.last().unwrap().starts_with("q quit"), "{rows:#?}");
        assert!(screen.screen().alternate_screen() && screen.screen().hide_cursor());
        watching.type_keys("o");
        wait_for(&watching, size, "Time waited in the last minute, by operation");
        watching.type_keys("\r");
        wait_for(&watching, size, "within operation getattr");
        watching.type_keys("\x7f\x1b[D\x1b[D");
        wait_for(&watching, size, "PAUSED 2 s back");
        wait_for(&watching, size, "01:46:42 UTC");
        watching.type_keys("w");
        wait_for(&watching, size, "Saved to plimsoll-watch-");
        watching.type_keys("q");
        assert_left(&mut watching, size, &before);
    }
    let saved = std::fs::read_to_string(scratch.path().join("plimsoll-watch-1.txt")).unwrap();
    assert!(saved.contains("PAUSED 2 s back"), "{saved}");
}

/// The locale of a service, and of many logins of root. An escape such as `\u{2591}` would take eight columns per second of the heat map.
#[test]
fn without_utf_8_the_screen_is_ascii_and_its_columns_stay() {
    let scratch = Scratch::new("watch-ascii");
    let capture = scratch.path().join("\u{fc}.pcap");
    std::fs::rename(write_capture(scratch.path()), &capture).unwrap();
    let size = SIZES[0];
    let mut watching = start(plimsoll().args(["watch", "--utc"]).arg(&capture).env("LC_ALL", "C"), size);
    let before = watching.settings_before();
    wait_for(&watching, size, "END");
    let bytes = watching.bytes();
    let rows: Vec<String> = seen(&bytes, size).screen().rows(0, size.0).collect();
    assert!(bytes.is_ascii(), "{rows:#?}");
    assert!(rows[0].ends_with("01:46:44 UTC  END") && rows[0].len() == 80, "{rows:#?}");
    // Ten operations of 10 ms in each of five seconds.
    let at = |name: &str| rows.iter().position(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{rows:#?}"));
    let is_full = |row: &String| row.ends_with("#####") && row.len() == 80;
    assert!(is_full(&rows[at("op/s")]) && is_full(&rows[at("p99")]), "{rows:#?}");
    assert!(rows[at("Response times") + 1..at("Time waited")].iter().any(is_full), "{rows:#?}");
    assert!(rows[23].starts_with("q quit  space pause  <> time"), "{rows:#?}");
    watching.type_keys("q");
    assert_left(&mut watching, size, &before);
}

/// The interface is in a separate network namespace, so that no packet comes.
#[test]
fn a_screen_without_packets_says_so_and_its_keys_work() {
    if !crate::watch::may_capture() {
        return;
    }
    let script = "ip link set lo up || exit 99; exec \"$0\" watch lo";
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", script, env!("CARGO_BIN_EXE_plimsoll")]).env("TERM", "xterm-256color");
    let size = SIZES[1];
    let mut watching = start(command.env("LC_ALL", "C.UTF-8"), size);
    watching.wait_until(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.contains("NO PACKETS YET") || text.contains("unshare: ") || text.contains("ip: not found")
    });
    if !String::from_utf8_lossy(&watching.bytes()).contains("NO PACKETS YET") {
        crate::skip("needs ip, and the right to make namespaces");
        return;
    }
    wait_for(&watching, size, "No packets of a file server on lo for ");
    wait_for(&watching, size, " s (ports 445, 139, 2049, 111): check --port");
    watching.type_keys("q");
    assert_eq!(watching.end().code(), Some(3));
    let said = String::from_utf8_lossy(&watching.bytes()).into_owned();
    assert!(said.contains("no packets of a file server: check the input"), "{said}");
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    let scratch = Scratch::new("watch-signals");
    let capture = write_capture(scratch.path());
    for signal in [Signal::INT, Signal::TERM] {
        let size = SIZES[0];
        let mut watching = start(plimsoll().args(["watch", &capture, "--utc"]), size);
        let before = watching.settings_before();
        wait_for(&watching, size, "END");
        watching.signal(signal);
        assert_left(&mut watching, size, &before);
    }
}

#[test]
fn a_terminal_that_cannot_is_given_lines() {
    let scratch = Scratch::new("watch-dumb");
    let capture = write_capture(scratch.path());
    for (arguments, terminal) in [(&["--lines"][..], "xterm"), (&[], "dumb")] {
        let mut watching = start(plimsoll().args(["watch", &capture]).args(arguments).env("TERM", terminal), SIZES[0]);
        assert!(watching.end().success());
        let bytes = watching.bytes();
        assert!(!String::from_utf8_lossy(&bytes).contains("1049h"));
    }
}

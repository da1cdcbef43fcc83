//! Answers that are reset at every byte, late, out of order, twice, never, cut short or with a bit turned over.

use plimsoll_testkit::servers::faulty::{Fault, Faulty, Framing, Rule, Which};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use rustix::process::Signal;
use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::command::{Ended, Server, run, start, start_with};
use crate::{alone, available};

/// Looking for files takes one connection, the lease on them one, verifying them eight.
const BEFORE: usize = 10;

/// Longer than a logon takes on a busy machine; later answers time out.
const TIMEOUT: &str = "2s";
const LATER: Duration = Duration::from_secs(3);
/// Long enough for late answers, and for operations without a wait.
const LONG: &str = "5s";
const QUICK: &str = "1s";

/// A machine that stalls for this long adds timeouts to those of the fault, or ends a run before the fault.
const STALL: Duration = Duration::from_millis(500);
/// Maximum number of runs until one has no stall.
const TRIES: usize = 10;

/// Runs again after a run in which the machine stalled: such a run says nothing about the fault.
fn without_stalls(run: impl Fn() -> Ended) -> Ended {
    let mut tries = 1;
    loop {
        let (ended, longest) = std::thread::scope(|scope| {
            // Dropped by a panic, too: the thread ends then.
            let (going, over) = channel::<()>();
            let watching = scope.spawn(move || {
                let mut longest = Duration::ZERO;
                loop {
                    let from = Instant::now();
                    let waited = over.recv_timeout(Duration::from_millis(20));
                    longest = longest.max(from.elapsed());
                    if waited != Err(RecvTimeoutError::Timeout) {
                        return longest;
                    }
                }
            });
            let ended = run();
            drop(going);
            (ended, watching.join().unwrap())
        });
        if longest < STALL || tries == TRIES {
            return ended;
        }
        tries += 1;
    }
}

/// Every kind of thing that is done to a file, once per iteration.
const TOUR: &str = r#"
name = "tour"
description = "Every kind of operation"
[files]
count = 4
directories = 1
depth = 1
size = "1KiB"
[[iterations]]
name = "tour"
on = "own"
steps = [
  "create", { write = { size = "64B", total = "64B" } }, "flush", "getattr-open", { read = { size = "64B" } }, "close",
  "remove",
]
"#;

fn tour() -> (Scratch, String) {
    let folder = Scratch::new("tour");
    let file = folder.path().join("tour.toml");
    std::fs::write(&file, TOUR).unwrap();
    (folder, file.display().to_string())
}

/// The server, and a proxy that corrupts its answers.
struct Corrupted {
    proxy: Faulty,
    target: String,
    _server: Server,
}

impl Corrupted {
    fn start(protocol: &str) -> Self {
        let server = Server::start(&[protocol, "--listen", "127.0.0.1:0"]);
        let (before, after) = server.url.split_once("127.0.0.1:").unwrap();
        let (port, path) = after.split_at(after.find('/').unwrap());
        let framing = if protocol == "smb" { Framing::Smb } else { Framing::Rpc };
        let proxy = Faulty::start(format!("127.0.0.1:{port}").parse().unwrap(), framing, Vec::new()).unwrap();
        let target = format!("{before}{}{path}", proxy.address());
        Self { proxy, target, _server: server }
    }

    /// Four clients, the `nth` answer of each corrupted.
    fn run(&self, nth: u64, fault: Fault, depth: &str, duration: &str) -> Ended {
        let rule = |connection| Rule::Answers { connection: Some(connection), which: Which::Nth(nth), fault };
        without_stalls(|| {
            self.proxy.set_rules((BEFORE..BEFORE + 4).map(rule).collect());
            self.drive(depth, duration)
        })
    }

    fn drive(&self, depth: &str, duration: &str) -> Ended {
        self.drive_with("4", depth, duration)
    }

    fn drive_with(&self, clients: &str, depth: &str, duration: &str) -> Ended {
        let load =
            ["--clients", clients, "--warmup", "0s", "--timeout", TIMEOUT, "--think", "5ms", "--duration", duration];
        run(&[&["getattr", "--target", &self.target, "--depth", depth][..], &load].concat())
    }
}

fn unmatched(ended: &Ended) -> u64 {
    ended.level()["generator"]["unmatched_responses"].as_u64().unwrap()
}

/// Number of failures with any cause; and with this cause.
fn counts(ended: &Ended, cause: &str) -> (u64, u64) {
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
    assert_eq!(ended.level()["fairness"]["starved"], 0, "the run goes on");
    (ended.failures(""), ended.failures(cause))
}

/// The tenth answer of each of four connections belongs to the load, however long logging on takes.
const TENTH: u64 = 9;

/// `senseless` are bits without which an answer is none; `each` is how many messages answer one action, in one piece.
fn by_cause(protocol: &str, senseless: &[u64], each: u64) {
    let corrupted = Corrupted::start(protocol);
    assert!(matches!(corrupted.drive("1", QUICK).code, Some(0 | 4)), "the files are made");
    let never = corrupted.run(TENTH, Fault::Never, "1", LONG);
    assert_eq!((counts(&never, "timed out"), unmatched(&never)), ((4, 4), 0));
    let unanswered = never.rows().iter().filter(|row| row["outcome"] == "unanswered").count() as u64;
    assert_eq!((unanswered, never.level()["unanswered"].as_u64()), (4 * each, Some(4 * each)));
    let late = corrupted.run(TENTH, Fault::Delayed(LATER), "1", LONG);
    assert_eq!(
        (counts(&late, "timed out"), unmatched(&late)),
        ((4, 4), 4 * each),
        "an answer that comes later is unmatched"
    );
    let twice = corrupted.run(TENTH, Fault::Twice, "1", QUICK);
    assert_eq!((counts(&twice, ""), unmatched(&twice)), ((0, 0), 4 * each));
    let overtaken = corrupted.run(TENTH, Fault::After(1), "1", LONG);
    assert_eq!((counts(&overtaken, "timed out"), unmatched(&overtaken)), ((4, 4), 4 * each));
    let out_of_order = corrupted.run(TENTH, Fault::After(2), "8", QUICK);
    assert_eq!(
        (counts(&out_of_order, ""), unmatched(&out_of_order)),
        ((0, 0), 0),
        "the order of answers is the server's"
    );
    // One failure for the action and one for the connection; the client does not wait for an impossible length.
    for bit in senseless {
        let broken = corrupted.run(TENTH, Fault::Flipped(*bit), "1", QUICK);
        let (all, malformed) = counts(&broken, "malformed answer");
        // On a busy machine the phase may end before a client has reconnected.
        let ended = broken.failures("not sent before the measurement ended");
        assert!(malformed == 8 && all == 8 + ended && ended <= 4, "{}", broken.level()["failures"]);
    }
    let cut = corrupted.run(TENTH, Fault::Cut(30), "1", LONG);
    let (all, malformed) = counts(&cut, "malformed answer");
    // Missing bytes are taken from the next answer, which needs another request.
    assert_eq!((all - malformed, ended_by(&cut)), (ended_by(&cut), ended_by(&cut)), "{}", cut.level()["failures"]);
    assert!(malformed >= 4 || ended_by(&cut) >= 4);
    // During logon: any corrupted answer leads to a retry.
    for nth in 0..4 {
        let logon = corrupted.run(nth, Fault::Flipped(senseless[0]), "1", QUICK);
        assert!(matches!(logon.code, Some(0 | 4)), "{}", logon.said);
        assert!(logon.failures("") >= 4 && logon.level()["fairness"]["starved"] == 0, "{nth}");
    }
}

fn ended_by(ended: &Ended) -> u64 {
    ended.failures("timed out")
}

#[test]
fn smb_answers_are_counted_by_cause() {
    // Behind four bytes of framing: the first byte of the protocol's name. And the framing's own first byte. An action is a
    // compound: create, query, close.
    by_cause("smb", &[32, 0], 3);
}

#[test]
fn nfs_answers_are_counted_by_cause() {
    // Behind framing and xid: the last bit of the word that says call or reply. And a length of 1 GiB more.
    by_cause("nfs", &[95, 1], 1);
}

/// A worker with a single connection waits in `recv` itself.
#[test]
fn a_single_connection_that_makes_no_sense_is_made_again() {
    for (protocol, senseless) in [("smb", 32), ("nfs", 95)] {
        let corrupted = Corrupted::start(protocol);
        assert!(matches!(corrupted.drive("1", QUICK).code, Some(0 | 4)), "the files are made");
        let (which, fault) = (Which::Nth(TENTH), Fault::Flipped(senseless));
        let ended = without_stalls(|| {
            corrupted.proxy.set_rules(vec![Rule::Answers { connection: Some(BEFORE), which, fault }]);
            corrupted.drive_with("1", "1", QUICK)
        });
        let (all, malformed) = counts(&ended, "malformed answer");
        let sent_no_more = ended.failures("not sent before the measurement ended");
        assert!(malformed == 2 && all == 2 + sent_no_more && sent_no_more <= 1, "{}", ended.level()["failures"]);
        assert!(ended.level()["count"].as_u64() > Some(20), "{}", ended.level()["count"]);
    }
}

/// An additional length of 8 MiB is plausible: the client waits for the rest and takes the following answers for it. Every request on
/// that connection times out until it is complete.
#[test]
fn an_oversized_netbios_length_ends_in_a_timeout() {
    let corrupted = Corrupted::start("smb");
    assert!(matches!(corrupted.drive("1", QUICK).code, Some(0 | 4)), "the files are made");
    let ended = corrupted.run(TENTH, Fault::Flipped(8), "1", LONG);
    let (all, timed_out) = counts(&ended, "timed out");
    assert!(all == timed_out && timed_out >= 4, "{}", ended.level()["failures"]);
}

/// Encrypted, there is no bit that may be another. Each connection has another one turned over.
#[test]
fn no_bit_of_an_encrypted_answer_may_be_another() {
    const CLIENTS: usize = 120;
    let folder = Scratch::new("password");
    let password = folder.path().join("password");
    std::fs::write(&password, "geheim\n").unwrap();
    let server = Server::start(&[
        "smb",
        "--listen",
        "127.0.0.1:0",
        "--user",
        "u",
        "--password-file",
        password.to_str().unwrap(),
    ]);
    let address = server.url.split('@').nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
    let proxy = Faulty::start(address, Framing::Smb, Vec::new()).unwrap();
    let target = server.url.replace(&address.to_string(), &proxy.address().to_string());
    let clients = CLIENTS.to_string();
    let load =
        ["--clients", &clients, "--warmup", "0s", "--think", "20ms", "--timeout", "1m", "--encryption", "--duration"];
    let arguments = |time| [&["getattr", "--target", &target][..], &load, &[time]].concat();
    assert!(matches!(start_with(&arguments("100ms"), Some("geheim")).end().code, Some(0 | 4)));
    // After the framing: 52 bytes of header, followed by encrypted data.
    let bit = |at: usize| 32 + (at * 11) as u64;
    let rule = |at: usize| {
        let fault = Fault::Flipped(bit(at));
        Rule::Answers { connection: Some(BEFORE + at), which: Which::Nth(TENTH), fault }
    };
    proxy.set_rules((0..CLIENTS).map(rule).collect());
    let mut running = start_with(&arguments("10m"), Some("geheim"));
    running.wait_for("everybody being there again", |_| {
        let seen = proxy.seen();
        seen.iter().skip(BEFORE + CLIENTS).filter(|connection| connection.replies > 8).count() >= CLIENTS
    });
    running.signal(Signal::INT);
    let ended = running.end();
    let all = ended.failures("");
    let found = ended.failures("answer not authentic") + ended.failures("malformed answer");
    assert_eq!((all, found), (2 * CLIENTS as u64, 2 * CLIENTS as u64), "{}", ended.level()["failures"]);
}

/// An iteration and the logon before it: how many bytes of answers those are.
fn bytes_of_an_iteration(arguments: &[&str]) -> usize {
    let flushes = |row: &HashMap<String, String>| matches!(row["procedure"].as_str(), "FLUSH" | "COMMIT");
    // A flush waits for the disk.
    for duration in ["400ms", "4s", "40s"] {
        let one = start(&[arguments, &["--clients", "1", "--duration", duration]].concat()).end();
        assert_eq!(one.failures(""), 0, "{}", one.level()["failures"]);
        let rows = one.rows();
        // From one flush to the next, everything was done once.
        let second = rows.iter().enumerate().filter(|(_, row)| flushes(row)).nth(1);
        if let Some((next, _)) = second {
            return rows.iter().take(next).map(|row| 4 + row["response_bytes"].parse::<usize>().unwrap()).sum();
        }
    }
    panic!("no second iteration in 40 s")
}

/// Resets one connection after any number of bytes up to the end of an iteration; the next reset hits the reconnected client. Every client
/// must come back in the end, and every reset must be counted. With `PLIMSOLL_EXACT=1` each number of bytes, otherwise a third of them.
fn reset_at_any_byte(proxy: &Faulty, target: &str) {
    const CLIENTS: usize = 40;
    let (_folder, tour) = tour();
    let arguments = [&tour, "--target", target, "--warmup", "0s", "--think", "20ms"];
    let until = bytes_of_an_iteration(&arguments);
    assert!((1_000..6_000).contains(&until), "{until}");
    // Each offset once, neighbours far apart: else all would be kept from logging on at the same time, and wait longer and
    // longer.
    let shared = |stride: usize| (2..=until).any(|by| until.is_multiple_of(by) && stride.is_multiple_of(by));
    let stride = (until * 2 / 5..).find(|stride| !shared(*stride)).unwrap();
    let offset = |nth: usize| (nth * stride % until) as u64;
    let rule = |nth: usize| Rule::End { connection: Some(BEFORE + nth), offset: offset(nth), reset: true };
    let wanted = if std::env::var_os("PLIMSOLL_EXACT").is_some() { until } else { until / 3 };
    proxy.set_rules((0..wanted).map(rule).collect());
    let mut running = start(&[&arguments[..], &["--clients", &CLIENTS.to_string(), "--duration", "10m"]].concat());
    running.wait_for("everybody being there again", |_| {
        let seen = proxy.seen();
        let whole = seen.iter().skip(BEFORE + wanted).filter(|connection| connection.replies > 10);
        whole.count() >= CLIENTS
    });
    running.signal(Signal::INT);
    let ended = running.end();
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
    let (all, resets) = (ended.failures(""), ended.failures("connection reset"));
    // The connection, and its outstanding operations. Files of the iteration are removed then; if the server had already removed them
    // when the answer was lost, it refuses.
    let removed = ended.failures("error status");
    assert_eq!(all, resets + removed, "{}", ended.level()["failures"]);
    assert!(
        (wanted as u64..=2 * wanted as u64).contains(&resets) && removed <= wanted as u64,
        "{wanted}: {resets}, {removed}"
    );
    assert_eq!(ended.level()["fairness"]["starved"], 0);
}

#[test]
fn samba_reset_at_any_byte() {
    let _alone = alone();
    let Some(samba) = available(Samba::start(&[])) else { return };
    let proxy = Faulty::start(samba.address(), Framing::Smb, Vec::new()).unwrap();
    let target = format!("smb://{}@{}/{}", Samba::USER, proxy.address(), Share::Data.name());
    reset_at_any_byte(&proxy, &target);
}

#[test]
fn ganesha_reset_at_any_byte() {
    let _alone = alone();
    let Some(ganesha) = available(Ganesha::start()) else { return };
    let proxy = Faulty::start(ganesha.address(), Framing::Rpc, Vec::new()).unwrap();
    let target = format!("nfs://{}{}?mountport={}", proxy.address(), Export::Data.path(), ganesha.mount_port());
    reset_at_any_byte(&proxy, &target);
}

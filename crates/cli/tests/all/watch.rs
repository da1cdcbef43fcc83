//! What users see of a server that they watch, and that it is what they get when they analyse the packets later.
//!
//! With `PLIMSOLL_EXACT=1` 20 seeds of loads, otherwise four and one that loses packets.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};
use rustix::process::{Signal, geteuid};
use serde_json::Value;

use crate::plimsoll;

/// Whether this user may capture; prints why not.
pub(crate) fn may_capture() -> bool {
    let may = geteuid().is_root();
    if !may {
        crate::skip("needs root, to capture an interface");
    }
    may
}

/// A watch of loopback that captures by now.
fn watch(server: &Embedded, folder: &Path, flags: &[&str]) -> Running {
    let mut command = plimsoll();
    command.args(["watch", "lo", "--utc", "--port", &server.address().port().to_string()]).args(flags);
    command.args(["--save", &inside(folder, "ring"), "--json", &inside(folder, "watch.json")]);
    command.args(["--transactions", &inside(folder, "watch.csv")]);
    let mut running = Running::start(&mut command).unwrap();
    let ended = running.wait_until(|running| running.said()[1].contains("capturing lo"));
    assert_eq!(ended, None, "{:?}", running.said());
    running
}

fn inside(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// A report as it was written, without what it calls its input: the names, and the command that reads it again.
fn without_input(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    crate::held_to_schema(&serde_json::from_str(&text).unwrap());
    let (before, rest) = text.split_once("\n        \"inputs\": [").unwrap();
    let (_, after) = rest.split_once(']').unwrap();
    let is_input = |line: &&str| line.starts_with("      \"name\": ") || line.starts_with("        \"next\": ");
    let left_out = text.lines().filter(is_input).count();
    assert_eq!(left_out, 2, "the side's name and the command alone");
    before
        .lines()
        .chain(after.lines())
        .filter(|line| !is_input(line))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Packets that the capture lost, as a side of a report has them.
pub(crate) fn lost(side: &Value) -> u64 {
    let anomalies = side["anomalies"].as_array().unwrap().iter();
    let drops = anomalies.filter(|anomaly| anomaly["kind"] == "capture_drops_reported");
    drops.filter_map(|anomaly| anomaly["count"].as_u64()).sum()
}

/// Watches a server under load, and analyses the packets afterwards. The load ends after its duration, or after `meanwhile` if there is
/// one. The report, which both have.
fn twins(kind: Kind, seed: u32, flags: &[&str], meanwhile: Option<fn(&mut Running)>) -> Value {
    let scratch = Scratch::new("watch");
    let folder = scratch.path();
    let server = Embedded::start(kind, Options::default()).unwrap();
    let mut watching = watch(&server, folder, flags);
    let mut load = plimsoll();
    load.args(["run", "mixed", "--target", &server.target(), "--seed", &seed.to_string(), "--clients", "3"]);
    // Packets are lost only under a full load.
    let (duration, think) = if meanwhile.is_some() { ("10m", "0s") } else { ("2s", "5ms") };
    load.args(["--warmup", "0s", "--duration", duration, "--think", think, "--quiet"]);
    let load = Running::start(&mut load).unwrap();
    if let Some(meanwhile) = meanwhile {
        meanwhile(&mut watching);
        load.signal(Signal::INT);
    }
    // Its numbers may be invalid, on a busy machine: it is the watch's that count.
    let ended = load.end();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    watching.signal(Signal::INT);
    let ended = watching.end();
    // Where too much was lost there is no verdict.
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));

    let mut analyze = plimsoll();
    analyze.args(["analyze", "--utc", "--json", &inside(folder, "analyze.json")]);
    analyze.args(["--transactions", &inside(folder, "analyze.csv"), &inside(folder, "ring")]);
    let analyzed = output(&mut analyze);
    assert_eq!(analyzed.status.code(), ended.status.code(), "{analyzed:?}");
    assert_same(&folder.join("watch.json"), &folder.join("analyze.json"), &format!("{kind:?}, seed {seed}"));
    let rows = |name| std::fs::read(folder.join(name)).unwrap();
    assert!(rows("watch.csv") == rows("analyze.csv"), "{kind:?}, seed {seed}: other transactions");
    serde_json::from_slice(&rows("watch.json")).unwrap()
}

/// Two reports are the same, byte for byte but for the name of the input.
fn assert_same(watched: &Path, analyzed: &Path, what: &str) {
    let (watched, analyzed) = (without_input(watched), without_input(analyzed));
    let first = watched.lines().zip(analyzed.lines()).find(|(one, other)| one != other);
    assert!(watched == analyzed, "{what}: {first:?}");
}

#[test]
fn a_watch_and_an_analysis_of_its_packets_are_twins() {
    if !may_capture() {
        return;
    }
    let _alone = crate::alone();
    let last = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 20 } else { 4 };
    // Seed 5 is the one that loses packets, below.
    for seed in (1..=last).filter(|seed| *seed != 5) {
        let kind = if seed % 2 == 0 { Kind::Nfs } else { Kind::Smb };
        let report = twins(kind, seed, &[], None);
        let operations = report["sides"][0]["operations"].as_array().unwrap();
        let count = operations.iter().filter_map(|row| row["count"].as_u64()).sum::<u64>();
        println!(
            "twins {kind:?}, seed {seed}: {count} operations in groups and procedures, {} packets lost",
            lost(&report["sides"][0])
        );
        assert!(count > 100, "{operations:#?}");
    }
}

#[test]
fn twins_cut_the_same_packets() {
    if !may_capture() {
        return;
    }
    let _alone = crate::alone();
    for (kind, seed) in [(Kind::Smb, 21), (Kind::Nfs, 22)] {
        let report = twins(kind, seed, &["--snap-length", "256"], None);
        let side = &report["sides"][0];
        assert!(side["packets"]["truncated"].as_u64() > Some(0), "{}", side["packets"]);
        let reads = side["operations"].as_array().unwrap().iter().find(|row| row["operation"] == "read");
        assert!(reads.is_some_and(|row| row["count"].as_u64() > Some(10)), "{}", side["operations"]);
    }
}

#[test]
fn twins_lose_the_same_packets() {
    if !may_capture() {
        return;
    }
    let _alone = crate::alone();
    let report = twins(
        Kind::Nfs,
        5,
        &["--buffer", "2MiB"],
        Some(|watching| {
            let has_lost = |watching: &Running| watching.said()[1].contains("the capture lost");
            // How long the buffer lasts depends on the machine.
            for pause in 1..=20 {
                watching.signal(Signal::STOP);
                std::thread::sleep(Duration::from_millis(500) * pause);
                watching.signal(Signal::CONT);
                // The line of a second comes a little after its end.
                let read = Instant::now();
                let ended = watching.wait_until(|watching| has_lost(watching) || read.elapsed().as_secs() >= 3);
                assert_eq!(ended, None, "{:?}", watching.said());
                if has_lost(watching) {
                    return;
                }
            }
        }),
    );
    println!("twins Nfs, seed 5, paused: {} packets lost", lost(&report["sides"][0]));
    assert!(lost(&report["sides"][0]) > 0, "a reader that sleeps loses packets");
    assert_ne!(report["sides"][0]["validity"]["verdict"], "valid");
}

/// Consecutive GETATTRs, four per second.
pub(crate) fn capture(seconds: u32) -> Vec<u8> {
    let mut traffic = Traffic::new(Link::Ethernet);
    traffic.step_ns = 62_500_000;
    let mut tcp = Tcp::between_ports(700, 2049);
    traffic.all(&tcp.handshake());
    for xid in 1..=8 * seconds {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
    }
    traffic.pcap()
}

#[test]
fn lines_come_while_a_pipe_is_open() {
    let scratch = Scratch::new("watch-pipe");
    let (file, bytes) = (scratch.path().join("a.pcap"), capture(5));
    std::fs::write(&file, &bytes).unwrap();
    let (mut watching, mut pipe) =
        Running::start_fed(plimsoll().args(["watch", "-", "--utc", "--json", &inside(scratch.path(), "watch.json")]))
            .unwrap();
    let (first, rest) = bytes.split_at(bytes.len() / 2 + 7);
    pipe.write_all(first).unwrap();
    // Not the second in which the pipe stalls: the rest of its packets may be on their way.
    let has = |watching: &Running, text| watching.said()[1].contains(text);
    let stalled = "No packets from standard input since 2001-09-09 01:46:42 UTC: the server or the input is silent";
    let ended = watching.wait_until(|watching| has(watching, " 8.00 op/s") && has(watching, stalled));
    assert_eq!(ended, None, "{:?}", watching.said());
    pipe.write_all(rest).unwrap();
    drop(pipe);
    let ended = watching.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let rates = said.lines().filter_map(|line| line.split("  ").find_map(|part| part.strip_suffix(" op/s")));
    // 40 operations: six in the 938 ms before 1 s, and two in the 125 ms from 5 s on, which are too short for a rate.
    assert_eq!(rates.collect::<Vec<_>>(), ["6.40", "8.00", "8.00", "8.00", "8.00", "-"], "{said}");
    assert!(said.contains("  (only 125 ms)\n") && !said.contains("LATE"), "{said}");
    let analyzed =
        output(plimsoll().args(["analyze", "--utc", "--json", &inside(scratch.path(), "analyze.json")]).arg(&file));
    assert_eq!(analyzed.status.code(), Some(0));
    assert_same(&scratch.path().join("watch.json"), &scratch.path().join("analyze.json"), "a pipe");
}

#[test]
fn what_cannot_be_watched_is_said_with_what_to_do() {
    let scratch = Scratch::new("watch-usage");
    let ring = inside(scratch.path(), "ring");
    let mut cases = vec![
        (vec!["watch", "no-such-if"], 3, "no-such-if: neither a file nor a network interface"),
        (vec!["watch", "-", "--save", &ring], 2, "tee"),
        (
            vec!["watch", "-", "--filter", "host 10.0.0.1"],
            2,
            "--filter and --snap-length apply only to a network interface",
        ),
        (vec!["watch", "lo", "--filter", "host 10.0.0.1", "--port", "4450"], 2, "--port"),
        (vec!["watch", "lo", "--interval", "0.5s"], 2, "whole seconds"),
        (vec!["watch", "lo", "--save-size", "1MiB"], 2, "--save"),
        (vec!["watch", "lo", "other.pcap"], 2, "a network interface must be the only input"),
        (vec!["watch", "-", "--netns", "blue"], 2, "--netns, --save, --port, --filter and --snap-length"),
        (
            vec!["watch", "lo", "--netns", "no-such-netns"],
            3,
            "/run/netns/no-such-netns does not exist; `ip netns list`",
        ),
    ];
    // On a separate loopback: on the machine's, servers of other tests may ask a portmapper meanwhile.
    let place = crate::available(Namespace::new());
    if place.is_some() {
        cases.push((vec!["watch", "lo", "--duration", "300ms", "--quiet"], 3, "no packets of a file server"));
        if std::process::Command::new("tcpdump").arg("--version").output().is_ok() {
            let filtered = vec!["watch", "lo", "--duration", "300ms", "--quiet", "--filter", "udp and host 192.0.2.1"];
            cases.push((filtered, 3, "no packets that match --filter 'udp and host 192.0.2.1': check the expression"));
        }
    }
    for (arguments, code, says) in cases {
        let mut command = plimsoll();
        command.args(&arguments);
        let ended = match &place {
            Some(place) => place.within(|| output(&mut command)),
            None => output(&mut command),
        };
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.code() == Some(code) && said.contains(says), "{arguments:?}: {:?} {said}", ended.status);
    }
}

/// Ctrl-C before the first packet has the same end as of `analyze`; and no recording is left, which would stop the next watch.
#[test]
fn a_watch_without_packets_leaves_no_recording() {
    let scratch = Scratch::new("watch-nothing");
    let (file, record) = (scratch.path().join("head.pcap"), inside(scratch.path(), "R"));
    let head = capture(1)[..24].to_vec();
    std::fs::write(&file, &head).unwrap();
    for command in ["watch", "analyze"] {
        let ended = output(plimsoll().args([command, &file.display().to_string(), "--record", &record]));
        assert_eq!(ended.status.code(), Some(3), "{ended:?}");
        assert!(!Path::new(&record).exists(), "{command}");
        let arguments = [command, "-", "--record", &record];
        let (mut reading, mut pipe) = Running::start_fed(plimsoll().args(arguments)).unwrap();
        pipe.write_all(&head).unwrap();
        assert_eq!(reading.wait_until(|_| Path::new(&record).join("manifest.json").exists()), None);
        reading.signal(Signal::INT);
        let ended = reading.end();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(4), "{said}");
        assert!(said.contains("interrupted before the first packet: no report"), "{command}: {said}");
        assert!(!Path::new(&record).exists(), "{command}");
        drop(pipe);
    }
}

#[test]
fn a_filter_that_cannot_be_compiled_is_said_with_what_to_do() {
    if !may_capture() {
        return;
    }
    let watch = |path: Option<&str>| {
        let mut command = plimsoll();
        path.map(|path| command.env("PATH", path));
        let ended = output(command.args(["watch", "lo", "--filter", "prot 445"]));
        assert_eq!(ended.status.code(), Some(3), "{ended:?}");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    let missing = watch(Some("/no-such-folder"));
    assert!(missing.contains("--filter \"prot 445\": tcpdump") && missing.contains("is not installed"), "{missing}");
    let said = watch(None);
    assert!(said.contains("is not installed") || said.contains("syntax error; `man pcap-filter`"), "{said}");
}

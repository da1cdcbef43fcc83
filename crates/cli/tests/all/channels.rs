//! SMB multichannel on Samba: several connections with one session, the traffic of each, and a lost one.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use plimsoll_testkit::servers::faulty::{Fault, Faulty, Framing, Rule, Which};
use plimsoll_testkit::servers::{Samba, Scratch};
use serde_json::Value;

use crate::{alone, code_and_text, only_side, side_in};

fn samba() -> Option<Samba> {
    samba_with(&[])
}

fn samba_with(more: &[&str]) -> Option<Samba> {
    crate::samba(&[&Samba::MULTICHANNEL[..], more].concat())
}

/// Runs `plimsoll`; returns exit code and output.
fn plimsoll(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = crate::plimsoll();
    code_and_text(command.args(arguments).current_dir(folder).env("PLIMSOLL_PASSWORD", Samba::PASSWORD))
}

fn target_at(address: SocketAddr) -> String {
    format!("smb://{}@{address}/data", Samba::USER)
}

/// Drives the server; the findings.
fn drive(folder: &Path, address: SocketAddr, workload: &str, more: &[&str]) -> Value {
    drive_target(folder, &target_at(address), workload, more)
}

fn drive_target(folder: &Path, target: &str, workload: &str, more: &[&str]) -> Value {
    let run = ["run", workload, "--target", target];
    let load = ["--clients", "1", "--depth", "8", "--channels", "4", "--think", "5ms"];
    let outputs = ["--seed", "3", "--json", "run.json", "--tap", "tap.pcapng", "--transactions", "run.csv", "--full"];
    let (code, said) = plimsoll(folder, &[&run[..], &load, &outputs, more].concat());
    // 4: a busy machine.
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    let mut side = side_in(&folder.join("run.json"));
    side["said"] = said.into();
    side
}

/// The traffic of a connection. The data of an answer that was cut off are unknown.
#[derive(Debug, PartialEq)]
struct Traffic {
    requests: u64,
    data_bytes: Option<u64>,
    unanswered: u64,
}

/// The traffic of the only session of a capture or table, by the client's address.
fn channels(folder: &Path, input: &str) -> BTreeMap<String, Traffic> {
    by_client(&session_of(folder, input))
}

/// The only session with several connections of a capture or table.
fn session_of(folder: &Path, input: &str) -> Value {
    let (code, said) = plimsoll(folder, &["analyze", input, "--json", "read.json", "-q"]);
    assert_eq!(code, Some(0), "{said}");
    let side = only_side(&fs::read(folder.join("read.json")).unwrap());
    let found = &side["channels"];
    assert_eq!(found["sessions_with_several"], 1, "{found}");
    found["sessions"][0].clone()
}

fn by_client(session: &Value) -> BTreeMap<String, Traffic> {
    let all = session["channels"].as_array().unwrap().iter();
    let of = |one: &Value| Traffic {
        requests: one["requests"].as_u64().unwrap(),
        data_bytes: one["data_bytes"].as_u64(),
        unanswered: one["unanswered"].as_u64().unwrap(),
    };
    all.map(|one| (one["client"].as_str().unwrap().to_owned(), of(one))).collect()
}

/// With `PLIMSOLL_EXACT=1` (the proof "channels") none has more than 1.2 times as many requests as another, otherwise 1.5 times.
#[test]
fn four_channels_carry_the_same() {
    let _alone = alone();
    let Some(samba) = samba() else { return };
    let scratch = Scratch::new("channels");
    let folder = scratch.path();
    // Compared are connections that were in use for nine tenths of the phase: a stall at an end is to be short beside it.
    let load = ["--duration", "6s", "--warmup", "0s", "--html", "run.html"];
    let run = drive(folder, samba.address(), "random-read", &load);
    let level = &run["levels"][0];
    let found = &level["channels"];
    assert_eq!((&level["connections"], &found["sessions_with_several"]), (&4.into(), &1.into()), "{run}");
    let session = &found["sessions"][0];
    assert_eq!(session["channels"].as_array().unwrap().len(), 4, "{session}");
    println!("balance of 4 channels: {}", session["balance"]);
    // 1.1 to 1.2 on a quiet machine. A channel that answers faster gets more requests.
    let most = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 1.2 } else { 1.5 };
    assert!(session["balance"].as_f64().unwrap() <= most, "{session}");
    assert_eq!((&session["user"], &found["idle_channels"]), (&Samba::USER.into(), &0.into()));
    // Little's law, compared with the load's numbers.
    let depths = session["channels"].as_array().unwrap().iter().map(|one| one["depth_mean"].as_f64().unwrap());
    assert!(depths.sum::<f64>() <= 8.01, "{session}");
    // Text and page have the table.
    let said = run["said"].as_str().unwrap();
    assert!(
        said.contains("Sessions with several connections")
            && said.contains("In the most uneven session, the busiest connection"),
        "{said}"
    );
    let page = fs::read_to_string(folder.join("run.html")).unwrap();
    assert!(page.contains("In the most uneven session, the busiest connection had"));
    // The driven and the captured traffic agree, channel by channel; tshark confirms it.
    let (driven, observed) =
        (channels(folder, &crate::without_levels(folder, "run.csv")), channels(folder, "tap.pcapng"));
    assert_eq!(driven, observed);
    let Some(fields) = tshark(folder, samba.address().port()) else {
        return crate::skip("needs tshark");
    };
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut bindings: BTreeMap<String, u32> = BTreeMap::new();
    for line in fields.lines() {
        let [port, command, flags, signed] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        // A request of a session that is no step of setting it up.
        if command.split(',').any(|one| one == "1") {
            *bindings.entry(format!("127.0.0.1:{port}")).or_default() += u32::from(flags == "1" && signed == "1");
        } else if command != "0" && command != "3" && command != "4" && command != "2" && command != "11" {
            *seen.entry(format!("127.0.0.1:{port}")).or_default() += command.split(',').count() as u64;
        }
    }
    // A token and the answer to the challenge for each further connection. A connection that is lost during that is made again, on
    // another port.
    let mut of_channels: Vec<u32> = seen.keys().map(|client| bindings.get(client).copied().unwrap_or(0)).collect();
    of_channels.sort_unstable();
    assert_eq!(of_channels, [0, 2, 2, 2], "bindings {bindings:?}, requests {seen:?}");
    assert_eq!(seen, observed.iter().map(|(client, traffic)| (client.clone(), traffic.requests)).collect());
}

/// Requests of a session by the server's address.
fn by_server(session: &Value) -> BTreeMap<Ipv4Addr, u64> {
    let mut requests = BTreeMap::new();
    for one in session["channels"].as_array().unwrap() {
        let server: SocketAddr = one["server"].as_str().unwrap().parse().unwrap();
        let IpAddr::V4(ip) = server.ip() else { panic!("{one}") };
        *requests.entry(ip).or_default() += one["requests"].as_u64().unwrap();
    }
    requests
}

/// Samba leaves its list empty on loopback, so a proxy that listens on two addresses puts them into the list.
#[test]
fn channels_go_to_all_addresses_of_the_server() {
    const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    let _alone = alone();
    let Some(samba) = samba() else { return };
    let scratch = Scratch::new("channels-addresses");
    let folder = scratch.path();
    let mut faulty = Faulty::start(samba.address(), Framing::Smb, Vec::new()).unwrap();
    faulty.listen_on(OTHER).unwrap();
    for (rules, option) in [
        (vec![Rule::Interfaces([Ipv4Addr::LOCALHOST, OTHER])], ""),
        // The server has no list; the target gives the addresses.
        (Vec::new(), "?addresses=127.0.0.2,127.0.0.1"),
    ] {
        let is_given = !option.is_empty();
        faulty.set_rules(rules);
        let target = format!("{}{option}", target_at(faulty.address()));
        let run = drive_target(folder, &target, "random-read", &["--duration", "1s", "--warmup", "0s"]);
        let level = &run["levels"][0];
        assert_eq!(level["failures"], Value::Array(Vec::new()), "{option}");
        assert_eq!(level["channels"]["sessions_with_several"], 1, "{option}: {level}");
        let facts = run["run"]["facts"].to_string();
        let fact = "further connections of a session to 127.0.0.2, 127.0.0.1 (given in the target)";
        assert_eq!(facts.contains(fact), is_given, "{facts}");
        // The figures of the run, those of its capture, and who asked for the list.
        let observed = session_of(folder, "tap.pcapng");
        for session in [&level["channels"]["sessions"][0], &observed] {
            let requests = by_server(session);
            assert_eq!(requests.keys().copied().collect::<Vec<_>>(), [Ipv4Addr::LOCALHOST, OTHER], "{session}");
            assert!(requests.values().all(|count| *count > 0), "{session}");
        }
        let driven = channels(folder, &crate::without_levels(folder, "run.csv"));
        assert_eq!(driven, by_client(&observed), "{option}");
        assert!(driven.len() >= 4, "{driven:?}");
        let asked = crate::requests(folder, "tap.pcapng");
        let asked = asked.keys().any(|procedure| procedure.contains("QUERY_NETWORK_INTERFACE_INFO"));
        assert_eq!(asked, !is_given, "{option}");
    }
}

#[test]
fn addresses_of_no_use_are_refused() {
    let _alone = alone();
    let scratch = Scratch::new("channels-refused");
    for (target, channels, code, says) in [
        ("smb://u@127.0.0.1/s?addresses=server", "2", 2, "must list IP addresses of the server"),
        ("smb://u@127.0.0.1/s?addresses=127.0.0.2", "1", 2, "needs --channels 2 or more; give --channels 2"),
        ("nfs://127.0.0.1/e?addresses=127.0.0.2", "1", 2, "option addresses is only for smb:// (with --channels)"),
        // Nothing listens there.
        ("smb://u@127.0.0.1:1/s?addresses=127.0.0.2", "2", 3, "cannot connect to 127.0.0.2:1: Connection refused"),
    ] {
        let run = ["run", "null", "--target", target, "--channels", channels, "--duration", "100ms"];
        let (ended, said) = plimsoll(scratch.path(), &run);
        assert!(ended == Some(code) && said.contains(says), "{target}: {ended:?}: {said}");
    }
}

/// Client's port, commands, binding and signature of each request.
fn tshark(folder: &Path, port: u16) -> Option<String> {
    let mut command = Command::new("tshark");
    command.args(["-r", "tap.pcapng", "-d", &format!("tcp.port=={port},nbss"), "-Y", "smb2.flags.response == 0"]);
    let fields = ["tcp.srcport", "smb2.cmd", "smb2.ses_req_flags", "smb2.flags.signature"];
    command.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field])).current_dir(folder);
    let ran = command.output().ok()?;
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// The places of the four connections of a session behind a proxy, in the order in which they were made.
fn of_the_session(faulty: &Faulty) -> Vec<usize> {
    let mut seen: Vec<(usize, u64)> = faulty.seen().iter().map(|seen| seen.bytes).enumerate().collect();
    seen.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let mut places: Vec<usize> = seen.into_iter().take(4).map(|(place, _)| place).collect();
    places.sort_unstable();
    places
}

#[test]
fn a_channel_that_is_lost_fails_nothing() {
    let _alone = alone();
    let Some(samba) = samba() else { return };
    for (workload, wish, offsets) in [
        ("random-read", &[][..], [400_000, 700_000]),
        ("mixed", &["--signing"][..], [40_000, 120_000]),
        ("mixed", &["--encryption"][..], [40_000, 120_000]),
    ] {
        let scratch = Scratch::new("channels-lost");
        let folder = scratch.path();
        let faulty = Faulty::start(samba.address(), Framing::Smb, Vec::new()).unwrap();
        // The first makes the files, the second shows which connections are the session's.
        for duration in ["100ms", "1s"] {
            faulty.set_rules(Vec::new());
            drive(folder, faulty.address(), workload, &[&["--duration", duration, "--warmup", "0s"], wish].concat());
        }
        let places = of_the_session(&faulty);
        let end = |place: usize, offset| Rule::End { connection: Some(places[place]), offset, reset: true };
        // A further connection, and the one that set up the session.
        let lossy = |duration: &'static str| {
            faulty.set_rules(vec![end(2, offsets[0]), end(0, offsets[1])]);
            let load = [&["--duration", duration, "--warmup", "0s"], wish].concat();
            drive(folder, faulty.address(), workload, &load)
        };
        let mut run = lossy("3s");
        // On a machine that stalls, the phase may end before the connection carries enough bytes for the reset.
        if run["levels"][0]["generator"]["channels_lost"] != 2 {
            run = lossy("20s");
        }
        let level = &run["levels"][0];
        assert_eq!(level["failures"], Value::Array(Vec::new()), "{workload}");
        let (lost, again) = (&level["generator"]["channels_lost"], level["generator"]["sent_again"].as_u64().unwrap());
        assert_eq!(lost, 2, "{workload}: {places:?}");
        let driven = channels(folder, &crate::without_levels(folder, "run.csv"));
        let requests = |all: &BTreeMap<String, Traffic>| -> Vec<(String, u64)> {
            all.iter().map(|(client, traffic)| (client.clone(), traffic.requests)).collect()
        };
        // `analyze` has no keys to decrypt the capture.
        if wish != ["--encryption"] {
            assert_eq!(requests(&driven), requests(&channels(folder, "tap.pcapng")), "{workload}");
        }
        // Two were reconnected; on a busy machine the run may end before the second one carries a request.
        assert!((5..=6).contains(&driven.len()), "{workload}: {driven:?}");
        let unanswered: u64 = driven.values().map(|traffic| traffic.unanswered).sum();
        // A reset comes in the middle of an answer, whose beginning is in the capture. Requests that the server could not accept were
        // answered, and sent again.
        assert!(unanswered >= 2 && again >= unanswered, "{workload}: {unanswered} {again}");
        let said = run["said"].as_str().unwrap();
        assert!(said.contains("2 connections were lost while the session continued"), "{said}");
    }
}

/// Faults of a server at a binding. Each is counted, and the connection is made again.
const HOSTILE: [(Which, Fault); 8] = [
    (Which::Nth(0), Fault::Never),
    (Which::Nth(0), Fault::Flipped(8 * (4 + 64 + 4))),
    (Which::Nth(0), Fault::Cut(90)),
    (Which::Nth(1), Fault::Flipped(8 * (4 + 48))),
    (Which::Nth(1), Fault::Cut(50)),
    (Which::Nth(2), Fault::Never),
    (Which::Nth(2), Fault::Flipped(8 * (4 + 50))),
    (Which::Nth(2), Fault::Twice),
];

#[test]
fn a_hostile_binding_is_counted_and_does_not_wait_for_the_timeout() {
    let _alone = alone();
    let Some(samba) = samba() else { return };
    let scratch = Scratch::new("channels-hostile");
    let folder = scratch.path();
    let faulty = Faulty::start(samba.address(), Framing::Smb, Vec::new()).unwrap();
    // Longer than Samba stalls on a busy machine. The wait for a binding is shorter.
    let load = ["--duration", "300ms", "--warmup", "0s", "--timeout", "30s"];
    for _ in 0..2 {
        faulty.set_rules(Vec::new());
        drive(folder, faulty.address(), "random-read", &load);
    }
    let place = of_the_session(&faulty)[2];
    for (which, fault) in HOSTILE {
        faulty.set_rules(vec![Rule::Answers { connection: Some(place), which, fault }]);
        let run = drive(folder, faulty.address(), "random-read", &load);
        let level = &run["levels"][0];
        let channels = level["channels"]["sessions"][0]["channels"].as_array().map_or(0, Vec::len);
        let failures = &level["failures"];
        assert_eq!((channels, failures), (4, &Value::Array(Vec::new())), "{which:?} {fault:?}");
    }
    let load = ["--duration", "300ms", "--warmup", "0s", "--timeout", "10m"];
    faulty.set_rules(vec![Rule::Answers { connection: Some(place), which: Which::Nth(1), fault: Fault::Never }]);
    // A test waits for the end of a run less long than this timeout.
    let run = drive(folder, faulty.address(), "random-read", &load);
    let level = &run["levels"][0];
    assert!(level["generator"]["bindings_repeated"].as_u64().unwrap() >= 1, "{level}");
    assert_eq!(level["channels"]["sessions"][0]["channels"].as_array().map_or(0, Vec::len), 4);
    let said = run["said"].as_str().unwrap();
    assert!(said.contains("repeated, because the server did not answer in time"), "{said}");
}

#[test]
fn a_server_without_multichannel_is_refused() {
    let _alone = alone();
    let scratch = Scratch::new("channels-none");
    let run = ["run", "null", "--target", "embedded:smb", "--channels", "2", "--duration", "100ms"];
    let (code, said) = plimsoll(scratch.path(), &run);
    assert!(code == Some(3) && said.contains("no SMB multichannel"), "{code:?}: {said}");
    let run = ["run", "null", "--target", "embedded:nfs", "--channels", "2", "--duration", "100ms"];
    let (code, said) = plimsoll(scratch.path(), &run);
    assert!(code == Some(2) && said.contains("only smb:// targets have channels"), "{code:?}: {said}");
    let run = ["run", "null", "--target", "embedded:smb", "--channels", "65"];
    let (code, said) = plimsoll(scratch.path(), &run);
    assert!(code == Some(2) && said.contains("--channels 65: expected an integer from 1 to 64"), "{code:?}: {said}");
}

#[test]
fn a_server_that_demands_encryption_says_whether_it_takes_more_connections() {
    let _alone = alone();
    let Some(samba) = samba_with(&["smb encrypt = required"]) else { return };
    let scratch = Scratch::new("channels-encrypted");
    let target = format!("smb://{}@{}/data", Samba::USER, samba.address());
    let run = ["run", "null", "--target", &target, "--clients", "1", "--channels", "2", "--duration", "100ms"];
    let (code, said) = plimsoll(scratch.path(), &[&run[..], &["--warmup", "0s", "--full"]].concat());
    match code {
        // Samba 4.17.
        Some(3) => {
            assert!(
                said.contains("no SMB multichannel") && said.contains("STATUS_ACCESS_DENIED, SESSION_SETUP BINDING")
            );
            assert!(!said.contains("password"), "{said}");
        }
        code => assert!(matches!(code, Some(0 | 4)) && said.contains("Sessions with several connections"), "{said}"),
    }
    // One connection is enough.
    let (code, said) = plimsoll(scratch.path(), &[&run[..6], &["--duration", "100ms", "--warmup", "0s"]].concat());
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
}

//! A flood of connections while a server is watched: it is counted, memory stays bounded, and all other traffic is still reported.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;

use plimsoll_testkit::command::Running;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};

/// Connections that are only opened, in each part of the flood.
const OPENED: u32 = 20_000;
/// Connections with one request, in each part.
const ASKING: u32 = 5_000;
const PARTS: u32 = 6;
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2049);

fn client(number: u32) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from(0x0b00_0000 + number / 40)), (1_000 + number % 40) as u16)
}

/// A second of the flood, with one request of a client that was there before.
fn flood(part: u32, usual: &mut Tcp) -> Vec<u8> {
    let mut traffic = Traffic::new(Link::Ethernet);
    traffic.time_ns += i64::from(part) * 1_000_000_000;
    traffic.step_ns = 10_000;
    if part == 0 {
        traffic.all(&usual.handshake());
    }
    traffic.send(usual, Side::Client, &rpc::record(&rpc::getattr(part + 1, b"usual")));
    for number in part * (OPENED + ASKING)..(part + 1) * (OPENED + ASKING) {
        let mut tcp = Tcp::new(client(number), SERVER);
        let [syn, rest @ ..] = tcp.handshake();
        traffic.tcp(&syn);
        if number % (OPENED / ASKING + 1) == 0 {
            traffic.all(&rest);
            traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(number, b"root")));
            traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(number, &rpc::words(&[0]))));
        }
    }
    traffic.send(usual, Side::Server, &rpc::record(&rpc::reply(part + 1, &rpc::words(&[0]))));
    let mut bytes = traffic.pcap();
    // The header of the file comes once.
    if part > 0 {
        bytes.drain(..24);
    }
    bytes
}

/// The most memory that a process had so far, MiB.
fn peak_mib(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn a_flood_of_connections_is_counted_and_hides_nothing() {
    let scratch = Scratch::new("watch-flood");
    let json = scratch.path().join("watch.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["watch", "-", "--utc", "--metrics", "127.0.0.1:0", "--json"]).arg(&json);
    let (mut watching, mut pipe) = Running::start_fed(&mut command).unwrap();
    let mut usual = Tcp::between_ports(700, 2049);
    let mut peaks = Vec::new();
    for part in 0..PARTS {
        pipe.write_all(&flood(part, &mut usual)).unwrap();
        let lines = |watching: &Running| watching.said()[1].matches(" op/s").count();
        // The part after it shows that a second is over.
        let ended = watching.wait_until(|watching| lines(watching) >= part as usize);
        assert_eq!(ended, None, "{:?}", watching.said());
        peaks.push(peak_mib(watching.id()));
    }
    drop(pipe);
    let ended = watching.end();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{:?} {said}", ended.status);
    let report = crate::only_side(&std::fs::read(&json).unwrap());
    let found = |kind: &str| {
        let anomalies = report["anomalies"].as_array().unwrap().iter();
        anomalies.filter(|anomaly| anomaly["kind"] == kind).filter_map(|anomaly| anomaly["count"].as_u64()).sum::<u64>()
    };
    let answered = u64::from(PARTS * (ASKING + 1));
    assert_eq!(report["operations"][0]["answered"].as_u64(), Some(answered), "{}", report["operations"][0]);
    assert!(found("connection_evicted") > u64::from((PARTS - 1) * OPENED), "{}", report["anomalies"]);
    // The usual client's connection was open while thousands came and went.
    assert_eq!(found("request_unanswered") + found("response_without_request"), 0, "{}", report["anomalies"]);
    // 134 MiB after 12 of these parts, and the same after 30.
    assert!(peaks.iter().all(|mib| *mib < 256), "{peaks:?} MiB");
}

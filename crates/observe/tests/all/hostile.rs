//! Malicious or damaged input: no panic, bounded memory, and a count of each fault.

use std::net::SocketAddr;

use plimsoll_model::{Anomaly, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Captures, Frame, Input, LinkType};
use plimsoll_testkit::{Link, Random, Side, Tcp, Traffic, nbss, rpc, smb2};

use crate::conversation::observe_traffic;

/// Memory that the process ever held, bytes.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).unwrap_or_default() * 1024
}

/// Whether there is as much of everything as in `cargo xtask verify`.
fn is_exact() -> bool {
    std::env::var_os("PLIMSOLL_EXACT").is_some()
}

fn conversation(server_port: u16) -> (Traffic, Tcp) {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, server_port));
    traffic.all(&tcp.handshake());
    (traffic, tcp)
}

/// A repeatable stream of noise.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.bits() as u8).collect()
}

#[test]
fn random_bytes_behind_every_magic() {
    let count = if is_exact() { 10_000_000 } else { 2_000_000 };
    let magics: [&[u8]; 7] = [
        &[],
        b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0",
        b"\xa1\xb2\xc3\xd4\x00\x02\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\x01",
        b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0",
        b"snoop\0\0\0\0\0\0\x02\0\0\0\x04",
        b"XCP\x00002.002\0",
        b"GMBU\0\x02\x01\0",
    ];
    let path = std::env::temp_dir().join(format!("plimsoll-noise-{}", std::process::id()));
    for (seed, magic) in (1..).zip(magics) {
        std::fs::write(&path, [magic, &noise(count, seed)].concat()).unwrap();
        // A clear error, or frames and then an end: both are fine, a panic or a loop is not.
        let Ok(mut captures) = Captures::open(vec![Input::File(path.clone())]) else { continue };
        let mut observer = Observer::new(Vec::new());
        while let Ok(Some(frame)) = captures.next() {
            observer.frame(&frame);
        }
        assert!(observer.finish().sink.len() < 100, "noise holds no operations to speak of");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn noise_in_a_stream_is_counted_and_the_next_message_found() {
    for (port, request, response) in [
        (
            445,
            nbss(&smb2::request(smb2::command::ECHO, 5).bytes()),
            nbss(&smb2::response(smb2::command::ECHO, 5, 0).bytes()),
        ),
        (2049, rpc::record(&rpc::getattr(5, b"fh")), rpc::record(&rpc::reply(5, &rpc::words(&[0])))),
    ] {
        let (mut traffic, mut tcp) = conversation(port);
        let first = if port == 445 {
            nbss(&smb2::request(smb2::command::ECHO, 4).bytes())
        } else {
            rpc::record(&rpc::getattr(4, b"fh"))
        };
        traffic.send(&mut tcp, Side::Client, &first);
        traffic.send(&mut tcp, Side::Client, &noise(100_000, 9));
        traffic.exchange(&mut tcp, &request, &response);
        let (rows, coverage) = observe_traffic(&traffic);
        assert!(rows.iter().any(|row| row.id == Some(5) && row.response_bytes.is_some()), "port {port}");
        assert!(coverage.anomalies.count(Anomaly::BytesUnrecognised) > 0);
        assert!(coverage.anomalies.count(Anomaly::Resynchronised) > 0);
    }
}

#[test]
fn an_endless_compound_chain_ends() {
    let (mut traffic, mut tcp) = conversation(445);
    // 16 MiB of headers, each pointing at the next one 64 bytes on.
    let mut header = smb2::request(smb2::command::ECHO, 1).bytes();
    header.truncate(64);
    header[20..24].copy_from_slice(&64u32.to_le_bytes());
    let message = nbss(&header.repeat((16 << 20) / 64 - 1));
    for segment in tcp.split(Side::Client, &message, 60_000) {
        traffic.tcp(&segment);
    }
    let (rows, coverage) = observe_traffic(&traffic);
    assert!(rows.len() <= 32_768, "{} rows", rows.len());
    assert!(coverage.anomalies.iter().count() > 0);
}

#[test]
fn a_record_of_endless_fragments_ends() {
    let (mut traffic, mut tcp) = conversation(2049);
    let mut message = rpc::record(&rpc::getattr(1, b"fh"));
    message[0] &= 0x7f; // not the last fragment
    message.extend(std::iter::repeat_n([0u8, 0, 0, 0], 100_000).flatten()); // empty ones, none the last
    traffic.send(&mut tcp, Side::Client, &message);
    let (_, coverage) = observe_traffic(&traffic);
    assert!(coverage.anomalies.count(Anomaly::MessageMalformed) > 0);
}

#[test]
fn countless_connections_waiting_requests_and_fragments_stay_in_bounds() {
    let (connections, requests, fragments): (u32, u32, u32) =
        if is_exact() { (300_000, 1_000_000, 20_000) } else { (80_000, 100_000, 2_000) };
    let mut observer = Observer::new(Vec::new());
    let mut number = 0;
    let mut give = |observer: &mut Observer<Vec<Transaction>>, traffic: &mut Traffic| {
        for frame in traffic.frames.drain(..) {
            number += 1;
            let (time_ns, original_len) = (Some(frame.time_ns), frame.original_len);
            let link = LinkType::Ethernet;
            observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len });
        }
        // Only the observer's own memory is to be seen.
        observer.sink().0.clear();
    };
    let mut traffic = Traffic::new(Link::Ethernet);
    let call = rpc::record(&rpc::getattr(7, b"fh"));
    for at in 0..connections {
        let client = SocketAddr::from(([10, (at >> 16) as u8, (at >> 8) as u8, at as u8], 999));
        let mut tcp = Tcp::new(client, "192.0.2.1:2049".parse().unwrap());
        traffic.all(&tcp.handshake()[..1]);
        traffic.send(&mut tcp, Side::Client, &call);
        give(&mut observer, &mut traffic);
    }
    let mut tcp = Tcp::between_ports(700, 2049);
    traffic.all(&tcp.handshake()[..1]);
    for xid in 0..requests {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"fh")));
        give(&mut observer, &mut traffic);
    }
    let (from, to): (SocketAddr, SocketAddr) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2049".parse().unwrap());
    for _ in 0..fragments {
        traffic.udp(from, to, &[0; 3_000], Some(1_480));
        traffic.frames.truncate(1); // the first piece only
        give(&mut observer, &mut traffic);
    }
    let coverage = observer.finish().coverage;
    // All but those for which there is room. The last connection is that of the requests. All fragments are incomplete.
    for (kind, expected) in [
        (Anomaly::ConnectionEvicted, connections + 1 - 16_384),
        (Anomaly::PendingEvicted, requests - 16_384),
        (Anomaly::FragmentsIncomplete, fragments),
    ] {
        assert_eq!(coverage.anomalies.count(kind), u64::from(expected), "{kind:?}");
    }
    assert!(peak_memory() < 512 << 20, "{} MiB", peak_memory() >> 20);
}

/// A compound as long as these takes 12 KB while it waits.
#[test]
fn operations_of_compounds_that_wait_stay_in_bounds() {
    const PUTROOTFH: u32 = 24;
    // The first connection has no answer, so that it has room for 262,144 operations.
    let (compounds, room) = (2_100, 262_144 / 128);
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
    traffic.all(&tcp.handshake());
    let long = vec![(PUTROOTFH, Vec::new()); 128];
    for xid in 1..=compounds {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::compound(xid, 1, &long)));
    }
    let mut other = Tcp::between_ports(701, 2049);
    traffic.all(&other.handshake());
    let usual = [(PUTROOTFH, Vec::new())];
    let (call, reply) = (rpc::compound(1, 1, &usual), rpc::compound_reply(1, &usual));
    traffic.exchange(&mut other, &rpc::record(&call), &rpc::record(&reply));
    let mut observer = Observer::new(());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
        observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len: frame.original_len });
    }
    let anomalies = observer.finish().coverage.anomalies;
    assert_eq!(anomalies.count(Anomaly::PendingEvicted), u64::from(compounds - room));
    assert_eq!(anomalies.count(Anomaly::ResponseWithoutRequest), 0, "a usual compound has room in any case");
}

/// Found by fuzzing: a packet from an address and port to the very same.
#[test]
fn a_packet_to_its_own_sender_is_malformed() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let end: SocketAddr = "192.0.2.1:2049".parse().unwrap();
    traffic.udp(end, end, &rpc::getattr(1, b"fh"), None);
    let (rows, coverage) = observe_traffic(&traffic);
    assert!(rows.is_empty());
    assert_eq!(coverage.anomalies.count(Anomaly::PacketMalformed), 1);
}

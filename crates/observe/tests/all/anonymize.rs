//! Anonymised captures: for any input the copy has the same number of packets with the same lengths, and the same transactions.

use plimsoll_model::{RpcTls, Transaction};
use plimsoll_observe::anonymize::{AnonymizeError, FirstPass, Key, Stated};
use plimsoll_observe::capture::{Captures, Format, Input};
use plimsoll_observe::{Observed, Observer};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Frame, Link, Side, Tcp, Traffic, nbss, pcap, rpc, smb2};
use proptest::prelude::*;

/// Status, outcome and times of a transaction.
fn row(transaction: &Transaction) -> String {
    let Transaction { procedure, timeline, status, outcome, payload_bytes, .. } = transaction;
    format!("{procedure:?} {timeline:?} {status:?} {outcome:?} {payload_bytes:?}")
}

fn captures(scratch: &Scratch, bytes: &[u8]) -> Captures {
    let path = scratch.path().join("a.pcap");
    std::fs::write(&path, bytes).unwrap();
    Captures::open(vec![Input::File(path)]).unwrap()
}

/// The copy of a capture.
fn copied(scratch: &Scratch, bytes: &[u8]) -> Vec<u8> {
    try_copied(scratch, bytes).unwrap()
}

fn try_copied(scratch: &Scratch, bytes: &[u8]) -> Result<Vec<u8>, AnonymizeError> {
    let mut first = FirstPass::new(Key::of(b"a secret of enough bytes").unwrap());
    let mut reader = captures(scratch, bytes);
    while let Some(frame) = reader.next().unwrap() {
        first.frame(&frame);
    }
    let mut second = first.finish(Some(Format::PcapNanosecond), None, Stated::default())?;
    let (mut reader, mut copy) = (captures(scratch, bytes), Vec::new());
    while let Some(frame) = reader.next().unwrap() {
        second.frame(&frame, &mut copy)?;
    }
    second.finish(&mut copy, false)?;
    Ok(copy)
}

fn rows(scratch: &Scratch, bytes: &[u8]) -> (Vec<String>, Lengths) {
    let (observed, lengths) = observed(scratch, bytes);
    (observed.sink.iter().map(row).collect(), lengths)
}

/// Number, captured length and length of each packet.
type Lengths = Vec<(u64, usize, u32)>;

/// What is found in a capture, and the lengths of its packets.
fn observed(scratch: &Scratch, bytes: &[u8]) -> (Observed<Vec<Transaction>>, Lengths) {
    let (mut observer, mut lengths) = (Observer::new(Vec::new()), Vec::new());
    let mut reader = captures(scratch, bytes);
    while let Some(frame) = reader.next().unwrap() {
        lengths.push((frame.number, frame.captured.len(), frame.original_len));
        observer.frame(&frame);
    }
    (observer.finish(), lengths)
}

/// Lookups and writes in records of several fragments and in small segments, of which some come late, twice or never.
fn traffic(late: usize, twice: usize, lost: usize) -> Vec<Frame> {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::between_ports(700, 2049);
    traffic.all(&tcp.handshake());
    for xid in 1..12 {
        let call = match xid % 2 {
            0 => rpc::lookup(xid, b"directory", "Secret plan.docx"),
            _ => rpc::write(xid, b"file", b"confidential data, confidential data"),
        };
        traffic.all(&tcp.split(Side::Client, &rpc::record_in_fragments(&call, 48), 37));
        let results = [rpc::words(&[0]), rpc::opaque(b"found"), rpc::words(&[0, 0])].concat();
        traffic.all(&tcp.split(Side::Server, &rpc::record_in_fragments(&rpc::reply(xid, &results), 32), 19));
    }
    let frames = &mut traffic.frames;
    let last = frames.len() - 2;
    frames.swap(3 + late % (last - 3), 4 + late % (last - 3));
    let again = frames[3 + twice % (last - 3)].clone();
    frames.push(again);
    frames.remove(3 + lost % (last - 3));
    // Their times as they stand in the capture.
    for (at, frame) in frames.iter_mut().enumerate() {
        frame.time_ns = 1_000_000_000_000_000_000 + at as i64 * 100_000;
    }
    traffic.frames
}

fn holds(bytes: &[u8], sought: &[u8]) -> bool {
    bytes.windows(sought.len()).any(|window| window == sought)
}

/// A mark of a fragment may lie in the packet that is missing, whole or in part.
#[test]
fn any_packet_may_be_missing() {
    let scratch = Scratch::new("anonymize-missing");
    for lost in 0..traffic(0, 0, 0).len() {
        let bytes = pcap(Link::Ethernet, &traffic(0, 0, lost));
        let copy = copied(&scratch, &bytes);
        assert_eq!(rows(&scratch, &bytes), rows(&scratch, &copy), "without packet {lost}");
    }
}

/// A record of TLS with so many bytes of encrypted data.
fn encrypted(len: u16) -> Vec<u8> {
    let [high, low] = len.to_be_bytes();
    [&[23, 3, 3, high, low][..], &vec![0x55; usize::from(len)]].concat()
}

/// The verdict depends on the operations that TLS hides. The capture began in the middle of the connection.
#[test]
fn records_of_tls_are_counted_in_the_copy() {
    let scratch = Scratch::new("anonymize-tls");
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
    for _ in 0..20 {
        traffic.exchange(&mut tcp, &encrypted(200), &encrypted(4_200));
    }
    let bytes = traffic.pcap();
    let copy = copied(&scratch, &bytes);
    assert!(!holds(&copy, &[0x55; 16]));
    let [original, copy] = [&bytes, &copy].map(|bytes| observed(&scratch, bytes).0.coverage);
    let sums = |tls: &RpcTls| (tls.connections, tls.records, tls.bytes, tls.requests);
    assert_eq!(sums(&original.rpc_tls), (1, [20, 20], [4_100, 84_100], 20));
    assert_eq!(sums(&copy.rpc_tls), sums(&original.rpc_tls));
    assert_eq!(copy.unseen.missing.operations, original.unseen.missing.operations);
}

/// Of a file that a client has lost, "not found" is an error; of another, it is an ordinary answer.
#[test]
fn reconnections_have_the_same_outcome_in_the_copy() {
    const NOT_FOUND: u32 = 0xC000_0034;
    let scratch = Scratch::new("anonymize-reconnections");
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    let file = smb2::file(1);
    traffic.exchange(&mut tcp, &nbss(&smb2::create(1, "db.mdb").bytes()), &nbss(&smb2::created(1, file).bytes()));
    // MS-SMB2 2.2.13.2.4: one create context, with the handle behind its name.
    let mut reconnect = smb2::create(2, "").bytes();
    reconnect[64 + 48..64 + 56].copy_from_slice(&[120, 0, 0, 0, 40, 0, 0, 0]);
    reconnect.extend([0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 16, 0, 0, 0]);
    reconnect.extend(b"DHnC\0\0\0\0");
    reconnect.extend(file);
    let refusal = smb2::response(smb2::command::CREATE, 2, NOT_FOUND).body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    traffic.exchange(&mut tcp, &nbss(&reconnect), &nbss(&refusal.bytes()));
    let bytes = traffic.pcap();
    let copy = copied(&scratch, &bytes);
    let original = rows(&scratch, &bytes);
    assert!(original.0[1].contains("Refused"), "{original:?}");
    assert_eq!(original, rows(&scratch, &copy));
}

/// Calls and replies in the data of a UDP port, over TCP or UDP.
fn tunnelled(port: u16, header: &[u8; 8], over_tcp: bool) -> Traffic {
    let mut inner = Traffic::new(Link::Ethernet);
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    let mut tcp = Tcp::new(client, server);
    for xid in 1..9 {
        let (call, reply) = (rpc::getattr(xid, &[7; 16]), rpc::reply(xid, &rpc::words(&[0; 22])));
        if over_tcp {
            inner.exchange(&mut tcp, &rpc::record(&call), &rpc::record(&reply));
        } else {
            inner.udp(client, server, &call, None);
            inner.udp(server, client, &reply, None);
        }
    }
    let mut outer = Traffic::new(Link::Ethernet);
    for frame in &inner.frames {
        let payload = [&header[..], &frame.bytes].concat();
        outer.udp(([192, 0, 2, 1], 5_555).into(), ([192, 0, 2, 2], port).into(), &payload, None);
    }
    outer
}

/// Their copies would lack requests.
#[test]
fn tunnels_over_udp_and_fragments_of_tcp_are_refused() {
    const VXLAN: [u8; 8] = [8, 0, 0, 0, 0, 0, 7, 0];
    const GENEVE: [u8; 8] = [0, 0, 0x65, 0x58, 0, 0, 7, 0];
    let scratch = Scratch::new("anonymize-tunnels");
    let mut refused = Vec::new();
    for (port, header) in [(4_789, VXLAN), (8_472, VXLAN), (6_081, GENEVE)] {
        refused.extend([true, false].map(|over_tcp| tunnelled(port, &header, over_tcp)));
    }
    let (mut fragments, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
    for xid in 1..9 {
        for segment in tcp.split(Side::Client, &rpc::record(&rpc::getattr(xid, &[7; 16])), 1_448) {
            fragments.ip(segment.source, segment.destination, 6, &segment.bytes(), Some(64));
        }
    }
    refused.push(fragments);
    for (at, traffic) in refused.iter().enumerate() {
        let done = try_copied(&scratch, &traffic.pcap());
        assert!(matches!(done, Err(AnonymizeError::Encapsulated(_))), "capture {at}: {done:?}");
    }
    let mut plain = Traffic::new(Link::Ethernet);
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    plain.udp(client, server, &rpc::write(1, b"file", &[7; 4_000]), Some(1_480));
    assert!(try_copied(&scratch, &plain.pcap()).is_ok(), "fragments of UDP are copied");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn fragments_and_disorder_change_nothing(late: usize, twice: usize, lost: usize) {
        let scratch = Scratch::new("anonymize-fragments");
        let bytes = pcap(Link::Ethernet, &traffic(late, twice, lost));
        let copy = copied(&scratch, &bytes);
        prop_assert_eq!(rows(&scratch, &bytes), rows(&scratch, &copy));
        for secret in [&b"Secret"[..], b"plan", b"confidential", b"directory", b"client"] {
            prop_assert!(!holds(&copy, secret));
        }
    }

    #[test]
    fn damaged_packets_keep_their_lengths(
        damage in prop::collection::vec((0usize..200, 0usize..120, any::<u8>(), 0usize..200), 1..40)
    ) {
        let scratch = Scratch::new("anonymize-damage");
        let mut frames = traffic(0, 0, 0);
        let count = frames.len();
        for (frame, at, byte, cut) in damage {
            let bytes = &mut frames[frame % count].bytes;
            let len = bytes.len();
            if at < 100 && len > 0 {
                bytes[at % len] = byte;
            } else {
                bytes.truncate(cut);
            }
        }
        let bytes = pcap(Link::Ethernet, &frames);
        let copy = copied(&scratch, &bytes);
        prop_assert_eq!(rows(&scratch, &bytes).1, rows(&scratch, &copy).1);
    }
}

//! Traffic in tunnels and on other links gives the same transactions: each capture's packets are carried in every supported way, and the
//! transactions must be those of the plain capture.

mod wrap;

use std::path::Path;

use plimsoll_model::{Anomaly, Transaction};
use plimsoll_observe::capture::{Captures, Frame, Input, LinkType};
use plimsoll_observe::{Observed, Observer};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, rpc, shared_capture, smb2, workspace};
use wrap::{ALL, Encapsulation};

use crate::rows::{row, rows, text};

/// Number of packets per capture: enough for every operation in it, few enough for unoptimised builds.
const PACKETS: usize = 3_000;
/// The same of a large capture without `PLIMSOLL_EXACT=1`.
const SOME_PACKETS: usize = 1_000;
/// Bytes of Ethernet's header.
const ETHERNET: usize = 14;

/// A frame of the plain capture: time and bytes.
type Plain = (Option<i64>, Vec<u8>);

/// The observer's result for the frames that `carry` makes of each plain frame; they get its time and number.
fn observe(plain: &[Plain], link: LinkType, carry: impl Fn(&[u8]) -> Vec<Vec<u8>>) -> Observed<Vec<Transaction>> {
    let mut observer = Observer::new(Vec::new());
    for (number, (time_ns, bytes)) in (1..).zip(plain) {
        for captured in &carry(bytes) {
            let original_len = captured.len() as u32;
            observer.frame(&Frame { number, time_ns: *time_ns, link, captured, original_len });
        }
    }
    observer.finish()
}

fn link(encapsulation: &Encapsulation) -> LinkType {
    match encapsulation.link {
        LinkType::Other(number) => LinkType::from_registry(number),
        link => link,
    }
}

/// The IP packet of an Ethernet frame, if it holds one.
fn ip(frame: &[u8]) -> Option<&[u8]> {
    matches!(frame.get(12..ETHERNET)?, [8, 0] | [0x86, 0xdd]).then(|| &frame[ETHERNET..])
}

/// Every third encapsulation, beginning with one of the first three; with `PLIMSOLL_EXACT=1` all of them.
fn third(first: usize) -> impl Iterator<Item = &'static Encapsulation> {
    let (first, step) = if std::env::var_os("PLIMSOLL_EXACT").is_some() { (0, 1) } else { (first, 3) };
    ALL.iter().skip(first).step_by(step)
}

fn assert_the_same(plain: &[Plain], encapsulations: impl Iterator<Item = &'static Encapsulation>, what: &str) {
    let reference = observe(plain, LinkType::Ethernet, |frame| vec![frame.to_vec()]);
    let expected = rows(&reference);
    assert!(expected.len() > 2, "{what} holds operations");
    for encapsulation in encapsulations {
        let carry = |frame: &[u8]| ip(frame).map_or_else(Vec::new, encapsulation.wrap);
        let carried = observe(plain, link(encapsulation), carry);
        let name = encapsulation.name;
        let found = rows(&carried);
        assert_eq!(found.len(), expected.len(), "{what} in {name}");
        // Datagrams of several fragments count the packets that carried them.
        let same = |at: usize| {
            let without = |observed| without_packets(observed, at);
            found[at] == expected[at] || (name.contains("fragments") && without(&carried) == without(&reference))
        };
        let differs = (0..expected.len()).find(|&at| !same(at));
        let differs = differs.map(|at| [&carried, &reference].map(|observed| text(observed, at)));
        assert!(differs.is_none(), "{what} in {name}: {differs:#?}");
        let [one, other] = [&carried, &reference].map(|observed| &observed.coverage);
        assert_eq!(one.unseen, other.unseen, "{what} in {name}");
        assert_eq!(one.packets.retransmitted, other.packets.retransmitted, "{what} in {name}");
    }
}

/// A row without the numbers of packets in which its request and response came.
fn without_packets(observed: &Observed<Vec<Transaction>>, at: usize) -> Vec<u8> {
    row(&Transaction { request_packets: 0, response_packets: None, ..observed.sink[at].clone() }, &observed.names)
}

/// The first packets of a capture, at most `most`.
fn read(capture: &Path, most: usize) -> Vec<Plain> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())]).expect("the capture opens");
    let mut packets = Vec::new();
    while let Some(frame) = captures.next().expect("the capture reads") {
        assert_eq!(frame.link, LinkType::Ethernet, "{}", capture.display());
        packets.push((frame.time_ns, frame.captured.to_vec()));
        if packets.len() == most {
            break;
        }
    }
    packets
}

#[test]
fn our_own_captures_are_the_same_in_every_tunnel() {
    for (first, name) in ["smb2-samba", "nfs-ganesha"].into_iter().enumerate() {
        let capture = workspace().join("captures").join(name).join("capture.pcap.zst");
        assert_the_same(&read(&capture, PACKETS), third(first), name);
    }
}

#[test]
fn real_traffic_is_the_same_in_every_tunnel() {
    // The large ones repeat their few operations.
    let some = if std::env::var_os("PLIMSOLL_EXACT").is_some() { PACKETS } else { SOME_PACKETS };
    for (name, most, first) in
        [("nfs3-ipv6-op-dense.pcap", some, 0), ("nfs3-udp-ip-fragments.pcap", some, 1), ("smb2-clean.pcap", PACKETS, 2)]
    {
        let Some(capture) = shared_capture(name) else { continue };
        assert_the_same(&read(&capture, most), third(first), name);
    }
}

/// NFS over UDP in fragments, and SMB over TCP with segments of every size, as Ethernet frames.
fn made() -> Vec<Plain> {
    let mut traffic = Traffic::new(Link::Ethernet);
    let (client, server) = (([10, 0, 0, 1], 4789).into(), ([10, 0, 0, 2], 2049).into());
    for xid in 1..20 {
        traffic.udp(client, server, &rpc::read(xid, b"handle12", 4_000), None);
        traffic.udp(server, client, &rpc::read_reply(xid, &vec![0x33; 4_000]), Some(1_480));
    }
    let mut tcp = Tcp::between_ports(700, 445);
    traffic.all(&tcp.handshake());
    for id in 5..40u64 {
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(id, smb2::file(1), 512).bytes()));
        traffic.send(&mut tcp, Side::Server, &nbss(&smb2::read_answer(id, &vec![0; id as usize * 100]).bytes()));
    }
    traffic.frames.into_iter().map(|frame| (Some(frame.time_ns), frame.bytes)).collect()
}

#[test]
fn fragments_and_a_client_on_a_tunnels_port_are_the_same_in_every_tunnel() {
    assert_the_same(&made(), ALL.iter(), "made traffic");
}

#[test]
fn a_packet_captured_plain_and_in_its_tunnel_counts_once() {
    let plain = made();
    let once = observe(&plain, LinkType::Ethernet, |frame| vec![frame.to_vec()]);
    for encapsulation in ALL.iter().filter(|one| one.link == LinkType::Ethernet) {
        let both = observe(&plain, LinkType::Ethernet, |frame| {
            let carried = ip(frame).map_or_else(Vec::new, encapsulation.wrap);
            [vec![frame.to_vec()], carried].concat()
        });
        let is_paired = |t: &&Transaction| t.timeline.response_first.is_some() && t.frames.response_first.is_some();
        let [paired, expected] = [&both, &once].map(|observed| observed.sink.iter().filter(is_paired).count());
        assert_eq!(paired, expected, "{}", encapsulation.name);
        let packets = &both.coverage.packets;
        assert!(packets.retransmitted > 30, "{}: {packets:?}", encapsulation.name);
    }
}

#[test]
fn tunnels_beyond_the_limit_are_counted_and_other_traffic_on_a_tunnels_port_stays_what_it_is() {
    let plain = made();
    // Ethernet in GRE, nine times.
    let deep = |frame: &[u8]| {
        let wrap = ALL.iter().find(|one| one.name == "Ethernet in GRE").unwrap().wrap;
        let carried = (0..9).try_fold(frame.to_vec(), |frame, _| Some(wrap(ip(&frame)?).remove(0)));
        carried.into_iter().collect()
    };
    let Observed { sink, coverage, .. } = observe(&plain, LinkType::Ethernet, deep);
    assert_eq!((sink.len(), coverage.anomalies.count(Anomaly::TunnelTooDeep)), (0, plain.len() as u64));

    let mut traffic = Traffic::new(Link::Ethernet);
    for payload in [&[8, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3][..], &[8; 40], &[0; 60], b"", b"plain text, no tunnel"] {
        for port in [4789, 8472, 6081] {
            traffic.udp(([10, 0, 0, 1], 9).into(), ([10, 0, 0, 2], port).into(), payload, None);
        }
    }
    let frames: Vec<Plain> = traffic.frames.into_iter().map(|frame| (Some(1), frame.bytes)).collect();
    let coverage = observe(&frames, LinkType::Ethernet, |frame| vec![frame.to_vec()]).coverage;
    assert_eq!((coverage.packets.udp, coverage.packets.total), (15, 15));
    assert_eq!(coverage.anomalies.iter().count(), 0, "{:?}", coverage.anomalies);
}

#[test]
fn link_types_that_are_not_known_are_told_by_number() {
    let mut observer = Observer::new(Vec::new());
    for link in [195, 105, 195] {
        let link = LinkType::from_registry(link);
        observer.frame(&Frame { number: 1, time_ns: Some(1), link, captured: &[0; 40], original_len: 40 });
    }
    let coverage = observer.finish().coverage;
    assert_eq!(coverage.unknown_links, [(195, 2), (105, 1)]);
    assert_eq!(coverage.anomalies.count(Anomaly::LinkTypeUnknown), 3);
}

//! The traffic that the stages are given.

use std::net::SocketAddr;

use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_testkit::{Link, Tcp, Traffic, nbss, rpc, smb2};

/// Operations in a pass: few enough to stay in memory, many enough that beginning anew does not show.
pub(crate) const OPERATIONS: u32 = 20_000;
/// What a bulk read carries, bytes.
const BULK: usize = 64 << 10;
/// An NFS handle, bytes; as Linux servers make them.
const HANDLE: usize = 28;
/// Attributes of a file in NFS 3 and the status before them, bytes.
const GETATTR_RESULTS: usize = 88;
/// Files that are asked about in turn.
const FILES: u32 = 100;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// NFS 3 GETATTR over TCP, one packet each way.
    Rpc,
    /// SMB2 READ of 512 bytes, one packet each way.
    Smb2,
    /// SMB2 READ of 64 KiB, 46 packets back.
    Bulk,
}

/// A link and network layer around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    /// Ethernet and IPv4.
    Ipv4,
    /// Ethernet and IPv6.
    Ipv6,
    /// Ethernet with a VLAN tag and IPv4.
    Vlan,
}

impl std::fmt::Display for Around {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Around::Ipv4 => "IPv4",
            Around::Ipv6 => "IPv6",
            Around::Vlan => "VLAN, IPv4",
        })
    }
}

/// `operations` operations of one connection, one after the other.
pub(crate) fn of(kind: Kind, around: Around, operations: u32) -> Traffic {
    let mut traffic = Traffic::new(Link::Ethernet);
    traffic.step_ns = 20_000;
    if around == Around::Vlan {
        traffic.vlans = vec![7];
    }
    let port = if kind == Kind::Rpc { 2049 } else { 445 };
    let (client, server): (SocketAddr, SocketAddr) = match around {
        Around::Ipv6 => (([0xfd00, 0, 0, 0, 0, 0, 0, 1], 900).into(), ([0xfd00, 0, 0, 0, 0, 0, 0, 2], port).into()),
        _ => (([10, 0, 0, 1], 900).into(), ([10, 0, 0, 2], port).into()),
    };
    let mut tcp = Tcp::new(client, server).with_timestamps();
    traffic.all(&tcp.handshake());
    for number in 0..operations {
        let (request, response) = operation(kind, number);
        traffic.exchange(&mut tcp, &request, &response);
    }
    traffic
}

/// A request and its response, framed.
pub(crate) fn operation(kind: Kind, number: u32) -> (Vec<u8>, Vec<u8>) {
    let id = u64::from(number);
    let file = (number % FILES) as u8;
    match kind {
        Kind::Rpc => {
            let handle = [file; HANDLE];
            let results = [0; GETATTR_RESULTS];
            (rpc::record(&rpc::getattr(number, &handle)), rpc::record(&rpc::reply(number, &results)))
        }
        Kind::Smb2 => read(id, file, 512),
        Kind::Bulk => read(id, file, BULK),
    }
}

fn read(id: u64, file: u8, len: usize) -> (Vec<u8>, Vec<u8>) {
    let request = smb2::read(id, smb2::file(file), len as u32).bytes();
    (nbss(&request), nbss(&smb2::read_answer(id, &vec![b'p'; len]).bytes()))
}

/// The frames as a reader gives them.
pub(crate) fn frames(traffic: &Traffic) -> Vec<Frame<'_>> {
    let numbered = traffic.frames.iter().zip(1..);
    let frames = numbered.map(|(frame, number)| Frame {
        number,
        time_ns: Some(frame.time_ns),
        link: LinkType::Ethernet,
        captured: &frame.bytes,
        original_len: frame.original_len,
    });
    frames.collect()
}

/// The frames that a capture losing one packet in a hundred has left, the same ones in every run.
pub(crate) fn lossy<T>(frames: Vec<T>) -> Vec<T> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut kept = frames;
    kept.retain(|_| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        !random.is_multiple_of(100)
    });
    kept
}

//! Packets in a tunnel, whose headers a fuzzer makes up.

use std::net::SocketAddr;
use std::sync::LazyLock;

use plimsoll_observe::capture::LinkType;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use crate::Watch;

/// Frames of one input, at most: those behind them would only cost time.
const FRAMES_MAX: u64 = 32;
/// The Ethernet frames of a short conversation.
static SOUND: LazyLock<Vec<Vec<u8>>> = LazyLock::new(sound);

/// What carries a tunnel's header and payload: a protocol or a port in IP, an EtherType, or a link.
#[derive(Clone, Copy, Debug)]
pub enum Carrier {
    /// A protocol number of IP.
    Ip(u8),
    /// A port of UDP.
    Udp(u16),
    /// An EtherType, or a length.
    Ethernet(u16),
    /// A link type by its number; nothing stands before the tunnel's header.
    Link(u32),
}

/// Passes the fuzzer's packets to an observer, each after the header of `carrier`.
///
/// Each header follows a control byte and its length. Bit 0 of the control byte adds a valid Ethernet frame after the header, bit 1 a
/// valid IP packet; bit 2 cuts the carrier's datagram into fragments, bit 3 cuts the frame short, bit 4 puts the whole into the same
/// carrier again. `carrier` gets the control byte, and returns the bytes before the fuzzer's header.
pub fn tunnel(data: &[u8], carrier: impl Fn(u8) -> (Carrier, &'static [u8])) {
    let mut watch = Watch::default();
    let mut packets = SOUND.iter().cycle();
    let mut rest = data;
    while let [control, len, tail @ ..] = rest
        && watch.frames() < FRAMES_MAX
    {
        let (header, after) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = after;
        let (carrier, before) = carrier(*control);
        let inner = packets.next().map(Vec::as_slice).unwrap_or_default();
        let payload: &[u8] = match control & 3 {
            1 => inner,
            2 => inner.get(14..).unwrap_or_default(),
            _ => &[],
        };
        let mut frames = carried(carrier, &[before, header, payload].concat(), *control);
        if control & 16 != 0 {
            frames =
                frames.iter().flat_map(|frame| carried(carrier, &[before, header, frame].concat(), *control)).collect();
        }
        for frame in &frames {
            let time_ns = watch.frames() as i64 * 1_000;
            let link =
                if let Carrier::Link(number) = carrier { LinkType::from_registry(number) } else { LinkType::Ethernet };
            let kept = if control & 8 == 0 { frame.len() } else { frame.len() - frame.len() / 3 };
            watch.frame(Some(time_ns), link, &frame[..kept], frame.len() as u32);
        }
    }
    watch.finish();
}

fn carried(carrier: Carrier, bytes: &[u8], control: u8) -> Vec<Vec<u8>> {
    let ends: [SocketAddr; 2] = [([192, 0, 2, 1], 50_000).into(), ([192, 0, 2, 2], 0).into()];
    let piece = (control & 4 != 0).then_some(32);
    let mut traffic = Traffic::new(Link::Ethernet);
    match carrier {
        Carrier::Ip(protocol) => traffic.ip(ends[0], ends[1], protocol, bytes, piece),
        Carrier::Udp(port) => traffic.udp(ends[0], (ends[1].ip(), port).into(), bytes, piece),
        Carrier::Ethernet(ethertype) => traffic.frame([&[2; 12], &ethertype.to_be_bytes()[..], bytes].concat()),
        Carrier::Link(_) => traffic.frame(bytes.to_vec()),
    }
    traffic.frames.into_iter().map(|frame| frame.bytes).collect()
}

fn sound() -> Vec<Vec<u8>> {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    for id in 1..4 {
        traffic.send(&mut tcp, Side::Client, &nbss(&smb2::echo(id).bytes()));
        traffic.send(&mut tcp, Side::Server, &nbss(&smb2::echoed(id).bytes()));
    }
    traffic.frames.into_iter().map(|frame| frame.bytes).collect()
}

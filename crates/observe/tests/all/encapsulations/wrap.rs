//! Encapsulations of an IP packet, each with its link layer.

use plimsoll_observe::capture::LinkType;
use plimsoll_testkit::{Link, Traffic};

const GRE: u8 = 47;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// A way to carry an IP packet: the frames that do, on which link.
pub(crate) struct Encapsulation {
    pub(crate) name: &'static str,
    pub(crate) link: LinkType,
    pub(crate) wrap: fn(&[u8]) -> Vec<Vec<u8>>,
}

/// All that are followed.
pub(crate) const ALL: &[Encapsulation] = &[
    ethernet("VXLAN", |ip| udp4(4789, &[&[8, 0, 0, 0, 0, 1, 2, 0], &frame(ip)[..]].concat(), None)),
    ethernet("VXLAN of Linux in IPv6", |ip| udp6(8472, &[&[8, 0, 0, 0, 0, 1, 2, 0], &frame(ip)[..]].concat(), None)),
    ethernet("VXLAN with a group policy", |ip| {
        udp4(4789, &[&[0x88, 0, 0, 7, 0, 1, 2, 0], &frame(ip)[..]].concat(), None)
    }),
    ethernet("GENEVE", |ip| udp4(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 9, 0], &frame(ip)[..]].concat(), None)),
    ethernet("GENEVE with options", |ip| {
        let options = [1, 2, 0x80, 1, 9, 9, 9, 9, 1, 2, 1, 0];
        udp6(6081, &[&[3, 0x40, 0x65, 0x58, 0, 0, 9, 0], &options[..], &frame(ip)].concat(), None)
    }),
    ethernet("GENEVE with IP", |ip| {
        let [high, low] = ethertype(ip);
        udp4(6081, &[&[0, 0, high, low, 0, 0, 9, 0], ip].concat(), None)
    }),
    ethernet("GRE", |ip| ip4(GRE, &gre(0, ethertype(ip), 0, ip), None)),
    ethernet("GRE with a key", |ip| ip6(GRE, &gre(0x20, ethertype(ip), 4, ip), None)),
    ethernet("GRE with checksum, key and sequence number", |ip| ip4(GRE, &gre(0xb0, ethertype(ip), 12, ip), None)),
    ethernet("Ethernet in GRE", |ip| ip4(GRE, &gre(0, [0x65, 0x58], 0, &frame(ip)), None)),
    ethernet("NVGRE", |ip| ip4(GRE, &gre(0x20, [0x65, 0x58], 4, &frame(ip)), None)),
    ethernet("MPLS in GRE", |ip| ip4(GRE, &gre(0, [0x88, 0x47], 0, &[&[0, 1, 1, 64], ip].concat()), None)),
    ethernet("PPTP", |ip| {
        let [high, low] = ppp_protocol(ip);
        let fields = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xff, 3, high, low];
        ip4(GRE, &[&[0x30, 0x81, 0x88, 0x0b], &fields[..], ip].concat(), None)
    }),
    ethernet("ERSPAN I", |ip| ip4(GRE, &gre(0, [0x88, 0xbe], 0, &frame(ip)), None)),
    ethernet("ERSPAN II", |ip| {
        ip4(GRE, &gre(0x10, [0x88, 0xbe], 4, &[&[0x10, 5, 0, 7, 0, 0, 0, 1], &frame(ip)[..]].concat()), None)
    }),
    ethernet("ERSPAN III", |ip| ip6(GRE, &gre(0x10, [0x22, 0xeb], 4, &erspan3(0, &[], &frame(ip))), None)),
    ethernet("ERSPAN III with a platform's header", |ip| {
        ip4(GRE, &gre(0x10, [0x22, 0xeb], 4, &erspan3(1, &[0x0c, 0, 0, 0, 1, 2, 3, 4], &frame(ip))), None)
    }),
    ethernet("ERSPAN III with IP", |ip| ip4(GRE, &gre(0x10, [0x22, 0xeb], 4, &erspan3(0x0800, &[], ip)), None)),
    ethernet("MPLS", |ip| typed([0x88, 0x47], &[&[0, 1, 1, 64], ip].concat())),
    ethernet("MPLS, three labels", |ip| typed([0x88, 0x48], &[&[0, 1, 0, 64, 0, 2, 0, 64, 0, 3, 1, 64], ip].concat())),
    ethernet("an MPLS pseudowire", |ip| typed([0x88, 0x47], &[&[0, 1, 1, 64, 0, 0, 0, 0], &frame(ip)[..]].concat())),
    ethernet("an MPLS pseudowire without control word", |ip| {
        typed([0x88, 0x47], &[&[0, 1, 1, 64], &frame(ip)[..]].concat())
    }),
    ethernet("an MPLS pseudowire to an address that begins as IPv4 does", |ip| {
        let mut inner = frame(ip);
        inner[..6].copy_from_slice(&[0x45, 0, 0, 0x28, 1, 1]);
        typed([0x88, 0x47], &[&[0, 1, 1, 64], &inner[..]].concat())
    }),
    ethernet("MPLS in IP", |ip| ip4(137, &[&[0, 1, 1, 64], ip].concat(), None)),
    ethernet("PPPoE", |ip| typed([0x88, 0x64], &pppoe(ip))),
    ethernet("PPPoE in a VLAN", |ip| typed([0x81, 0], &[&[0, 7, 0x88, 0x64], &pppoe(ip)[..]].concat())),
    ethernet("IP in IPv4", |ip| ip4(if is_ipv6(ip) { 41 } else { 4 }, ip, None)),
    ethernet("IP in IPv6", |ip| ip6(if is_ipv6(ip) { 41 } else { 4 }, ip, None)),
    ethernet("SNAP", |ip| {
        let length = u16::try_from(8 + ip.len()).unwrap_or(1_500).min(1_500).to_be_bytes();
        typed(length, &[&[0xaa, 0xaa, 3, 0, 0, 0], &ethertype(ip)[..], ip].concat())
    }),
    ethernet("a provider's bridge", |ip| typed([0x88, 0xe7], &[&[0, 0, 0, 9], &frame(ip)[..]].concat())),
    ethernet("four in each other", |ip| {
        let vxlan = [&[8, 0, 0, 0, 0, 1, 2, 0], &frame(ip)[..]].concat();
        let in_ipv6 = udp6(4789, &vxlan, None).remove(0);
        let in_ipv4 = ip4(GRE, &gre(0, IPV6, 0, &in_ipv6[14..]), None).remove(0);
        typed([0x88, 0x64], &pppoe(&in_ipv4[14..]))
    }),
    ethernet("VXLAN in fragments of IPv4", |ip| {
        udp4(4789, &[&[8, 0, 0, 0, 0, 1, 2, 0], &frame(ip)[..]].concat(), Some(64))
    }),
    ethernet("GENEVE in fragments of IPv6, the last first", |ip| {
        let mut frames = udp6(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 9, 0], &frame(ip)[..]].concat(), Some(48));
        frames.reverse();
        frames
    }),
    ethernet("GRE in fragments of IPv4", |ip| ip4(GRE, &gre(0, ethertype(ip), 0, ip), Some(32))),
    ethernet("fragments in fragments", |ip| {
        let inner = ip6(if is_ipv6(ip) { 41 } else { 4 }, ip, Some(64));
        inner.iter().flat_map(|inner| ip4(GRE, &gre(0, IPV6, 0, &inner[14..]), Some(56))).collect()
    }),
    on(9, "PPP", |ip| vec![[&ppp_protocol(ip)[..], ip].concat()]),
    on(50, "PPP with HDLC's address", |ip| vec![[&[0xff, 3], &ppp_protocol(ip)[..], ip].concat()]),
    on(9, "PPP with a short protocol", |ip| vec![[&ppp_protocol(ip)[1..], ip].concat()]),
    on(204, "PPP behind a direction", |ip| vec![[&[1, 0xff, 3], &ppp_protocol(ip)[..], ip].concat()]),
    on(166, "PPP with a direction as address", |ip| vec![[&[0, 3], &ppp_protocol(ip)[..], ip].concat()]),
    on(51, "PPPoE without Ethernet", |ip| vec![pppoe(ip)]),
    on(104, "Cisco HDLC", |ip| vec![[&[0x0f, 0], &ethertype(ip)[..], ip].concat()]),
    on(50, "Cisco HDLC under PPP's number", |ip| vec![[&[0x8f, 0], &ethertype(ip)[..], ip].concat()]),
    on(113, "LLC on a Linux cooked link", |ip| {
        let header = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0, 4];
        vec![[&header[..], &[0xaa, 0xaa, 3, 0, 0, 0], &ethertype(ip), ip].concat()]
    }),
];

const fn ethernet(name: &'static str, wrap: fn(&[u8]) -> Vec<Vec<u8>>) -> Encapsulation {
    Encapsulation { name, link: LinkType::Ethernet, wrap }
}

const fn on(link: u32, name: &'static str, wrap: fn(&[u8]) -> Vec<Vec<u8>>) -> Encapsulation {
    Encapsulation { name, link: LinkType::Other(link), wrap }
}

fn is_ipv6(ip: &[u8]) -> bool {
    ip[0] >> 4 == 6
}

fn ethertype(ip: &[u8]) -> [u8; 2] {
    if is_ipv6(ip) { IPV6 } else { IPV4 }
}

fn ppp_protocol(ip: &[u8]) -> [u8; 2] {
    [0, if is_ipv6(ip) { 0x57 } else { 0x21 }]
}

/// An inner Ethernet frame.
fn frame(ip: &[u8]) -> Vec<u8> {
    typed(ethertype(ip), ip).remove(0)
}

fn typed(ethertype: [u8; 2], payload: &[u8]) -> Vec<Vec<u8>> {
    vec![[&[2, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 9], &ethertype[..], payload].concat()]
}

fn gre(flags: u8, protocol: [u8; 2], fields: usize, payload: &[u8]) -> Vec<u8> {
    [&[flags, 0], &protocol[..], &vec![7; fields], payload].concat()
}

fn erspan3(last: u16, subheader: &[u8], payload: &[u8]) -> Vec<u8> {
    [&[0x20, 5, 0, 7, 0, 0, 0, 1, 0, 0], &last.to_be_bytes()[..], subheader, payload].concat()
}

fn pppoe(ip: &[u8]) -> Vec<u8> {
    let length = u16::try_from(2 + ip.len()).unwrap_or(0).to_be_bytes();
    [&[0x11, 0, 0, 1], &length[..], &ppp_protocol(ip), ip].concat()
}

fn ip4(protocol: u8, payload: &[u8], piece: Option<usize>) -> Vec<Vec<u8>> {
    outer(([203, 0, 113, 1], 0).into(), ([203, 0, 113, 2], 0).into(), protocol, payload, piece)
}

fn ip6(protocol: u8, payload: &[u8], piece: Option<usize>) -> Vec<Vec<u8>> {
    let end = |last| ([0x2001, 0xdb8, 0, 0, 0, 0, 0, last], 0).into();
    outer(end(1), end(2), protocol, payload, piece)
}

fn udp4(port: u16, payload: &[u8], piece: Option<usize>) -> Vec<Vec<u8>> {
    ip4(17, &udp(port, payload), piece)
}

fn udp6(port: u16, payload: &[u8], piece: Option<usize>) -> Vec<Vec<u8>> {
    ip6(17, &udp(port, payload), piece)
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).unwrap_or(0);
    [[50_000, port, length, 0].map(u16::to_be_bytes).as_flattened(), payload].concat()
}

thread_local! {
    /// Fragments of one datagram have an identification that no other datagram has.
    static SENT: std::cell::RefCell<Traffic> = std::cell::RefCell::new(Traffic::new(Link::Ethernet));
}

fn outer(
    source: std::net::SocketAddr,
    destination: std::net::SocketAddr,
    protocol: u8,
    payload: &[u8],
    piece: Option<usize>,
) -> Vec<Vec<u8>> {
    SENT.with_borrow_mut(|traffic| {
        traffic.ip(source, destination, protocol, payload, piece);
        traffic.frames.drain(..).map(|frame| frame.bytes).collect()
    })
}

//! The packet filter that runs in the kernel: TCP and UDP from or to a file server's ports.
//!
//! Spec: bpf(2) and Linux' Documentation/networking/filter.rst (classic BPF)
//!
//! IP fragments after the first have no ports and pass. The filter skips up to two VLAN tags that the network card did not strip; it does
//! not look into tunnels.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use libc::sock_filter;

use crate::capture::{LinkType, MAX_PACKET_BYTES};

/// Ports of SMB (over TCP and over NetBIOS), NFS and the port mapper.
pub const FILE_SERVER_PORTS: [u16; 4] = [445, 139, 2049, 111];
/// Maximum number of ports of all servers in a filter. A port takes 4 instructions, one per IP version and direction. A program has at
/// most 4,096; older kernels accept about 1,200 in place of another program (net.core.optmem_max = 20 KiB).
pub const MAX_PORTS: usize = 128;
/// Maximum number of services in a filter: each takes 24 instructions at most, if each is on another server and has an IPv6 address.
pub(super) const MAX_SERVICES: usize = 64;

/// Loads into register A: a byte or a half word at a place; a byte, a half word or a word at a distance from register X; a stored word.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE_AT_X: u16 = 0x50;
const LOAD_HALF_AT_X: u16 = 0x48;
const LOAD_WORD_AT_X: u16 = 0x40;
const LOAD_STORED: u16 = 0x60;
const STORE: u16 = 0x02;
const SHIFT_RIGHT: u16 = 0x74;
const SHIFT_LEFT: u16 = 0x64;
const AND: u16 = 0x54;
const ADD_X: u16 = 0x0c;
/// Sets X: to a number, or to A.
const SET_X: u16 = 0x01;
const A_TO_X: u16 = 0x07;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
/// Numbers that one jump of at most 255 instructions can pass over.
const NUMBERS_MAX: usize = 128;

const ETHERTYPE_AT: u32 = 12;
const ETHERNET_LEN: u32 = 14;
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
/// 802.1Q, 802.1ad and the older QinQ value.
const VLAN_TAGS: [u32; 3] = [0x8100, 0x88a8, 0x9100];
const VLAN_TAG_LEN: u32 = 4;
const TAGS_MAX: u32 = 2;
const TCP: u32 = 6;
const UDP: u32 = 17;
/// IPv4's fragment offset, behind three flags.
const FRAGMENT_OFFSET: u32 = 0x1fff;
/// Where IPv4 has its addresses: of the source and of the destination.
const IPV4_ADDRESSES: [u32; 2] = [12, 16];
const IPV6_FRAGMENT: u32 = 44;
const IPV6_LEN: u32 = 40;
const IPV6_ADDRESSES: [u32; 2] = [8, 24];

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Pass,
    Drop,
    /// The IPv4 or IPv6 header, at X.
    Four,
    Six,
    /// One more VLAN tag.
    Tagged(u32),
}

/// A program in the making; all jumps go forward.
#[derive(Default)]
struct Program {
    code: Vec<sock_filter>,
    jumps: Vec<(usize, Label)>,
    places: Vec<(Label, usize)>,
}

/// Lets nothing through: for the end of a capture.
pub(super) fn nothing() -> Vec<sock_filter> {
    vec![statement(RETURN, 0)]
}

/// The program with this snap length: what it returns for a packet is how many bytes of it the kernel copies.
pub(super) fn cut(program: &[sock_filter], snap_length: u32) -> Vec<sock_filter> {
    let cut = |step: &sock_filter| match step.code {
        RETURN => sock_filter { k: step.k.min(snap_length), ..*step },
        _ => *step,
    };
    program.iter().map(cut).collect()
}

/// Lets packets of this link type from or to these ports of any server through, and from or to these ports of single servers.
pub(super) fn program(link: LinkType, ports: &[u16], services: &[SocketAddr]) -> Vec<sock_filter> {
    let mut program = Program::default();
    if link == LinkType::RawIp {
        program.add(LOAD_BYTE, 0);
        program.add(SHIFT_RIGHT, 4);
        program.header(0, (4, 6));
    } else {
        for tags in 0..=TAGS_MAX {
            let more = if tags < TAGS_MAX { Label::Tagged(tags + 1) } else { Label::Drop };
            program.place(Label::Tagged(tags));
            program.add(LOAD_HALF, ETHERTYPE_AT + tags * VLAN_TAG_LEN);
            VLAN_TAGS.iter().for_each(|&tag| program.jump_if(IF_EQUAL, tag, more));
            program.header(ETHERNET_LEN + tags * VLAN_TAG_LEN, (IPV4, IPV6));
        }
    }
    let mut servers: BTreeMap<IpAddr, Vec<u16>> = BTreeMap::new();
    services.iter().for_each(|service| servers.entry(service.ip()).or_default().push(service.port()));
    program.ipv4(ports, &servers);
    program.ipv6(ports, &servers);
    program.place(Label::Drop);
    program.add(RETURN, 0);
    program.place(Label::Pass);
    program.add(RETURN, MAX_PACKET_BYTES);
    program.finish()
}

impl Program {
    fn add(&mut self, code: u16, k: u32) {
        self.code.push(statement(code, k));
    }

    fn place(&mut self, label: Label) {
        self.places.push((label, self.code.len()));
    }

    fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.add(JUMP, 0);
    }

    /// A conditional jump reaches 255 instructions, so it jumps over one that reaches all.
    fn jump_if(&mut self, condition: u16, k: u32, to: Label) {
        self.code.push(sock_filter { code: condition, jt: 0, jf: 1, k });
        self.jump(to);
    }

    /// Goes on with an IP header at `start`, if A is one of the two versions.
    fn header(&mut self, start: u32, (four, six): (u32, u32)) {
        self.add(SET_X, start);
        self.jump_if(IF_EQUAL, four, Label::Four);
        self.jump_if(IF_EQUAL, six, Label::Six);
        self.jump(Label::Drop);
    }

    /// Looks at an IPv4 packet at X, then at its ports. X becomes the place of the ports.
    fn ipv4(&mut self, ports: &[u16], servers: &BTreeMap<IpAddr, Vec<u16>>) {
        self.place(Label::Four);
        self.add(LOAD_HALF_AT_X, 6);
        self.jump_if(IF_ANY_BIT, FRAGMENT_OFFSET, Label::Pass);
        self.has_ports(9);
        for (stored, at) in (0..).zip(IPV4_ADDRESSES) {
            self.add(LOAD_WORD_AT_X, at);
            self.add(STORE, stored);
        }
        // The length of the header, in words of 4 bytes.
        self.add(LOAD_BYTE_AT_X, 0);
        self.add(AND, 15);
        self.add(SHIFT_LEFT, 2);
        self.add(ADD_X, 0);
        self.add(A_TO_X, 0);
        self.ports(0, ports);
        for (server, ports) in servers {
            let IpAddr::V4(server) = server else { continue };
            for direction in 0..2 {
                self.server(&[(LOAD_STORED, direction, server.to_bits())], 2 * direction, ports);
            }
        }
        self.jump(Label::Drop);
    }

    /// Looks at an IPv6 packet at X, then at its ports.
    fn ipv6(&mut self, ports: &[u16], servers: &BTreeMap<IpAddr, Vec<u16>>) {
        self.place(Label::Six);
        self.add(LOAD_BYTE_AT_X, 6);
        self.jump_if(IF_EQUAL, IPV6_FRAGMENT, Label::Pass);
        self.has_ports(6);
        self.ports(IPV6_LEN, ports);
        for (server, ports) in servers {
            let IpAddr::V6(server) = server else { continue };
            for (address_at, port_at) in IPV6_ADDRESSES.into_iter().zip([IPV6_LEN, IPV6_LEN + 2]) {
                // The last word first: it differs most between servers.
                let words = [(12, 0), (8, 32), (4, 64), (0, 96)];
                let tests =
                    words.map(|(at, shift)| (LOAD_WORD_AT_X, address_at + at, (server.to_bits() >> shift) as u32));
                self.server(&tests, port_at, ports);
            }
        }
        self.jump(Label::Drop);
    }

    /// Drops packets of other protocols than TCP and UDP. The protocol is a byte at this distance from X.
    fn has_ports(&mut self, protocol_at: u32) {
        self.add(LOAD_BYTE_AT_X, protocol_at);
        // Over the jump that ends it: TCP by two, UDP by one.
        self.code.push(sock_filter { code: IF_EQUAL, jt: 2, jf: 0, k: TCP });
        self.code.push(sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: UDP });
        self.jump(Label::Drop);
    }

    /// Passes a packet from or to one of these ports. The packet's ports are at this distance from X.
    fn ports(&mut self, at: u32, ports: &[u16]) {
        for at in [at, at + 2] {
            self.add(LOAD_HALF_AT_X, at);
            self.pass_if_any(ports);
        }
    }

    /// Passes a packet if all these loads give these numbers, and the half word at this distance from X is one of these ports.
    fn server(&mut self, address: &[(u16, u32, u32)], port_at: u32, ports: &[u16]) {
        // Of the last part: a load, the ports, and a jump over a return.
        let mut left = 2 * address.len() + ports.len() + 3;
        for &(load, at, number) in address {
            self.add(load, at);
            left -= 2;
            self.code.push(sock_filter { code: IF_EQUAL, jt: 0, jf: left as u8, k: number });
        }
        self.add(LOAD_HALF_AT_X, port_at);
        self.pass_if_any(ports);
    }

    /// Passes a packet if A is one of these numbers.
    fn pass_if_any(&mut self, numbers: &[u16]) {
        for numbers in numbers.chunks(NUMBERS_MAX) {
            for (number, left) in numbers.iter().zip((1..=numbers.len()).rev()) {
                self.code.push(sock_filter { code: IF_EQUAL, jt: left as u8, jf: 0, k: u32::from(*number) });
            }
            self.add(JUMP, 1);
            self.add(RETURN, MAX_PACKET_BYTES);
        }
    }

    /// Puts the distances into the jumps.
    fn finish(mut self) -> Vec<sock_filter> {
        for (at, to) in self.jumps {
            let place = self.places.iter().find(|(label, _)| *label == to).map_or(at, |(_, place)| *place);
            if let Some(jump) = self.code.get_mut(at) {
                jump.k = place.saturating_sub(at + 1) as u32;
            }
        }
        self.code
    }
}

const fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use plimsoll_testkit::{Link, Traffic};

    use super::*;

    /// Runs a filter as the kernel does; returns the number of bytes that pass.
    fn run(program: &[sock_filter], packet: &[u8]) -> u32 {
        let number = |at: usize, len: usize| {
            let bytes = packet.get(at..at + len)?;
            Some(bytes.iter().fold(0u32, |number, &byte| number << 8 | u32::from(byte)))
        };
        let (mut at, mut a, mut x, mut stored) = (0, 0u32, 0u32, [None; 16]);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let (place, behind_x) = (k as usize, x.wrapping_add(k) as usize);
            let loaded = match code {
                LOAD_BYTE => number(place, 1),
                LOAD_HALF => number(place, 2),
                LOAD_BYTE_AT_X => number(behind_x, 1),
                LOAD_HALF_AT_X => number(behind_x, 2),
                LOAD_WORD_AT_X => number(behind_x, 4),
                LOAD_STORED => Some(stored[place].expect("the kernel refuses to load what was not stored")),
                SHIFT_RIGHT => Some(a >> k),
                SHIFT_LEFT => Some(a << k),
                AND => Some(a & k),
                ADD_X => Some(a + x),
                STORE | SET_X | A_TO_X | JUMP | IF_EQUAL | IF_ANY_BIT => Some(a),
                RETURN => return k,
                _ => panic!("instruction {code:#x}"),
            };
            let Some(loaded) = loaded else { return 0 };
            a = loaded;
            match code {
                STORE => stored[place] = Some(a),
                SET_X => x = k,
                A_TO_X => x = a,
                _ => {}
            }
            at += 1 + match code {
                JUMP => k as usize,
                IF_EQUAL => usize::from(if a == k { jt } else { jf }),
                IF_ANY_BIT => usize::from(if a & k != 0 { jt } else { jf }),
                _ => 0,
            };
        }
    }

    fn address(version: u8, port: u16) -> SocketAddr {
        let ip = if version == 4 { "10.0.0.1".parse() } else { "fd00::1".parse() };
        SocketAddr::new(ip.unwrap(), port)
    }

    /// Which frames of such datagrams pass.
    fn passes(link: Link, vlans: &[u16], version: u8, (source, destination): (u16, u16)) -> Vec<bool> {
        let mut traffic = Traffic::new(link);
        traffic.vlans = vlans.to_vec();
        traffic.udp(address(version, source), address(version, destination), &[7; 2_000], Some(1_480));
        let link = if link == Link::Ethernet { LinkType::Ethernet } else { LinkType::RawIp };
        let program = program(link, &FILE_SERVER_PORTS, &[]);
        assert!(program.len() <= 4_096);
        traffic.frames.iter().map(|frame| run(&program, &frame.bytes) > 0).collect()
    }

    #[test]
    fn both_directions_of_file_servers_pass_and_nothing_else() {
        for link in [Link::Ethernet, Link::RawIp] {
            for vlans in [&[][..], &[7], &[7, 8]] {
                if link == Link::RawIp && !vlans.is_empty() {
                    continue;
                }
                assert_eq!(passes(link, vlans, 4, (2049, 900)), [true, true], "{link:?} {vlans:?}");
                assert_eq!(passes(link, vlans, 4, (900, 111)), [true, true]);
                // A piece behind the first could be anybody's.
                assert_eq!(passes(link, vlans, 4, (900, 446)), [false, true]);
                assert_eq!(passes(link, vlans, 6, (900, 446)), [true, true], "fragments of IPv6");
            }
        }
        assert_eq!(passes(Link::Ethernet, &[1, 2, 3], 4, (900, 445)), [false, false], "three tags are not followed");
    }

    #[test]
    fn whole_packets_of_both_versions_are_told_apart_by_their_ports() {
        for (version, port, expected) in [(4, 445, true), (4, 444, false), (6, 2049, true), (6, 2050, false)] {
            let mut traffic = Traffic::new(Link::Ethernet);
            traffic.udp(address(version, port), address(version, 50_000), &[0; 100], None);
            let program = program(LinkType::Ethernet, &FILE_SERVER_PORTS, &[]);
            assert_eq!(run(&program, &traffic.frames[0].bytes) > 0, expected, "{version} {port}");
            assert_eq!(run(&nothing(), &traffic.frames[0].bytes), 0);
            // Cut anywhere it is no reason to fail.
            (0..60).for_each(|len| assert!(run(&program, &traffic.frames[0].bytes[..len]) <= MAX_PACKET_BYTES));
        }
    }

    /// Whether a datagram between these ends passes a filter with these services.
    fn serves(link: Link, services: &[SocketAddr], source: &str, destination: &str) -> bool {
        let mut traffic = Traffic::new(link);
        traffic.udp(source.parse().unwrap(), destination.parse().unwrap(), &[0; 100], None);
        let link = if link == Link::Ethernet { LinkType::Ethernet } else { LinkType::RawIp };
        run(&program(link, &FILE_SERVER_PORTS, services), &traffic.frames[0].bytes) > 0
    }

    #[test]
    fn a_service_is_a_port_of_one_server() {
        let services = ["10.0.0.5:20048", "10.0.0.5:40001", "10.0.0.6:40002", "[fd00::5]:20048", "[fd00::6]:40001"];
        let services = services.map(|service| service.parse().unwrap());
        for link in [Link::Ethernet, Link::RawIp] {
            for (server, other, passes) in [
                ("10.0.0.5:20048", "10.0.0.1:900", true),
                ("10.0.0.5:40001", "10.0.0.1:900", true),
                ("10.0.0.6:40002", "10.0.0.5:900", true),
                ("10.0.0.6:40001", "10.0.0.1:900", false),
                ("10.0.0.5:40002", "10.0.0.1:900", false),
                ("10.0.0.7:20048", "10.0.0.1:900", false),
                // The port of the one and the address of the other.
                ("10.0.0.5:900", "10.0.0.1:20048", false),
                ("[fd00::5]:20048", "[fd00::1]:900", true),
                ("[fd00::6]:40001", "[fd00::5]:900", true),
                ("[fd00::6]:20048", "[fd00::1]:900", false),
                ("[fd01::5]:20048", "[fd00::1]:900", false),
                ("[fd00::5]:900", "[fd00::1]:20048", false),
            ] {
                for (source, destination) in [(server, other), (other, server)] {
                    assert_eq!(serves(link, &services, source, destination), passes, "{source} to {destination}");
                    assert!(!serves(link, &[], source, destination), "{source} to {destination}");
                }
            }
            assert!(serves(link, &services, "10.0.0.9:2049", "10.0.0.1:900"), "and all that passed before");
        }
    }

    #[test]
    fn the_longest_program_is_one_that_the_kernel_takes() {
        let ports: Vec<u16> = (1..=MAX_PORTS as u16).collect();
        let longest = program(LinkType::Ethernet, &ports, &[]);
        assert!(longest.len() <= 1_200, "{}: too long for older kernels", longest.len());
        for many in [false, true] {
            let server = |number: u16| if many { number } else { 1 };
            let service = |number| SocketAddr::new([0xfd00, 0, 0, 0, 0, 0, 0, server(number)].into(), 40_000 + number);
            let services: Vec<SocketAddr> = (1..=MAX_SERVICES as u16).map(service).collect();
            let longest = program(LinkType::Ethernet, &ports, &services);
            assert!(longest.len() <= 4_096, "{}", longest.len());
            let mut traffic = Traffic::new(Link::Ethernet);
            for service in &services {
                traffic.udp(*service, address(6, 900), &[0; 100], None);
                traffic.udp(address(6, 900), *service, &[0; 100], None);
            }
            assert!(traffic.frames.iter().all(|frame| run(&longest, &frame.bytes) > 0));
        }
    }
}

//! The packet filter that runs in the kernel: TCP and UDP from or to a file server's ports.
//!
//! Spec: bpf(2) and Linux' Documentation/networking/filter.rst (classic BPF)
//!
//! IP fragments after the first have no ports and pass. The filter skips up to two VLAN tags that the network card did not strip; it does
//! not look into tunnels.

use libc::sock_filter;

use crate::capture::{LinkType, MAX_PACKET_BYTES};

/// Ports of SMB (over TCP and over NetBIOS), NFS and the port mapper.
pub const FILE_SERVER_PORTS: [u16; 4] = [445, 139, 2049, 111];
/// Maximum number of ports in a filter: a program has at most 4,096 instructions, and a port takes 24 of them.
pub const MAX_PORTS: usize = 128;

/// Loads: a byte or a half word at a place, a half word behind an IPv4 header, and the length of that header.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_HALF_BEHIND: u16 = 0x48;
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const SHIFT_RIGHT: u16 = 0x74;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

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
const IPV6_FRAGMENT: u32 = 44;
const IPV6_LEN: u32 = 40;

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Pass,
    Drop,
    /// Number of VLAN tags before the IPv4 or IPv6 header.
    Four(u32),
    Six(u32),
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

/// Lets packets of this link type from or to these ports through.
pub(super) fn program(link: LinkType, ports: &[u16]) -> Vec<sock_filter> {
    let mut program = Program::default();
    if link == LinkType::RawIp {
        program.add(LOAD_BYTE, 0);
        program.add(SHIFT_RIGHT, 4);
        program.versions((4, 6), 0);
        program.packets(0, 0, ports);
    } else {
        for tags in 0..=TAGS_MAX {
            let more = if tags < TAGS_MAX { Label::Tagged(tags + 1) } else { Label::Drop };
            program.place(Label::Tagged(tags));
            program.add(LOAD_HALF, ETHERTYPE_AT + tags * VLAN_TAG_LEN);
            VLAN_TAGS.iter().for_each(|&tag| program.jump_if(IF_EQUAL, tag, more));
            program.versions((IPV4, IPV6), tags);
            program.packets(ETHERNET_LEN + tags * VLAN_TAG_LEN, tags, ports);
        }
    }
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

    /// Tests the version field of IP.
    fn versions(&mut self, (four, six): (u32, u32), tags: u32) {
        self.jump_if(IF_EQUAL, four, Label::Four(tags));
        self.jump_if(IF_EQUAL, six, Label::Six(tags));
        self.jump(Label::Drop);
    }

    /// Looks at an IP packet that begins at `start`.
    fn packets(&mut self, start: u32, tags: u32, ports: &[u16]) {
        self.place(Label::Four(tags));
        self.add(LOAD_HALF, start + 6);
        self.jump_if(IF_ANY_BIT, FRAGMENT_OFFSET, Label::Pass);
        self.add(LOAD_HEADER_LENGTH, start);
        self.transport(start + 9, [(LOAD_HALF_BEHIND, start), (LOAD_HALF_BEHIND, start + 2)], ports);
        self.place(Label::Six(tags));
        self.add(LOAD_BYTE, start + 6);
        self.jump_if(IF_EQUAL, IPV6_FRAGMENT, Label::Pass);
        let ports_at = start + IPV6_LEN;
        self.transport(start + 6, [(LOAD_HALF, ports_at), (LOAD_HALF, ports_at + 2)], ports);
    }

    /// Looks at the protocol, one byte at `protocol_at`, and at both ports.
    fn transport(&mut self, protocol_at: u32, loads: [(u16, u32); 2], ports: &[u16]) {
        self.add(LOAD_BYTE, protocol_at);
        // Over the jump that ends it: TCP by two, UDP by one.
        self.code.push(sock_filter { code: IF_EQUAL, jt: 2, jf: 0, k: TCP });
        self.code.push(sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: UDP });
        self.jump(Label::Drop);
        for (load, at) in loads {
            self.add(load, at);
            ports.iter().for_each(|&port| self.jump_if(IF_EQUAL, u32::from(port), Label::Pass));
        }
        self.jump(Label::Drop);
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
        let (mut at, mut a, mut x) = (0, 0u32, 0usize);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let place = k as usize;
            let loaded = match code {
                LOAD_BYTE => number(place, 1),
                LOAD_HALF => number(place, 2),
                LOAD_HALF_BEHIND => number(x + place, 2),
                LOAD_HEADER_LENGTH => number(place, 1).inspect(|byte| x = 4 * (*byte as usize & 15)).map(|_| a),
                SHIFT_RIGHT => Some(a >> k),
                RETURN => return k,
                _ => Some(a),
            };
            let Some(loaded) = loaded else { return 0 };
            a = loaded;
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
        let program = program(link, &FILE_SERVER_PORTS);
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
            let program = program(LinkType::Ethernet, &FILE_SERVER_PORTS);
            assert_eq!(run(&program, &traffic.frames[0].bytes) > 0, expected, "{version} {port}");
            assert_eq!(run(&nothing(), &traffic.frames[0].bytes), 0);
            // Cut anywhere it is no reason to fail.
            (0..60).for_each(|len| assert!(run(&program, &traffic.frames[0].bytes[..len]) <= MAX_PACKET_BYTES));
        }
    }

    #[test]
    fn the_longest_program_is_one_that_the_kernel_takes() {
        let ports: Vec<u16> = (1..=MAX_PORTS as u16).collect();
        assert!(program(LinkType::Ethernet, &ports).len() <= 4_096);
    }
}

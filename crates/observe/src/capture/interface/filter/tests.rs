//! The filter, in an interpreter.

use std::net::SocketAddr;

use plimsoll_testkit::{Link, Traffic};

use super::assembly::{
    A_TO_X, ADD_X, AND, IF_ANY_BIT, JUMP, LOAD_BYTE_AT_X, LOAD_HALF_AT_X, LOAD_STORED, LOAD_WORD_AT_X, SET_X,
    SHIFT_LEFT, STORE,
};
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

/// A frame from this port with an extension header that has these bytes.
fn extended(version: u8, kind: u8, header: &[u8], port: u16) -> Vec<u8> {
    let mut traffic = Traffic::new(Link::Ethernet);
    traffic.udp(address(version, port), address(version, 900), &[0; 100], None);
    let mut bytes = traffic.frames[0].bytes.clone();
    let (protocol_at, behind) = if version == 4 { (14 + 9, 14 + 20) } else { (14 + 6, 14 + 40) };
    let mut header = header.to_vec();
    header[0] = std::mem::replace(&mut bytes[protocol_at], kind);
    bytes.splice(behind..behind, header);
    bytes
}

/// Linux has hop-by-hop options of 8 bytes in each packet of more than 64 KiB, so they carry most of the data.
#[test]
fn packets_with_extension_headers_pass() {
    let services: [SocketAddr; 1] = ["[fd00::1]:20048".parse().unwrap()];
    let program = program(LinkType::Ethernet, &FILE_SERVER_PORTS, &services);
    let passes = |frame: Vec<u8>| run(&program, &frame) > 0;
    let jumbo = |kind: u8| [kind, 0, 0xc2, 4, 0, 3, 0, 0];
    for (port, expected) in [(2049, true), (20_048, true), (2050, false)] {
        assert_eq!(passes(extended(6, 0, &jumbo(0), port)), expected, "port {port} behind hop-by-hop options");
    }
    // Not stepped over: the ports could be anywhere.
    assert!(passes(extended(6, 0, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 2050)), "longer options");
    for kind in [43, 44, 51, 60, 135] {
        assert!(passes(extended(6, kind, &[0; 8], 2050)), "extension header {kind}");
        let mut behind_options = extended(6, 0, &jumbo(0), 2050);
        behind_options[14 + 40] = kind;
        assert!(passes(behind_options), "extension header {kind} behind hop-by-hop options");
    }
    assert!(passes(extended(4, 51, &[0; 12], 2050)), "authentication header of IPv4");
    let mut multicast_listener = extended(6, 0, &jumbo(0), 2049);
    multicast_listener[14 + 40] = 58;
    assert!(!passes(multicast_listener) && !passes(extended(6, 58, &[0; 8], 2049)), "ICMPv6");
    // Cut anywhere it is no reason to fail.
    let whole = extended(6, 0, &jumbo(0), 2049);
    (0..whole.len()).for_each(|len| assert!(run(&program, &whole[..len]) <= MAX_PACKET_BYTES));
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

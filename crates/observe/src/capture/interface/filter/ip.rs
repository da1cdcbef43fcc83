//! The filter behind the header of the link: IPv4 or IPv6, then TCP or UDP, then ports.
//!
//! Spec: RFC 791, RFC 8200, RFC 4302 (authentication headers); Linux' struct hop_jumbo_hdr in include/net/ipv6.h

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::assembly::{
    A_TO_X, ADD_X, AND, IF_ANY_BIT, IF_EQUAL, LOAD_BYTE_AT_X, LOAD_HALF_AT_X, LOAD_STORED, LOAD_WORD_AT_X, Label,
    Program, SET_X, SHIFT_LEFT, STORE,
};

const TCP: u32 = 6;
const UDP: u32 = 17;
const AUTHENTICATION: u32 = 51;
/// IPv4's fragment offset, behind three flags.
const FRAGMENT_OFFSET: u32 = 0x1fff;
/// Where IPv4 has its addresses: of the source and of the destination.
const IPV4_ADDRESSES: [u32; 2] = [12, 16];
const IPV6_LEN: u32 = 40;
const IPV6_ADDRESSES: [u32; 2] = [8, 24];
const HOP_BY_HOP: u32 = 0;
/// Hop-by-hop options of this length are stepped over: Linux has them in each packet of more than 64 KiB (BIG TCP).
const OPTIONS_LEN: u32 = 8;
/// Headers that may stand between IPv6 and TCP or UDP: routing, fragment, authentication, destination options, mobility. They have any
/// length and are rare, so their packets pass.
const EXTENSIONS: [u32; 5] = [43, 44, AUTHENTICATION, 60, 135];

/// The ports of each server of single services.
pub(super) type Servers = BTreeMap<IpAddr, Vec<u16>>;

impl Program {
    /// Goes on with an IP header at `start`, if A is one of the two versions.
    pub(super) fn header(&mut self, start: u32, (four, six): (u32, u32)) {
        self.add(SET_X, start);
        self.jump_if(IF_EQUAL, four, Label::Four);
        self.jump_if(IF_EQUAL, six, Label::Six);
        self.jump(Label::Drop);
    }

    /// Looks at an IPv4 packet at X, then at its ports. X becomes the place of the ports.
    pub(super) fn ipv4(&mut self, ports: &[u16], servers: &Servers) {
        self.place(Label::Four);
        self.add(LOAD_HALF_AT_X, 6);
        self.jump_if(IF_ANY_BIT, FRAGMENT_OFFSET, Label::Pass);
        self.protocol(9, &[AUTHENTICATION]);
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
        self.ports([(LOAD_HALF_AT_X, 0), (LOAD_HALF_AT_X, 2)], ports);
        for (server, ports) in servers {
            let IpAddr::V4(server) = server else { continue };
            for direction in 0..2 {
                let port = (LOAD_HALF_AT_X, 2 * direction);
                self.server(&[(LOAD_STORED, direction, server.to_bits())], port, ports);
            }
        }
        self.jump(Label::Drop);
    }

    /// Looks at an IPv6 packet at X, then at its ports, which are stored.
    pub(super) fn ipv6(&mut self, ports: &[u16], servers: &Servers) {
        self.place(Label::Six);
        self.add(LOAD_BYTE_AT_X, 6);
        self.jump_if(IF_EQUAL, HOP_BY_HOP, Label::SixOptions);
        self.protocol(6, &EXTENSIONS);
        self.store_ports(IPV6_LEN);
        self.jump(Label::SixPorts);
        self.place(Label::SixOptions);
        // How much longer than 8 bytes the options are.
        self.add(LOAD_BYTE_AT_X, IPV6_LEN + 1);
        self.jump_if(IF_ANY_BIT, 0xff, Label::Pass);
        self.protocol(IPV6_LEN, &EXTENSIONS);
        self.store_ports(IPV6_LEN + OPTIONS_LEN);
        self.place(Label::SixPorts);
        self.ports([(LOAD_STORED, 0), (LOAD_STORED, 1)], ports);
        for (server, ports) in servers {
            let IpAddr::V6(server) = server else { continue };
            for (address_at, stored) in IPV6_ADDRESSES.into_iter().zip(0..) {
                // The last word first: it differs most between servers.
                let words = [(12, 0), (8, 32), (4, 64), (0, 96)];
                let tests =
                    words.map(|(at, shift)| (LOAD_WORD_AT_X, address_at + at, (server.to_bits() >> shift) as u32));
                self.server(&tests, (LOAD_STORED, stored), ports);
            }
        }
        self.jump(Label::Drop);
    }

    /// Goes on with TCP and UDP, passes packets of these other protocols, and drops the rest. The protocol is a byte at this distance from
    /// X.
    fn protocol(&mut self, at: u32, passed: &[u32]) {
        self.add(LOAD_BYTE_AT_X, at);
        passed.iter().for_each(|&protocol| self.jump_if(IF_EQUAL, protocol, Label::Pass));
        // Over the jump that ends it: TCP by two, UDP by one.
        self.skip(TCP, (2, 0));
        self.skip(UDP, (1, 0));
        self.jump(Label::Drop);
    }

    /// Stores the two ports, which are at this distance from X.
    fn store_ports(&mut self, at: u32) {
        for (stored, at) in (0..).zip([at, at + 2]) {
            self.add(LOAD_HALF_AT_X, at);
            self.add(STORE, stored);
        }
    }

    /// Passes a packet from or to one of these ports. The loads give the packet's ports.
    fn ports(&mut self, loads: [(u16, u32); 2], ports: &[u16]) {
        for (load, at) in loads {
            self.add(load, at);
            self.pass_if_any(ports);
        }
    }

    /// Passes a packet if all these loads give these numbers, and the load `port` gives one of these ports.
    fn server(&mut self, address: &[(u16, u32, u32)], port: (u16, u32), ports: &[u16]) {
        // Of the last part: a load, the ports, and a jump over a return.
        let mut left = 2 * address.len() + ports.len() + 3;
        for &(load, at, number) in address {
            self.add(load, at);
            left -= 2;
            self.skip(number, (0, left as u8));
        }
        self.add(port.0, port.1);
        self.pass_if_any(ports);
    }
}

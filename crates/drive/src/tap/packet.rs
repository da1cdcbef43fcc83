//! IP and TCP headers for socket traffic.
//!
//! Spec: RFC 791 3.1; RFC 8200 3; RFC 9293 3.1

use std::net::{IpAddr, SocketAddr};

/// Maximum data in a packet, bytes: the limit of IPv4's length field, without both headers.
pub(super) const LARGEST: usize = 65_495;
/// Room for the longest headers, bytes.
pub(super) const HEADERS: usize = 60;
const TCP: u8 = 6;
const TCP_HEADER: usize = 20;

/// Fields of the TCP header besides numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags(u8);

impl Flags {
    pub(super) const SYN: Flags = Flags(0x02);
    pub(super) const SYN_ACK: Flags = Flags(0x12);
    pub(super) const ACK: Flags = Flags(0x10);
    /// With data: push, acknowledge.
    pub(super) const DATA: Flags = Flags(0x18);
    /// With acknowledgement, as always.
    pub(super) const FIN: Flags = Flags(0x11);
    pub(super) const RESET: Flags = Flags(0x14);
}

/// A packet's headers before they are bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) sequence: u32,
    pub(super) acknowledged: u32,
    pub(super) flags: Flags,
}

impl Packet {
    /// The headers, for `length` bytes of data.
    pub(super) fn headers<'a>(&self, length: usize, room: &'a mut [u8; HEADERS]) -> &'a [u8] {
        let ip = match (self.from.ip().to_canonical(), self.to.ip().to_canonical()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let (head, tcp) = room.split_at_mut(20);
                head[0] = 0x45;
                head[2..4].copy_from_slice(&((20 + TCP_HEADER + length) as u16).to_be_bytes());
                // May not be fragmented.
                head[6] = 0x40;
                head[8..10].copy_from_slice(&[64, TCP]);
                head[12..16].copy_from_slice(&from.octets());
                head[16..20].copy_from_slice(&to.octets());
                let checksum = checksum(head);
                head[10..12].copy_from_slice(&checksum.to_be_bytes());
                self.tcp(tcp);
                20
            }
            (from, to) => {
                let (head, tcp) = room.split_at_mut(40);
                head[0] = 0x60;
                head[4..6].copy_from_slice(&((TCP_HEADER + length) as u16).to_be_bytes());
                head[6..8].copy_from_slice(&[TCP, 64]);
                head[8..24].copy_from_slice(&octets(from));
                head[24..40].copy_from_slice(&octets(to));
                self.tcp(tcp);
                40
            }
        };
        &room[..ip + TCP_HEADER]
    }

    fn tcp(&self, header: &mut [u8]) {
        header[..2].copy_from_slice(&self.from.port().to_be_bytes());
        header[2..4].copy_from_slice(&self.to.port().to_be_bytes());
        header[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        // The first packet has nothing to acknowledge.
        let acknowledged = if self.flags.0 & Flags::ACK.0 == 0 { 0 } else { self.acknowledged };
        header[8..12].copy_from_slice(&acknowledged.to_be_bytes());
        header[12..16].copy_from_slice(&[0x50, self.flags.0, 0xff, 0xff]);
        // Checksum and urgent pointer stay 0.
    }
}

fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The checksum of IPv4: RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // RFC 1071 3: the sum of these is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }
}

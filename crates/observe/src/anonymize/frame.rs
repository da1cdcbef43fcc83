//! The second pass: writes a packet anew. It copies only the fields named here.

use super::address::{self, Addresses};
use super::checksum::Checksum;
use super::survey::{Place, Survey};
use crate::capture::{Frame, LinkType};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const LENGTH_MAX: u16 = 1_500;
const VLAN_TAGS_MAX: usize = 4;
const EXTENSION_HEADERS_MAX: usize = 16;
const UDP_HEADER: usize = 8;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// How much of a packet was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The headers and the recognised data were written with replacements.
    Rewritten,
    /// The same, and nothing of its data was understood.
    NotUnderstood,
    /// Not TCP or UDP directly in IP: only the link layer is written.
    NotIp,
    /// It holds a part of an understood stream, behind headers that are not written here.
    Encapsulated,
}

/// A packet being rewritten: the captured bytes and the output.
struct Packet<'p> {
    frame: &'p Frame<'p>,
    survey: &'p Survey,
    addresses: &'p mut Addresses,
    out: &'p mut [u8],
}

/// Writes a packet of the same length into `out`.
pub(super) fn rewrite(frame: &Frame<'_>, survey: &Survey, addresses: &mut Addresses, out: &mut Vec<u8>) -> Outcome {
    out.clear();
    out.resize(frame.captured.len(), 0);
    let mut packet = Packet { frame, survey, addresses, out };
    let done = packet.link();
    let place = survey.place(frame.number).filter(|place| survey.is_understood(*place));
    match done {
        Some(true) => Outcome::Rewritten,
        Some(false) => Outcome::NotUnderstood,
        None if place.is_some() => Outcome::Encapsulated,
        None => Outcome::NotIp,
    }
}

impl Packet<'_> {
    /// Copies bytes as they are, as far as they were captured.
    fn copy(&mut self, from: usize, to: usize) {
        let to = to.min(self.out.len());
        if from < to {
            self.out[from..to].copy_from_slice(&self.frame.captured[from..to]);
        }
    }

    fn be16(&self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(*self.frame.captured.get(at..)?.first_chunk()?))
    }

    /// Rewrites the link layer and the layers above it. Returns whether any data was recognised; `None` without TCP or UDP data.
    fn link(&mut self) -> Option<bool> {
        match self.frame.link {
            LinkType::Ethernet => {
                self.mac(0);
                self.mac(6);
                self.typed(12, 14)
            }
            LinkType::LinuxCooked1 => {
                self.copy(0, 6);
                self.mac(6);
                self.typed(14, 16)
            }
            LinkType::LinuxCooked2 => {
                self.copy(8, 12);
                self.mac(12);
                self.typed(0, 20)
            }
            LinkType::Null | LinkType::Loop => {
                self.copy(0, 4);
                self.ip(4)
            }
            LinkType::RawIp => self.ip(0),
            LinkType::Ppp
            | LinkType::PppWithDirection
            | LinkType::PppOverEthernet
            | LinkType::CiscoHdlc
            | LinkType::Other(_) => None,
        }
    }

    fn mac(&mut self, at: usize) {
        self.copy(at, at + 6);
        let end = (at + 6).min(self.out.len());
        if let Some(mac) = self.out.get_mut(at..end) {
            address::mac(self.survey.key(), mac);
        }
    }

    /// Rewrites the bytes from `behind` on according to the EtherType at `at`.
    fn typed(&mut self, at: usize, behind: usize) -> Option<bool> {
        let (mut ethertype, mut behind) = (self.be16(at)?, behind);
        self.copy(at, at + 2);
        for _ in 0..VLAN_TAGS_MAX {
            if !ETHERTYPES_VLAN.contains(&ethertype) {
                break;
            }
            ethertype = self.be16(behind + 2)?;
            self.copy(behind, behind + 4);
            behind += 4;
        }
        match ethertype {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => self.ip(behind),
            0..=LENGTH_MAX => self.llc(behind),
            _ => None,
        }
    }

    fn llc(&mut self, at: usize) -> Option<bool> {
        match *self.frame.captured.get(at..)? {
            [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, ..] => {
                let ethertype = self.be16(at + 6)?;
                self.copy(at, at + 8);
                matches!(ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6).then(|| self.ip(at + 8))?
            }
            [0x06, 0x06, 0x03, ..] => {
                self.copy(at, at + 3);
                self.ip(at + 3)
            }
            _ => None,
        }
    }

    fn ip(&mut self, at: usize) -> Option<bool> {
        match self.frame.captured.get(at)? >> 4 {
            4 => self.ipv4(at),
            6 => self.ipv6(at),
            _ => None,
        }
    }

    /// Length on the wire from `at` on.
    fn wire_len(&self, at: usize) -> usize {
        (self.frame.original_len as usize).max(self.out.len()).saturating_sub(at)
    }

    fn ipv4(&mut self, at: usize) -> Option<bool> {
        self.copy(at, at + 10);
        let header: [u8; 20] = *self.frame.captured.get(at..)?.first_chunk()?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let total = match u16::from_be_bytes([header[2], header[3]]) {
            0 => self.wire_len(at),
            total => usize::from(total),
        };
        if header_len < 20 || total < header_len {
            return None;
        }
        let mut sum = Checksum::default();
        for from in [12, 16] {
            let address = [header[from], header[from + 1], header[from + 2], header[from + 3]];
            let address = self.addresses.v4(self.survey.key(), address);
            self.out[at + from..at + from + 4].copy_from_slice(&address);
            sum.add(&address);
        }
        // The options are zero: they may name routers.
        let header_end = (at + header_len).min(self.out.len());
        let mut header_sum = Checksum::default();
        header_sum.add(&self.out[at..header_end]);
        self.out[at + 10..at + 12].copy_from_slice(&header_sum.finish().to_be_bytes());
        let flags = u16::from_be_bytes([header[6], header[7]]);
        let fragment = (flags & 0x3fff != 0).then(|| usize::from(flags & 0x1fff) * 8);
        self.transport(header[9], at + header_len, total - header_len, fragment, sum)
    }

    fn ipv6(&mut self, at: usize) -> Option<bool> {
        self.copy(at, at + 8);
        let header: [u8; 40] = *self.frame.captured.get(at..)?.first_chunk()?;
        let payload_len = match u16::from_be_bytes([header[4], header[5]]) {
            0 => self.wire_len(at + 40),
            len => usize::from(len),
        };
        let mut sum = Checksum::default();
        for from in [8, 24] {
            let address = *header[from..].first_chunk()?;
            let address = self.addresses.v6(self.survey.key(), address);
            self.out[at + from..at + from + 16].copy_from_slice(&address);
            sum.add(&address);
        }
        let (mut protocol, mut next, mut fragment) = (header[6], at + 40, None);
        for _ in 0..EXTENSION_HEADERS_MAX {
            // Routes in extension headers are left out.
            let len = usize::from(*self.frame.captured.get(next + 1).unwrap_or(&0));
            let len = match protocol {
                0 | 43 | 60 | 135 => (len + 1) * 8,
                51 => (len + 2) * 4,
                44 => {
                    let flags = self.be16(next + 2)?;
                    fragment = (flags & 0xfff9 != 0).then_some(usize::from(flags & 0xfff8));
                    self.copy(next + 2, next + 8);
                    8
                }
                _ => break,
            };
            self.copy(next, next + 2);
            let was_fragment = protocol == 44;
            protocol = *self.frame.captured.get(next)?;
            next += len;
            if was_fragment {
                break;
            }
        }
        let len = payload_len.checked_sub(next - at - 40)?;
        self.transport(protocol, next, len, fragment, sum)
    }

    /// The transport layer from `at` on, of `len` bytes on the wire; of a fragment, at which offset it stands.
    fn transport(
        &mut self,
        protocol: u8,
        at: usize,
        len: usize,
        fragment: Option<usize>,
        mut sum: Checksum,
    ) -> Option<bool> {
        if !matches!(protocol, TCP | UDP) {
            return None;
        }
        // Bytes after the datagram are padding.
        let end = (at + len).min(self.out.len());
        if at > end || self.is_tunnel(protocol, fragment, end - at) {
            return None;
        }
        if let Some(offset) = fragment.filter(|offset| *offset > 0) {
            return Some(self.data(at, end, offset));
        }
        sum.add(&[0, protocol]);
        sum.add(&(len as u32).to_be_bytes());
        if protocol == TCP {
            self.tcp(at, end, fragment.is_some(), sum)
        } else {
            self.udp(at, end, fragment.is_some(), sum)
        }
    }

    /// Whether the recognised data of this packet does not follow its transport header directly: further headers of a tunnel come before
    /// it, or the packet is one of several IP fragments of TCP. `len`: captured bytes from the transport header on.
    fn is_tunnel(&self, protocol: u8, fragment: Option<usize>, len: usize) -> bool {
        let place = self.survey.place(self.frame.number).filter(|place| self.survey.is_understood(*place));
        match place {
            Some(Place::Stream(..)) => protocol == UDP || fragment.is_some(),
            // Of the other fragments it is not certain that they belong to this message: an identification may come again.
            Some(place @ Place::Datagram(frame, offset)) if frame == self.frame.number => {
                let message_end = self.survey.message_len(place).map_or(usize::MAX, |len| UDP_HEADER + len);
                offset as usize + len > message_end
            }
            Some(Place::Datagram(..)) | None => false,
        }
    }

    fn tcp(&mut self, at: usize, end: usize, is_fragment: bool, mut sum: Checksum) -> Option<bool> {
        self.copy(at, (at + 16).min(end));
        self.copy(at + 18, (at + 20).min(end));
        let header_len = usize::from(*self.frame.captured.get(at..end)?.get(12)? >> 4) * 4;
        let data = (at + header_len).min(end);
        if header_len < 20 || end < at + 20 {
            return None;
        }
        self.tcp_options(at + 20, data);
        let understood = self.data(data, end, 0);
        sum.add(&self.out[at..end]);
        // A fragment does not contain all bytes that the checksum covers.
        if !is_fragment {
            self.out[at + 16..at + 18].copy_from_slice(&sum.finish().to_be_bytes());
        }
        Some(understood)
    }

    /// Copies the well-known TCP options; of the others, only their lengths.
    fn tcp_options(&mut self, at: usize, end: usize) {
        let mut next = at;
        while next < end {
            match self.frame.captured[next] {
                0 => return,
                1 => {
                    self.copy(next, next + 1);
                    next += 1;
                }
                kind => {
                    let len = self.frame.captured.get(next + 1).map_or(2, |len| usize::from(*len)).max(2);
                    // Segment size, window scale, selective acknowledgements, timestamps.
                    let is_known = matches!((kind, len), (2, 4) | (3, 3) | (4, 2) | (5, 10 | 18 | 26 | 34) | (8, 10));
                    self.copy(next, (next + if is_known { len } else { 2 }).min(end));
                    next += len;
                }
            }
        }
    }

    fn udp(&mut self, at: usize, end: usize, is_fragment: bool, mut sum: Checksum) -> Option<bool> {
        self.copy(at, (at + 6).min(end));
        let summed = self.frame.captured.get(at..end)?.get(6..UDP_HEADER)? != [0, 0];
        let len = usize::from(u16::from_be_bytes([self.out[at + 4], self.out[at + 5]]));
        // Bytes after the datagram are padding.
        let data_end = if len < UDP_HEADER || is_fragment { end } else { end.min(at + len) };
        let understood = self.data(at + UDP_HEADER, data_end, if is_fragment { UDP_HEADER } else { 0 });
        sum.add(&self.out[at..end]);
        // 0 means no checksum. A fragment does not contain all bytes that the checksum covers.
        if summed && !is_fragment {
            let sum = match sum.finish() {
                0 => 0xffff,
                sum => sum,
            };
            self.out[at + 6..at + UDP_HEADER].copy_from_slice(&sum.to_be_bytes());
        }
        Some(understood)
    }

    /// Writes the data that the first pass recognised. Returns whether there was any.
    fn data(&mut self, at: usize, end: usize, offset: usize) -> bool {
        let place = self.survey.place(self.frame.number);
        let Some(out) = self.out.get_mut(at..end).filter(|out| !out.is_empty()) else { return true };
        match place {
            Some(place @ Place::Stream(..)) if offset == 0 => self.survey.fill(place, out),
            // The message begins behind the header.
            Some(Place::Datagram(frame, _)) => {
                self.survey.fill(Place::Datagram(frame, offset.saturating_sub(UDP_HEADER) as u32), out);
            }
            _ => {}
        }
        place.is_some_and(|place| self.survey.is_understood(place))
    }
}

//! Captures of each format, built field by field from its specification and not with the reader's constants.

use super::super::LinkType;
use super::Owned;

/// Byte order of the capture to build.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Endian {
    Little,
    Big,
}

impl Endian {
    pub(super) fn u16(self, n: u16) -> [u8; 2] {
        if self == Self::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }

    pub(super) fn u32(self, n: u32) -> [u8; 4] {
        if self == Self::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }

    pub(super) fn u64(self, n: u64) -> [u8; 8] {
        if self == Self::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }
}

/// The packets that every builder writes: whole microseconds, several sizes, one cut by the snaplen, one empty.
pub(super) fn packets(link: LinkType) -> Vec<Owned> {
    sized([(60, 60), (1514, 1514), (96, 9014), (0, 54), (61, 61)], link)
}

/// The same, but each so short that a test can try every byte of a capture.
pub(super) fn short_packets(link: LinkType) -> Vec<Owned> {
    sized([(14, 14), (33, 33), (6, 9014), (0, 54), (15, 15)], link)
}

fn sized(sizes: [(usize, u32); 5], link: LinkType) -> Vec<Owned> {
    let packet = |(index, (len, original_len)): (usize, (usize, u32))| Owned {
        number: index as u64 + 1,
        time_ns: Some(1_600_000_000_999_998_000 + 1000 * index as i64),
        link,
        captured: (0..len).map(|at| (at * 7 + index) as u8).collect(),
        original_len,
    };
    sizes.into_iter().enumerate().map(packet).collect()
}

fn second_and_fraction(packet: &Owned, unit_ns: u32) -> (u32, u32) {
    let time = packet.time_ns.unwrap();
    ((time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32 / unit_ns)
}

pub(super) fn pcap(e: Endian, magic: u32, link: u32, packets: &[Owned]) -> Vec<u8> {
    let more = if magic == 0xa1b2_cd34 { &[0xee; 8][..] } else { &[] };
    pcap_variant(e, magic, link, more, packets)
}

/// With `more` at the end of each record header.
pub(super) fn pcap_variant(e: Endian, magic: u32, link: u32, more: &[u8], packets: &[Owned]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(e.u32(magic));
    file.extend(e.u16(2));
    file.extend(e.u16(4));
    [0, 0, 262_144, link].into_iter().for_each(|field| file.extend(e.u32(field)));
    for packet in packets {
        let (second, fraction) = second_and_fraction(packet, if magic == 0xa1b2_3c4d { 1 } else { 1000 });
        for field in [second, fraction, packet.captured.len() as u32, packet.original_len] {
            file.extend(e.u32(field));
        }
        file.extend(more);
        file.extend(&packet.captured);
    }
    file
}

pub(super) fn block(e: Endian, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = e.u32(padded as u32 + 12);
    let mut block = [e.u32(kind), len].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(len);
    block
}

pub(super) fn option(e: Endian, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [e.u16(code), e.u16(value.len() as u16)].concat();
    option.extend(value);
    option.resize(4 + value.len().next_multiple_of(4), 0);
    option
}

pub(super) fn section(e: Endian) -> Vec<u8> {
    let mut body = [e.u32(0x1a2b_3c4d).to_vec(), e.u16(1).to_vec(), e.u16(0).to_vec(), vec![0xff; 8]].concat();
    body.extend(option(e, 4, b"a writer"));
    body.extend(option(e, 0, b""));
    block(e, 0x0a0d_0d0a, &body)
}

/// An interface with a resolution (if_tsresol) and an offset in seconds (if_tsoffset).
pub(super) fn interface(e: Endian, link: u16, snaplen: u32, resolution: Option<u8>, offset_s: i64) -> Vec<u8> {
    let mut body = [e.u16(link).to_vec(), e.u16(0).to_vec(), e.u32(snaplen).to_vec()].concat();
    body.extend(option(e, 2, b"eth0"));
    if let Some(resolution) = resolution {
        body.extend(option(e, 9, &[resolution]));
    }
    if offset_s != 0 {
        body.extend(option(e, 14, &e.u64(offset_s as u64)));
    }
    body.extend(option(e, 0, b""));
    block(e, 1, &body)
}

pub(super) fn enhanced(e: Endian, interface: u32, ticks: u64, packet: &Owned) -> Vec<u8> {
    let lengths = [packet.captured.len() as u32, packet.original_len];
    let fields = [interface, (ticks >> 32) as u32, ticks as u32, lengths[0], lengths[1]];
    let mut body: Vec<u8> = fields.into_iter().flat_map(|field| e.u32(field)).collect();
    body.extend(&packet.captured);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(option(e, 2, &e.u32(1)));
    block(e, 6, &body)
}

pub(super) fn obsolete(e: Endian, interface: u16, ticks: u64, packet: &Owned) -> Vec<u8> {
    let lengths = [packet.captured.len() as u32, packet.original_len];
    let mut body = [e.u16(interface), e.u16(0xffff)].concat();
    [(ticks >> 32) as u32, ticks as u32, lengths[0], lengths[1]].iter().for_each(|&field| body.extend(e.u32(field)));
    body.extend(&packet.captured);
    block(e, 2, &body)
}

pub(super) fn simple(e: Endian, packet: &Owned) -> Vec<u8> {
    let mut body = e.u32(packet.original_len).to_vec();
    body.extend(&packet.captured);
    block(e, 3, &body)
}

pub(super) fn pcapng(e: Endian, packets: &[Owned]) -> Vec<u8> {
    let mut file = [section(e), interface(e, 1, 0, None, 0)].concat();
    packets.iter().for_each(|packet| file.extend(enhanced(e, 0, packet.time_ns.unwrap() as u64 / 1000, packet)));
    file
}

pub(super) fn snoop(datalink: u32, packets: &[Owned]) -> Vec<u8> {
    let mut file = b"snoop\0\0\0".to_vec();
    file.extend(2u32.to_be_bytes());
    file.extend(datalink.to_be_bytes());
    for (index, packet) in packets.iter().enumerate() {
        let (second, micro) = second_and_fraction(packet, 1000);
        let padded = packet.captured.len().next_multiple_of(4);
        let lengths = [packet.original_len, packet.captured.len() as u32, 24 + padded as u32];
        // Two packets are lost before each one.
        for field in [lengths[0], lengths[1], lengths[2], 2 * (index as u32 + 1), second, micro] {
            file.extend(field.to_be_bytes());
        }
        file.extend(&packet.captured);
        file.resize(file.len() + padded - packet.captured.len(), 0);
    }
    file
}

/// A NetXRay file with times in microseconds since the first packet's second. The packets from `wrap_at` on (if not 0) come first in the
/// file.
pub(super) fn netxray(packets: &[Owned], wrap_at: usize) -> Vec<u8> {
    const START_TICKS: u64 = 77_000_000;
    let start_s = (packets[0].time_ns.unwrap() / 1_000_000_000) as u64;
    let record = |packet: &Owned| {
        let ticks = packet.time_ns.unwrap() as u64 / 1000 - start_s * 1_000_000 + START_TICKS;
        // Odd frames carry four bytes of junk behind them, and say so.
        let junk = if packet.number % 2 == 1 { 4 } else { 0 };
        let mut record = ticks.to_le_bytes().to_vec();
        record.extend((packet.original_len as u16 + junk).to_le_bytes());
        record.extend((packet.captured.len() as u16 + junk).to_le_bytes());
        record.extend(if junk > 0 { [0, 0, 0xff, 0xff] } else { [0; 4] });
        record.extend([0; 24]);
        record.extend(&packet.captured);
        record.resize(record.len() + usize::from(junk), 0xdd);
        record
    };
    // As in a wrapped ring: the packets captured last come first, then a gap, then those captured first.
    let last: Vec<u8> = packets[wrap_at..].iter().flat_map(record).collect();
    let first: Vec<u8> = packets[..wrap_at].iter().flat_map(record).collect();
    let gap = if wrap_at == 0 { vec![] } else { vec![0xcc; 50] };
    let end = 128 + last.len();
    let start = if wrap_at == 0 { 128 } else { end + gap.len() };
    let mut file = b"XCP\x00002.002\0".to_vec();
    file.extend((start_s as u32).to_le_bytes());
    file.extend((packets.len() as u32).to_le_bytes());
    file.resize(24, 0);
    file.extend((start as u32).to_le_bytes());
    file.extend((end as u32).to_le_bytes());
    file.resize(52, 0);
    file.extend(START_TICKS.to_le_bytes());
    file.resize(128, 0);
    [last, gap, first].into_iter().for_each(|part| file.extend(part));
    file
}

/// NetMon 2.`minor`, frames in the file in reverse order, the table at the end. It starts 2020-09-13 12:26:39.500.
pub(super) fn netmon(minor: u8, packets: &[Owned]) -> Vec<u8> {
    const START_NS: i64 = 1_599_999_999_500_000_000;
    let mut file = b"GMBU".to_vec();
    file.extend([minor, 2]);
    file.extend([1u16, 2020, 9, 0, 13, 12, 26, 39, 500].iter().flat_map(|field| field.to_le_bytes()));
    file.resize(128, 0);
    let mut table = vec![0u32; packets.len()];
    for (index, packet) in packets.iter().enumerate().rev() {
        file.extend([0xaa; 3]);
        table[index] = file.len() as u32;
        // Version 2.3 has a time field per frame; the offset is then invalid on purpose.
        let delta_us = if minor >= 3 { 5 } else { (packet.time_ns.unwrap() - START_NS) as u64 / 1000 };
        file.extend(delta_us.to_le_bytes());
        file.extend(packet.original_len.to_le_bytes());
        file.extend((packet.captured.len() as u32).to_le_bytes());
        file.extend(&packet.captured);
        let filetime = packet.time_ns.unwrap() as u64 / 100 + 116_444_736_000_000_000;
        let trailer = [&1u16.to_le_bytes()[..], &[0; 4], &filetime.to_le_bytes(), &[0]].concat();
        file.extend(&trailer[..[0, 2, 6, 15][usize::from(minor)]]);
    }
    let at = file.len() as u32;
    file[24..28].copy_from_slice(&at.to_le_bytes());
    file[28..32].copy_from_slice(&(4 * packets.len() as u32).to_le_bytes());
    file.extend(table.iter().flat_map(|entry| entry.to_le_bytes()));
    file
}

/// One capture of every format with the same packets on Ethernet, by name.
pub(super) fn all(packets: &[Owned]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("pcap", pcap(Endian::Little, 0xa1b2_c3d4, 1, packets)),
        ("pcap, big-endian", pcap(Endian::Big, 0xa1b2_c3d4, 1, packets)),
        ("pcap, ns", pcap(Endian::Little, 0xa1b2_3c4d, 1, packets)),
        ("pcap, ns, big-endian", pcap(Endian::Big, 0xa1b2_3c4d, 1, packets)),
        ("pcap, modified", pcap(Endian::Little, 0xa1b2_cd34, 1, packets)),
        ("pcap, modified, big-endian", pcap(Endian::Big, 0xa1b2_cd34, 1, packets)),
        ("pcapng", pcapng(Endian::Little, packets)),
        ("pcapng, big-endian", pcapng(Endian::Big, packets)),
        ("snoop", snoop(4, packets)),
        ("NetXRay", netxray(packets, 0)),
        ("NetXRay, wrapped", netxray(packets, 2)),
        ("NetMon 2.0", netmon(0, packets)),
        ("NetMon 2.1", netmon(1, packets)),
        ("NetMon 2.2", netmon(2, packets)),
        ("NetMon 2.3", netmon(3, packets)),
    ]
}

//! Frames, the link layers around them, and the pcap file that holds them.

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time of capture, ns since the Unix epoch.
    pub time_ns: i64,
    /// The captured bytes.
    pub bytes: Vec<u8>,
    /// Its length on the wire, bytes.
    pub original_len: u32,
}

/// A link layer, by its number in the registry of the pcap project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Ethernet II (1).
    Ethernet,
    /// Linux cooked capture, version 1 (113).
    Cooked1,
    /// Linux cooked capture, version 2 (276).
    Cooked2,
    /// BSD loopback of a little-endian machine (0).
    Null,
    /// IP without a link layer (101).
    RawIp,
}

impl Link {
    /// All link types.
    pub const ALL: [Link; 5] = [Link::Ethernet, Link::Cooked1, Link::Cooked2, Link::Null, Link::RawIp];

    /// Its number in the registry.
    pub fn number(self) -> u32 {
        match self {
            Link::Ethernet => 1,
            Link::Cooked1 => 113,
            Link::Cooked2 => 276,
            Link::Null => 0,
            Link::RawIp => 101,
        }
    }

    /// The header before an IP packet. VLAN tags, outermost first, go where the link layer can hold them.
    pub(crate) fn header(self, ipv6: bool, vlans: &[u16]) -> Vec<u8> {
        if self == Link::RawIp {
            return Vec::new();
        }
        let mut types: Vec<u8> = Vec::new();
        for (depth, vlan) in vlans.iter().enumerate() {
            let outer = depth + 1 < vlans.len();
            types.extend(if outer { [0x88, 0xa8] } else { [0x81, 0x00] });
            types.extend(vlan.to_be_bytes());
        }
        types.extend(if ipv6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        match self {
            Link::Ethernet => [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], types.as_slice()].concat(),
            Link::Cooked1 => [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], types.as_slice()].concat(),
            Link::Cooked2 => {
                let ends = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
                [&types[..2], &ends, &types[2..]].concat()
            }
            Link::Null => vec![if ipv6 { 30 } else { 2 }, 0, 0, 0],
            Link::RawIp => Vec::new(),
        }
    }
}

/// A little-endian pcap file with times in nanoseconds.
pub fn pcap(link: Link, frames: &[Frame]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 0x0004_0000, link.number()] {
        file.extend(u32::to_le_bytes(word));
    }
    for frame in frames {
        let (seconds, nanos) = (frame.time_ns.div_euclid(1_000_000_000), frame.time_ns.rem_euclid(1_000_000_000));
        for word in [seconds as u32, nanos as u32, frame.bytes.len() as u32, frame.original_len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&frame.bytes);
    }
    file
}

/// A big-endian pcap file with times in microseconds.
pub fn pcap_big_endian_micros(link: Link, frames: &[Frame]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0002_0004, 0, 0, 0x0004_0000, link.number()] {
        file.extend(u32::to_be_bytes(word));
    }
    for frame in frames {
        let (seconds, nanos) = (frame.time_ns.div_euclid(1_000_000_000), frame.time_ns.rem_euclid(1_000_000_000));
        for word in [seconds as u32, nanos as u32 / 1000, frame.bytes.len() as u32, frame.original_len] {
            file.extend(word.to_be_bytes());
        }
        file.extend(&frame.bytes);
    }
    file
}

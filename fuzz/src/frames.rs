//! Raw frames of any link type, as a fuzzer makes them up.

use plimsoll_observe::capture::LinkType;

const LINKS: [LinkType; 11] = [
    LinkType::Ethernet,
    LinkType::LinuxCooked1,
    LinkType::LinuxCooked2,
    LinkType::Null,
    LinkType::Loop,
    LinkType::RawIp,
    LinkType::Other(77),
    LinkType::Ppp,
    LinkType::PppWithDirection,
    LinkType::PppOverEthernet,
    LinkType::CiscoHdlc,
];

/// A frame as it stands in an input.
pub struct RawFrame<'a> {
    /// When it was captured; None where the capture has no time for it.
    pub time_ns: Option<i64>,
    /// Its link type, the same for all frames of an input.
    pub link: LinkType,
    /// The captured bytes.
    pub captured: &'a [u8],
    /// Its length on the wire.
    pub original_len: u32,
}

/// The frames of an input. Its first byte is the link type. Each frame follows four bytes: multiples of 100 µs since the previous frame
/// (signed), number of cut bytes (in 16s), and its length (little-endian).
pub fn raw_frames(data: &[u8]) -> Vec<RawFrame<'_>> {
    let Some((first, mut rest)) = data.split_first() else { return Vec::new() };
    let link = LINKS[usize::from(*first) % LINKS.len()];
    let (mut frames, mut time_ns) = (Vec::new(), 0i64);
    while let [step, cut, low, high, tail @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (captured, after) = tail.split_at(len);
        rest = after;
        time_ns += i64::from(*step as i8) * 100_000;
        // 255 stands for a length that nothing real has.
        let cut = if *cut == 255 { u32::MAX / 2 } else { u32::from(*cut) * 16 };
        let time_ns = (*step != 127).then_some(time_ns);
        frames.push(RawFrame { time_ns, link, captured, original_len: len as u32 + cut });
    }
    frames
}

//! Raw frames of every link type.
//!
//! The first byte is the link type. Each frame stands behind four bytes: 100 µs since the one before (signed), what
//! was cut off (in 16s), and its length (little-endian).
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::Watch;
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

fuzz_target!(|data: &[u8]| {
    let Some((first, mut rest)) = data.split_first() else { return };
    let link = LINKS[usize::from(*first) % LINKS.len()];
    let mut watch = Watch::default();
    let mut time_ns = 0i64;
    while let [step, cut, low, high, tail @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (frame, after) = tail.split_at(len);
        rest = after;
        time_ns += i64::from(*step as i8) * 100_000;
        // 255 stands for a length that nothing real has.
        let cut = if *cut == 255 { u32::MAX / 2 } else { u32::from(*cut) * 16 };
        let time = (*step != 127).then_some(time_ns);
        watch.frame(time, link, frame, len as u32 + cut);
    }
    watch.finish();
});

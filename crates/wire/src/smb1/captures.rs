//! Real traffic, if its captures are present: the views must see the same as tshark 4 (`-Y smb -T fields -e smb.cmd -e
//! smb.flags.response`; the counts below come from it, not from this code).

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::{Chain, read, write};
use crate::nbss;

/// Streams of one capture, one per direction: bytes in order, without duplicates. A stream ends at a gap.
fn streams(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    assert!(matches!(bytes[..4], [0xd4, 0xc3, 0xb2, 0xa1]), "little-endian pcap");
    assert_eq!(bytes[20], 1, "Ethernet");
    let mut order: Vec<Vec<u8>> = Vec::new();
    let mut flows: HashMap<Vec<u8>, (usize, u32)> = HashMap::new();
    let mut rest = &bytes[24..];
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let frame = &rest[16..16 + length];
        rest = &rest[16 + length..];
        let ip = if frame[12..14] == [0x81, 0] { &frame[16..] } else { &frame[12..] };
        if ip[..2] != [8, 0] || ip[2 + 9] != 6 {
            continue;
        }
        let ip = &ip[2..];
        let header = usize::from(ip[0] & 15) * 4;
        let ip = &ip[..usize::from(u16::from_be_bytes([ip[2], ip[3]])).clamp(header, ip.len())];
        let (tcp, key) = (&ip[header..], [&ip[12..20], &ip[header..header + 4]].concat());
        let payload = &tcp[usize::from(tcp[12] >> 4) * 4..];
        let sequence = u32::from_be_bytes(tcp[4..8].try_into().unwrap());
        if tcp[13] & 2 != 0 {
            order.push(Vec::new());
            flows.insert(key, (order.len() - 1, sequence.wrapping_add(1)));
            continue;
        }
        let &mut (index, ref mut next) = flows.entry(key).or_insert_with(|| {
            order.push(Vec::new());
            (order.len() - 1, sequence)
        });
        let known = next.wrapping_sub(sequence) as usize;
        if known < payload.len() {
            order[index].extend(&payload[known..]);
            *next = sequence.wrapping_add(payload.len() as u32);
        }
    }
    order
}

/// Counts of (command, is a response), bytes read and bytes written.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    commands: BTreeMap<(u8, bool), u32>,
    bytes_read: u64,
    bytes_written: u64,
}

fn seen(file: &str) -> Option<Seen> {
    let capture = plimsoll_testkit::shared_capture(file)?;
    let mut seen = Seen::default();
    for stream in streams(&capture) {
        let mut rest = &stream[..];
        while let Some(prefix) = nbss::Header::parse(rest).filter(|prefix| prefix.is_known()) {
            let total = prefix.total_len();
            let message = rest.get(nbss::PREFIX_LEN..total.min(rest.len())).unwrap_or_default();
            let mut chain = Chain::new(message, prefix.length as usize).into_iter().flatten();
            for link in chain.by_ref() {
                *seen.commands.entry((link.command, link.is_response())).or_default() += 1;
                seen.bytes_read += read::data_length(&link).map_or(0, u64::from);
                seen.bytes_written += write::Write::new(&link).map_or(0, |write| u64::from(write.count));
            }
            rest = rest.get(total..).unwrap_or_default();
        }
    }
    Some(seen)
}

fn commands<const N: usize>(counts: [(u8, u32, u32); N]) -> BTreeMap<(u8, bool), u32> {
    let both = |(code, requests, answers)| [((code, false), requests), ((code, true), answers)];
    counts.into_iter().flat_map(both).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn file_copies_behind_vlan_tags() {
    let Some(seen) = seen("smb1-vlan-files.pcap") else { return };
    let expected = commands([
        (0x04, 201, 201),
        (0x24, 62, 62),
        (0x25, 1432, 1432),
        (0x2b, 1, 1),
        (0x2e, 216, 214),
        (0x2f, 212, 212),
        (0x32, 221, 224),
        (0x71, 2, 2),
        (0x72, 1, 1),
        (0x73, 2, 2),
        (0x75, 5, 5),
        (0xa0, 8, 7),
        (0xa2, 422, 422),
        (0xa4, 2, 0),
    ]);
    assert_eq!(seen, Seen { commands: expected, bytes_read: 55_705, bytes_written: 677_603 });
}

#[test]
fn chains() {
    let Some(seen) = seen("smb1-andx-chains.pcap") else { return };
    let once = [0x04, 0x24, 0x2b, 0x2f, 0x72, 0x75, 0xa2].map(|code| (code, 1, 1));
    let mut expected = commands(once);
    expected.extend(commands([(0x73, 2, 2)]));
    assert_eq!(seen, Seen { commands: expected, bytes_read: 0, bytes_written: 68 });
}

#[test]
fn padded_messages() {
    let Some(seen) = seen("smb1-padding.pcap") else { return };
    let expected = commands([
        (0x04, 2, 2),
        (0x2f, 2, 2),
        (0x32, 2, 2),
        (0x71, 4, 4),
        (0x72, 2, 2),
        (0x73, 4, 4),
        (0x75, 6, 6),
        (0xa2, 2, 2),
    ]);
    assert_eq!(seen, Seen { commands: expected, bytes_read: 0, bytes_written: 37 });
}

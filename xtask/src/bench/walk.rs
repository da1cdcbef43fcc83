//! `cargo xtask walk FILE`: the least that reading a capture can be. A loop over a memory map that looks at each record
//! header and at the lengths in each packet's Ethernet, IP and TCP headers. The comparison holds our rate against it.

use std::fs::File;
use std::path::Path;

use memmap2::MmapOptions;

use crate::Outcome;

/// Bytes of a pcap file before its first record, and of a record before its packet.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const ETHERNET: usize = 14;
const VLAN_TAG: usize = 4;
const TCP: u8 = 6;

/// Sums over the packets, so that the compiler does not remove the reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    packets: u64,
    tcp: u64,
    payload: u64,
    seconds: u64,
}

/// Walks a little-endian pcap file of Ethernet packets and prints the sums.
pub(crate) fn run(path: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    // SAFETY: the map is only read. Truncating a file in target/bench meanwhile ends this program (SIGBUS), which is why plimsoll itself
    // maps a file only under a lease.
    let map = unsafe { MmapOptions::new().map(&file) }.map_err(failed)?;
    let sums = walk(&map);
    println!("{} packets, {} of TCP, {} bytes in them ({})", sums.packets, sums.tcp, sums.payload, sums.seconds);
    Ok(())
}

fn walk(bytes: &[u8]) -> Sums {
    let mut sums = Sums::default();
    let mut rest = bytes.get(FILE_HEADER..).unwrap_or_default();
    while let Some((header, after)) = rest.split_first_chunk::<RECORD_HEADER>() {
        let [s0, s1, s2, s3, _, _, _, _, c0, c1, c2, c3, ..] = *header;
        let Some((packet, next)) = after.split_at_checked(u32::from_le_bytes([c0, c1, c2, c3]) as usize) else { break };
        rest = next;
        sums.packets += 1;
        sums.seconds = sums.seconds.wrapping_add(u64::from(u32::from_le_bytes([s0, s1, s2, s3])));
        if let Some(payload) = tcp_payload(packet) {
            sums.tcp += 1;
            sums.payload += u64::from(payload);
        }
    }
    sums
}

/// How many bytes a packet's TCP segment carries, by the lengths in its headers.
#[inline]
fn tcp_payload(packet: &[u8]) -> Option<u32> {
    let ethernet: &[u8; ETHERNET] = packet.first_chunk()?;
    let (mut kind, mut at) = ([ethernet[12], ethernet[13]], ETHERNET);
    if kind == [0x81, 0x00] {
        kind = *packet.get(at + 2..)?.first_chunk()?;
        at += VLAN_TAG;
    }
    let ip = packet.get(at..)?;
    let (protocol, header, total) = match kind {
        [0x08, 0x00] => {
            let ip: &[u8; 20] = ip.first_chunk()?;
            (ip[9], usize::from(ip[0] & 0x0f) * 4, u32::from(u16::from_be_bytes([ip[2], ip[3]])))
        }
        [0x86, 0xdd] => {
            let ip: &[u8; 40] = ip.first_chunk()?;
            (ip[6], 40, 40 + u32::from(u16::from_be_bytes([ip[4], ip[5]])))
        }
        _ => return None,
    };
    if protocol != TCP {
        return None;
    }
    let tcp: &[u8; 20] = ip.get(header..)?.first_chunk()?;
    total.checked_sub(header as u32 + u32::from(tcp[12] >> 4) * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut file = vec![0; FILE_HEADER];
        for packet in packets {
            let length = (packet.len() as u32).to_le_bytes();
            file.extend([[7, 0, 0, 0], [0; 4], length, length].concat());
            file.extend(packet);
        }
        file
    }

    fn packet(vlan: bool, ipv6: bool, payload: u16) -> Vec<u8> {
        let mut packet = vec![0; 12];
        if vlan {
            packet.extend([0x81, 0x00, 0, 1]);
        }
        if ipv6 {
            packet.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            packet.extend((20 + payload).to_be_bytes());
            packet.extend([TCP, 64]);
            packet.extend([0; 32]);
        } else {
            packet.extend([0x08, 0x00, 0x45, 0]);
            packet.extend((40 + payload).to_be_bytes());
            packet.extend([0, 0, 0, 0, 64, TCP]);
            packet.extend([0; 10]);
        }
        packet.extend([0; 12]);
        packet.extend([5 << 4, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend(vec![1; usize::from(payload)]);
        packet
    }

    #[test]
    fn every_packet_is_walked_and_every_length_read() {
        let packets = [packet(false, false, 100), packet(true, false, 10), packet(false, true, 1)];
        assert_eq!(walk(&file(&packets)), Sums { packets: 3, tcp: 3, payload: 111, seconds: 21 });
    }

    #[test]
    fn damage_ends_the_walk() {
        let whole = file(&[packet(false, false, 100), packet(true, true, 9)]);
        for length in 0..whole.len() {
            assert!(walk(whole.get(..length).unwrap()).packets < 2);
        }
    }
}

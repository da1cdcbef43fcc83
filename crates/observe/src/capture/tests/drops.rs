//! Losses that a capture tells of at its packets.

use super::super::LinkType;
use super::builders::{self, Endian, packets};
use super::{Owned, read_bytes};

/// An enhanced packet block of interface 0 with an option behind the packet.
fn enhanced(e: Endian, packet: &Owned, option: &[u8]) -> Vec<u8> {
    let lengths = [packet.captured.len() as u32, packet.original_len];
    let mut body: Vec<u8> = [0, 0, 42, lengths[0], lengths[1]].into_iter().flat_map(|field| e.u32(field)).collect();
    body.extend(&packet.captured);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(builders::option(e, 2, &e.u32(1)));
    body.extend(option);
    builders::block(e, 6, &body)
}

#[test]
fn losses_at_the_packets_of_pcapng_are_counted_once() {
    let packets = packets(LinkType::Ethernet);
    let drops = |e: Endian, count: u64| builders::option(e, 4, &e.u64(count));
    for e in [Endian::Little, Endian::Big] {
        let mut file = [builders::section(e), builders::interface(e, 1, 0, None, 0)].concat();
        let reported = |file: &[u8]| {
            let (frames, anomalies) = read_bytes(file).unwrap();
            assert_eq!((anomalies.bad_records, anomalies.skipped_blocks), (0, 0));
            (frames.len(), anomalies.reported_drops)
        };
        file.extend(enhanced(e, &packets[0], &[]));
        file.extend(enhanced(e, &packets[1], &drops(e, 500)));
        assert_eq!(reported(&file), (2, 500));
        // Each number is of the packets since the one before. An obsolete block has 16 bits for it.
        file.extend(enhanced(e, &packets[2], &drops(e, 7)));
        let mut obsolete = builders::obsolete(e, 0, 42, &packets[3]);
        file.extend(&obsolete);
        assert_eq!(reported(&file), (4, 507), "an unknown number");
        obsolete[10..12].copy_from_slice(&e.u16(3));
        file.extend(&obsolete);
        assert_eq!(reported(&file), (5, 510));
        // The statistics are of the whole capture, and have the same losses.
        for (in_all, expected) in [(509, 510), (600, 600)] {
            let drops = builders::option(e, 7, &e.u64(in_all));
            file.extend(builders::block(e, 5, &[e.u32(0).to_vec(), vec![0; 8], drops].concat()));
            assert_eq!(reported(&file), (5, expected));
        }
    }
}

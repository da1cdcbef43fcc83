//! Bad input is normal: cut, spoiled, random and hostile captures end, are counted, and never panic.

use proptest::prelude::*;

use super::super::{CaptureError, Captures, Input, LinkType};
use super::builders::{self, Endian, packets, short_packets};
use super::{Folder, Owned, gzip, read, read_bytes, zstd};

/// Bytes that look like nothing, the same in every run.
fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Reads on after errors until the end; how many frames there were.
fn exhaust(inputs: Vec<Input>) -> u64 {
    let Ok(mut captures) = Captures::open(inputs) else { return 0 };
    let mut count = 0;
    for _ in 0..3_000_000 {
        match captures.next() {
            Ok(Some(frame)) => count = frame.number,
            Ok(None) => return count,
            Err(_) => {}
        }
    }
    panic!("a small file gave millions of frames");
}

#[test]
fn every_truncation_gives_the_packets_before_it() {
    let packets = short_packets(LinkType::Ethernet);
    let folder = Folder::new();
    for (name, bytes) in builders::all(&packets) {
        let (mut last, mut was_whole) = (0, false);
        for len in 8..bytes.len() {
            let (frames, anomalies) = read(vec![folder.file("cut", &bytes[..len])]).unwrap();
            assert_eq!((anomalies.bad_records, anomalies.empty_files), (0, 0), "{name} cut to {len} bytes");
            if name == "NetXRay, wrapped" {
                // The packets captured first come last in the file. If they are incomplete, the rest is read and the loss is counted;
                // between the two packets nothing shows that one is missing.
                let there = frames.iter().all(|frame| packets.iter().any(|packet| packet.captured == frame.captured));
                let between = bytes.len() - 40 - packets[1].captured.len();
                let expected = u64::from(len != between);
                assert!(there && anomalies.truncated_tail == expected, "{name} cut to {len} bytes");
                continue;
            }
            assert_eq!(frames[..], packets[..frames.len()], "{name} cut to {len} bytes");
            assert!(frames.len() >= last, "{name} cut to {len} bytes");
            last = frames.len();
            // At the boundary of a record nothing is missing, a byte later something is. (NetXRay and NetMon say in
            // front where their packets end; in a snoop record that is a packet and padding, the packet counts.)
            let whole = anomalies.truncated_tail == 0;
            assert!(!(whole && (was_whole || name.starts_with("Net"))), "{name} cut to {len} bytes");
            was_whole = whole;
        }
        assert!(name.starts_with("Net") || last >= packets.len() - 1, "{name}");
    }
}

#[test]
fn every_truncation_of_a_packed_capture_ends_it() {
    let packets = short_packets(LinkType::Ethernet);
    let folder = Folder::new();
    let plain = builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets);
    for bytes in [gzip(&plain), zstd(&plain)] {
        for len in 8..bytes.len() {
            let (frames, anomalies) = read(vec![folder.file("cut", &bytes[..len])]).unwrap();
            assert_eq!(frames[..], packets[..frames.len()], "cut to {len} bytes");
            assert_eq!(anomalies.truncated_tail, 1, "cut to {len} bytes of {}", bytes.len());
        }
    }
}

#[test]
fn an_absurd_length_is_an_error_first_and_counted_later() {
    let packets = packets(LinkType::Ethernet);
    let folder = Folder::new();
    for (name, mut bytes) in builders::all(&packets).into_iter().take(6) {
        let record = 24 + if name.contains("modified") { 24 } else { 16 } + packets[0].captured.len();
        for length in [262_145_u32, 256 << 20, u32::MAX] {
            let raw = if name.contains("big") { length.to_be_bytes() } else { length.to_le_bytes() };
            let mut spoiled = bytes.clone();
            spoiled[record + 8..record + 12].copy_from_slice(&raw);
            // The rest of this file is lost, the next one is not.
            let inputs = vec![folder.file("spoiled", &spoiled), folder.file("sound", &bytes)];
            let (frames, anomalies) = read(inputs).unwrap();
            assert_eq!((frames.len(), anomalies.bad_records), (1 + packets.len(), 1), "{name}");
        }
        bytes[24 + 8..24 + 12].fill(0xff);
        match read_bytes(&bytes) {
            Err(CaptureError::Damaged { offset: 24, what, .. }) => assert!(what.contains("4294967295"), "{what}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Space that was reserved for packets and not written.
#[test]
fn zeros_are_no_packets() {
    let packets = packets(LinkType::Ethernet);
    for (name, bytes) in builders::all(&packets).into_iter().take(6) {
        let after_first = 24 + if name.contains("modified") { 24 } else { 16 } + packets[0].captured.len();
        for (at, there, ends) in [(bytes.len(), packets.len(), 1), (after_first, 1, 0)] {
            let zeros = [&bytes[..at], &[0; 4_096], &bytes[at..]].concat();
            let (frames, anomalies) = read_bytes(&zeros).unwrap();
            let counted = (anomalies.truncated_tail, anomalies.bad_records);
            assert_eq!((frames.len(), counted), (there, (ends, 1 - ends)), "{name}, zeros at byte {at}");
        }
        match read_bytes(&[&bytes[..24], &[0; 64], &[1]].concat()) {
            Err(CaptureError::Damaged { offset: 24, what, .. }) => assert!(what.contains("all zeros"), "{what}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// The next file of a ring: its space was reserved, and only its header is written. Larger than a buffer of the reader.
#[test]
fn a_reserved_file_does_not_refuse_the_others() {
    let packets = packets(LinkType::Ethernet);
    let folder = Folder::new();
    let sound = builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets);
    let reserved = [&sound[..24], &vec![0; 2 << 20]].concat();
    for reserved in [reserved.clone(), gzip(&reserved)] {
        let inputs = vec![folder.file("sound", &sound), folder.file("reserved", &reserved)];
        let (frames, anomalies) = read(inputs).unwrap();
        assert_eq!((frames.len(), anomalies.truncated_tail, anomalies.bad_records), (packets.len(), 1, 0));
        let (frames, anomalies) = read(vec![folder.file("reserved", &reserved)]).unwrap();
        assert_eq!((frames.len(), anomalies.truncated_tail), (0, 1), "it alone");
    }
}

#[test]
fn a_bad_packet_block_is_stepped_over() {
    let packets = packets(LinkType::Ethernet);
    let e = Endian::Little;
    let mut file = [builders::section(e), builders::interface(e, 1, 0, None, 0)].concat();
    file.extend(builders::enhanced(e, 7, 0, &packets[0]));
    let mut longer_than_its_block = builders::enhanced(e, 0, 0, &packets[0]);
    longer_than_its_block[20] = 200;
    file.extend(longer_than_its_block);
    let huge = Owned { captured: vec![0; 600_000], ..packets[0].clone() };
    file.extend(builders::enhanced(e, 0, 0, &huge));
    file.extend(builders::enhanced(e, 0, u64::MAX, &packets[1]));
    let (frames, anomalies) = read_bytes(&file).unwrap();
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].number, frames[0].time_ns, &frames[0].captured), (1, None, &packets[1].captured));
    assert_eq!((anomalies.bad_records, anomalies.unusable_times), (3, 1));
}

/// A section without an interface description.
#[test]
fn packets_without_an_interface_are_not_said_to_be_none() {
    let packets = packets(LinkType::Ethernet);
    let e = Endian::Little;
    let file = [builders::section(e), builders::enhanced(e, 0, 0, &packets[0])].concat();
    let (frames, anomalies) = read_bytes(&file).unwrap();
    assert_eq!((frames.len(), anomalies.bad_records), (0, 1));
    assert!(anomalies.no_packets().starts_with("no packet of the capture can be read"));
    let (_, anomalies) = read_bytes(&builders::section(e)).unwrap();
    assert!(anomalies.no_packets().starts_with("the capture contains no packets"));
}

#[test]
fn a_file_of_another_kind_is_refused_with_advice() {
    let cases: [(&[u8], &str); 6] = [
        (b"%PDF-1.7 and so on", "25 50 44 46 2d 31 2e 37"),
        (b"\xfd7zXZ\0\0\0\0\0\0", "xz -d"),
        (b"VL\0\0........", "NetXRay 1"),
        (b"RTSS\x01\x01......", "editcap -F pcap IN OUT"),
        (b"abc", "first bytes: 61 62 63"),
        (b"\xa1\xb2", "first bytes: a1 b2"),
    ];
    for (bytes, told) in cases {
        let error = read_bytes(bytes).unwrap_err();
        assert!(matches!(error, CaptureError::UnknownFormat { .. }), "{error}");
        assert!(error.to_string().contains(told), "{error}");
        let packed = read_bytes(&gzip(bytes)).unwrap_err().to_string();
        assert!(packed.contains(told), "{packed}");
    }
    let twice = read_bytes(&gzip(&zstd(b"anything"))).unwrap_err().to_string();
    assert!(twice.contains("twice"), "{twice}");
}

#[test]
fn unread_versions_are_named() {
    let packets = packets(LinkType::Ethernet);
    let all = builders::all(&packets);
    let spoil = |name: &str, at: usize, value: u8| {
        let mut bytes = all.iter().find(|(found, _)| *found == name).unwrap().1.clone();
        bytes[at] = value;
        read_bytes(&bytes).unwrap_err()
    };
    for (error, told) in [
        (spoil("pcap", 4, 9), "pcap version 9.4"),
        (spoil("pcapng", 12, 3), "pcapng version 3.0"),
        (spoil("snoop", 11, 5), "snoop version 5"),
        (spoil("NetXRay", 6, b'1'), "NetXRay version 001.002"),
        (spoil("NetXRay", 84, 2), "capture hardware 2"),
        (spoil("NetMon 2.0", 5, 3), "NetMon version 3.0"),
    ] {
        assert!(matches!(error, CaptureError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn missing_and_empty_inputs_are_told() {
    let folder = Folder::new();
    assert!(matches!(read(vec![]), Err(CaptureError::Empty(_))));
    let error = read(vec![folder.file("empty", b"")]).unwrap_err().to_string();
    assert!(error.ends_with("empty: the capture is empty; check the capture command"), "{error}");
    let error = read(vec![Input::File(folder.0.join("nowhere"))]).unwrap_err().to_string();
    assert!(error.contains("nowhere: cannot read"), "{error}");
    assert!(matches!(read(vec![Input::File(folder.0.clone())]), Err(CaptureError::Io { .. })));
    // A later file of a ring is looked at before the first one is read.
    let good = folder.file("good", &builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets(LinkType::Ethernet)));
    let error = Captures::open(vec![good, folder.file("bad", b"no capture")]).unwrap_err();
    assert!(matches!(error, CaptureError::UnknownFormat { .. }), "{error}");
}

#[test]
fn damaged_compression_keeps_what_came_before() {
    let packets: Vec<Owned> = (0..2000).flat_map(|_| packets(LinkType::Ethernet)).collect();
    let plain = builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets);
    let first = gzip(&plain);
    let (frames, anomalies) = read_bytes(&[&first[..], b"trailing rubbish"].concat()).unwrap();
    assert_eq!((frames.len(), anomalies.bad_records), (packets.len(), 1));
    let mut spoiled = zstd(&plain);
    let middle = spoiled.len() / 2;
    spoiled[middle..middle + 64].fill(0xff);
    match read_bytes(&spoiled) {
        Ok((frames, anomalies)) => assert!(frames.len() < packets.len() && anomalies.bad_records == 1),
        Err(error) => assert!(matches!(error, CaptureError::Damaged { .. }), "{error}"),
    }
}

#[test]
fn a_bomb_takes_time_and_no_memory() {
    // 64 MiB of zeros are reserved space that was never written, and are looked at through the same window. Behind the header of a
    // format that is read out of order 96 MiB would have to be kept: refused.
    let mut bomb = zstd(&builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets(LinkType::Ethernet)));
    let zeros = gzip(&vec![0; 1 << 20]);
    let zeros_zstd = zstd(&vec![0; 1 << 20]);
    (0..64).for_each(|_| bomb.extend(&zeros_zstd));
    let (frames, anomalies) = read_bytes(&bomb).unwrap();
    assert_eq!((frames.len(), anomalies.truncated_tail), (packets(LinkType::Ethernet).len(), 1));

    let mut bomb = gzip(&builders::netmon(0, &packets(LinkType::Ethernet)));
    (0..96).for_each(|_| bomb.extend(&zeros));
    let error = read_bytes(&bomb).unwrap_err().to_string();
    assert!(error.contains("uncompressed file"), "{error}");
}

#[test]
fn random_bytes_behind_every_header_end() {
    let count = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 1 << 20 } else { 1 << 17 };
    let folder = Folder::new();
    let packets = packets(LinkType::Ethernet);
    assert_eq!(exhaust(vec![folder.file("noise", &noise(count, 1))]), 0);
    for (seed, (_, bytes)) in builders::all(&packets).into_iter().enumerate() {
        // Behind the magic, behind the file header, and behind the first packets.
        for keep in [4, 8, 24, 40, 128, 200, 700] {
            let mut file = bytes[..keep.min(bytes.len())].to_vec();
            file.extend(noise(count, (seed * 1000 + keep) as u64));
            exhaust(vec![folder.file("noise", &file)]);
        }
    }
    for magic in [&[0x1f, 0x8b, 8, 0][..], &[0x28, 0xb5, 0x2f, 0xfd]] {
        exhaust(vec![folder.file("noise", &[magic, &noise(count, 2)].concat())]);
    }
}

proptest! {
    #[test]
    fn spoiled_captures_end(which in 0usize..15, spoils in prop::collection::vec((0usize..4000, any::<u8>()), 1..6)) {
        let (_, mut bytes) = builders::all(&packets(LinkType::Ethernet)).swap_remove(which);
        for (at, value) in spoils {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        let folder = Folder::new();
        exhaust(vec![folder.file("plain", &bytes)]);
        exhaust(vec![folder.file("packed", &zstd(&bytes))]);
    }
}

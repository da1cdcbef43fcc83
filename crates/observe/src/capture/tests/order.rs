//! Packets are returned in the order of their times, and otherwise unchanged.

use std::path::PathBuf;

use proptest::prelude::*;

use super::super::time_order::{DISORDER_MAX_NS, LOOK_AHEAD};
use super::super::{Captures, Input, LinkType, capture_files};
use super::builders::{self, Endian};
use super::{Folder, Owned, gzip, read};

const SECOND: i64 = 1_000_000_000;

/// A packet with distinct bytes, `micros` after the capture's start.
fn packet(number: usize, micros: i64, len: usize) -> Owned {
    Owned {
        number: number as u64,
        time_ns: Some(1_600_000_000 * SECOND + micros * 1_000),
        link: LinkType::Ethernet,
        captured: (0..len).map(|at| (at * 31 + micros as usize * 7) as u8).collect(),
        original_len: len as u32,
    }
}

/// Packets as a file has them, numbered as they stand, and sorted by time.
fn filed(mut packets: Vec<Owned>) -> (Vec<Owned>, Vec<Owned>) {
    (1..).zip(&mut packets).for_each(|(number, packet)| packet.number = number);
    let mut sorted = packets.clone();
    sorted.sort_by_key(|packet| packet.time_ns);
    (packets, sorted)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// In every format that is read in order, read, mapped or unpacked, in one file or cut into two.
    #[test]
    fn a_permutation_within_the_window_is_sorted(
        delays in prop::collection::vec(prop_oneof![2 => Just(0usize), 1 => 0..LOOK_AHEAD], 300..900),
        sizes in prop::collection::vec(prop_oneof![9 => 0usize..1_600, 1 => Just(20_000usize)], 50),
        cut in 0usize..900,
    ) {
        // The last packets that stay must fit into the bytes that stay.
        let long = |at: usize| sizes[at % sizes.len()] > 1_600 && at.is_multiple_of(100);
        let size = |at: usize| if long(at) { 20_000 } else { sizes[at % sizes.len()] % 1_600 };
        let mut order: Vec<usize> = (0..delays.len()).collect();
        order.sort_by_key(|&at| at + delays[at]);
        let (packets, sorted) = filed(order.iter().map(|&at| packet(0, 10 * at as i64, size(at))).collect());
        let late = {
            let mut latest = i64::MIN;
            packets.iter().filter(|p| { let t = p.time_ns.unwrap(); latest = latest.max(t); t < latest }).count()
        };
        let (folder, e) = (Folder::new(), Endian::Little);
        // A file that begins earlier than the file named before it is read first.
        let begins_later = |at: &usize| packets[*at].time_ns >= packets[0].time_ns;
        let (first, second) = packets.split_at((cut..packets.len()).find(begins_later).unwrap_or(packets.len()));
        let pcap = |packets: &[Owned]| builders::pcap(e, 0xa1b2_c3d4, 1, packets);
        let cases = [
            vec![folder.file("pcap", &pcap(&packets))],
            vec![folder.file("pcapng", &builders::pcapng(Endian::Big, &packets))],
            vec![folder.file("snoop", &builders::snoop(4, &packets))],
            vec![folder.file("packed", &gzip(&pcap(&packets)))],
            vec![folder.file("one", &pcap(first)), folder.file("two", &gzip(&pcap(second)))],
        ];
        for (case, inputs) in cases.into_iter().enumerate() {
            let (found, anomalies) = read(inputs).unwrap();
            prop_assert!(found == sorted, "case {case}");
            prop_assert_eq!(anomalies.reordered, late as u64);
        }
    }
}

#[test]
fn a_large_file_out_of_order_is_sorted_where_it_is_mapped() {
    let size = |at: usize| if at % 1_000 < 500 { 60 } else { at * 37 % 1_514 };
    let swapped = |at: usize| if at % 7 < 2 { at ^ 1 } else { at };
    let all: Vec<Owned> = (0..20_000).map(|at| packet(0, at as i64, size(at))).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| swapped(at) + (at % 5) * 11);
    let (packets, sorted) = filed(order.into_iter().map(|at| all[at].clone()).collect());
    let bytes = builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets);
    assert!(bytes.len() > 6 << 20, "{} bytes are not several maps", bytes.len());
    let folder = Folder::new();
    assert!(read(vec![folder.file("plain", &bytes)]).unwrap().0 == sorted);
    assert!(read(vec![folder.file("packed", &gzip(&bytes))]).unwrap().0 == sorted);
}

/// Stretches in order are returned without sorting, others are sorted. This alternates both, with the change at every place of a map.
#[test]
fn a_large_file_that_is_out_of_order_in_places_is_sorted_there() {
    let size = |at: usize| if at % 3_000 < 1_500 { 60 } else { at * 37 % 1_514 };
    for (every, by) in [(50, 1), (301, 2), (517, LOOK_AHEAD - 1), (2_003, 90), (9_001, 5)] {
        let all: Vec<Owned> = (0..20_000).map(|at| packet(0, at as i64, size(at))).collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|&at| if at % every == every / 3 { 2 * (at + by) + 1 } else { 2 * at });
        let late = order.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(late > 1, "every {every}");
        let (packets, sorted) = filed(order.into_iter().map(|at| all[at].clone()).collect());
        let bytes = builders::pcap(Endian::Big, 0xa1b2_c3d4, 1, &packets);
        assert!(bytes.len() > 6 << 20, "{} bytes are not several maps", bytes.len());
        let folder = Folder::new();
        for input in [folder.file("plain", &bytes), folder.file("packed", &gzip(&bytes))] {
            let (found, anomalies) = read(vec![input]).unwrap();
            assert!(found == sorted, "every {every}");
            assert_eq!(anomalies.reordered, late as u64);
        }
    }
}

#[test]
fn nothing_is_sorted_across_a_step_of_the_clock() {
    let step = DISORDER_MAX_NS / 1_000;
    for (back, sorts) in [(step, true), (step + 1, false)] {
        let times = (0..10).map(|at| 1_000_000 + at).chain((0..10).map(|at| 1_000_009 - back + at));
        let (packets, sorted) = filed(times.map(|micros| packet(0, micros, 60)).collect());
        let folder = Folder::new();
        let (found, anomalies) = read(vec![folder.file("c", &builders::pcapng(Endian::Little, &packets))]).unwrap();
        assert!(found == if sorts { sorted } else { packets }, "{back} µs back");
        assert_eq!(anomalies.reordered > 0, sorts);
    }
    // One time far off, in either direction, moves nothing either.
    for off in [0, 3_000_000_000_000] {
        let times = [1_000_000, 1_000_001, off, 1_000_003, 1_000_002, 1_000_004];
        let (packets, _) = filed(times.map(|micros| packet(0, micros, 60)).to_vec());
        let folder = Folder::new();
        let (found, anomalies) = read(vec![folder.file("c", &builders::pcapng(Endian::Little, &packets))]).unwrap();
        let numbers: Vec<u64> = found.iter().map(|packet| packet.number).collect();
        assert_eq!((numbers, anomalies.reordered), (vec![1, 2, 3, 5, 4, 6], 1), "{off}");
    }
}

#[test]
fn a_packet_without_a_time_stays_behind_the_one_before_it() {
    let e = Endian::Little;
    let (packets, _) = filed([3, 5, 0, 4, 6].map(|micros| packet(0, micros, 60)).to_vec());
    let mut bytes = [builders::section(e), builders::interface(e, 1, 0, None, 0)].concat();
    for (at, packet) in packets.iter().enumerate() {
        let micros = packet.time_ns.unwrap() as u64 / 1_000;
        // A simple packet block has the length and no time.
        let simple = || builders::block(e, 3, &[&e.u32(60)[..], &packet.captured].concat());
        bytes.extend(if at == 2 { simple() } else { builders::enhanced(e, 0, micros, packet) });
    }
    let folder = Folder::new();
    let (found, anomalies) = read(vec![folder.file("c", &bytes)]).unwrap();
    let numbers: Vec<u64> = found.iter().map(|packet| packet.number).collect();
    assert_eq!((numbers, anomalies.reordered), (vec![1, 4, 2, 3, 5], 1));
}

#[test]
fn what_is_damaged_comes_after_all_that_was_read_before() {
    let (packets, sorted) = filed([1, 3, 2, 4].map(|micros| packet(0, micros, 60)).to_vec());
    let folder = Folder::new();
    let good = builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets);
    let bad = [&builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &[])[..], &[0xff; 40]].concat();
    let inputs = vec![folder.file("good", &good), folder.file("bad", &bad), folder.file("good-again", &good)];
    let mut captures = Captures::open(inputs).unwrap();
    let mut numbers = Vec::new();
    let mut errors = 0;
    loop {
        match captures.next() {
            Ok(Some(frame)) => numbers.push(frame.number),
            Ok(None) => break,
            Err(_) => {
                errors += 1;
                assert_eq!(numbers, sorted.iter().map(|packet| packet.number).collect::<Vec<_>>());
            }
        }
    }
    assert_eq!((errors, numbers), (1, vec![1, 3, 2, 4, 5, 7, 6, 8]));
}

#[test]
fn blocks_that_are_stepped_over_between_packets_take_no_memory_and_lose_nothing() {
    let e = Endian::Little;
    let (packets, sorted) = filed((0..1_000).map(|at| packet(0, i64::from(at ^ 1), 700)).collect());
    let comment = builders::block(e, 0x0bad, &vec![7; 60_000]);
    let long = builders::block(e, 0x0bad, &vec![7; 3 << 20]);
    let mut bytes = [builders::section(e), builders::interface(e, 1, 0, None, 0)].concat();
    for (at, packet) in packets.iter().enumerate() {
        bytes.extend(builders::enhanced(e, 0, packet.time_ns.unwrap() as u64 / 1_000, packet));
        // Neighbours that change places stay neighbours.
        if at % 20 == 19 {
            bytes.extend(if at % 500 == 499 { &long } else { &comment });
        }
    }
    let folder = Folder::new();
    for input in [folder.file("plain", &bytes), folder.file("packed", &gzip(&bytes))] {
        assert!(read(vec![input]).unwrap().0 == sorted);
    }
}

/// An hour between two files counts as time between files, even if a file without a packet lies in between. Files that follow each other
/// have no such time.
#[test]
fn times_between_files_are_found_in_every_format() {
    let hour = 3_600 * 1_000_000;
    let (all, _) = filed((0..500).map(|at| packet(0, 1_000 * at as i64 + at as i64 / 300 * hour, 60)).collect());
    let folder = Folder::new();
    let pcap = |packets: &[Owned]| builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, packets);
    let write = |name: &str, packets: &[Owned]| match name.starts_with("next") {
        true => builders::pcapng(Endian::Big, packets),
        false => pcap(packets),
    };
    for (one, other) in [("plain", "second"), ("plain-2", "next-2"), ("next-3", "third"), ("next-4", "next-5")] {
        let [monday, rest] = [&all[..200], &all[200..300]].map(|packets| write(one, packets));
        let inputs = vec![
            folder.file(other, &write(other, &all[300..])),
            folder.file(one, &monday),
            folder.file(&format!("{one}-empty"), &pcap(&[])),
            folder.file(&format!("{one}-rest"), &rest),
        ];
        let (found, anomalies) = read(inputs).unwrap();
        let gaps: Vec<_> = anomalies.file_gaps.iter().collect();
        assert!(found == all, "{one} and {other}");
        assert_eq!(gaps, [(all[299].time_ns.unwrap(), all[300].time_ns.unwrap())], "{one} and {other}");
    }
    // Silence inside a file is no time between files.
    assert_eq!(read(vec![folder.file("all", &pcap(&all))]).unwrap().1.file_gaps.iter().count(), 0);
}

#[test]
fn a_folder_is_its_captures_in_the_order_of_their_first_packets() {
    let (all, _) = filed((0..300).map(|at| packet(0, 1_000 * at as i64, 60)).collect());
    let pcap = |packets: &[Owned]| builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, packets);
    let folder = Folder::new();
    folder.file("ring.pcap0", &pcap(&all[200..]));
    folder.file("ring.pcap1.gz", &gzip(&pcap(&all[..100])));
    folder.file("ring.pcap2", &builders::pcapng(Endian::Big, &all[100..200]));
    // The file that another program has just begun.
    folder.file("ring.pcap3", b"");
    folder.file("notes.txt", b"no capture");
    std::fs::create_dir(folder.0.join("more.pcap")).unwrap();
    let inputs = |paths: &[PathBuf]| capture_files(paths).map(|files| files.iter().map(Input::of).collect::<Vec<_>>());
    let (found, anomalies) = read(inputs(std::slice::from_ref(&folder.0)).unwrap()).unwrap();
    assert!(found == all, "{} packets", found.len());
    assert_eq!((anomalies.reordered_files, anomalies.empty_files), (0, 1));
    // Files and folders may be mixed, and standard input stays what it is.
    let single = [folder.0.join("notes.txt"), PathBuf::from("-")];
    assert_eq!(inputs(&single).unwrap(), [Input::File(single[0].clone()), Input::Stdin]);
    let error = inputs(&[folder.0.join("more.pcap")]).unwrap_err().to_string();
    assert!(error.contains("more.pcap: this folder contains neither captures nor a recording"), "{error}");
    // A file that cannot be read is not left out.
    folder.file("ring.pcap4.xz", b"\xfd7zXZ\0\0\0");
    let error = read(inputs(std::slice::from_ref(&folder.0)).unwrap()).unwrap_err().to_string();
    assert!(error.contains("ring.pcap4.xz") && error.contains("xz -d"), "{error}");
}

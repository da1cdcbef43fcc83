//! Every format returns the packets that were written, for every compression and every division into files.

use super::super::{CaptureAnomalies, Captures, Compression, Format, Input, LinkType, StopReading};
use super::builders::{self, Endian, packets};
use super::{Folder, Owned, gzip, read, read_bytes, zstd};

#[test]
fn each_format_gives_back_its_packets() {
    let packets = packets(LinkType::Ethernet);
    for (name, bytes) in builders::all(&packets) {
        let (frames, anomalies) = read_bytes(&bytes).unwrap();
        assert_eq!(frames, packets, "{name}");
        let drops = if name == "snoop" { 10 } else { 0 };
        assert_eq!(anomalies.reported_drops, drops, "{name}");
        assert_eq!((anomalies.truncated_tail, anomalies.bad_records, anomalies.unusable_times), (0, 0, 0), "{name}");
    }
}

#[test]
fn packets_that_a_tap_shortened_are_counted_apart() {
    let (e, packets) = (Endian::Big, packets(LinkType::Ethernet));
    let file = |application: &[u8], name: &[u8]| {
        let version = [e.u32(0x1a2b_3c4d).to_vec(), e.u16(1).to_vec(), e.u16(0).to_vec(), vec![0xff; 8]].concat();
        let options = [builders::option(e, 3, b"Linux"), builders::option(e, 4, application)].concat();
        let interface = [e.u16(1).to_vec(), vec![0; 6], builders::option(e, 2, name)].concat();
        let mut file = builders::block(e, 0x0a0d_0d0a, &[version, options].concat());
        file.extend(builders::block(e, 1, &interface));
        let ticks = |packet: &super::Owned| packet.time_ns.unwrap() as u64 / 1000;
        packets.iter().for_each(|packet| file.extend(builders::enhanced(e, 0, ticks(packet), packet)));
        file
    };
    // Two packets are shorter than they were.
    for (application, name, expected) in
        [("plimsoll 0.1.0", "tap", 2), ("plimsoll 0.1.0", "eth0", 0), ("Dumpcap (Wireshark)", "tap", 0)]
    {
        let (frames, anomalies) = read_bytes(&file(application.as_bytes(), name.as_bytes())).unwrap();
        assert_eq!((&frames, anomalies.shortened_by_tap), (&packets, expected), "{application} {name}");
        let mut coverage = plimsoll_model::Coverage::default();
        coverage.packets.truncated = 2;
        anomalies.add_to(&mut coverage);
        assert_eq!(coverage.packets.truncated, 2 - expected);
    }
}

#[test]
fn packed_captures_give_the_same_frames() {
    let packets = packets(LinkType::Ethernet);
    for (name, bytes) in builders::all(&packets) {
        let (first, second) = bytes.split_at(bytes.len() / 3);
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let packed = [
            gzip(&bytes),
            [gzip(first), gzip(second)].concat(),
            zstd(&bytes),
            [zstd(first), zstd(second)].concat(),
            [skippable.to_vec(), zstd(&bytes)].concat(),
        ];
        for (index, packed) in packed.iter().enumerate() {
            assert_eq!(read_bytes(packed).unwrap().0, packets, "{name}, packing {index}");
        }
    }
}

#[test]
fn a_window_slides_over_a_large_capture() {
    // Packets of up to the largest size: several windows, none of which ends between two records.
    let sizes = [262_144, 1, 65_549, 100_003, 60, 262_143, 1514];
    let packet = |number: u64| Owned {
        number,
        time_ns: Some(1_000_000_000_000 + number as i64 * 1000),
        link: LinkType::Ethernet,
        captured: vec![number as u8; sizes[number as usize % sizes.len()]],
        original_len: sizes[number as usize % sizes.len()] as u32,
    };
    let packets: Vec<Owned> = (1..=60).map(packet).collect();
    for bytes in [
        builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets),
        builders::pcapng(Endian::Big, &packets),
        builders::snoop(4, &packets),
        builders::netmon(3, &packets),
    ] {
        assert!(read_bytes(&bytes).unwrap().0 == packets);
        assert!(read_bytes(&zstd(&bytes)).unwrap().0 == packets);
    }
}

#[test]
fn rings_are_numbered_on_in_the_given_order() {
    let packets = packets(LinkType::Ethernet);
    let folder = Folder::new();
    let all = builders::all(&packets);
    let mut inputs: Vec<Input> = Vec::new();
    for (index, (_, bytes)) in all.iter().enumerate() {
        let bytes = if index % 2 == 0 { bytes.clone() } else { gzip(bytes) };
        inputs.push(folder.file(&format!("ring{index}"), &bytes));
    }
    inputs.push(folder.file("not-yet-written", b""));
    let on_disk: u64 = inputs.iter().map(|input| input.size().unwrap().unwrap()).sum();

    let mut captures = Captures::open(inputs.clone()).unwrap();
    let mut numbers = Vec::new();
    // All files have the same times, so their packets come mixed; their numbers tell where they stand.
    while let Some(frame) = captures.next().unwrap() {
        let expected = &packets[(frame.number as usize - 1) % packets.len()];
        assert_eq!(frame.captured, expected.captured);
        numbers.push(frame.number);
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=(packets.len() * all.len()) as u64));
    assert_eq!(captures.anomalies().empty_files, 1);
    let progress = captures.progress();
    assert_eq!((progress.bytes_read, progress.bytes_total), (on_disk, Some(on_disk)));
    let formats = captures.formats();
    assert_eq!((formats.len(), formats[0].format, formats[0].tick_ns), (all.len(), Format::Pcap, Some(1000)));
    assert_eq!((formats[1].compression, formats[2].format), (Compression::Gzip, Format::PcapNanosecond));
}

#[test]
fn reading_ends_where_somebody_asks_it_to() {
    // More than fits the window: its packets were read, and are returned.
    let few = packets(LinkType::Ethernet);
    let packets: Vec<_> = few.iter().cycle().take(4_000).cloned().collect();
    let folder = Folder::new();
    for (name, bytes) in builders::all(&packets) {
        let inputs = vec![folder.file("one", &bytes), folder.file("two", &bytes)];
        let stop = StopReading::default();
        let mut captures = Captures::open_until(inputs, stop.clone()).unwrap();
        assert!(captures.next().unwrap().is_some() && !captures.interrupted(), "{name}");
        stop.ask();
        let mut rest = 0;
        while captures.next().unwrap().is_some() {
            rest += 1;
        }
        assert!(rest < packets.len(), "{name}: {rest}");
        assert!(captures.interrupted() && captures.anomalies().truncated_tail == 0, "{name}");
        // Asked before the first one was opened: it was there, and not read.
        let stop = StopReading::default();
        stop.ask();
        let mut captures = Captures::open_until(vec![folder.file("one", &bytes)], stop).unwrap();
        assert!(captures.next().unwrap().is_none() && captures.interrupted(), "{name}");
        // A file that was read to its end was not interrupted.
        let stop = StopReading::default();
        let mut captures = Captures::open_until(vec![folder.file("one", &bytes)], stop.clone()).unwrap();
        while captures.next().unwrap().is_some() {}
        stop.ask();
        assert!(captures.next().unwrap().is_none() && !captures.interrupted(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_like_a_file() {
    let packets = packets(LinkType::Ethernet);
    let folder = Folder::new();
    let path = folder.0.join("pipe");
    if !std::process::Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success()) {
        plimsoll_testkit::skip("needs mkfifo");
        return;
    }
    for (name, bytes) in builders::all(&packets) {
        let target = path.clone();
        let writer = std::thread::spawn(move || std::fs::write(target, bytes));
        assert_eq!(read(vec![Input::File(path.clone())]).unwrap().0, packets, "{name}");
        writer.join().unwrap().unwrap();
    }
}

#[test]
fn link_types_are_told_apart() {
    let numbers = [
        (0, LinkType::Null),
        (12, LinkType::RawIp),
        (14, LinkType::RawIp),
        (101, LinkType::RawIp),
        (108, LinkType::Loop),
        (113, LinkType::LinuxCooked1),
        (228, LinkType::RawIp),
        (229, LinkType::RawIp),
        (276, LinkType::LinuxCooked2),
        (105, LinkType::Other(105)),
        // The upper bits describe a frame check sequence of four bytes.
        (0x2400_0001, LinkType::Ethernet),
    ];
    for (number, link) in numbers {
        let packets = packets(link);
        assert_eq!(read_bytes(&builders::pcap(Endian::Big, 0xa1b2_c3d4, number, &packets)).unwrap().0, packets);
    }
    for (number, link) in [(0, LinkType::Ethernet), (8, LinkType::Other(10)), (26, LinkType::Other(0x8000_001a))] {
        let packets = packets(link);
        assert_eq!(read_bytes(&builders::snoop(number, &packets)).unwrap().0, packets);
    }
}

#[test]
fn old_pcap_files_have_their_lengths_the_other_way_round() {
    let packets = packets(LinkType::Ethernet);
    for (minor, swapped) in [(2, true), (3, true), (3, false)] {
        let mut bytes = builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets);
        bytes[6] = minor;
        let mut at = 24;
        for packet in &packets {
            let mut lengths = [packet.captured.len() as u32, packet.original_len].map(u32::to_le_bytes);
            if swapped {
                lengths.reverse();
            }
            bytes[at + 8..at + 16].copy_from_slice(&lengths.concat());
            at += 16 + packet.captured.len();
        }
        assert_eq!(read_bytes(&bytes).unwrap().0, packets, "2.{minor}");
    }
}

#[test]
fn longer_record_headers_are_told_by_the_records() {
    let e = Endian::Little;
    let (tick, modified) = (0xa1b2_c3d4, 0xa1b2_cd34);
    let all = packets(LinkType::Ethernet);
    for count in 2..=all.len() {
        let packets = &all[..count];
        for (name, magic, more) in [
            ("Red Hat 6.1", tick, &[2, 0, 0, 0, 8, 0, 0, 0][..]),
            ("Nokia", tick, &[0; 4]),
            ("Nokia, other bytes", tick, &[0xa5; 4]),
            ("SuSE 6.3", modified, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            for e in [e, Endian::Big] {
                let bytes = builders::pcap_variant(e, magic, 1, more, packets);
                let (frames, anomalies) = read_bytes(&bytes).unwrap();
                assert_eq!(frames, packets, "{name}, {e:?}");
                assert_eq!((anomalies.truncated_tail, anomalies.bad_records), (0, 0), "{name}, {e:?}");
            }
        }
    }
}

#[test]
fn longer_record_headers_are_told_near_1970_too() {
    // Of a device without a clock: with the usual record header, seconds of 0 look like the bytes of Nokia's own.
    let mut packets = packets(LinkType::Ethernet);
    for (packet, at) in packets.iter_mut().zip(0..) {
        packet.time_ns = packet.time_ns.map(|_| at * 1_000_000);
    }
    for more in [&[0; 4][..], &[0x12, 0x34, 0x56, 0x78], &[2, 0, 0, 0, 8, 0, 0, 0]] {
        let bytes = builders::pcap_variant(Endian::Little, 0xa1b2_c3d4, 1, more, &packets);
        let (frames, anomalies) = read_bytes(&bytes).unwrap();
        assert_eq!(frames, packets, "{more:?}");
        assert_eq!((anomalies.truncated_tail, anomalies.bad_records), (0, 0), "{more:?}");
    }
}

#[test]
fn usual_record_headers_stay_whatever_the_records_hold() {
    // Each packet looks like the record header of another: zeros, and a record header with its packet.
    let mut packets = packets(LinkType::Ethernet);
    packets.truncate(4);
    for packet in &mut packets {
        let header = [0_u32.to_le_bytes(), 0_u32.to_le_bytes(), 8_u32.to_le_bytes(), 8_u32.to_le_bytes()].concat();
        packet.captured = [header, vec![0; 64]].concat();
        // An original length below the captured one and a fraction of more than a second are no reason to read it otherwise.
        packet.original_len = 16;
        packet.time_ns = packet.time_ns.map(|time| time / 1_000_000_000 * 1_000_000_000);
    }
    for magic in [0xa1b2_c3d4, 0xa1b2_cd34] {
        let mut bytes = builders::pcap(Endian::Little, magic, 1, &packets);
        assert_eq!(read_bytes(&bytes).unwrap().0, packets);
        bytes[28..32].copy_from_slice(&2_000_000_u32.to_le_bytes());
        let mut late = packets.clone();
        late[0].time_ns = late[0].time_ns.map(|time| time + 2_000_000_000);
        assert_eq!(read_bytes(&bytes).unwrap().0, late);
    }
}

/// Files as `pktmon etl2pcap` and etl2pcapng write them: interfaces without options or snap length, described when their first packet
/// comes, and packets with a comment and a direction.
#[test]
fn converted_captures_of_windows_are_read() {
    let e = Endian::Little;
    let mut expected = packets(LinkType::Ethernet);
    let described = |link: u16| builders::block(e, 1, &[e.u16(link).to_vec(), vec![0; 6]].concat());
    let packet = |interface: u32, packet: &Owned| {
        let ticks = packet.time_ns.unwrap() as u64 / 1000;
        let lengths = [packet.captured.len() as u32, packet.original_len];
        let fields = [interface, (ticks >> 32) as u32, ticks as u32, lengths[0], lengths[1]];
        let mut body: Vec<u8> = fields.into_iter().flat_map(|field| e.u32(field)).collect();
        body.extend(&packet.captured);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(builders::option(e, 1, b"PID=4 TID=1276"));
        body.extend(builders::option(e, 2, &e.u32(2)));
        body.extend(builders::option(e, 0, b""));
        builders::block(e, 6, &body)
    };
    let section = builders::block(e, 0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    let mut file = [section, described(1)].concat();
    for (number, one) in (0..).zip(&mut expected) {
        // A virtual private network's interface has packets without Ethernet.
        if number == 2 {
            file.extend(described(101));
        }
        one.link = if number < 2 { LinkType::Ethernet } else { LinkType::RawIp };
        one.time_ns = one.time_ns.map(|ns| ns / 1000 * 1000);
        file.extend(packet(u32::from(number >= 2), one));
    }
    let (frames, anomalies) = read_bytes(&file).unwrap();
    assert_eq!((frames, anomalies), (expected, CaptureAnomalies::default()));
}

#[test]
fn pcapng_interfaces_keep_their_own_clock_and_link() {
    let e = Endian::Little;
    let mut expected: Vec<Owned> = packets(LinkType::Ethernet).into_iter().chain(packets(LinkType::Null)).collect();
    expected.iter_mut().zip(1..).for_each(|(packet, number)| packet.number = number);
    let time = 1_600_000_000;
    let mut file = [
        builders::section(e),
        builders::interface(e, 1, 0, Some(9), 0),
        builders::interface(e, 113, 0, Some(0x80 | 10), 0),
        builders::interface(e, 101, 0, Some(3), time),
    ]
    .concat();
    file.extend(builders::enhanced(e, 0, 1_600_000_000_123_456_789, &expected[0]));
    file.extend(builders::block(e, 0x0bad, b"custom"));
    file.extend(builders::enhanced(e, 1, ((time as u64) << 10) + 256, &expected[1]));
    file.extend(builders::block(e, 0x7777, &[1; 300_000]));
    file.extend(builders::obsolete(e, 2, 1_500, &expected[2]));
    // Statistics: 5 dropped by the interface, 3 by the system; then 9 by the interface in all.
    for (ifdrop, osdrop) in [(5, 3), (9, 3)] {
        let drops = [builders::option(e, 5, &e.u64(ifdrop)), builders::option(e, 7, &e.u64(osdrop))].concat();
        file.extend(builders::block(e, 5, &[e.u32(1).to_vec(), vec![0; 8], drops].concat()));
    }
    // A second section in the other byte order, with its own interfaces and snap length.
    let e = Endian::Big;
    file.extend(builders::section(e));
    file.extend(builders::interface(e, 0, 96, None, 0));
    file.extend(builders::simple(e, &expected[7]));
    file.extend(builders::enhanced(e, 0, 42, &expected[4]));

    let (frames, anomalies) = read_bytes(&file).unwrap();
    let told: Vec<_> = frames.iter().map(|frame| (frame.link, frame.time_ns)).collect();
    let second = 1_000_000_000;
    assert_eq!(
        told,
        [
            (LinkType::Ethernet, Some(1_600_000_000_123_456_789)),
            (LinkType::LinuxCooked1, Some(time * second + 250_000_000)),
            (LinkType::RawIp, Some(time * second + 1_500_000_000)),
            (LinkType::Null, None),
            (LinkType::Null, Some(42_000)),
        ]
    );
    let captured: Vec<_> = frames.iter().map(|frame| &frame.captured).collect();
    let written = [0, 1, 2, 7, 4].map(|index| &expected[index].captured);
    assert_eq!(captured, written);
    assert_eq!((anomalies.skipped_blocks, anomalies.reported_drops, anomalies.bad_records), (1, 9, 0));
}

/// An end of the capture without a start, and then a start without an end: the interface was down.
#[test]
fn an_interface_that_was_down_is_told_from_the_times_of_a_whole_capture() {
    let blocks = |application: &[u8; 12], written: u64, pairs: &[(Option<u64>, Option<u64>)]| {
        let mut out = Vec::new();
        let mut block = |kind: u32, body: &[u8]| {
            let total = (12 + body.len() as u32).to_le_bytes();
            [&kind.to_le_bytes()[..], &total, body, &total].into_iter().for_each(|piece| out.extend_from_slice(piece));
        };
        let header = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8], &[4, 0, 12, 0], application];
        block(0x0a0d_0d0a, &header.concat());
        // Ethernet, with times in nanoseconds.
        block(1, &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        for &(started, ended) in pairs {
            let mut body = [&[0; 4][..], &written.rotate_left(32).to_le_bytes()[..]].concat();
            for (code, time) in [(2_u16, started), (3, ended)] {
                let Some(time) = time else { continue };
                body.extend_from_slice(&[code.to_le_bytes(), 8_u16.to_le_bytes()].concat());
                body.extend_from_slice(&time.rotate_left(32).to_le_bytes());
            }
            body.extend_from_slice(&[0; 4]);
            block(5, &body);
        }
        out
    };
    let downtime = |pairs: &[(Option<u64>, Option<u64>)]| {
        let found = read_bytes(&blocks(b"plimsoll 0.1", 0, pairs)).unwrap().1.downtime;
        (found.count, found.first_ns, found.first_end_ns, found.total_ns)
    };
    let start = 1_700_000_000_000_000_000;
    let at = |ns: u64| Some(start + ns);
    let shown = |ns: i64| Some(start as i64 + ns);
    assert_eq!(downtime(&[(at(0), at(900))]), (0, None, None, 0), "as dumpcap writes it");
    assert_eq!(downtime(&[(None, at(100)), (at(130), None)]), (1, shown(100), shown(130), 30));
    assert_eq!(downtime(&[(None, at(100)), (at(130), None), (None, at(500))]), (2, shown(100), shown(130), 30));
    assert_eq!(downtime(&[(at(130), None)]), (0, None, None, 0));
    // Both times in a section of Plimsoll say until when it captured. Of other programs they are often those of the packets.
    let until = |application, written| {
        let pairs = [(at(0), at(900)), (at(0), at(700))];
        read_bytes(&blocks(application, start + written, &pairs)).unwrap().1.captured_until_ns
    };
    assert_eq!([until(b"plimsoll 0.1", 900), until(b"plimsoll 0.1", 700)], [shown(900), shown(700)]);
    assert_eq!(
        [until(b"Dumpcap 4.0.", 900), until(b"plimsoll 0.1", 901)],
        [None; 2],
        "another program; a damaged time"
    );
}

//! Mapping a file changes only the speed, and a file may be truncated while it is mapped.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use super::super::byte_window::{Backing, ByteWindow};
use super::super::{Batch, Captures, Input, LinkType};
use super::builders::{self, Endian, packets};
use super::{Folder, Owned, gzip, read};

/// Larger than several maps, of packets of all sizes that come in runs and alone.
fn large() -> Vec<Owned> {
    let kinds = packets(LinkType::Ethernet);
    let index = |i: usize| if i % 1000 < 500 { 1 } else { i * i % kinds.len() };
    let renumbered = |(at, i): (usize, usize)| Owned { number: at as u64 + 1, ..kinds[i].clone() };
    (0..10_000).map(index).enumerate().map(renumbered).collect()
}

#[test]
fn a_mapped_file_is_what_a_read_one_is() {
    let (folder, packets) = (Folder::new(), large());
    let e = Endian::Little;
    let mut pcapng = [builders::section(e), builders::interface(e, 1, 0, None, 0)].concat();
    packets.iter().for_each(|packet| {
        let micros = packet.time_ns.unwrap() as u64 / 1_000;
        pcapng.extend(builders::enhanced(e, 0, micros, packet));
    });
    for bytes in [builders::pcap(e, 0xa1b2_c3d4, 1, &packets), pcapng] {
        assert!(bytes.len() > 8 << 20, "{} bytes are not several maps", bytes.len());
        for len in [bytes.len(), bytes.len() - 1] {
            let plain = read(vec![folder.file("plain", &bytes[..len])]).unwrap();
            let packed = read(vec![folder.file("packed", &gzip(&bytes[..len]))]).unwrap();
            assert!(plain == packed, "{len} bytes");
            assert_eq!(plain.1.truncated_tail, u64::from(len < bytes.len()));
        }
    }
}

#[test]
fn every_byte_of_a_file_is_at_its_place_in_either_direction() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..9u32 << 20).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect();
    let Input::File(path) = folder.file("bytes", &bytes) else { panic!("a file was made") };
    let open = || super::super::plain::Plain::new(std::fs::File::open(&path).unwrap(), Default::default());
    let mut window = ByteWindow::new(Backing::Plain(open()), false);
    window.map_any_pages();
    let offsets = [0, 5, 300_000, 2 << 20, (2 << 20) + 1, 8 << 20, 100, (9 << 20) - 1_000, 1 << 20, 7_000_000];
    for offset in offsets {
        window.seek(offset as u64).unwrap();
        for _ in 0..20 {
            let at = window.offset() as usize;
            let wanted = 300_000.min(bytes.len() - at);
            window.rest(wanted).unwrap();
            assert!(window.available()[..wanted] == bytes[at..at + wanted], "at {at}");
            window.pass(wanted);
        }
    }
}

#[test]
fn what_is_kept_of_a_file_stays_from_map_to_map() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..9u32 << 20).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect();
    let Input::File(path) = folder.file("bytes", &bytes) else { panic!("a file was made") };
    for kept in [1, 60_000, 190_000, 500_000, 1 << 20, 1_500_000] {
        let file = super::super::plain::Plain::new(std::fs::File::open(&path).unwrap(), Default::default());
        let mut window = ByteWindow::new(Backing::Plain(file), false);
        window.map_any_pages();
        while window.need(100_003).unwrap() {
            let at = window.place() as usize;
            assert!(window.available()[..100_003] == bytes[at..at + 100_003], "{kept} kept, at {at}");
            let from = at.saturating_sub(kept);
            window.keep_from(from as u64);
            window.pass(100_003);
            // What was read in one go lies in one piece.
            let len = (at - from).min(1_000);
            let first = window.slice(from as u64, len);
            assert!(first == &bytes[from..from + len], "{kept} kept, at {at}");
        }
        assert!(window.place() as usize + 100_003 > bytes.len(), "{kept} kept: ended at {}", window.place());
    }
}

#[test]
fn whoever_cuts_a_file_that_is_being_read_neither_waits_nor_ends_the_reader() {
    let (folder, packets) = (Folder::new(), large());
    let input = folder.file("capture", &builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets));
    let Input::File(path) = &input else { panic!("a file was made") };
    let mut captures = Captures::open(vec![input.clone()]).unwrap();
    captures.window.map_any_pages();
    let mut next = || captures.next().unwrap().map(|frame| (frame.number, frame.captured.to_vec()));
    let mut seen: Vec<(u64, Vec<u8>)> = std::iter::from_fn(&mut next).take(1_000).collect();
    // Where leases are granted, this open returns an error instead of waiting, and the reader gets a signal; elsewhere it opens at once.
    let writer = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
    assert!(writer.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::WouldBlock), "{writer:?}");
    seen.extend(std::iter::from_fn(&mut next).take(4_000));
    // Bytes in a window cannot be taken back, so the cut lies behind them.
    OpenOptions::new().write(true).open(path).unwrap().set_len(7 << 20).unwrap();
    seen.extend(std::iter::from_fn(&mut next));
    assert!((5_000..packets.len()).contains(&seen.len()), "{} packets", seen.len());
    assert!(seen.iter().all(|(number, seen)| *seen == packets[*number as usize - 1].captured));
    assert_eq!(captures.anomalies().truncated_tail, 1);
}

#[test]
fn whoever_cuts_a_file_waits_for_packets_in_other_threads() {
    let (folder, packets) = (Folder::new(), large());
    let input = folder.file("capture", &builders::pcap(Endian::Little, 0xa1b2_c3d4, 1, &packets));
    let Input::File(path) = &input else { panic!("a file was made") };
    let mut captures = Captures::open(vec![input.clone()]).unwrap();
    let mut held = Batch::default();
    // The first piece of a file is copied.
    while held.frames().last().is_none_or(|frame| frame.number < 1_000) {
        held.clear();
        assert!(captures.next_batch(&mut held).unwrap());
    }
    std::thread::scope(|scope| {
        let cut = scope.spawn(|| OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap());
        let reader = scope.spawn(|| {
            let mut batch = Batch::default();
            while captures.next_batch(&mut batch).unwrap() {
                batch.clear();
            }
        });
        // Gives both time for the forbidden access: the map's bytes would be gone, and reading them would end the process.
        std::thread::sleep(Duration::from_millis(50));
        for frame in held.frames() {
            assert!(frame.captured == packets[frame.number as usize - 1].captured);
        }
        held.clear();
        reader.join().unwrap();
        cut.join().unwrap();
    });
    assert_eq!(std::fs::metadata(path).unwrap().len(), 0);
}

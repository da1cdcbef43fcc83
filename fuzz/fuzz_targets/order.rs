//! Packets with any times in one or two files: each comes out once and unchanged, those within the window in the order of their times.
#![no_main]

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use plimsoll_observe::capture::{Captures, Input};

/// What one packet is: how long after the one before (µs, may be negative), and how long.
#[derive(Arbitrary, Debug)]
struct Packet {
    step: Step,
    len: u16,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Near(i8),
    Far(i32),
    At(u32, u32),
}

#[derive(Arbitrary, Debug)]
struct Script {
    packets: Vec<Packet>,
    /// The second file begins here.
    cut: u16,
}

/// So many packets may stand in front of an earlier one, and so much later may they be, ns (MEASUREMENT.md).
const WINDOW: usize = 128;
const DISORDER_NS: i64 = 100_000_000;
/// Bytes that may stand in front.
const BYTES: usize = 256 << 10;

fn scratch() -> &'static Mutex<[PathBuf; 2]> {
    static SCRATCH: OnceLock<Mutex<[PathBuf; 2]>> = OnceLock::new();
    SCRATCH.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = |part: u8| folder.join(format!("plimsoll-fuzz-order-{}-{part}", std::process::id()));
        Mutex::new([path(1), path(2)])
    })
}

/// Times, and the packets' own bytes.
fn made(script: &Script) -> Vec<(i64, Vec<u8>)> {
    let mut micros = 1_000_000_000_i64;
    let packet = |(at, packet): (usize, &Packet)| {
        micros = match packet.step {
            Step::Near(step) => micros + i64::from(step),
            Step::Far(step) => micros + i64::from(step),
            Step::At(seconds, fraction) => i64::from(seconds) * 1_000_000 + i64::from(fraction % 1_000_000),
        };
        micros = micros.clamp(0, i64::from(u32::MAX) * 1_000_000);
        let mut bytes = (at as u32).to_le_bytes().to_vec();
        bytes.resize(4 + usize::from(packet.len), at as u8);
        (micros * 1_000, bytes)
    };
    script.packets.iter().take(2_000).enumerate().map(packet).collect()
}

fn pcap(packets: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0004_0000, 1] {
        file.extend(word.to_le_bytes());
    }
    for (time_ns, bytes) in packets {
        let (seconds, micros) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000 / 1_000);
        for word in [seconds as u32, micros as u32, bytes.len() as u32, bytes.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

/// Whether each packet that is earlier than one before it is within the window and no step of the clock.
fn is_within(packets: &[(i64, Vec<u8>)]) -> bool {
    packets.iter().enumerate().all(|(at, (time, _))| {
        let later = || packets[..at].iter().filter(|(before, _)| before > time);
        // Those that stay are counted with those behind it.
        let bytes: usize = packets[at.saturating_sub(2 * WINDOW)..].iter().take(4 * WINDOW).map(|p| p.1.len() + 40).sum();
        let latest = later().map(|(before, _)| before - time).max().unwrap_or(0);
        later().count() == 0 || (later().count() <= WINDOW && latest <= DISORDER_NS && bytes <= BYTES)
    })
}

/// Packets as they are numbered: a file that begins before the one named before it is read first.
fn in_order_of_files(first: &[(i64, Vec<u8>)], second: &[(i64, Vec<u8>)]) -> Vec<(i64, Vec<u8>)> {
    let begins = |file: &[(i64, Vec<u8>)]| file.first().map(|(time, _)| *time);
    let is_second_earlier = begins(second).zip(begins(first)).is_some_and(|(second, first)| second < first);
    if is_second_earlier { [second, first].concat() } else { [first, second].concat() }
}

fuzz_target!(|script: Script| {
    let given = made(&script);
    let paths = scratch().lock().expect("no poison");
    let (first, second) = given.split_at(usize::from(script.cut).min(given.len()));
    std::fs::write(&paths[0], pcap(first)).expect("the scratch file is written");
    std::fs::write(&paths[1], pcap(second)).expect("the scratch file is written");
    let packets = in_order_of_files(first, second);
    let inputs = paths.iter().cloned().map(Input::File).collect();
    let mut captures = Captures::open(inputs).expect("sound files");
    let (mut seen, mut times) = (vec![false; packets.len()], Vec::new());
    while let Some(frame) = captures.next().expect("sound files") {
        let at = frame.number as usize - 1;
        assert!(!std::mem::replace(&mut seen[at], true), "frame {} twice", frame.number);
        let (time_ns, bytes) = &packets[at];
        assert_eq!((frame.time_ns, frame.captured), (Some(*time_ns), &bytes[..]));
        times.push(*time_ns);
    }
    assert!(seen.iter().all(|seen| *seen), "packets are missing");
    assert!(!is_within(&packets) || times.is_sorted(), "not sorted");
});

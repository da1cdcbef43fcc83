//! Packets with any times in one or two files: each comes out once and unchanged, those within the window in the order of their times.
//!
//! Every packet stands behind a control byte. Its bits 0 and 1 say how its time follows: 0, the same time; 1, a byte of µs (signed);
//! 2, two bytes of 10 µs (signed); 3, four bytes of seconds since 2001. Bits 2 and 3 say how long it is: 0, no byte; 1, a byte; 2, 1,500
//! bytes; 3, a byte of 256s. Bit 4 begins the second file with it. Bits 5 to 7 say how many such packets there are.
#![no_main]

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use libfuzzer_sys::fuzz_target;
use plimsoll_observe::capture::{Captures, Input};

/// Maximum number of packets before an earlier one, and their maximum time difference, ns (MEASUREMENT.md).
const WINDOW: usize = 128;
const DISORDER_NS: i64 = 100_000_000;
/// Bytes that may stand in front.
const BYTES: usize = 256 << 10;
/// Packets of one input, at most: two and a half times the window.
const PACKETS_MAX: usize = 5 * WINDOW / 2;
/// Bytes of one input's packets, at most, but for one: three times the window.
const BYTES_MAX: usize = 3 * BYTES;
/// How often a packet is repeated: few packets with many repeats fill the window.
const REPEATS: [usize; 8] = [1, 1, 1, 1, 1, 2, 8, 120];
/// How often a long one is repeated, at most: what fills the window by its bytes are few.
const LONG_REPEATS_MAX: usize = 8;
/// The first second there is, since 1970. (Nearer to it seconds and fractions are alike, and a small file is taken for one of a patched
/// tcpdump's.)
const BEGIN_S: i64 = 1_000_000_000;

/// One of the two files, in memory where the system has a place for it.
struct Scratch {
    path: PathBuf,
    file: File,
}

impl Scratch {
    fn new(part: u8) -> Self {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = folder.join(format!("plimsoll-fuzz-order-{}-{part}", std::process::id()));
        let file = File::create(&path).expect("a scratch file");
        Self { path, file }
    }

    fn write(&mut self, script: &Script, packets: &[Packet]) -> Input {
        let bytes = script.pcap(packets);
        self.file.rewind().expect("the scratch file rewinds");
        self.file.write_all(&bytes).expect("the scratch file is written");
        self.file.set_len(bytes.len() as u64).expect("the scratch file has its length");
        Input::File(self.path.clone())
    }
}

fn scratch() -> &'static Mutex<[Scratch; 2]> {
    static SCRATCH: OnceLock<Mutex<[Scratch; 2]>> = OnceLock::new();
    SCRATCH.get_or_init(|| Mutex::new([Scratch::new(1), Scratch::new(2)]))
}

/// A packet: its bytes are its number, and then the lowest byte of that again and again.
#[derive(Clone, Copy, Debug)]
struct Packet {
    time_ns: i64,
    /// The start of its bytes among those of all packets, and their number.
    start: usize,
    len: usize,
}

/// The decoded input.
#[derive(Default)]
struct Script {
    packets: Vec<Packet>,
    /// Of all packets.
    bytes: Vec<u8>,
    /// Where the second file begins, if there is one.
    second: Option<usize>,
}

impl Script {
    fn bytes(&self, packet: &Packet) -> &[u8] {
        &self.bytes[packet.start..packet.start + packet.len]
    }

    /// Adds a packet, unless there are too many.
    fn add(&mut self, time_ns: i64, more: usize) {
        if self.packets.len() < PACKETS_MAX && self.bytes.len() < BYTES_MAX {
            let (number, start) = (self.packets.len() as u32, self.bytes.len());
            self.bytes.extend_from_slice(&number.to_le_bytes());
            self.bytes.resize(start + 4 + more, number as u8);
            self.packets.push(Packet { time_ns, start, len: 4 + more });
        }
    }

    fn pcap(&self, packets: &[Packet]) -> Vec<u8> {
        let mut file = Vec::with_capacity(24 + packets.iter().map(|packet| 16 + packet.len).sum::<usize>());
        let mut words = |words: &[u32], bytes: &[u8]| {
            words.iter().for_each(|word| file.extend_from_slice(&word.to_le_bytes()));
            file.extend_from_slice(bytes);
        };
        words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x0004_0000, 1], &[]);
        for packet in packets {
            let (seconds, micros) = (packet.time_ns / 1_000_000_000, packet.time_ns % 1_000_000_000 / 1_000);
            words(&[seconds as u32, micros as u32, packet.len as u32, packet.len as u32], self.bytes(packet));
        }
        file
    }
}

fn made(mut rest: &[u8]) -> Script {
    let mut take = |most: usize| {
        let (taken, after) = rest.split_at(most.min(rest.len()));
        rest = after;
        let mut bytes = [0; 4];
        bytes[..taken.len()].copy_from_slice(taken);
        (taken.len() == most).then_some(bytes)
    };
    let (earliest, latest) = (BEGIN_S * 1_000_000, i64::from(u32::MAX) * 1_000_000);
    let (mut script, mut micros) = (Script::default(), earliest + 1_000_000);
    while let Some([control, ..]) = take(1) {
        let step = take([0, 1, 2, 4][usize::from(control & 3)]).unwrap_or_default();
        let more = match control >> 2 & 3 {
            0 => 0,
            1 => usize::from(take(1).unwrap_or_default()[0]),
            2 => 1_500,
            _ => usize::from(take(1).unwrap_or_default()[0]) << 8,
        };
        if control & 16 != 0 && script.packets.len() < PACKETS_MAX {
            script.second = script.second.or(Some(script.packets.len()));
        }
        let most = if more > 255 { LONG_REPEATS_MAX } else { usize::MAX };
        for _ in 0..REPEATS[usize::from(control >> 5)].min(most) {
            micros = match control & 3 {
                0 => micros,
                1 => micros + i64::from(step[0] as i8),
                2 => micros + i64::from(i16::from_le_bytes([step[0], step[1]])) * 10,
                _ => earliest + i64::from(u32::from_le_bytes(step)) * 1_000_000,
            };
            micros = micros.clamp(earliest, latest);
            script.add(micros * 1_000, more);
        }
    }
    script
}

/// Whether each packet that is earlier than one before it is within the window and no step of the clock.
fn is_within(packets: &[Packet]) -> bool {
    let mut latest = i64::MIN;
    // The latest time up to each packet, and where each record begins, the last one's end behind them.
    let (mut up_to, mut begins) = (Vec::with_capacity(packets.len()), vec![0; packets.len() + 1]);
    packets.iter().enumerate().for_each(|(at, packet)| begins[at + 1] = begins[at] + packet.len + 40);
    packets.iter().enumerate().all(|(at, packet)| {
        let time = packet.time_ns;
        let is_later = |before: &usize| packets[*before].time_ns > time;
        let may_be_later = (0..at).rev().take_while(|&before| up_to[before] > time);
        let later = may_be_later.filter(is_later).take(WINDOW + 1).count();
        // Those that stay are counted with those behind it.
        let from = at.saturating_sub(2 * WINDOW);
        let around = begins[(from + 4 * WINDOW).min(packets.len())] - begins[from];
        let is_within = later == 0 || later <= WINDOW && latest - time <= DISORDER_NS && around <= BYTES;
        latest = latest.max(time);
        up_to.push(latest);
        is_within
    })
}

/// Packets as they are numbered: a file that begins before the previously named one is read first.
fn in_order_of_files(first: &[Packet], second: &[Packet]) -> Vec<Packet> {
    let begins = |file: &[Packet]| file.first().map(|packet| packet.time_ns);
    let is_second_earlier = begins(second).zip(begins(first)).is_some_and(|(second, first)| second < first);
    if is_second_earlier { [second, first].concat() } else { [first, second].concat() }
}

fuzz_target!(|data: &[u8]| {
    let script = made(data);
    let mut scratch = scratch().lock().expect("no poison");
    let (first, second) = script.packets.split_at(script.second.unwrap_or(script.packets.len()));
    let mut inputs = vec![scratch[0].write(&script, first)];
    inputs.extend(script.second.map(|_| scratch[1].write(&script, second)));
    let packets = in_order_of_files(first, second);
    let mut captures = Captures::open(inputs).expect("sound files");
    let (mut seen, mut times) = (vec![false; packets.len()], Vec::new());
    while let Some(frame) = captures.next().expect("sound files") {
        let at = frame.number as usize - 1;
        assert!(!std::mem::replace(&mut seen[at], true), "frame {} twice", frame.number);
        assert_eq!(frame.time_ns, Some(packets[at].time_ns));
        assert!(script.bytes(&packets[at]) == frame.captured, "frame {} has changed", frame.number);
        times.push(packets[at].time_ns);
    }
    assert!(seen.iter().all(|seen| *seen), "packets are missing");
    assert!(!is_within(&packets) || times.is_sorted(), "not sorted");
});

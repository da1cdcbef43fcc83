//! Why to believe the reassembly in its corners; the random cases are in `tests/all/stream_model.rs`.

use super::*;
use crate::packet::TcpFlags;
use crate::stream::held::{SEGMENT_BYTES, SEGMENTS_MAX, SEGMENTS_USUAL};

fn segment(seq: u32, payload: &[u8]) -> Segment<'_> {
    Segment {
        seq,
        ack: 0,
        flags: TcpFlags(0x10),
        window: 1,
        window_scale: None,
        payload,
        wire_len: payload.len() as u32,
    }
}

/// Records the output in short form: bytes as they are, a hole as its length, a restart as `Restart`.
impl Receiver for Vec<String> {
    fn data(&mut self, chunk: &Chunk<'_>) {
        self.push(String::from_utf8_lossy(chunk.bytes).into_owned());
    }

    fn hole(&mut self, len: u64, _: u64, acknowledged: bool) {
        self.push(format!("{len}{}", if acknowledged { "a" } else { "" }));
    }

    fn restart(&mut self) {
        self.push("Restart".to_owned());
    }
}

fn give(tcp_flow: &mut TcpFlow, seq: u32, payload: &[u8], out: &mut Vec<String>) {
    tcp_flow.segment(&segment(seq, payload), Stamp { time_ns: 0, frame: 1 }, 0, out);
}

#[test]
fn any_number_of_jumps_back_stays_in_range() {
    let (mut tcp_flow, mut out, mut seq, mut last) = (TcpFlow::default(), Vec::new(), 0u32, 0);
    for _ in 0..100 {
        give(&mut tcp_flow, seq, b"x", &mut out);
        let next = tcp_flow.next().unwrap();
        assert!(next > last, "offsets never go back: {next} after {last}");
        (last, seq) = (next, seq.wrapping_sub(0x7000_0000));
    }
    assert_eq!(out.iter().filter(|told| *told == "Restart").count(), 99);
    assert_eq!(out.iter().filter(|told| *told == "x").count(), 100);
}

#[test]
fn a_hole_waits_for_its_acknowledgement_and_no_longer() {
    let (mut tcp_flow, mut out) = (TcpFlow::default(), Vec::new());
    give(&mut tcp_flow, 100, b"ab", &mut out);
    give(&mut tcp_flow, 105, b"fg", &mut out);
    assert_eq!(tcp_flow.acknowledge(104, &mut out), (first_offset(104), true));
    assert_eq!(out, ["ab"], "the hole is not covered");
    let mut released: Vec<String> = Vec::new();
    assert!(tcp_flow.acknowledge(105, &mut released).1);
    assert_eq!((out, released), (vec!["ab".to_owned()], vec!["3a".to_owned(), "fg".to_owned()]));
    give(&mut tcp_flow, 102, b"cde", &mut Vec::new());
    assert_eq!((tcp_flow.counts.late, tcp_flow.counts.retransmitted), (1, 0));
}

#[test]
fn a_longer_retransmission_brings_what_is_new_in_it() {
    let (mut tcp_flow, mut out) = (TcpFlow::default(), Vec::new());
    give(&mut tcp_flow, u32::MAX, b"ab", &mut out);
    give(&mut tcp_flow, u32::MAX, b"abcd", &mut out);
    give(&mut tcp_flow, 5, b"gh", &mut out);
    give(&mut tcp_flow, 3, b"efgh", &mut out);
    // Stored data keeps the frame that brought it.
    assert_eq!(out, ["ab", "cd", "ef", "gh"]);
    assert_eq!(tcp_flow.next(), Some(first_offset(0) + (1 << 32) + 7));
}

#[test]
fn what_is_held_is_bounded_and_comes_out_at_the_end() {
    let (mut tcp_flow, mut out) = (TcpFlow::default(), Vec::new());
    give(&mut tcp_flow, 0, b"a", &mut out);
    for index in 0..20_000u32 {
        give(&mut tcp_flow, 10 + 2 * index, b"x", &mut out);
        assert!(tcp_flow.held.len() <= SEGMENTS_MAX + 1);
    }
    tcp_flow.finish(&mut out);
    assert!(tcp_flow.held.is_empty());
    assert_eq!(out.iter().filter(|told| *told == "x").count(), 20_000);
    assert_eq!((out[1].as_str(), out[3].as_str()), ("9", "1"), "nobody acknowledged the holes");
}

/// A receiver with so much memory for segments that wait, and what it got.
struct Limited {
    memory: u64,
    holes: usize,
    bytes: usize,
    late: Vec<bool>,
}

impl Receiver for Limited {
    fn data(&mut self, chunk: &Chunk<'_>) {
        self.bytes += chunk.bytes.len();
    }

    fn hole(&mut self, _: u64, _: u64, _: bool) {
        self.holes += 1;
    }

    fn found(&mut self, _: &Chunk<'_>, is_last: bool) {
        self.late.push(is_last);
    }

    fn restart(&mut self) {}

    fn reserve(&mut self, bytes: u64, _: i64) -> bool {
        let is_enough = bytes <= self.memory;
        self.memory -= if is_enough { bytes } else { 0 };
        is_enough
    }

    fn give_back(&mut self, bytes: u64) {
        self.memory += bytes;
    }
}

#[test]
fn memory_for_many_segments_is_given_back() {
    let mut out = Limited { memory: 1 << 30, holes: 0, bytes: 0, late: Vec::new() };
    let mut tcp_flow = TcpFlow::default();
    for seq in std::iter::once(0).chain(2..SEGMENTS_MAX as u32).chain([1]) {
        tcp_flow.segment(&segment(seq, b"x"), Stamp { time_ns: 0, frame: 1 }, 0, &mut out);
        assert_eq!(tcp_flow.has_reserved(), out.memory < 1 << 30);
    }
    assert_eq!((out.bytes, out.memory, out.holes), (SEGMENTS_MAX, 1 << 30, 0));
    assert!(tcp_flow.held.capacity() <= 2 * SEGMENTS_USUAL, "{}", tcp_flow.held.capacity());
}

#[test]
fn more_than_usual_is_held_as_long_as_there_is_memory_for_it() {
    for (more, holes) in [(0, 0), (10, 0), (11, 1)] {
        let memory = 10 * SEGMENT_BYTES;
        let mut out = Limited { memory, holes: 0, bytes: 0, late: Vec::new() };
        let mut tcp_flow = TcpFlow::default();
        let mut give = |seq: u32, payload: &[u8], out: &mut Limited| {
            tcp_flow.segment(&segment(seq, payload), Stamp { time_ns: 0, frame: 1 }, 0, out)
        };
        give(0, b"a", &mut out);
        let held = SEGMENTS_USUAL as u32 + more;
        for index in 0..held {
            give(5 + index, b"x", &mut out);
        }
        assert_eq!((out.holes, out.memory), (holes, memory - u64::from(more % 11) * SEGMENT_BYTES), "{more}");
        // The missing bytes come at last.
        let [first, second] = [(1, b"bc"), (3, b"de")].map(|(seq, payload)| give(seq, payload, &mut out));
        assert_eq!((out.late.len(), out.memory), (2 * holes, memory), "{more}");
        assert_eq!(out.bytes, 1 + held as usize + if holes == 0 { 4 } else { 0 });
        let filled = first.into_iter().chain(second).map(|counts| counts.holes_filled).sum::<u64>();
        assert_eq!(filled, 1, "{more}");
    }
}

fn first_offset(seq: u32) -> u64 {
    offset::first(seq)
}

#[test]
fn the_end_of_the_stream_is_no_missing_byte() {
    let (mut tcp_flow, mut out) = (TcpFlow::default(), Vec::new());
    give(&mut tcp_flow, 100, b"ab", &mut out);
    // Eight bytes are missing in front of the FIN, which is acknowledged like a ninth.
    let fin = Segment { flags: TcpFlags(0x11), ..segment(110, b"") };
    tcp_flow.segment(&fin, Stamp { time_ns: 0, frame: 2 }, 0, &mut out);
    tcp_flow.acknowledge(111, &mut out);
    assert_eq!(tcp_flow.end().zip(tcp_flow.next()).map(|(end, next)| end - next), Some(8));
}

#[test]
fn a_number_far_behind_acknowledged_bytes_has_come_round() {
    const AT: u32 = 1 << 31;
    let (mut tcp_flow, mut out) = (TcpFlow::default(), Vec::new());
    give(&mut tcp_flow, AT, b"abc", &mut out);
    tcp_flow.acknowledge(AT + 3, &mut out);
    let (near, far) = (AT - 1_000_000, AT - 200_000_000);
    assert_eq!([near, far].map(|seq| tcp_flow.is_far_behind(seq)), [false, true]);
    assert_eq!([0, 3, 4].map(|more| tcp_flow.is_first_ack(AT + more)), [false, false, true]);
    tcp_flow.come_round(far, &mut out);
    give(&mut tcp_flow, far, b"de", &mut out);
    assert_eq!(tcp_flow.next(), Some(first_offset(far) + (1 << 32) + 2));
    let rst = Segment { flags: TcpFlags(0x14), ..segment(7, b"") };
    tcp_flow.segment(&rst, Stamp { time_ns: 0, frame: 2 }, 0, &mut out);
    assert_eq!(out, ["abc", "Restart", "de"], "a segment without data does not move the stream");
}

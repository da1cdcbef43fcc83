//! Captures written without names, from raw frames (`raw_frames`): the copy has as many packets with the same lengths, and the
//! observer reads it; a second copy with the same key is the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{RawFrame, Watch, raw_frames};
use plimsoll_observe::anonymize::{AnonymizeError, FirstPass, Key, Stated};
use plimsoll_observe::capture::{Format, Frame};

/// Bytes of a pcap file in front of its packets, and in front of each.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

fn copy(frames: &[RawFrame<'_>]) -> Result<Vec<u8>, AnonymizeError> {
    let numbered = || {
        (1..).zip(frames).map(|(number, frame)| {
            let RawFrame { time_ns, link, captured, original_len } = *frame;
            Frame { number, time_ns, link, captured, original_len }
        })
    };
    let mut first = FirstPass::new(Key::of(b"a secret of enough bytes").expect("long enough"));
    numbered().for_each(|frame| first.frame(&frame));
    let (mut second, mut copy) = (first.finish(Some(Format::PcapNanosecond), None, Stated::default())?, Vec::new());
    for frame in numbered() {
        second.frame(&frame, &mut copy)?;
    }
    let written = second.finish(&mut copy, false)?;
    assert_eq!(written.packets, frames.len() as u64);
    Ok(copy)
}

fuzz_target!(|data: &[u8]| {
    let frames = raw_frames(data);
    let Ok(copied) = copy(&frames) else { return };
    assert!(copy(&frames).is_ok_and(|again| again == copied), "the same key, another copy");
    let mut rest = copied.get(FILE_HEADER..).unwrap_or_default();
    let mut watch = Watch::default();
    for frame in &frames {
        let (header, packet) = rest.split_at(RECORD_HEADER);
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (bytes, after) = packet.split_at(word(8) as usize);
        rest = after;
        assert_eq!((bytes.len(), word(12)), (frame.captured.len(), frame.original_len));
        watch.frame(frame.time_ns, frame.link, bytes, frame.original_len);
    }
    assert!(rest.is_empty(), "more packets than there were");
    watch.finish();
});

//! An observer that stops after any packet, and a second one that continues from its state, see the same as one observer. So does an observer
//! whose connections are packed.

use std::path::PathBuf;

use plimsoll_model::Transaction;
use plimsoll_observe::capture::{Captures, Carried, Input, StopReading};
use plimsoll_observe::{Observed, Observer};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Frame as Written, Link, pcap, shared_captures, workspace};

use crate::packets::{Packet, read};
use crate::rows::{rows, text};

/// Files of a capture.
const FILES: usize = 64;

type Rows = Vec<Transaction>;

/// The result of an observer that is changed by `between` at each end of one of `files`.
fn observed(
    packets: &[&Packet],
    snap: usize,
    files: usize,
    between: impl Fn(Observer<Rows>) -> Observer<Rows>,
) -> Observed<Rows> {
    let mut observer = Observer::new(Rows::default());
    for (at, packet) in packets.iter().enumerate() {
        // The first packet of a file, but for the first one.
        if at > 0 && (1..files).any(|file| at == packets.len() * file / files) {
            observer = between(observer);
        }
        observer.frame(&packet.frame(snap));
    }
    observer.finish()
}

/// A new observer continues from the state of the previous one.
fn replaced(mut observer: Observer<Rows>) -> Observer<Rows> {
    let state = observer.state().unwrap();
    let rows = std::mem::take(observer.sink().0);
    Observer::of_state(&state, rows).unwrap()
}

/// The same observer with its connections packed.
fn packed(mut observer: Observer<Rows>) -> Observer<Rows> {
    observer.pack();
    observer
}

fn hold_for(packets: &[&Packet], snap: usize, what: &str) {
    let whole = observed(packets, snap, 1, |observer| observer);
    let expected = rows(&whole);
    let both = [("handed over", replaced as fn(Observer<Rows>) -> Observer<Rows>), ("packed", packed)];
    for (how, between) in both {
        let in_files = observed(packets, snap, FILES, between);
        let found = rows(&in_files);
        let differs = expected.iter().zip(&found).position(|(one, other)| one != other);
        let differs = differs.map(|at| [&whole, &in_files].map(|observed| text(observed, at)));
        assert!(expected == found, "{what}, {how}: {} and {} rows; {differs:#?}", expected.len(), found.len());
        let [one, other] = [&whole, &in_files].map(|observed| &observed.coverage);
        assert!(one == other, "{what}, {how}: {one:#?} {other:#?}");
    }
}

/// The captures of the project. Without `PLIMSOLL_EXACT=1` only every fourth with a planted cause, because they resemble each other.
fn captures() -> Vec<PathBuf> {
    let root = workspace().join("captures");
    let inside = std::fs::read_dir(root.join("planted")).unwrap().map(|entry| entry.unwrap().path());
    let mut captures: Vec<PathBuf> = inside.filter(|path| path.to_string_lossy().ends_with(".pcap.zst")).collect();
    captures.sort();
    assert!(captures.len() >= 30, "{captures:?}");
    let step = if std::env::var_os("PLIMSOLL_EXACT").is_some() { 1 } else { 4 };
    let others = ["nfs-ganesha", "smb2-samba"].map(|name| root.join(name).join("capture.pcap.zst"));
    captures.into_iter().step_by(step).chain(others).collect()
}

/// With requests, messages and retransmissions under way at the cuts.
#[test]
fn what_is_handed_over_is_all_there_is() {
    for capture in captures() {
        let packets = read(&capture);
        let all: Vec<&Packet> = packets.iter().collect();
        hold_for(&all, usize::MAX, &capture.display().to_string());
    }
}

/// Published captures: other formats and protocols, IP fragments, VLANs, short snap lengths.
#[test]
fn captures_of_others_are_handed_over() {
    let Some(shared) = shared_captures() else { return };
    for path in std::fs::read_dir(shared).unwrap().map(|entry| entry.unwrap().path()) {
        let small = std::fs::metadata(&path).unwrap().len() < 4 << 20;
        let name = path.display().to_string();
        if small && [".pcap", ".pcapng", ".cap"].iter().any(|end| name.ends_with(end)) {
            let packets = read(&path);
            let all: Vec<&Packet> = packets.iter().collect();
            hold_for(&all, usize::MAX, &name);
        }
    }
}

/// A capture that lost packets, and one that cut them short.
#[test]
fn losses_are_handed_over() {
    for capture in captures().iter().rev().take(4) {
        let packets = read(capture);
        let some: Vec<&Packet> = packets.iter().filter(|packet| packet.number % 13 > 0).collect();
        hold_for(&some, usize::MAX, &format!("{} with losses", capture.display()));
        let all: Vec<&Packet> = packets.iter().collect();
        hold_for(&all, 110, &format!("{} cut short", capture.display()));
    }
}

/// Packets that stand out of order on both sides of a cut are sorted as if there were none.
#[test]
fn packets_are_sorted_across_files() {
    let scratch = Scratch::new("hand-over-order");
    let frame = |at: i64| Written {
        time_ns: 1_700_000_000_000_000_000 + at * 1_000,
        bytes: vec![at as u8; 60],
        original_len: 60,
    };
    // Every seventh packet is five places late: at cuts, too.
    let order: Vec<i64> = (0..700).map(|at| if at % 7 == 6 { at - 5 } else { at }).collect();
    let file = |name: &str, order: &[i64]| {
        let path = scratch.path().join(name);
        let frames: Vec<Written> = order.iter().map(|&at| frame(at)).collect();
        std::fs::write(&path, pcap(Link::Ethernet, &frames)).unwrap();
        path
    };
    let whole = file("whole.pcap", &order);
    let expected: Vec<(u64, Option<i64>)> = read(&whole).iter().map(|packet| (packet.number, packet.time_ns)).collect();
    assert!(!expected.is_sorted(), "numbers tell the place in the file");
    let (mut carried, mut taken, mut reordered) = (Carried::default(), Vec::new(), 0);
    for (number, part) in order.chunks(41).enumerate() {
        let path = file(&format!("{number}.pcap"), part);
        let mut captures = Captures::open_behind(vec![Input::File(path)], carried, StopReading::default()).unwrap();
        carried = Carried::default();
        while let Some(frame) = captures.next().unwrap() {
            carried.pass(&frame, |frame| taken.push((frame.number, frame.time_ns)));
        }
        reordered += captures.anomalies().reordered;
    }
    taken.extend(carried.frames().map(|frame| (frame.number, frame.time_ns)));
    assert_eq!(taken, expected);
    let mut captures = Captures::open(vec![Input::File(whole)]).unwrap();
    while captures.next().unwrap().is_some() {}
    assert_eq!(reordered, captures.anomalies().reordered);
}

#[test]
fn what_is_no_state_is_an_error() {
    let state = Observer::new(Rows::default()).state().unwrap();
    assert!(Observer::of_state(&state, Rows::default()).is_ok());
    for length in [0, 1, state.len() / 2, state.len() - 1] {
        assert!(Observer::of_state(&state[..length], Rows::default()).is_err(), "{length} of {} bytes", state.len());
    }
}

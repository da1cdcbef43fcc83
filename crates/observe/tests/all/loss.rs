//! Results of a lossy capture: nearly every pair whose two header packets survive, and never a wrong pair.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_model::{Protocol, Transaction, Unseen};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::Frame;
use plimsoll_testkit::{shared_capture, shared_captures};

use crate::packets::{Packet, read};

/// A pair, independent of frame numbers: client port, server port, id, place in a compound, and the capture times of the first bytes of
/// request and response.
type Pair = (u16, u16, u64, Option<u16>, i64, i64);

/// A transaction as a pair, with the numbers of the packets of its first bytes.
fn pair(t: &Transaction) -> Option<(Pair, (u64, u64))> {
    let protocol = t.procedure.row().protocol;
    if matches!(protocol, Protocol::Nfs4 | Protocol::Nfs4Callback) && t.compound_position.is_some() {
        return None;
    }
    let (asked, answered) = (t.timeline.request_first?, t.timeline.response_first?);
    let (from, to) = (t.frames.request_first?, t.frames.response_first?);
    let pair = (t.client.port, t.server.port, t.id.unwrap_or_default(), t.compound_position, asked, answered);
    Some((pair, (from.get(), to.get())))
}

/// Pairs of the packets that `keep` lets through, cut to `snaplen`, with their numbers in the full capture.
fn observe(packets: &[Packet], snaplen: usize, keep: impl Fn(usize) -> bool) -> BTreeMap<Pair, (u64, u64)> {
    covered(packets, snaplen, keep).0
}

/// The same, with the observer's coverage.
fn covered(packets: &[Packet], snaplen: usize, keep: impl Fn(usize) -> bool) -> (BTreeMap<Pair, (u64, u64)>, Unseen) {
    observe_in(packets, snaplen, (0..packets.len()).filter(|&at| keep(at)))
}

/// The same of the packets with these numbers, in this order.
fn observe_in(
    packets: &[Packet],
    snaplen: usize,
    order: impl IntoIterator<Item = usize>,
) -> (BTreeMap<Pair, (u64, u64)>, Unseen) {
    let mut observer = Observer::new(Vec::new());
    for at in order {
        observer.frame(&Frame { number: at as u64 + 1, ..packets[at].frame(snaplen) });
    }
    let observed = observer.finish();
    (observed.sink.iter().filter_map(pair).collect(), observed.coverage.unseen)
}

/// A repeatable die: splitmix64.
fn is_lost(packet: usize, seed: u64, loss: f64) -> bool {
    let mut x =
        (packet as u64).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64 <= loss
}

fn captures() -> Vec<PathBuf> {
    let names = ["nfs3-two-sessions.pcap", "nfs3-ipv6-op-dense.pcap", "smb2-clean.pcap", "smb1-vlan-files.pcap"];
    let mut found: Vec<PathBuf> = names.into_iter().filter_map(shared_capture).collect();
    found.extend(std::env::var_os("PLIMSOLL_LOSS_CAPTURE").map(PathBuf::from));
    found
}

/// Whether the full capture has this pair. If the first copy of a message was dropped and its retransmission was not, the pair is the
/// retransmission's: the same bytes, later.
fn is_in(full: &BTreeMap<Pair, (u64, u64)>, (pair, frames): &(&Pair, &(u64, u64)), packets: &[Packet]) -> bool {
    let same = |a: u64, b: u64| {
        let (a, b) = (&packets[a as usize - 1].bytes, &packets[b as usize - 1].bytes);
        let tail = |bytes: &[u8]| bytes[bytes.len().saturating_sub(64)..].to_vec();
        a.len() == b.len() && tail(a) == tail(b)
    };
    let key = |pair: &Pair| (pair.0, pair.1, pair.2, pair.3);
    full.contains_key(*pair)
        || full
            .iter()
            .filter(|(other, _)| key(other) == key(pair))
            .any(|(_, other)| same(other.0, frames.0) && same(other.1, frames.1))
}

#[test]
fn a_lossy_capture_shows_what_survives_and_nothing_wrong() {
    for capture in captures() {
        let packets = read(&capture);
        let full = observe(&packets, usize::MAX, |_| true);
        let name = capture.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (loss, seed) in [(0.01, 1), (0.01, 42), (0.05, 1), (0.05, 42), (0.2, 7)] {
            let kept = |at: usize| !is_lost(at, seed, loss);
            let found = observe(&packets, usize::MAX, kept);
            let wrong: Vec<_> = found.iter().filter(|pair| !is_in(&full, pair, &packets)).collect();
            assert!(
                wrong.is_empty(),
                "{name} at {loss}: {} pairs the full capture does not have: {wrong:?}",
                wrong.len()
            );
            let survives = |&(from, to): &(u64, u64)| kept(from as usize - 1) && kept(to as usize - 1);
            let possible = full.values().filter(|frames| survives(frames)).count();
            let share = |count: usize| 100.0 * count as f64 / full.len() as f64;
            println!(
                "{name}, {:.0} % lost: {} of {} pairs found, {:.2} %; both header packets of {:.2} % survive",
                loss * 100.0,
                found.len(),
                full.len(),
                share(found.len()),
                share(possible)
            );
            let missed = possible.saturating_sub(found.len());
            println!("   missed although both header packets survive: {missed}");
            assert!(missed * 100 <= full.len(), "{name} at {loss}: more than a point below what is possible");
        }
    }
}

/// Indices of packets, with neighbours of equal times exchanged.
fn swapped_within_ticks(packets: &[Packet], seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..packets.len()).collect();
    let mut at = 0;
    while at + 1 < order.len() {
        if packets[at].time_ns == packets[at + 1].time_ns && is_lost(at, seed, 0.3) {
            order.swap(at, at + 1);
            at += 1;
        }
        at += 1;
    }
    order
}

#[test]
fn packets_in_disorder_within_a_tick_of_the_clock_lose_nothing() {
    // Captures with clocks of 10 ms, or with some packets of equal times.
    for name in ["smb1-vlan-files.pcap", "nfs3-udp-reply-first.pcap", "nfs3-ipv6-op-dense.pcap"] {
        let Some(path) = shared_capture(name) else { continue };
        let packets = read(&path);
        let (full, whole) = observe_in(&packets, usize::MAX, 0..packets.len());
        for seed in seeds(4) {
            let order = swapped_within_ticks(&packets, seed);
            let moved = order.iter().enumerate().filter(|&(at, &place)| at != place).count();
            let (found, unseen) = observe_in(&packets, usize::MAX, order);
            assert!(
                found == full,
                "{name}, seed {seed}, {moved} packets moved: {} of {} pairs",
                found.len(),
                full.len()
            );
            assert_eq!(unseen.missing, whole.missing, "{name}, seed {seed}");
        }
    }
}

/// Captures of different protocols with enough operations, and the packets of a burst in each.
const BURSTS: [(&str, usize); 5] = [
    ("nfs3-ipv6-op-dense.pcap", 3_000),
    ("nfs3-two-sessions.pcap", 2_000),
    ("nfs41-compounds.pcap", 100),
    ("smb1-vlan-files.pcap", 500),
    ("smb2-clean.pcap", 60),
];
/// Seeds of each capture. `cargo xtask loss` asks for more.
const SEEDS: u64 = 4;

/// `usual` seeds from `PLIMSOLL_LOSS_FIRST_SEED` on, to test with new seeds.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("PLIMSOLL_LOSS_FIRST_SEED").unwrap_or(0);
    first..first + number("PLIMSOLL_LOSS_SEEDS").unwrap_or(usual)
}

/// Between one and four bursts of `length` packets.
fn bursts(packets: usize, length: usize, seed: u64) -> Vec<std::ops::Range<usize>> {
    let die = |at: u64| ((seed * 8 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as usize;
    (0..1 + seed % 4)
        .map(|at| die(at) % packets.saturating_sub(length).max(1))
        .map(|begin| begin..begin + length)
        .collect()
}

/// The beginning of the responses is lost, but not that of the requests: the size of one loss says nothing about the other direction.
#[test]
fn responses_lost_from_the_first_on_are_counted_as_their_requests_are() {
    let Some(capture) = shared_capture("smb2-clean.pcap") else { return };
    let packets = read(&capture);
    let paired = covered(&packets, usize::MAX, |_| true).1.paired;
    let unseen = covered(&packets, usize::MAX, |at| !(25..85).contains(&at)).1;
    let lost = paired - unseen.paired;
    assert_eq!((unseen.missing.operations, unseen.missing.low), (lost, lost - 1));
}

#[test]
fn the_share_missing_is_estimated_after_bursts_of_losses() {
    let Some(folder) = shared_captures() else { return };
    let (mut runs, mut near, mut covers) = (0u64, 0u64, 0u64);
    let mut captures: Vec<(PathBuf, Option<usize>)> =
        BURSTS.iter().map(|&(name, length)| (folder.join(name), Some(length))).collect();
    captures.extend(std::env::var_os("PLIMSOLL_LOSS_CAPTURE").map(|path| (PathBuf::from(path), None)));
    for (path, length) in captures {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let packets = read(&path);
        let length = length.unwrap_or(packets.len() / 20);
        let whole = covered(&packets, usize::MAX, |_| true).1;
        for seed in seeds(SEEDS) {
            let lost = bursts(packets.len(), length, seed);
            let unseen = covered(&packets, usize::MAX, |at| !lost.iter().any(|burst| burst.contains(&at))).1;
            let truth = 1.0 - unseen.paired as f64 / whole.paired as f64;
            runs += 1;
            let Some(share) = unseen.share_missing() else {
                println!("{name} {seed}: {:.1} % missing, no estimate", 100.0 * truth);
                continue;
            };
            let is_near = (share.share - truth).abs() <= 0.02;
            let does_cover = (share.low - 0.0005..=share.high + 0.0005).contains(&truth);
            (near, covers) = (near + u64::from(is_near), covers + u64::from(does_cover));
            println!(
                "{name} {seed}: {:.1} % missing, {:.1} % estimated ({:.1} to {:.1} %){}{}",
                100.0 * truth,
                100.0 * share.share,
                100.0 * share.low,
                100.0 * share.high,
                if is_near { "" } else { " FAR" },
                if does_cover { "" } else { " NOT COVERED" },
            );
        }
    }
    println!("{runs} runs: {near} within 2 points of the truth, {covers} intervals cover it");
    assert!(near * 100 >= runs * 95, "{near} of {runs} within 2 points");
    assert!(covers * 100 >= runs * 95, "{covers} of {runs} intervals cover the truth");
}

#[test]
fn nothing_is_missing_of_a_complete_capture() {
    // Three captures change from SMB1's NEGOTIATE to SMB2; the oracle finds an answer for each request.
    let names = "smb2-mixed smb2-compound-delete smb2-compounds-loopback-linktype smb2-clean smb2-async-read \
        nfs3-ipv6-op-dense nfs3-write smb1-vlan-files";
    for name in names.split(' ') {
        let Some(path) = shared_capture(&format!("{name}.pcap")) else { continue };
        let share = covered(&read(&path), usize::MAX, |_| true).1.share_missing().expect("an estimate");
        assert_eq!((share.share, share.high), (0.0, 0.0), "{name}");
    }
}

/// The ways in which a capture is damaged.
const DAMAGES: [(&str, f64, usize, f64, f64); 7] = [
    // name, packets lost, snap length, packets exchanged with their neighbour, packets captured twice
    ("1 % lost", 0.01, usize::MAX, 0.0, 0.0),
    ("5 % lost", 0.05, usize::MAX, 0.0, 0.0),
    ("10 % lost", 0.1, usize::MAX, 0.0, 0.0),
    ("disorder", 0.0, usize::MAX, 0.1, 0.0),
    ("twice", 0.0, usize::MAX, 0.0, 0.1),
    ("cut at 128", 0.01, 128, 0.0, 0.0),
    ("cut at 96", 0.0, 96, 0.05, 0.05),
];

#[test]
fn no_damage_makes_a_wrong_pair() {
    let mut runs = 0;
    for name in ["nfs3-two-sessions.pcap", "nfs41-compounds.pcap", "smb1-vlan-files.pcap", "smb2-clean.pcap"] {
        let Some(path) = shared_capture(name) else { continue };
        let packets = read(&path);
        let full = observe(&packets, usize::MAX, |_| true);
        for seed in seeds(2) {
            for (damage, loss, snaplen, swap, twice) in DAMAGES {
                let order = damaged(packets.len(), seed, loss, swap, twice);
                let found = observe_in(&packets, snaplen, order).0;
                let wrong: Vec<_> = found.iter().filter(|pair| !is_in(&full, pair, &packets)).collect();
                assert!(wrong.is_empty(), "{name}, {damage}, seed {seed}: {wrong:?}");
                // A snap length leaves a fifth of the calls of nfs3-two-sessions, of which several share a segment.
                assert!(found.len() * 6 > full.len(), "{name}, {damage}, seed {seed}: {} pairs", found.len());
                runs += 1;
            }
        }
    }
    println!("{runs} damaged captures, no wrong pair");
}

/// The packets that are left, in their new order.
fn damaged(packets: usize, seed: u64, loss: f64, swap: f64, twice: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..packets).filter(|&at| loss == 0.0 || !is_lost(at, seed, loss)).collect();
    let mut at = 0;
    while at + 1 < order.len() {
        if swap > 0.0 && is_lost(order[at], seed + 1_000, swap) {
            order.swap(at, at + 1);
            at += 1;
        }
        at += 1;
    }
    let again = |at: &usize| 1 + usize::from(twice > 0.0 && is_lost(*at, seed + 2_000, twice));
    order.iter().flat_map(|at| std::iter::repeat_n(*at, again(at))).collect()
}

//! What a lossy capture still shows: nearly every pair whose two header packets survive, and never a wrong one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_model::{Names, Protocol, Sink, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Captures, Frame, Input, LinkType};

/// A pair, whatever the frame numbers: client port, server port, id, place in a compound, and the times at which the
/// first bytes of request and response were captured.
type Pair = (u16, u16, u64, Option<u16>, i64, i64);

#[derive(Default)]
struct Pairs(BTreeMap<Pair, (u64, u64)>);

impl Sink for Pairs {
    fn transaction(&mut self, t: &Transaction, _names: &Names) {
        let protocol = t.procedure.row().protocol;
        if matches!(protocol, Protocol::Nfs4 | Protocol::Nfs4Callback) && t.compound_position.is_some() {
            return;
        }
        let (Some(asked), Some(answered)) = (t.timeline.request_first, t.timeline.response_first) else { return };
        let (Some(from), Some(to)) = (t.frames.request_first, t.frames.response_first) else { return };
        let pair = (t.client.port, t.server.port, t.id.unwrap_or_default(), t.compound_position, asked, answered);
        self.0.insert(pair, (from.get(), to.get()));
    }
}

/// A packet, owned, so that it can be dropped or cut.
struct Packet {
    time_ns: Option<i64>,
    link: LinkType,
    bytes: Vec<u8>,
    original_len: u32,
}

fn read(capture: &Path) -> Vec<Packet> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())]).expect("the capture opens");
    let mut packets = Vec::new();
    while let Some(frame) = captures.next().expect("the capture reads") {
        let Frame { time_ns, link, captured, original_len, .. } = frame;
        packets.push(Packet { time_ns, link, bytes: captured.to_vec(), original_len });
    }
    packets
}

/// Pairs of the packets that `keep` lets through, cut to `snaplen`, with their numbers in the full capture.
fn observe(packets: &[Packet], snaplen: usize, keep: impl Fn(usize) -> bool) -> BTreeMap<Pair, (u64, u64)> {
    let mut observer = Observer::new(Pairs::default());
    for (at, packet) in packets.iter().enumerate().filter(|(at, _)| keep(*at)) {
        let captured = &packet.bytes[..packet.bytes.len().min(snaplen)];
        let (time_ns, link, original_len) = (packet.time_ns, packet.link, packet.original_len);
        observer.frame(&Frame { number: at as u64 + 1, time_ns, link, captured, original_len });
    }
    observer.finish().sink.0
}

/// A repeatable die: splitmix64.
fn is_lost(packet: usize, seed: u64, loss: f64) -> bool {
    let mut x =
        (packet as u64).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64 <= loss
}

fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = root.join("../shared/captures");
    let names = ["nfs3-two-sessions.pcap", "nfs3-ipv6-op-dense.pcap", "smb2-clean.pcap", "smb1-vlan-files.pcap"];
    let mut found: Vec<PathBuf> = names.iter().map(|name| shared.join(name)).filter(|path| path.is_file()).collect();
    found.extend(std::env::var_os("PLIMSOLL_LOSS_CAPTURE").map(PathBuf::from));
    found
}

/// Whether the full capture has this pair. Where the first copy of a message was dropped and its retransmission was
/// not, the pair is that of the retransmission: the same bytes, later.
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
    let captures = captures();
    if captures.is_empty() {
        println!("SKIPPED: needs ../shared/captures");
    }
    for capture in captures {
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

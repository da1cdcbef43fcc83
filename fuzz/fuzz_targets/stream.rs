//! Segments in any order over a stream of messages with known pairs: with any losses, retransmissions, reordering and cuts, no wrong pair
//! is found.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::Watch;
use plimsoll_model::Outcome;
use plimsoll_observe::capture::LinkType;
use plimsoll_testkit::{Link, Segment, Traffic, nbss, rpc, smb2};

/// Steps of one input, at most: those behind them would only cost time.
const STEPS_MAX: usize = 64;

/// A length: seven of eight are up to 255 bytes, the others up to 64 KiB.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Len(u8, u8);

impl Len {
    fn bytes(self) -> usize {
        let (low, high) = (usize::from(self.0), usize::from(self.1));
        if high % 8 == 7 { high << 8 | low } else { low }
    }
}

/// One segment.
#[derive(Arbitrary, Debug)]
enum Step {
    /// The next bytes of a side.
    Next { server: bool, len: Len, acknowledges: bool },
    /// Lost bytes: this segment is not captured.
    Lost { server: bool, len: Len },
    /// Bytes from anywhere near, seen before or still to come.
    Near { server: bool, back: i16, len: Len },
    /// An acknowledgement, at the other side's offset plus this.
    Ack { server: bool, ahead: i16 },
    /// Bytes that belong to nothing, anywhere.
    Stray { server: bool, seq: u32, ack: u32, flags: u8, claims: u16 },
    /// From here on this number of bytes of a packet is captured.
    Snaplen { bytes: u8 },
}

#[derive(Arbitrary, Debug)]
struct Script {
    rpc: bool,
    first: [u32; 2],
    sizes: [u8; 16],
    steps: Vec<Step>,
}

/// Rounds of messages, whose payloads grow from one to the next.
const ROUNDS: usize = 4;

/// Both streams as far as they were needed, and the id and sizes of each pair in them.
#[derive(Default)]
struct Truth {
    streams: [Vec<u8>; 2],
    pairs: Vec<(u64, u64, u64)>,
}

impl Truth {
    /// Makes messages until a stream has this number of bytes, or there are no more.
    fn reach(&mut self, script: &Script, side: usize, len: usize) {
        while self.streams[side].len() < len && self.pairs.len() < script.sizes.len() * ROUNDS {
            self.add(script);
        }
    }

    /// The next message of each stream.
    fn add(&mut self, script: &Script) {
        let (round, index) = (self.pairs.len() / script.sizes.len(), self.pairs.len() % script.sizes.len());
        let (id, size) = (self.pairs.len() as u64 + 1, script.sizes[index]);
        let data = vec![0x5a; usize::from(size) * 4 * (1 + round * 4)];
        let (request, answer) = match (script.rpc, size % 3) {
            (true, 0) => (rpc::getattr(id as u32, b"handle12"), rpc::reply(id as u32, &[])),
            (true, 1) => (rpc::write(id as u32, b"handle12", &data), rpc::reply(id as u32, &[0; 24])),
            (true, _) => (rpc::read(id as u32, b"handle12", 512), rpc::read_reply(id as u32, &data)),
            (false, 0) => (smb2::echo(id).bytes(), smb2::echoed(id).bytes()),
            (false, 1) => (smb2::write(id, smb2::file(1), &data).bytes(), smb2::written(id, 1).bytes()),
            (false, _) => (smb2::read(id, smb2::file(1), 512).bytes(), smb2::read_answer(id, &data).bytes()),
        };
        self.pairs.push((id, request.len() as u64, answer.len() as u64));
        let frame = if script.rpc { rpc::record } else { nbss };
        self.streams[0].extend_from_slice(&frame(&request));
        self.streams[1].extend_from_slice(&frame(&answer));
    }
}

struct Wire<'s> {
    script: &'s Script,
    truth: Truth,
    at: [usize; 2],
    watch: Watch,
    time_ns: i64,
    snaplen: usize,
}

impl Wire<'_> {
    fn bytes(&mut self, side: usize, from: usize, len: Len) -> Vec<u8> {
        let end = from + len.bytes();
        self.truth.reach(self.script, side, end);
        let stream = &self.truth.streams[side];
        stream[from.min(stream.len())..end.min(stream.len())].to_vec()
    }

    fn send(&mut self, side: usize, seq: u32, ack: u32, flags: u8, payload: Vec<u8>, claims: usize) {
        let ends = [([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into()];
        let (source, destination) = (ends[side], ends[1 - side]);
        let segment = Segment { source, destination, seq, ack, flags, window: 0xffff, timestamps: false, payload };
        let mut traffic = Traffic::new(Link::RawIp);
        traffic.snaplen = self.snaplen;
        traffic.tcp(&segment);
        let frame = &traffic.frames[0];
        self.time_ns += 1_000;
        // Above what IP can say, the length comes from the record, as with segmentation offload.
        let original_len = frame.original_len + claims as u32;
        self.watch.frame(Some(self.time_ns), LinkType::RawIp, &frame.bytes, original_len);
    }

    fn seq(&self, side: usize, at: usize) -> u32 {
        self.script.first[side].wrapping_add(at as u32)
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Next { server, len, acknowledges } => {
                let side = usize::from(server);
                let payload = self.bytes(side, self.at[side], len);
                let sent = payload.len();
                let ack = self.seq(1 - side, if acknowledges { self.at[1 - side] } else { 0 });
                self.send(side, self.seq(side, self.at[side]), ack, 0x10, payload, 0);
                self.at[side] += sent;
            }
            Step::Lost { server, len } => {
                let side = usize::from(server);
                self.at[side] += self.bytes(side, self.at[side], len).len();
            }
            Step::Near { server, back, len } => {
                let side = usize::from(server);
                let at = self.at[side].saturating_add_signed(isize::from(back));
                let payload = self.bytes(side, at, len);
                let at = at.min(self.truth.streams[side].len());
                let ack = self.seq(1 - side, self.at[1 - side]);
                self.send(side, self.seq(side, at), ack, 0x10, payload, 0);
            }
            Step::Ack { server, ahead } => {
                let side = usize::from(server);
                let ack = self.seq(1 - side, self.at[1 - side]).wrapping_add_signed(i32::from(ahead));
                self.send(side, self.seq(side, self.at[side]), ack, 0x10, Vec::new(), 0);
            }
            Step::Stray { server, seq, ack, flags, claims } => {
                self.send(usize::from(server), seq, ack, flags, vec![0x5a; 16], usize::from(claims));
            }
            Step::Snaplen { bytes } => self.snaplen = 20 + usize::from(bytes),
        }
    }
}

fuzz_target!(|script: Script| {
    let (truth, watch) = (Truth::default(), Watch::default());
    let mut wire = Wire { script: &script, truth, at: [0; 2], watch, time_ns: 0, snaplen: usize::MAX };
    script.steps.iter().take(STEPS_MAX).for_each(|step| wire.step(step));
    let strays = script.steps.iter().any(|step| matches!(step, Step::Stray { .. }));
    let Wire { truth, watch, .. } = wire;
    let observed = watch.finish();
    if strays {
        return;
    }
    let mut ids = std::collections::HashSet::new();
    for pair in observed.sink.transactions.iter().filter(|one| one.outcome != Outcome::Unanswered) {
        let Some(id) = pair.id else { continue };
        let found = (id, pair.request_bytes.unwrap_or_default(), pair.response_bytes.unwrap_or_default());
        assert!(truth.pairs.contains(&found), "{found:?} is no pair");
        assert!(ids.insert(id), "{id} was paired twice");
    }
});

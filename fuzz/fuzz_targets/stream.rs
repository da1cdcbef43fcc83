//! Segments in any order over a stream of messages whose pairs are known: whatever is lost, sent again, reordered or
//! cut short, no pair is found that is not one.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::Watch;
use plimsoll_model::Outcome;
use plimsoll_observe::capture::LinkType;
use plimsoll_testkit::{Link, Segment, Traffic, nbss, rpc, smb2};

/// What one segment is.
#[derive(Arbitrary, Debug)]
enum Step {
    /// The next bytes of a side.
    Next { server: bool, len: u16, acknowledges: bool },
    /// Bytes that are lost: nobody sees this segment.
    Lost { server: bool, len: u16 },
    /// Bytes from anywhere near, seen before or still to come.
    Near { server: bool, back: i16, len: u16 },
    /// An acknowledgement, at the other side's place plus this.
    Ack { server: bool, ahead: i16 },
    /// Bytes that belong to nothing, anywhere.
    Stray { server: bool, seq: u32, ack: u32, flags: u8, claims: u16 },
    /// From here on so many bytes of a packet are kept.
    Snaplen { bytes: u8 },
}

#[derive(Arbitrary, Debug)]
struct Script {
    rpc: bool,
    first: [u32; 2],
    sizes: [u8; 16],
    steps: Vec<Step>,
}

/// Both streams, and the id and sizes of each pair in them.
struct Truth {
    streams: [Vec<u8>; 2],
    pairs: Vec<(u64, u64, u64)>,
}

fn truth(script: &Script) -> Truth {
    let mut truth = Truth { streams: [Vec::new(), Vec::new()], pairs: Vec::new() };
    for round in 0..4u64 {
        for (index, size) in script.sizes.iter().enumerate() {
            let id = round * 16 + index as u64 + 1;
            let data = vec![0x5a; usize::from(*size) * 4 * (1 + round as usize * 4)];
            let (request, answer) = match (script.rpc, size % 3) {
                (true, 0) => (rpc::getattr(id as u32, b"handle12"), rpc::reply(id as u32, &[])),
                (true, 1) => (rpc::write(id as u32, b"handle12", &data), rpc::reply(id as u32, &[0; 24])),
                (true, _) => (rpc::read(id as u32, b"handle12", 512), rpc::read_reply(id as u32, &data)),
                (false, 0) => (smb2::echo(id).bytes(), smb2::echoed(id).bytes()),
                (false, 1) => (smb2::write(id, smb2::file(1), &data).bytes(), smb2::written(id, 1).bytes()),
                (false, _) => (smb2::read(id, smb2::file(1), 512).bytes(), smb2::read_answer(id, &data).bytes()),
            };
            truth.pairs.push((id, request.len() as u64, answer.len() as u64));
            let frame = if script.rpc { rpc::record } else { nbss };
            truth.streams[0].extend(frame(&request));
            truth.streams[1].extend(frame(&answer));
        }
    }
    truth
}

struct Wire<'s> {
    script: &'s Script,
    truth: &'s Truth,
    at: [usize; 2],
    watch: Watch,
    time_ns: i64,
    snaplen: usize,
}

impl Wire<'_> {
    fn bytes(&self, side: usize, from: usize, len: u16) -> &[u8] {
        let stream = &self.truth.streams[side];
        let from = from.min(stream.len());
        &stream[from..(from + usize::from(len)).min(stream.len())]
    }

    fn send(&mut self, side: usize, seq: u32, ack: u32, flags: u8, payload: &[u8], claims: usize) {
        let ends = [([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into()];
        let payload = payload.to_vec();
        let (source, destination) = (ends[side], ends[1 - side]);
        let segment = Segment { source, destination, seq, ack, flags, timestamps: false, payload };
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
                let payload = self.bytes(side, self.at[side], len).to_vec();
                let ack = self.seq(1 - side, if acknowledges { self.at[1 - side] } else { 0 });
                self.send(side, self.seq(side, self.at[side]), ack, 0x10, &payload, 0);
                self.at[side] += payload.len();
            }
            Step::Lost { server, len } => {
                let side = usize::from(server);
                self.at[side] += self.bytes(side, self.at[side], len).len();
            }
            Step::Near { server, back, len } => {
                let side = usize::from(server);
                let at = self.at[side].saturating_add_signed(isize::from(back)).min(self.truth.streams[side].len());
                let payload = self.bytes(side, at, len).to_vec();
                let ack = self.seq(1 - side, self.at[1 - side]);
                self.send(side, self.seq(side, at), ack, 0x10, &payload, 0);
            }
            Step::Ack { server, ahead } => {
                let side = usize::from(server);
                let ack = self.seq(1 - side, self.at[1 - side]).wrapping_add_signed(i32::from(ahead));
                self.send(side, self.seq(side, self.at[side]), ack, 0x10, &[], 0);
            }
            Step::Stray { server, seq, ack, flags, claims } => {
                self.send(usize::from(server), seq, ack, flags, &[0x5a; 16], usize::from(claims));
            }
            Step::Snaplen { bytes } => self.snaplen = 20 + usize::from(bytes),
        }
    }
}

fuzz_target!(|script: Script| {
    let truth = truth(&script);
    let watch = Watch::default();
    let mut wire = Wire { script: &script, truth: &truth, at: [0; 2], watch, time_ns: 0, snaplen: usize::MAX };
    script.steps.iter().for_each(|step| wire.step(step));
    let strays = script.steps.iter().any(|step| matches!(step, Step::Stray { .. }));
    let observed = wire.watch.finish();
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

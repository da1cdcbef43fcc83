//! Tests reassembly: for any segments in any order, its output equals that of a naive model.
//!
//! The model stores for each byte of a stream the packet that brought it first. Every segment contains distinct bytes, so a byte
//! identifies its packet.

use std::collections::BTreeMap;

use plimsoll_observe::packet::{Segment, Stamp, TcpFlags};
use plimsoll_observe::stream::{Chunk, Receiver, TcpFlow};
use proptest::prelude::*;

use crate::conversation::config_of_many;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// Where the model's streams begin, so that a segment can lie before its first byte.
const START: u64 = 1_000;

/// The next action of a sender, a network and a capture. Sizes in bytes.
#[derive(Clone, Debug)]
enum Step {
    /// The next bytes arrive, cut by a snaplen to the second number.
    Next(u32, u32),
    /// The next bytes do not, or not yet.
    Lost(u32),
    /// Bytes from so far before arrive (again), as many, cut to.
    Again(u64, u32, u32),
    /// Bytes from so far ahead arrive.
    Ahead(u64, u32),
    /// The receiver acknowledges all sent bytes except this number.
    Ack(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let len = || 1u32..40;
    let cut = || prop_oneof![4 => Just(u32::MAX), 1 => 0u32..30];
    let step = prop_oneof![
        6 => (len(), cut()).prop_map(|(len, cut)| Step::Next(len, cut)),
        2 => len().prop_map(Step::Lost),
        4 => (0u64..150, len(), cut()).prop_map(|(back, len, cut)| Step::Again(back, len, cut)),
        1 => (0u64..60, len()).prop_map(|(gap, len)| Step::Ahead(gap, len)),
        3 => prop_oneof![Just(0u64), 0u64..120].prop_map(Step::Ack),
    ];
    prop::collection::vec(step, 1..60)
}

/// A byte of the stream as it came out: its place, what brought it first, and its value where it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamEvent {
    Byte {
        at: u64,
        time_ns: i64,
        frame: u64,
        acknowledges: u64,
        value: Option<u8>,
    },
    /// Never seen; whether the receiver had it.
    Missing {
        at: u64,
        acknowledged: bool,
    },
}

/// The model: a stream is a map from places to bytes.
#[derive(Default)]
struct Model {
    next: Option<u64>,
    acknowledged: u64,
    waiting: BTreeMap<u64, StreamEvent>,
    events: Vec<StreamEvent>,
}

impl Model {
    fn begin(&mut self, at: u64) -> u64 {
        if self.next.is_none() {
            self.acknowledged = at;
        }
        *self.next.get_or_insert(at)
    }

    fn segment(&mut self, at: u64, wire_len: u32, bytes: &[u8], (time_ns, frame, acknowledges): (i64, u64, u64)) {
        let next = self.begin(at);
        for index in 0..u64::from(wire_len) {
            let (at, value) = (at + index, bytes.get(index as usize).copied());
            if at >= next {
                self.waiting.entry(at).or_insert(StreamEvent::Byte { at, time_ns, frame, acknowledges, value });
            }
        }
        self.hand_on(false);
    }

    fn acknowledge(&mut self, at: u64) {
        self.begin(at);
        self.acknowledged = self.acknowledged.max(at);
        self.hand_on(false);
    }

    /// A byte is passed on when it is there. It is given up when a later byte is there and the receiver has acknowledged the whole hole,
    /// or at the end of the stream.
    fn hand_on(&mut self, ended: bool) {
        while let Some((next, (&first, _))) = self.next.zip(self.waiting.first_key_value()) {
            let acknowledged = first <= self.acknowledged;
            if first > next && !acknowledged && !ended {
                return;
            }
            self.events.extend((next..first).map(|at| StreamEvent::Missing { at, acknowledged }));
            self.events.extend(self.waiting.remove(&first));
            self.next = Some(first + 1);
        }
    }
}

/// The reassembly under test, its events taken apart into bytes.
struct Real {
    tcp_flow: TcpFlow,
    events: Vec<StreamEvent>,
    /// What its offsets are more than the model's.
    shift: Option<u64>,
}

/// Takes events apart.
struct Take<'t>(&'t mut Vec<StreamEvent>);

impl Receiver for Take<'_> {
    fn data(&mut self, chunk: &Chunk<'_>) {
        let byte = |index: u64| StreamEvent::Byte {
            at: chunk.offset + index,
            time_ns: chunk.stamp.time_ns,
            frame: chunk.stamp.frame,
            acknowledges: chunk.acknowledges,
            value: chunk.bytes.get(index as usize).copied(),
        };
        self.0.extend((0..u64::from(chunk.wire_len)).map(byte));
    }

    fn hole(&mut self, len: u64, end: u64, acknowledged: bool) {
        self.0.extend((end - len..end).map(|at| StreamEvent::Missing { at, acknowledged }));
    }

    fn restart(&mut self) {
        panic!("nothing here jumps");
    }
}

/// Runs both over the same steps. `origin` is the sequence number of the model's place 0.
fn run(steps: &[Step], origin: u32, with_syn: bool) -> (Model, Real) {
    let mut model = Model::default();
    let mut real = Real { tcp_flow: TcpFlow::default(), events: Vec::new(), shift: None };
    let seq = |at: u64| origin.wrapping_add(at as u32);
    let mut cursor = START;
    if with_syn {
        let syn = Segment {
            seq: seq(cursor - 1),
            ack: 0,
            flags: TcpFlags(SYN),
            window: 1,
            window_scale: None,
            payload: &[],
            wire_len: 0,
        };
        real.tcp_flow.segment(&syn, Stamp { time_ns: 0, frame: 1 }, 0, &mut Take(&mut real.events));
        model.begin(cursor);
        real.shift = real.tcp_flow.next().map(|next| next - cursor);
    }
    for (frame, step) in (2..).zip(steps) {
        let (at, len, cut) = match *step {
            Step::Next(len, cut) => (cursor, len, cut),
            Step::Lost(len) => {
                cursor += u64::from(len);
                continue;
            }
            Step::Again(back, len, cut) => (cursor - back.min(START), len, cut),
            Step::Ahead(gap, len) => (cursor + gap, len, u32::MAX),
            Step::Ack(back) => {
                let at = cursor - back.min(START);
                let first = real.tcp_flow.next().is_none();
                real.tcp_flow.acknowledge(seq(at), &mut Take(&mut real.events));
                if first {
                    real.shift = real.tcp_flow.next().map(|next| next - at);
                }
                model.acknowledge(at);
                continue;
            }
        };
        if matches!(step, Step::Next(..)) {
            cursor += u64::from(len);
        }
        let bytes: Vec<u8> = (0..len.min(cut)).map(|index| (frame * 31 + u64::from(index) * 7) as u8).collect();
        let segment = Segment {
            seq: seq(at),
            ack: 0,
            flags: TcpFlags(ACK),
            window: 1,
            window_scale: None,
            payload: &bytes,
            wire_len: len,
        };
        // Neither the time nor the acknowledgement follows from the frame number.
        let stamp = (1_000 - frame as i64 * 3, frame, frame * frame);
        if real.tcp_flow.next().is_none() {
            real.shift = Some((1 << 33) + u64::from(seq(at)) - at);
        }
        let (time_ns, frame, acknowledges) = stamp;
        real.tcp_flow.segment(&segment, Stamp { time_ns, frame }, acknowledges, &mut Take(&mut real.events));
        model.segment(at, len, &bytes, stamp);
    }
    real.tcp_flow.finish(&mut Take(&mut real.events));
    model.hand_on(true);
    (model, real)
}

proptest! {
    #![proptest_config(config_of_many(2_500))]

    #[test]
    fn what_is_handed_on_is_what_the_model_hands_on(
        steps in steps(),
        // A third of the streams wrap in the middle.
        origin in prop_oneof![2 => any::<u32>(), 1 => (u32::MAX - 2_500)..(u32::MAX - 500)],
        with_syn in any::<bool>(),
    ) {
        let (model, real) = run(&steps, origin, with_syn);
        let shift = real.shift.unwrap_or_default();
        let shifted = |events: &StreamEvent| match *events {
            StreamEvent::Byte { at, time_ns, frame, acknowledges, value } => {
                StreamEvent::Byte { at: at + shift, time_ns, frame, acknowledges, value }
            }
            StreamEvent::Missing { at, acknowledged } => StreamEvent::Missing { at: at + shift, acknowledged },
        };
        let expected: Vec<StreamEvent> = model.events.iter().map(shifted).collect();
        prop_assert_eq!(real.events, expected);
        prop_assert_eq!(real.tcp_flow.next(), model.next.map(|next| next + shift));
    }

    /// If nothing is lost for good, everything comes out in order, despite duplicates, overlaps and reordering.
    #[test]
    fn a_stream_of_which_every_byte_came_is_whole(
        pieces in prop::collection::vec(1u32..50, 1..40),
        late in prop::collection::vec((0usize..40, 0usize..6), 0..30),
        doubled in prop::collection::vec((0usize..40, 0u64..30, 1u32..80), 0..20),
        origin in any::<u32>(),
    ) {
        let total: u64 = pieces.iter().map(|&len| u64::from(len)).sum();
        let places = pieces.iter().scan(START, |at, &len| { *at += u64::from(len); Some((*at - u64::from(len), len)) });
        let mut order: Vec<(u64, u32)> = places.collect();
        // The first one stays first: it tells where the stream is.
        for (from, by) in late {
            let from = 1 + from % order.len();
            if from + by < order.len() {
                let piece = order.remove(from);
                order.insert(from + by, piece);
            }
        }
        for (index, back, len) in doubled {
            let index = 1 + index % order.len();
            let at = order[index - 1].0.saturating_sub(back).max(START);
            order.insert(index, (at, len.min((START + total - at) as u32)));
        }
        let (mut tcp_flow, mut events) = (TcpFlow::default(), Vec::new());
        for (frame, (at, len)) in (1..).zip(&order) {
            let bytes: Vec<u8> = (*at..*at + u64::from(*len)).map(|at| (at * 13) as u8).collect();
            let seq = origin.wrapping_add(*at as u32);
            let segment = Segment { seq, ack: 0, flags: TcpFlags(ACK), window: 1, window_scale: None, payload: &bytes, wire_len: *len };
            tcp_flow.segment(&segment, Stamp { time_ns: 0, frame }, 0, &mut Take(&mut events));
        }
        let values: Vec<Option<u8>> = events.iter().map(|events| match events {
            StreamEvent::Byte { value, .. } => *value,
            StreamEvent::Missing { .. } => None,
        }).collect();
        let expected: Vec<Option<u8>> = (START..START + total).map(|at| Some((at * 13) as u8)).collect();
        prop_assert_eq!(values, expected);
    }
}

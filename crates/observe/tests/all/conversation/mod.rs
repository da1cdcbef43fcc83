//! A simulated conversation of a client and a server: operations as segments with known contents.

use plimsoll_model::{Coverage, Transaction};
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_observe::{Observed, Observer};
use plimsoll_testkit::{Link, Segment, Side, Tcp, Traffic, nbss, rpc, smb1, smb2};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

/// Most payload of a segment, bytes.
const MSS: usize = 1_448;
/// Ids that SMB1 goes round in; more than ever wait at once.
const MIDS: u16 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Smb1,
    Smb2,
    Rpc,
}

pub(crate) fn families() -> impl Strategy<Value = Family> {
    prop_oneof![Just(Family::Smb1), Just(Family::Smb2), Just(Family::Rpc)]
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Which of the protocol's operations.
    pub(crate) kind: u8,
    /// Bytes of data in its request or answer.
    pub(crate) size: usize,
    /// Number of requests sent between its request and its answer.
    pub(crate) delay: usize,
    /// Which id it has, if that is free (SMB1).
    pub(crate) id: u16,
    /// An RPC client that retransmits before the answer, and gets this number of answers in total.
    pub(crate) again: Option<usize>,
}

pub(crate) fn operations(most: usize) -> impl Strategy<Value = Vec<Operation>> {
    let size = prop_oneof![3 => 0usize..100, 1 => 0usize..6_000];
    let again = prop_oneof![4 => Just(None), 1 => (1usize..3).prop_map(Some)];
    let operation = (0u8..5, size, 0usize..6, 0u16..4, again);
    let operation = operation.prop_map(|(kind, size, delay, id, again)| Operation { kind, size, delay, id, again });
    prop::collection::vec(operation, 1..most)
}

/// The role of a message in its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The request, or the same again.
    Request { copy: usize },
    /// An answer that ends nothing.
    Interim,
    /// The answer, or the same again.
    Answer { copy: usize },
}

/// The message that a segment is a piece of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) operation: usize,
    pub(crate) role: Role,
    /// The message begins with it.
    pub(crate) first: bool,
}

/// A segment and its content; None for an acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) segment: Segment,
    pub(crate) tag: Option<Tag>,
    pub(crate) from: Side,
}

/// A conversation under construction.
struct Talk {
    tcp: Tcp,
    sent: Vec<Sent>,
}

impl Talk {
    fn say(&mut self, from: Side, message: &[u8], operation: usize, role: Role) {
        for (index, segment) in self.tcp.split(from, message, MSS).into_iter().enumerate() {
            let tag = Some(Tag { operation, role, first: index == 0 });
            self.sent.push(Sent { segment, tag, from });
        }
    }
}

/// The segments of a conversation. `high` puts the client at the end that sorts behind the server's.
pub(crate) fn converse(family: Family, operations: &[Operation], high: bool) -> Vec<Sent> {
    let port = if family == Family::Rpc { 2049 } else { 445 };
    let (client, server) = if high { ([10, 0, 0, 9], [10, 0, 0, 2]) } else { ([10, 0, 0, 1], [10, 0, 0, 2]) };
    let mut tcp = Tcp::new((client, 700).into(), (server, port).into()).starting_at(u32::MAX - 4_000, 77);
    let plain = |(segment, from)| Sent { segment, tag: None, from };
    let [syn, syn_ack, ack] = tcp.handshake();
    let sent = [(syn, Side::Client), (syn_ack, Side::Server), (ack, Side::Client)].map(plain).to_vec();
    let mut talk = Talk { tcp, sent };
    // Operation, id, and how many requests must have gone out before its answer.
    let mut waiting: Vec<(usize, u64, usize)> = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let id = match family {
            Family::Smb1 => {
                let free = |mid: &u16| waiting.iter().all(|(_, id, _)| *id != u64::from(*mid));
                u64::from((0..MIDS).map(|step| 1 + (operation.id + step) % MIDS).find(free).expect("a free id"))
            }
            Family::Smb2 => 5 + index as u64,
            Family::Rpc => 0x1000_0000 + ((index as u64) << 8),
        };
        talk.say(Side::Client, &request(family, operation, id), index, Role::Request { copy: 0 });
        if let Some(interim) = interim(family, operation, id) {
            talk.say(Side::Server, &interim, index, Role::Interim);
        }
        waiting.push((index, id, index + operation.delay));
        let due = |entry: &(usize, u64, usize)| entry.2 <= index;
        waiting.iter().filter(|entry| due(entry)).for_each(|entry| end(&mut talk, family, operations, entry));
        waiting.retain(|entry| !due(entry));
    }
    waiting.iter().for_each(|entry| end(&mut talk, family, operations, entry));
    let acks = [(talk.tcp.ack(Side::Client), Side::Client), (talk.tcp.ack(Side::Server), Side::Server)];
    talk.sent.extend(acks.map(plain));
    talk.sent
}

/// The answer of an operation; of RPC perhaps asked for and given once more.
fn end(talk: &mut Talk, family: Family, operations: &[Operation], &(index, id, _): &(usize, u64, usize)) {
    let operation = &operations[index];
    let answers = operation.again.filter(|_| family == Family::Rpc).map_or(1, |answers| {
        talk.say(Side::Client, &request(family, operation, id), index, Role::Request { copy: 1 });
        answers
    });
    for copy in 0..answers {
        talk.say(Side::Server, &answer(family, operation, id), index, Role::Answer { copy });
    }
}

fn request(family: Family, operation: &Operation, id: u64) -> Vec<u8> {
    let (data, file) = (vec![0x55; operation.size], [id as u8; 16]);
    match (family, operation.kind) {
        (Family::Smb2, 0) => nbss(&smb2::echo(id).bytes()),
        (Family::Smb2, 1) => nbss(&smb2::read(id, file, operation.size as u32).bytes()),
        (Family::Smb2, 2) => nbss(&smb2::write(id, file, &data).bytes()),
        (Family::Smb2, 3) => nbss(&smb2::create(id, &format!("folder\\{id}")).bytes()),
        (Family::Smb2, _) => nbss(&smb2::request(smb2::command::CHANGE_NOTIFY, id).body(&[32; 32]).bytes()),
        (Family::Smb1, kind) => nbss(&smb1_message(kind, id, false, &data)),
        (Family::Rpc, 0 | 1) => rpc::record(&rpc::getattr(id as u32, &file)),
        (Family::Rpc, 2) => rpc::record(&rpc::lookup(id as u32, &file, "name")),
        (Family::Rpc, 3) => rpc::record(&rpc::read(id as u32, &file, operation.size as u32)),
        (Family::Rpc, _) => rpc::record(&rpc::write(id as u32, &file, &data)),
    }
}

fn interim(family: Family, operation: &Operation, id: u64) -> Option<Vec<u8>> {
    let waits = family == Family::Smb2 && operation.kind > 3;
    let interim = smb2::response(smb2::command::CHANGE_NOTIFY, id, smb2::PENDING).asynchronous(900 + id);
    waits.then(|| nbss(&interim.body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).bytes()))
}

fn answer(family: Family, operation: &Operation, id: u64) -> Vec<u8> {
    let (data, file) = (vec![0xaa; operation.size], [id as u8; 16]);
    match (family, operation.kind) {
        (Family::Smb2, 0) => nbss(&smb2::echoed(id).bytes()),
        (Family::Smb2, 1) => nbss(&smb2::read_answer(id, &data).bytes()),
        (Family::Smb2, 2) => nbss(&smb2::written(id, operation.size as u32).bytes()),
        (Family::Smb2, 3) => nbss(&smb2::created(id, file).bytes()),
        (Family::Smb2, _) => {
            let changed = smb2::response(smb2::command::CHANGE_NOTIFY, id, 0).asynchronous(900 + id);
            nbss(&changed.body(&[9, 0, 72, 0, 0, 0, 0, 0]).bytes())
        }
        (Family::Smb1, kind) => nbss(&smb1_message(kind, id, true, &data)),
        (Family::Rpc, 0 | 1) => rpc::record(&rpc::reply(id as u32, &rpc::words(&[0]))),
        (Family::Rpc, 2) => rpc::record(&rpc::reply(id as u32, &rpc::words(&[2]))),
        (Family::Rpc, 3) => rpc::record(&rpc::read_reply(id as u32, &data)),
        (Family::Rpc, _) => rpc::record(&rpc::reply(id as u32, &rpc::words(&[0, 0, 0, 9, 2]))),
    }
}

/// Spec: MS-CIFS 2.2.4.5, 2.2.4.39, 2.2.4.42, 2.2.4.43
fn smb1_message(kind: u8, id: u64, answers: bool, data: &[u8]) -> Vec<u8> {
    let (len, data) = (data.len() as u16, data);
    let command = match kind {
        0 => smb1::ECHO,
        1 => smb1::READ_ANDX,
        2 => smb1::WRITE_ANDX,
        _ => smb1::CLOSE,
    };
    let make = if answers { smb1::response } else { smb1::request };
    let message = make(command, 300, id as u16);
    let message = match (kind, answers) {
        (0, _) => message.words(&[1]).data(b"hello"),
        (1, false) => message.words(&[0xff, 0, 1, 0, 0, len, len, 0, 0, 0]),
        (1, true) => message.words(&[0xff, 0, 0, 0, 0, len, 59, 0, 0, 0, 0, 0]).data(data),
        (2, false) => message.words(&[0xff, 0, 1, 0, 0, 0, 0, 0, 0, len, 59, 0]).data(data),
        (2, true) => message.words(&[0xff, 0, len, 0, 0, 0]),
        (_, false) => message.words(&[1, 0xffff, 0xffff]),
        (_, true) => message,
    };
    message.bytes()
}

/// The observer's result for these segments, numbered from frame 1, each cut to `snaplen` bytes.
pub(crate) fn observe<'s>(
    segments: impl IntoIterator<Item = &'s Sent>,
    snaplen: usize,
) -> (Vec<Transaction>, Coverage) {
    observe_every(100_000, segments, snaplen)
}

/// The same, with a segment every `step_ns`; 0 is a clock too coarse to tell them apart.
pub(crate) fn observe_every<'s>(
    step_ns: i64,
    segments: impl IntoIterator<Item = &'s Sent>,
    snaplen: usize,
) -> (Vec<Transaction>, Coverage) {
    let mut traffic = Traffic::new(Link::Ethernet);
    (traffic.snaplen, traffic.step_ns) = (snaplen, step_ns);
    segments.into_iter().for_each(|sent| traffic.tcp(&sent.segment));
    observe_traffic(&traffic)
}

/// What the observer makes of these frames.
pub(crate) fn observed(traffic: &Traffic) -> Observed<Vec<Transaction>> {
    observing(traffic).finish()
}

/// The observer after these frames, while the capture goes on.
pub(crate) fn observing(traffic: &Traffic) -> Observer<Vec<Transaction>> {
    let mut observer = Observer::new(Vec::new());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, original_len, link) = (Some(frame.time_ns), frame.original_len, LinkType::Ethernet);
        observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len });
    }
    observer
}

pub(crate) fn observe_traffic(traffic: &Traffic) -> (Vec<Transaction>, Coverage) {
    let Observed { sink, coverage, .. } = observed(traffic);
    (sink, coverage)
}

/// The same cases in every run.
pub(crate) fn config(cases: u32) -> Config {
    let rng_seed = RngSeed::Fixed(0x91_a150);
    Config { cases, failure_persistence: None, rng_algorithm: RngAlgorithm::ChaCha, rng_seed, ..Config::default() }
}

/// The same tenth of the cases in every run. With `PLIMSOLL_EXACT=1` all of them, other ones in every run: their seed is printed.
#[allow(clippy::print_stdout, reason = "whoever repeats a failed proof needs the seed")]
pub(crate) fn config_of_many(cases: u32) -> Config {
    if std::env::var_os("PLIMSOLL_EXACT").is_none() {
        return config(cases / 10);
    }
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    println!("seed {seed}");
    Config { rng_seed: RngSeed::Fixed(seed), ..config(cases) }
}

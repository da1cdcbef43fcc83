//! Against requests whose truth is known.

use plimsoll_model::{Asked, Coverage, FileIdentity, Names, Procedure, Protocol};
use plimsoll_testkit::{Random, transaction};

use super::*;
use crate::{Options, Statistics};

const READ: u16 = 6;
const WRITE: u16 = 7;

/// A request of NFS 3, sent at `sent` and answered at `ended`.
fn request(code: u16, file: u64, offset: u64, bytes: u64, (sent, ended): (i64, i64)) -> Transaction {
    let mut t = transaction(Procedure::of(Protocol::Nfs3, code), ended, ended - sent);
    t.payload_bytes = Some(bytes);
    t.asked =
        Asked { file: FileIdentity::of_number(file), offset: Some(offset), bytes: Some(bytes), ..Asked::default() };
    t
}

fn of(all: impl IntoIterator<Item = Transaction>) -> Io {
    let mut io = Io::new(Limits::CAPTURE);
    all.into_iter().for_each(|t| io.record(&t));
    io.settled()
}

fn orders(direction: &Direction) -> [u64; 4] {
    direction.orders().map(|(_, count)| count).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn sizes_are_exact() {
    let sizes = [0, 1, 4095, 4096, 8191, 8192, 1 << 40];
    let io = of(sizes.iter().enumerate().map(|(i, &bytes)| request(READ, 1, 0, bytes, (i as i64, 100))));
    let classes: Vec<_> = io.reads().sizes().map(|it| (it.from, it.to, it.count, it.bytes)).collect();
    let expected = [
        (0, 0, 1, 0),
        (1, 1, 1, 1),
        (2048, 4095, 1, 4095),
        (4096, 8191, 2, 12_287),
        (8192, 16_383, 1, 8192),
        (1 << 40, (2 << 40) - 1, 1, 1 << 40),
    ];
    assert_eq!(classes, expected);
    assert_eq!((io.reads().requests(), io.reads().bytes(), io.writes().requests()), (7, sizes.iter().sum(), 0));
    let mut largest = request(WRITE, 1, u64::MAX, u64::MAX, (0, 1));
    largest.outcome = Outcome::Unanswered;
    assert_eq!(of([largest]).writes().sizes().map(|it| it.to).collect::<Vec<_>>(), [u64::MAX]);
}

#[test]
fn what_is_not_known_or_not_asked_for_counts_nowhere() {
    let mut unknown = request(READ, 1, 0, 10, (0, 1));
    unknown.asked.offset = None;
    let mut never = request(READ, 1, 0, 10, (0, 1));
    never.outcome = Outcome::NeverSent;
    let lookup = request(3, 1, 0, 10, (0, 1));
    let io = of([unknown, never, lookup]);
    assert_eq!((io.reads().requests(), io.unknown(), io.reuse().touches()), (0, 1, 0));
}

/// Eight outstanding at once, answered in any order: sent in the order of the file.
#[test]
fn a_file_read_in_order_is_sequential_whatever_order_the_answers_have() {
    let mut random = Random::new(1);
    let mut all: Vec<_> = (0..10_000i64)
        .map(|i| request(READ, 1, i as u64 * 4096, 4096, (i * 10, i * 10 + 1 + (random.bits() % 80) as i64)))
        .collect();
    all.sort_by_key(|t| t.timeline.response_last);
    let io = of(all);
    assert_eq!(orders(io.reads()), [1, 9_999, 0, 0]);
    let runs = io.reads().runs();
    assert_eq!((runs.count(), runs.mean_requests(), runs.mean_bytes()), (1, Some(10_000.0), Some(40_960_000.0)));
}

#[test]
fn four_readers_of_one_file_are_four_sequences() {
    // In places without a common distance, which would be a stride.
    let at = |i: u64| [0, 1 << 30, 5 << 30, 11 << 30][i as usize % 4] + i / 4 * 8192;
    let io = of((0..4_000).map(|i| request(READ, 1, at(i), 8192, (i as i64, i as i64 + 1))));
    let [first, sequential, strided, random] = orders(io.reads());
    assert_eq!((first, sequential), (1, 3_996));
    assert_eq!((strided + random, io.reads().runs().count()), (3, 4));
}

#[test]
fn strides_and_random_places_are_told_apart() {
    let io = of((0..1_000).map(|i| request(WRITE, 1, i * 65_536, 4096, (i as i64, i as i64 + 1))));
    assert_eq!(orders(io.writes()), [1, 0, 998, 1], "the second one may be anywhere");
    let (blocks, mut random) = (1 << 20, Random::new(7));
    let places: Vec<u64> = (0..20_000).map(|_| random.bits() % blocks * 4096).collect();
    let io = of(places.iter().enumerate().map(|(i, &at)| request(READ, 1, at, 4096, (i as i64, i as i64 + 1))));
    let [_, sequential, strided, elsewhere] = orders(io.reads());
    // Each begins behind one of four, or as far from one of four as that from its own forerunner, by chance.
    assert!(sequential + strided <= 3 && elsewhere > 19_990, "{sequential} {strided} {elsewhere}");
    assert!(io.reads().runs().mean_requests().unwrap() < 1.001);
}

#[test]
fn streams_belong_to_a_connection_and_a_file() {
    let mut all = Vec::new();
    for i in 0..500u64 {
        for (connection, file) in [(0, 1), (0, 2), (1, 1)] {
            let mut t = request(READ, file, i * 512, 512, (i as i64 * 10, i as i64 * 10 + 5));
            t.connection = connection;
            all.push(t);
        }
    }
    let io = of(all);
    assert_eq!(orders(io.reads()), [3, 1_497, 0, 0]);
}

#[test]
fn more_streams_than_are_kept_begin_anew_and_lose_no_request() {
    let files = 40_000u64;
    let all = (0..2 * files).map(|i| request(READ, i % files + 1, i / files * 512, 512, (i as i64, i as i64 + 1)));
    let io = of(all);
    let [first, sequential, ..] = orders(io.reads());
    assert_eq!(first + sequential, 2 * files);
    let runs = io.reads().runs();
    assert_eq!(runs.lengths().map(|(from, _, count)| from * count).sum::<u64>(), 2 * files);
    assert!(sequential < files / 10, "{sequential}");
}

/// Connections that each read three files in order, and now and then another one, four outstanding at a time.
fn interleaved(connections: u32) -> Vec<Transaction> {
    let mut random = Random::new(5);
    let mut all = Vec::new();
    for turn in 0..60i64 {
        for connection in 0..connections {
            let file = if random.bits().is_multiple_of(4) { 100 + random.bits() % 50 } else { random.bits() % 3 };
            let sent = turn * 1_000 + i64::from(connection);
            let took = 1 + (random.bits() % 4_000) as i64;
            let mut t = request(READ, file, turn as u64 * 512, 512, (sent, sent + took));
            t.connection = connection;
            all.push(t);
        }
    }
    all.sort_by_key(|t| t.timeline.response_last);
    all
}

/// Whether parts, each of which forgets what it has no space for, are the whole.
fn parts_are_the_whole(limits: Limits, parts: u32) -> bool {
    let all = interleaved(400);
    let of = |wanted: &dyn Fn(u32) -> bool| {
        let mut io = Io::new(limits);
        all.iter().filter(|t| wanted(t.connection)).for_each(|t| io.record(t));
        io
    };
    let whole = of(&|_| true).settled();
    let mut merged = of(&|connection| connection % parts == 0);
    (1..parts).for_each(|part| merged.merge(&of(&|connection| connection % parts == part)));
    whole.reads() == merged.settled().reads()
}

#[test]
fn parts_of_a_load_forget_what_the_whole_forgets() {
    let of_load = Limits::of_load(400);
    let little = Limits { streams: 4, waiting: 2, ..of_load };
    for parts in [1, 2, 3, 8] {
        assert!(parts_are_the_whole(of_load, parts), "{parts} parts");
        assert!(parts_are_the_whole(little, parts), "{parts} parts");
    }
    // One space for all connections of a process is another one for each part.
    assert!(!parts_are_the_whole(Limits { streams: 400, ..Limits::CAPTURE }, 8));
    assert!(!parts_are_the_whole(Limits { waiting: 100, ..Limits::CAPTURE }, 8));
    assert!(parts_are_the_whole(Limits::CAPTURE, 8), "as long as there is space");
}

#[test]
fn a_load_takes_no_more_space_than_its_connections_may() {
    for connections in [1, 3, 1_000, 100_000] {
        let Limits { connections: one_by_one, streams, waiting } = Limits::of_load(connections);
        assert_eq!(one_by_one, Some(connections as usize));
        let [streams, waiting] = [streams, waiting].map(|of_one| of_one as u64 * connections);
        assert!(streams <= 32_768.max(4 * connections) && waiting <= 8_192.max(8 * connections), "{connections}");
    }
    // Connections that are made again and again are forgotten.
    let mut io = Io::new(Limits::of_load(2));
    for connection in 0..1_000 {
        let mut t = request(READ, 1, 0, 512, (i64::from(connection), i64::from(connection) + 1));
        t.connection = connection;
        io.record(&t);
    }
    assert_eq!(io.streams.connections(), 4);
    assert_eq!(orders(io.settled().reads()), [1_000, 0, 0, 0]);
}

/// A loop over this number of blocks: each is used again after all others.
#[test]
fn a_loop_has_one_stack_distance() {
    let blocks = 1_000u64;
    let all =
        (0..10 * blocks).map(|i| request(READ, 1, i % blocks * BLOCK_BYTES, BLOCK_BYTES, (i as i64, i as i64 + 1)));
    let io = of(all);
    let reuse = io.reuse();
    assert_eq!(
        (reuse.working_set_bytes(), reuse.sampled(), reuse.relative_error()),
        (Some(blocks * BLOCK_BYTES), 1.0, Some(0.0))
    );
    assert!((reuse.reused().unwrap() - 0.9).abs() < 1e-9);
    // 1,000 blocks are 4,096,000 bytes: 4 MiB hold them, 2 MiB hold none when it is needed.
    assert_eq!(reuse.distances(), [Distance { cache_bytes: 4 << 20, share: 0.9 }]);
}

#[test]
fn what_is_sampled_is_within_its_stated_error() {
    let blocks = 200_000u64;
    let mut random = Random::new(3);
    let places: Vec<u64> = (0..1_000_000).map(|_| random.bits() % blocks).collect();
    let mut distinct: Vec<u64> = places.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let io = of(places
        .iter()
        .enumerate()
        .map(|(i, &at)| request(READ, 1, at * BLOCK_BYTES, BLOCK_BYTES, (i as i64, i as i64 + 1))));
    let reuse = io.reuse();
    let error = reuse.relative_error().unwrap();
    assert!(reuse.sampled() < 0.1 && (0.005..0.05).contains(&error), "{} {error}", reuse.sampled());
    let working_set = reuse.working_set_bytes().unwrap() as f64 / BLOCK_BYTES as f64;
    let off = (working_set / distinct.len() as f64 - 1.0).abs();
    assert!(off < 4.0 * error, "{off} of {error}");
    let reused = 1.0 - distinct.len() as f64 / places.len() as f64;
    assert!((reuse.reused().unwrap() - reused).abs() < 4.0 * error, "{:?} {reused}", reuse.reused());
    // A cache of the least recently used of 2^29 bytes, 65 % of the blocks, has about as much of the touches of known blocks.
    let hit = reuse.distances().into_iter().find(|it| it.cache_bytes == 1 << 29).unwrap().share;
    let exact = lru_hits(&places, (1 << 29) / BLOCK_BYTES as usize) as f64 / places.len() as f64;
    assert!((hit - exact).abs() < 4.0 * error, "{hit} {exact}");
}

/// Hits of an LRU cache, by a naive simulation.
fn lru_hits(places: &[u64], capacity: usize) -> u64 {
    let (mut by_time, mut time_of) = (std::collections::BTreeMap::new(), std::collections::HashMap::new());
    let mut hits = 0;
    for (now, &block) in places.iter().enumerate() {
        if let Some(before) = time_of.insert(block, now) {
            hits += u64::from(by_time.remove(&before).is_some());
        }
        by_time.insert(now, block);
        if by_time.len() > capacity {
            by_time.pop_first();
        }
    }
    hits
}

#[test]
fn parts_are_the_whole_and_come_back_from_a_recording() {
    let mut random = Random::new(9);
    let all: Vec<Transaction> = (0..30_000i64)
        .map(|i| {
            let code = if random.bits().is_multiple_of(3) { WRITE } else { READ };
            let bytes = 1 << (random.bits() % 20);
            let mut t = request(code, random.bits() % 5 + 1, (random.bits() % 5_000) * 4096, bytes, (i * 7, i * 7 + 5));
            t.connection = (random.bits() % 4) as u32;
            t
        })
        .collect();
    let whole = of(all.clone());
    let part = |wanted: u32| of(all.iter().filter(|t| t.connection % 2 == wanted).cloned());
    let mut merged = part(0);
    merged.merge(&part(1));
    assert_eq!((&merged.reads, &merged.writes), (&whole.reads, &whole.writes));
    assert_eq!(merged.reuse().working_set_bytes(), whole.reuse().working_set_bytes());
    assert_eq!(merged.reuse().distances(), whole.reuse().distances());
    let mut statistics = Statistics::new(Options { io: Some(Limits::CAPTURE), ..Options::default() });
    all.iter().for_each(|t| statistics.record(t));
    let bytes = statistics.to_bytes(&Coverage::default(), &Names::default());
    let (read, _) = Statistics::from_bytes(&bytes, &mut Names::default()).unwrap();
    let again = read.io().unwrap();
    assert_eq!((again.reads, again.writes, again.reuse), (whole.reads, whole.writes, whole.reuse));
}

//! Stage "statistics": time a transaction. Run with `cargo bench -p plimsoll-stats`; the times printed are per
//! transaction.

use std::net::{IpAddr, Ipv4Addr};

use plimsoll_model::{Endpoint, Procedure, Protocol, Transaction, Vantage};
use plimsoll_stats::{Dimension, IntervalRecorder, IntervalWidth, Intervals, Options, Statistics};

fn main() {
    divan::main();
}

/// What differs from one transaction to the next.
struct Event {
    procedure: Procedure,
    client: u8,
    start: i64,
    took: i64,
}

/// A million operations of 64 clients: ten procedures, exponential times around 200 µs, 20 µs apart: 50,000
/// operations/s, a depth of ten.
fn events() -> Vec<Event> {
    let codes = [(6, 40), (1, 20), (3, 15), (4, 10), (7, 8), (17, 3), (18, 1), (12, 1), (8, 1), (21, 1)];
    let mix: Vec<u16> = codes.iter().flat_map(|&(code, weight)| std::iter::repeat_n(code, weight)).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut all: Vec<Event> = (0..1_000_000i64)
        .map(|i| {
            let procedure = Procedure::of(Protocol::Nfs3, mix[(next() % mix.len() as u64) as usize]);
            let client = (next() % 64) as u8;
            let uniform = ((next() >> 11) as f64 / (1u64 << 53) as f64).max(1e-12);
            let took = 1_000 + (-200_000.0 * uniform.ln()) as i64;
            Event { procedure, client, start: 1_700_000_000_000_000_000 + i * 20_000, took }
        })
        .collect();
    all.sort_by_key(|event| event.start + event.took);
    all
}

/// One transaction, which the bench changes in place as a pairing stage does.
fn template() -> Transaction {
    Transaction {
        client: Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 1, 0)), port: 900 },
        request_packets: 1,
        response_packets: Some(1),
        vantage: Vantage::Wire,
        ..plimsoll_testkit::transaction(Procedure::of(Protocol::Nfs3, 0), 0, 0)
    }
}

fn run(bencher: divan::Bencher<'_, '_>, mut record: impl FnMut(&Transaction)) {
    let all = events();
    let mut t = template();
    let mut next = all.iter().enumerate().cycle();
    bencher.bench_local(|| {
        if let Some((i, event)) = next.next() {
            t.procedure = event.procedure;
            t.client.ip = IpAddr::V4(Ipv4Addr::new(10, 0, 1, event.client));
            t.connection = u32::from(event.client);
            t.id = Some(i as u64);
            t.status = Some(u32::from(i % 8 == 0) * 2);
            t.timeline.request_first = Some(event.start);
            t.timeline.request_last = Some(event.start);
            t.timeline.response_first = Some(event.start + event.took - 500);
            t.timeline.response_last = Some(event.start + event.took);
            record(divan::black_box(&t));
        }
    });
}

fn run_statistics(bencher: divan::Bencher<'_, '_>, options: Options) {
    let mut statistics = Statistics::new(options);
    run(bencher, |t| statistics.record(t));
    divan::black_box(&statistics);
}

#[divan::bench(sample_size = 200_000, sample_count = 5)]
fn statistics(bencher: divan::Bencher<'_, '_>) {
    run_statistics(bencher, Options::default());
}

#[divan::bench(sample_size = 200_000, sample_count = 5)]
fn statistics_by_client(bencher: divan::Bencher<'_, '_>) {
    run_statistics(bencher, Options { by: Some(Dimension::Client.into()), ..Options::default() });
}

/// The difference to `statistics` is the cost of a diagnosis.
#[divan::bench(sample_size = 200_000, sample_count = 5)]
fn statistics_with_tallies(bencher: divan::Bencher<'_, '_>) {
    run_statistics(bencher, Options { tallies: true, ..Options::default() });
}

/// The time that the other benches spend on making a transaction, to subtract it.
#[divan::bench(sample_size = 200_000, sample_count = 5)]
fn nothing(bencher: divan::Bencher<'_, '_>) {
    run(bencher, |t| {
        divan::black_box(t.timeline);
    });
}

/// One second of these events, repeated: an interval is opened and closed every 50,000 events.
#[divan::bench(sample_size = 200_000, sample_count = 5)]
fn intervals(bencher: divan::Bencher<'_, '_>) {
    let mut recorder = IntervalRecorder::new(Intervals::new(IntervalWidth::USUAL));
    run(bencher, |t| recorder.record(t));
    divan::black_box(&recorder);
}

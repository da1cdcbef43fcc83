//! Stage "statistics": time a transaction. Run with `cargo bench -p plimsoll-stats`; the times printed are per
//! transaction.

use std::net::{IpAddr, Ipv4Addr};

use plimsoll_model::{Endpoint, Frames, Outcome, Procedure, Protocol, Symbol, Timeline, Transaction, Vantage};
use plimsoll_stats::{Dimension, Options, Statistics};

fn main() {
    divan::main();
}

/// A million transactions of 64 clients: ten procedures, exponential times around 200 µs, 2 µs apart.
fn transactions() -> Vec<Transaction> {
    let codes = [(6, 40), (1, 20), (3, 15), (4, 10), (7, 8), (17, 3), (18, 1), (12, 1), (8, 1), (21, 1)];
    let mix: Vec<u16> = codes.iter().flat_map(|&(code, weight)| std::iter::repeat_n(code, weight)).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let server = Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), port: 2049 };
    let mut all: Vec<Transaction> = (0..1_000_000i64)
        .map(|i| {
            let code = mix[(next() % mix.len() as u64) as usize];
            let client = (next() % 64) as u8;
            let took = 1_000 + (-200_000.0 * ((next() >> 11) as f64 / (1u64 << 53) as f64).max(1e-12).ln()) as i64;
            let start = 1_700_000_000_000_000_000 + i * 2_000;
            Transaction {
                procedure: Procedure::of(Protocol::Nfs3, code),
                client: Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 1, client)), port: 900 },
                server,
                connection: u32::from(client),
                session: None,
                share: Symbol::NONE,
                path: Symbol::NONE,
                user: Symbol::NONE,
                id: Some(i as u64),
                compound_position: None,
                status: Some(u32::from(code == 3 && next() % 4 == 0) * 2),
                outcome: Outcome::Succeeded,
                payload_bytes: (code == 6 || code == 7).then_some(4096),
                request_bytes: 120,
                response_bytes: Some(200),
                request_packets: 1,
                response_packets: Some(1),
                timeline: Timeline {
                    intended: None,
                    request_first: Some(start),
                    request_last: Some(start),
                    interim: None,
                    response_first: Some(start + took - 500),
                    response_last: Some(start + took),
                },
                frames: Frames::default(),
                vantage: Vantage::Wire,
                stage: None,
                held: false,
            }
        })
        .collect();
    all.sort_by_key(|t| t.timeline.response_last);
    all
}

fn run(bencher: divan::Bencher<'_, '_>, options: Options) {
    let all = transactions();
    let mut statistics = Statistics::new(options);
    let mut next = all.iter().cycle();
    bencher.bench_local(|| {
        if let Some(t) = next.next() {
            statistics.record(divan::black_box(t));
        }
    });
    divan::black_box(&statistics);
}

#[divan::bench(sample_size = 200_000, sample_count = 5)]
fn statistics(bencher: divan::Bencher<'_, '_>) {
    run(bencher, Options::default());
}

#[divan::bench(sample_size = 200_000, sample_count = 5)]
fn statistics_by_client(bencher: divan::Bencher<'_, '_>) {
    run(bencher, Options { by: Some(Dimension::Client), ..Options::default() });
}

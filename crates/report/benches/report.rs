//! Stage "report": the statistics of a busy day become findings, and findings become text, JSON and a page. Run with
//! `cargo bench -p plimsoll-report`; the times printed are per report.

use std::net::{IpAddr, Ipv4Addr};

use divan::Bencher;
use plimsoll_model::{Coverage, Endpoint, Frames, Names, Procedure, Symbol, Transaction, Vantage};
use plimsoll_report::findings::{Findings, Source};
use plimsoll_report::json::Layout;
use plimsoll_report::text::Style;
use plimsoll_report::{html, json, text};
use plimsoll_stats::{Dimension, Options, Statistics};

/// Transactions behind the report: every procedure, 64 clients, a day.
const TRANSACTIONS: u64 = 500_000;
/// The day, ns.
const SPAN_NS: u64 = 86_400_000_000_000;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn collect(bencher: Bencher<'_, '_>) {
    let (statistics, names) = busy_day();
    bencher.bench_local(|| findings(&statistics, &names));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn as_text(bencher: Bencher<'_, '_>) {
    let (statistics, names) = busy_day();
    let report = findings(&statistics, &names).into();
    bencher.bench_local(|| text::to_string(&report, &Style::default()));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn as_json(bencher: Bencher<'_, '_>) {
    let (statistics, names) = busy_day();
    let report = findings(&statistics, &names).into();
    bencher.bench_local(|| json::write(&report, Layout::Compact, std::io::sink()));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn as_page(bencher: Bencher<'_, '_>) {
    let (statistics, names) = busy_day();
    let report = findings(&statistics, &names).into();
    bencher.bench_local(|| html::page(&report));
}

fn findings(statistics: &Statistics, names: &Names) -> Findings {
    Findings::collect(statistics, &Coverage::default(), names, Source::default(), |_, _| None)
}

fn busy_day() -> (Statistics, Names) {
    let mut names = Names::default();
    let paths: Vec<Symbol> = (0..2_000).map(|n| names.intern(&format!("projects\\{}\\file{n}.dat", n % 40))).collect();
    let procedures: Vec<Procedure> = Procedure::all().collect();
    let mut statistics = Statistics::new(Options { by: Some(Dimension::Client.into()), ..Options::default() });
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    for number in 0..TRANSACTIONS {
        let begin = 1_700_000_000_000_000_000 + (number * (SPAN_NS / TRANSACTIONS)) as i64;
        // From 1 µs to about 1 s, as even over the decades as a shift can make it.
        let took = (1_000_i64 << next(20)) + next(1_000) as i64;
        let frame = std::num::NonZeroU64::new(number + 1);
        let procedure = procedures.get(next(procedures.len())).copied().unwrap_or(procedures[0]);
        statistics.record(&Transaction {
            client: Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 1, next(64) as u8)), port: 900 },
            path: paths.get(next(paths.len())).copied().unwrap_or(Symbol::NONE),
            id: Some(number),
            status: Some(u32::from(next(50) == 0) * 2),
            request_packets: 1,
            response_packets: Some(1),
            frames: Frames { request_first: frame, response_first: frame, ..Frames::default() },
            vantage: Vantage::Wire,
            ..plimsoll_testkit::transaction(procedure, begin + took, took)
        });
    }
    (statistics, names)
}

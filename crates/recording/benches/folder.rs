//! Cost of a recorded transaction, for the measuring threads and for the writing thread: `cargo bench -p plimsoll-recording`. The printed
//! times are for a row group of 65,536 transactions, from memory to a file.

use plimsoll_model::{Names, Procedure, Protocol, Symbol, Transaction};
use plimsoll_recording::folder::{
    Finished, Machine, Manifest, Packer, Progress, RecordingWriter, Rows, SCHEMA, TransactionPolicy,
};
use plimsoll_stats::IntervalWidth;
use serde_json::Value;

/// Transactions handed over together, as the command does it.
const ROWS: usize = 1024;
const GROUP: usize = 64 << 10;

fn main() {
    divan::main();
}

fn manifest() -> Manifest {
    Manifest {
        schema: SCHEMA.to_owned(),
        state: Progress::Running,
        tool: String::new(),
        command: Vec::new(),
        started_ns: 0,
        ended_ns: None,
        machine: Machine::default(),
        clock: String::new(),
        transactions: TransactionPolicy { which: "all".to_owned(), one_in: 1, seed: 0, rule: String::new() },
        validity: None,
        measured: Value::Null,
        levels: Vec::new(),
    }
}

/// A row group of transactions from `clients` clients, for a thousand files.
fn transactions(clients: u16, names: &mut Names) -> Vec<Transaction> {
    let paths: Vec<Symbol> = (0..1_000).map(|i| names.intern(&format!("dir{}/dir{}/file{i}", i % 5, i % 50))).collect();
    let share = names.intern("/plimsoll");
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let one = |i: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let begun = 1_700_000_000_000_000_000 + i as i64 * 9_000 + (random >> 50) as i64;
        let ended = begun + 100_000 + (random >> 48) as i64;
        let client = i as u16 % clients;
        let mut t = plimsoll_testkit::transaction(Procedure::of(Protocol::Nfs3, 1), ended, ended - begun);
        (t.client.port, t.connection) = (40_000 + client, client.into());
        (t.share, t.path) = (share, paths.get((random >> 33) as usize % paths.len()).copied().unwrap_or(Symbol::NONE));
        (t.id, t.payload_bytes, t.level) = (Some(i as u64), None, Some(0));
        t.timeline.request_last = Some(begun + 4_000);
        t
    };
    (0..GROUP).map(one).collect()
}

fn packed(packer: &mut Packer, transactions: &[Transaction]) -> Vec<Rows> {
    let piece = |some: &[Transaction]| {
        for t in some {
            packer.push(t);
        }
        packer.take()
    };
    transactions.chunks(ROWS).map(piece).collect()
}

/// Cost for the measuring threads.
#[divan::bench(args = [2, 1000], sample_count = 20, sample_size = 1)]
fn packing_of_clients(bencher: divan::Bencher<'_, '_>, clients: u16) {
    let (all, mut packer) = (transactions(clients, &mut Names::default()), Packer::new(0));
    bencher.bench_local(|| packed(&mut packer, &all));
}

/// Cost for the writing thread.
#[divan::bench(args = [2, 1000], sample_count = 20, sample_size = 1)]
fn row_group_of_clients(bencher: divan::Bencher<'_, '_>, clients: u16) {
    let mut names = Names::default();
    let (all, folder) = (transactions(clients, &mut names), tempfile::tempdir().expect("a folder for the recording"));
    let mut writer = RecordingWriter::create(folder.path(), manifest(), false).expect("an empty folder takes one");
    let mut level = writer.begin(0, Some(IntervalWidth::USUAL)).expect("a first level");
    let mut packer = Packer::new(0);
    bencher
        .with_inputs(|| packed(&mut packer, &all))
        .bench_local_values(|pieces| pieces.into_iter().for_each(|rows| level.rows(rows, &names)));
    let finished =
        Finished { load_name: None, span_ns: (None, None), state: Vec::new(), about: Value::Null, part: None };
    writer.end(level, finished, &names).expect("nothing went wrong");
}

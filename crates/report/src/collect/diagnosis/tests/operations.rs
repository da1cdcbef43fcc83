//! Operations that are slow in themselves.

use plimsoll_model::{Procedure, Protocol};

use super::built::{MS, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// 200 reads and opens of 1 ms; after each fourth a FLUSH that takes so long. Three clients, 40 files.
fn flushes(took_ns: impl Fn(i64) -> i64) -> Traffic {
    let (mut traffic, flush) = (Traffic::new(), Procedure::of(Protocol::Smb2, 7));
    for i in 0..200 {
        let (client, path) = ((i % 3) as u8, format!("f{}", i % 40));
        traffic.request(if i % 2 == 0 { read() } else { open() }, client, DATA, &path, MS);
        if i % 4 == 0 {
            traffic.request(flush, client, DATA, &path, took_ns(i));
        }
    }
    traffic
}

#[test]
fn an_operation_that_is_slow_for_all_is_accused() {
    let text = flushes(|i| (60 + i % 7) * MS).first(Rule::SlowOperation);
    assert!(text.starts_with("The operation flush is slow, for all 3 clients: 62."), "{text}");
    assert!(text.contains("(50 requests), 63 times as long as all other operations (1.00 ms)"), "{text}");
}

#[test]
fn a_disk_that_needs_a_turn_for_it_is_not_accused() {
    for (took_ms, why) in [(25, "two accesses to a disk"), (3, "quick")] {
        let rules = flushes(|_| took_ms * MS).rules();
        assert!(!rules.contains(&Rule::SlowOperation), "{why}");
    }
    let few_long = flushes(|i| if i % 20 == 0 { 600 * MS } else { MS });
    assert!(!few_long.rules().contains(&Rule::SlowOperation), "the typical one is quick: {:#?}", few_long.diagnosis());
}

#[test]
fn a_place_that_explains_it_is_accused_instead() {
    let mut traffic = flushes(|_| MS);
    let flush = Procedure::of(Protocol::Smb2, 7);
    (0..100).for_each(|i| traffic.request(flush, (i % 3) as u8, DATA, "ledger.mdb", 60 * MS));
    assert!(!traffic.rules().contains(&Rule::SlowOperation), "{:#?}", traffic.diagnosis());
    assert!(traffic.rules().contains(&Rule::SlowPath));
}

//! Tables of captures and of runs, without recordings.

use std::fs::File;
use std::path::Path;

use plimsoll_model::{Procedure, Protocol, Transaction, Verdict};
use plimsoll_recording::TransactionsFile;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::transaction;

use super::*;

const MS: i64 = 1_000_000;
const BEGIN: i64 = 1_700_000_000_000 * MS;

/// A read that ends `ms` after the begin.
fn read(ms: i64, vantage: Vantage, level: Option<u32>) -> Transaction {
    let mut row = transaction(Procedure::of(Protocol::Smb2, 8), BEGIN + ms * MS, MS);
    (row.vantage, row.level) = (vantage, level);
    if vantage == Vantage::Client {
        row.timeline.intended = row.timeline.request_first.map(|first| first - MS);
    }
    row
}

fn opened(rows: &[Transaction]) -> Result<Tables, String> {
    let scratch = Scratch::new("tables");
    let path: &Path = scratch.path();
    let table = path.join("rows.csv");
    let mut file = TransactionsFile::new(File::create(&table).unwrap(), TableFormat::Csv).unwrap();
    file.transactions(rows, &Names::default());
    file.finish().unwrap();
    Tables::open(&[table]).map(Option::unwrap).map_err(|error| error.to_string())
}

/// Every operation counted twice.
#[test]
fn a_table_that_is_given_twice_is_refused() {
    let scratch = Scratch::new("tables-repeated");
    let named = |name: &str| scratch.path().join(name);
    let [table, link, hard_link, other] = ["a.csv", "link.csv", "hard.csv", "b.csv"].map(named);
    for (path, ms) in [(&table, 1), (&other, 2)] {
        let mut file = TransactionsFile::new(File::create(path).unwrap(), TableFormat::Csv).unwrap();
        file.transactions(&[read(ms, Vantage::Wire, None)], &Names::default());
        file.finish().unwrap();
    }
    std::os::unix::fs::symlink(&table, &link).unwrap();
    std::fs::hard_link(&table, &hard_link).unwrap();
    let refused = |again: &Path| Tables::open(&[table.clone(), other.clone(), again.to_owned()]).err().unwrap();
    let dotted = named("./a.csv");
    for again in [&table, &link, &hard_link, &dotted] {
        let error = refused(again);
        assert!(error.is::<Usage>() && error.to_string().contains("so each of its rows would count twice"), "{error}");
    }
    assert!(Tables::open(&[table, other]).unwrap().is_some());
}

#[test]
fn a_table_of_a_run_counts_its_measured_phase() {
    let rows = [None, Some(0), Some(0), None].iter().zip(1..);
    let rows: Vec<Transaction> = rows.map(|(level, ms)| read(10 * ms, Vantage::Client, *level)).collect();
    let tables = opened(&rows).unwrap();
    assert!(tables.measured_only);
    assert_eq!(tables.span_ns(), Some((BEGIN + 19 * MS, BEGIN + 30 * MS)));
    let facts = tables.facts();
    assert!(facts.warnings[0].starts_with("2 rows are left out"), "{facts:?}");
    let without: Vec<Transaction> = (1..3).map(|ms| read(ms, Vantage::Client, None)).collect();
    let tables = opened(&without).unwrap();
    assert!(!tables.measured_only && tables.facts().warnings[0].starts_with("No row is of a measured phase"));
}

/// Tables of two captures, or of a merged recording: both have a connection 0.
#[test]
fn connections_of_several_captures_are_told_apart_by_their_ends() {
    let row = |port: u16, connection: u32, vantage| {
        let mut row = read(1, vantage, None);
        (row.client.port, row.connection) = (port, connection);
        row
    };
    let count =
        |vantage| opened(&[row(700, 0, vantage), row(800, 0, vantage), row(800, 0, vantage)]).unwrap().connections;
    assert_eq!(count(Vantage::Wire), 2);
    assert_eq!(count(Vantage::Client), 1, "a connection of a run is made again");
    let mut callback = row(700, 0, Vantage::Wire);
    (callback.client, callback.server) = (callback.server, callback.client);
    assert_eq!(opened(&[row(700, 0, Vantage::Wire), callback]).unwrap().connections, 1);
}

/// Every operation of a closed loop has an intended start, too: it is the end of the one before.
#[test]
fn an_intended_start_alone_is_no_schedule() {
    let tables = opened(&[read(1, Vantage::Client, Some(0)), read(2, Vantage::Client, Some(0))]).unwrap();
    let facts = tables.facts();
    assert_eq!(tables.headline(), Headline::Response);
    assert!(facts.warnings.iter().any(|warning| warning.contains("does not show whether the run had a schedule")));
    assert!(facts.reasons[0].text.starts_with("The input is a table of a run"), "{facts:?}");
    assert_eq!((facts.reasons[0].verdict, tables.level_name().as_str()), (Verdict::Partial, "whole table"));
}

#[test]
fn a_table_of_a_capture_does_not_show_losses() {
    let tables = opened(&[read(1, Vantage::Wire, None), read(2, Vantage::Wire, None)]).unwrap();
    let facts = tables.facts();
    assert_eq!((tables.headline(), facts.warnings.len()), (Headline::Response, 0));
    assert!(facts.reasons[0].text.contains("does not show whether the capture dropped packets"), "{facts:?}");
    assert_eq!(tables.level_name(), "whole capture");
}

#[test]
fn rows_whose_numbers_mean_nothing_together_are_refused() {
    let clocks = opened(&[read(1, Vantage::Wire, None), read(2, Vantage::Client, Some(0))]).err().unwrap();
    assert!(clocks.contains("some rows have times of a capture, others those of a client"), "{clocks}");
    let levels = opened(&[read(1, Vantage::Client, Some(0)), read(2, Vantage::Client, Some(2))]).err().unwrap();
    assert!(levels.contains("the rows are of several load levels, from 0 to 2"), "{levels}");
}

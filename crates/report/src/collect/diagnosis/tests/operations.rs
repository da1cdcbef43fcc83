//! Operations that are slow in themselves.

use plimsoll_model::{ClientPath, Outcome, Procedure, Protocol};

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// 200 reads and opens of 1 ms; after every fourth a FLUSH of `took_ns`. Three clients, 40 files.
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
    text.begins("The operation flush is slow for all 3 clients: it took 62.");
    text.has("(50 requests), 63 times as long as the mean of all other operations (1.00 ms)");
}

#[test]
fn the_clients_of_a_slow_operation_are_said() {
    // The capture has a fourth client, whose requests cannot be read.
    let mut unread = flushes(|i| (60 + i % 7) * MS);
    unread.coverage.client_paths = vec![ClientPath::new([10, 0, 0, 9].into())];
    unread.first(Rule::SlowOperation).begins("The operation flush is slow for all 3 clients that use it: it took");
    let some = flushes(|i| if i % 3 == 0 { 40 * MS } else { 200 * MS }).first(Rule::SlowOperation);
    some.begins("The operation flush is slow for some of the 3 clients that use it: it took");
    let mut traffic = Traffic::new();
    for i in 0..200 {
        traffic.request(read(), 1, DATA, &format!("f{}", i % 40), MS);
        if i % 4 == 0 {
            traffic.request(Procedure::of(Protocol::Smb2, 7), 1, DATA, &format!("f{}", i % 40), 60 * MS);
        }
    }
    traffic.first(Rule::SlowOperation).begins("The operation flush is slow for client 10.0.0.1: it took 60.0 ms");
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

/// 240 opens of four clients on two shares: the slow part takes `took_ms`, the others 1 ms; as many reads of 1 ms.
fn partly_slow(is_slow: impl Fn(usize) -> bool, took_ms: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..240 {
        let (client, share) = ((i % 4) as u8, if i % 8 < 4 { DATA } else { r"\\server1\home" });
        let took_ns = if is_slow(i) { took_ms * MS } else { MS };
        let split = |t: &mut plimsoll_model::Transaction| t.timeline.response_first = t.timeline.response_last;
        traffic.changed(open(), client, share, &format!("f{}", i % 60), took_ns, split);
        traffic.changed(read(), client, share, &format!("f{}", i % 60), MS, split);
    }
    traffic
}

#[test]
fn a_part_of_an_operation_that_is_slow_for_all_is_accused() {
    // Of all clients, on both shares, all the time.
    let text = partly_slow(|i| (i / 8 + i % 4) % 4 == 3, 60).first(Rule::SlowOperation);
    text.begins(
        "Many requests for the operation open are slow for all 4 clients on 2 shares: 60 of 240 requests took 60.0 \
            ms on average. All other requests, for any operation, took only 1.00 ms on average.",
    );
}

#[test]
fn opens_that_are_refused_late_are_not_called_slow_for_another_reason() {
    let mut traffic = Traffic::new();
    for i in 0..240 {
        let (client, path, is_refused) = ((i % 4) as u8, format!("f{}", i % 60), (i / 8 + i % 4) % 4 == 3);
        traffic.changed(open(), client, DATA, &path, if is_refused { 950 * MS } else { MS }, |t| {
            t.timeline.response_first = t.timeline.response_last;
            if is_refused {
                (t.status, t.outcome) = (Some(0xC000_0043), Outcome::of_status(open(), 0xC000_0043));
            }
        });
        traffic.request(read(), client, DATA, &path, MS);
    }
    let statements = traffic.diagnosis().statements;
    let is_refusal = |text: &str| text.starts_with("60 open requests got 0xc0000043");
    assert!(statements.iter().any(|one| is_refusal(&one.text)), "{statements:#?}");
    assert!(!statements.iter().any(|one| one.rule == Rule::SlowOperation), "{statements:#?}");
}

#[test]
fn few_requests_or_a_time_of_slow_ones_are_no_slow_operation() {
    let said = |traffic: Traffic| traffic.rules().contains(&Rule::SlowOperation);
    assert!(!said(partly_slow(|i| (i / 8 + i % 4) % 6 == 5, 60)), "one in six");
    assert!(!said(partly_slow(|i| (i / 8 + i % 4) % 4 == 3, 25)), "two accesses to a disk");
    assert!(!said(partly_slow(|i| i >= 180, 60)), "all of them at the end, which takes nearly all of the time");
}

/// 40 requests per second of three clients for 2 s; then client 7 lists `times` times, 3 ms each, with pauses.
fn storm(times: usize, pause_ms: i64) -> Traffic {
    let (mut traffic, list) = (Traffic::new(), Procedure::of(Protocol::Nfs3, 17));
    for i in 0..90 {
        traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 30), MS);
        traffic.pause(24 * MS);
    }
    for i in 0..times {
        traffic.request(list, 7, DATA, &format!("dir{}", i % 40), 3 * MS);
        traffic.pause(pause_ms * MS);
    }
    traffic
}

#[test]
fn a_client_that_makes_nearly_all_of_the_load_is_named() {
    storm(500, 0).first(Rule::BusyClient).begins(
        "Client 10.0.0.7 causes most of the load: it sent 500 requests (85 % of all requests) at 332 requests per second from 2023-11-14 22:13:22 UTC on. Most frequent operations: list 100 %. Each of the 3 other clients sends at most 13 requests per second. The requests of client 10.0.0.7 account for 94 % of all time waited.",
    );
    let said = |times, pause_ms| storm(times, pause_ms).rules().contains(&Rule::BusyClient);
    assert!(!said(500, 4), "it pauses");
    assert!(said(1_500, 4), "94 % of all requests, and an answer at once");
    assert!(!said(1_500, 10), "fewer than 100 requests per second");
    let mut selected = storm(500, 0);
    for (filter, expected) in [("--from 1s", true), ("--server nas", false), ("--operation list", false)] {
        selected.filters = vec![filter.to_owned()];
        assert_eq!(selected.rules().contains(&Rule::BusyClient), expected, "{filter}");
    }
}

/// Of another client, only requests that wait for notifications were captured, or others cannot be read.
#[test]
fn a_busy_client_is_named_beside_few_requests_that_cannot_be_read() {
    let said = |segments: u64, encrypted: u64| {
        let mut traffic = storm(500, 0);
        let data_segments = [segments; 2];
        traffic.coverage.client_paths = vec![ClientPath { data_segments, ..ClientPath::new([10, 0, 0, 99].into()) }];
        traffic.coverage.encrypted.messages[0] = encrypted;
        let statements = traffic.diagnosis().statements;
        statements.into_iter().find(|one| one.rule == Rule::BusyClient).map(|one| one.text)
    };
    said(3, 2).unwrap().has(" Each other client whose requests are known sends at most 13 requests per second.");
    assert_eq!(said(6, 0), None, "another client may send as many requests");
    assert_eq!(said(3, 3), None, "of encrypted requests it is not known whose they are");
}

/// A table of one row answers nothing.
#[test]
fn the_next_command_splits_by_what_has_several_values() {
    let next = |clients: u8, path: &str| {
        let mut traffic = Traffic::new();
        (0..40).for_each(|i| traffic.request(read(), i % clients, DATA, &format!("{path}{}", i % 5), MS));
        traffic.diagnosis().next.unwrap()
    };
    assert!(next(3, "f").ends_with(" --operation read --by client"), "{}", next(3, "f"));
    assert!(next(1, "f").ends_with(" --operation read --by path"), "{}", next(1, "f"));
    let mut traffic = Traffic::new();
    (0..40).for_each(|_| traffic.changed(read(), 1, DATA, "f", MS, |t| t.path = plimsoll_model::Symbol::NONE));
    traffic.diagnosis().next.unwrap().ends(" --operation read --by second");
}

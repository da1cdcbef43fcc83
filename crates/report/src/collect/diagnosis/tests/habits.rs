//! Avoidable requests of clients.

use plimsoll_model::{ClientPath, Outcome, Procedure, Protocol};

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

fn work(traffic: &mut Traffic, requests: usize) {
    (0..requests)
        .for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
}

fn said(traffic: &Traffic, rule: Rule) -> Option<String> {
    traffic.diagnosis().statements.into_iter().find(|one| one.rule == rule).map(|one| one.text)
}

#[test]
fn names_that_do_not_exist_are_said_where_most_look_ups_are_for_them() {
    let (mut many, mut few) = (Traffic::new(), Traffic::new());
    work(&mut many, 400);
    work(&mut few, 4_000);
    (0..600).for_each(|_| many.error(open(), 0xC000_0034, 2 * MS));
    (0..600).for_each(|_| few.error(open(), 0xC000_0034, 2 * MS));
    said(&many, Rule::AbsentNames).unwrap().begins(
        "Clients look for names that do not exist: 600 requests (75 % of all requests for the same operations) took 2.00 ms each on average, together 75 % of all time waited.",
    );
    assert_eq!(said(&few, Rule::AbsentNames), None, "most names are there");
}

#[test]
fn a_flush_for_each_write_is_said_and_one_for_many_is_not() {
    let written = |writes_per_flush: usize| {
        let mut traffic = Traffic::new();
        work(&mut traffic, 200);
        for i in 0..300 {
            let path = format!("f{}", i % 20);
            (0..writes_per_flush).for_each(|_| traffic.request(Procedure::of(Protocol::Smb2, 9), 1, DATA, &path, MS));
            traffic.request(Procedure::of(Protocol::Smb2, 7), 1, DATA, &path, 9 * MS);
        }
        traffic
    };
    said(&written(1), Rule::Flushes).unwrap().begins(
        "Clients flush after every few writes: 300 flush requests (9.00 ms each on average) for 300 write requests (1.00 ms each).",
    );
    assert_eq!(said(&written(4), Rule::Flushes), None);
}

#[test]
fn a_flush_that_belongs_to_the_close_of_a_file_is_no_habit() {
    let (write, flush) = (Procedure::of(Protocol::Nfs3, 7), Procedure::of(Protocol::Nfs3, 21));
    // Each file is written once, or written anew again and again.
    for files in [300, 20] {
        let mut traffic = Traffic::new();
        work(&mut traffic, 200);
        for i in 0..300 {
            let path = format!("new{}", i % files);
            traffic.request(Procedure::of(Protocol::Nfs3, 8), 1, DATA, &path, MS);
            traffic.request(write, 1, DATA, &path, MS);
            traffic.request(flush, 1, DATA, &path, 9 * MS);
        }
        assert_eq!(said(&traffic, Rule::Flushes), None, "{files} files");
    }
}

/// 3,000 sequential reads of `bytes` bytes from `files` files.
fn pieces(bytes: u64, files: usize) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..3_000 {
        traffic.changed(read(), 1, DATA, &format!("f{}", i % files), MS, |t| t.payload_bytes = Some(bytes));
    }
    traffic
}

#[test]
fn small_pieces_of_large_files_are_said() {
    let text = pieces(512, 3).first(Rule::SmallRequests);
    text.begins(
        "Clients read in small pieces, one at a time: 3,000 read requests (512 B each on average) took 1.00 ms each, together 100 % of all time waited.",
    );
    text.has("The same data would fit into 24 requests of 6");
    assert_eq!(said(&pieces(512, 300), Rule::SmallRequests), None, "small files");
    assert_eq!(said(&pieces(32_768, 3), Rule::SmallRequests), None, "large pieces");
    let mut slow = pieces(512, 3);
    (0..3_000).for_each(|_| slow.request(read(), 1, DATA, "f1", 9 * MS));
    assert_eq!(said(&slow, Rule::SmallRequests), None, "each is slow: the size is not the cause");
    let mut selected = pieces(512, 3);
    selected.filters = vec!["--operation read".to_owned()];
    assert_eq!(said(&selected, Rule::SmallRequests), None, "other requests may be outstanding at the same time");
}

/// `requests` list requests for one directory, with responses of `bytes` bytes, among others.
fn listed(bytes: u64, requests: usize) -> Traffic {
    let mut traffic = Traffic::new();
    work(&mut traffic, 200);
    let list = Procedure::of(Protocol::Smb2, 14);
    (0..requests).for_each(|_| traffic.changed(list, 1, DATA, "mail", 4 * MS, |t| t.response_bytes = Some(bytes)));
    traffic
}

#[test]
fn a_directory_is_named_whose_listing_takes_the_time() {
    said(&listed(64_000, 300), Rule::Listing)
        .unwrap()
        .begins(r"Listing a large directory takes long: 300 list requests for mail of share \\server1\data returned ");
    said(&listed(900, 300), Rule::Listing).unwrap().begins("Clients list the same directory many times: 300");
    assert_eq!(said(&listed(900, 90), Rule::Listing), None, "a short directory, a few times");
    assert_eq!(said(&listed(64_000, 10), Rule::Listing), None, "a sixth of the waiting");
}

#[test]
fn a_client_that_connects_for_every_few_requests_is_named() {
    let connected = |handshakes: u64, encrypted: u64, unanswered: u64| {
        let mut traffic = Traffic::new();
        traffic.coverage.encrypted.messages = [encrypted, encrypted];
        for _ in 0..unanswered {
            traffic.changed(open(), 7, DATA, "f", MS, |t| {
                (t.status, t.outcome) = (None, Outcome::Unanswered);
                (t.timeline.response_first, t.timeline.response_last) = (None, None);
            });
        }
        for i in 0..240 {
            (0..3).for_each(|_| traffic.request(Procedure::of(Protocol::Smb2, 1), 7, DATA, "", 6 * MS));
            traffic.request(open(), 7, DATA, &format!("f{i}"), MS);
        }
        traffic.coverage.client_paths = vec![ClientPath { handshakes, ..ClientPath::new([10, 0, 0, 7].into()) }];
        said(&traffic, Rule::Reconnects)
    };
    let text = connected(240, 0, 0).unwrap();
    text.begins(
        "Client 10.0.0.7 connects again and again: 240 new connections with 4 requests each on average. Of these requests, 75 %",
    );
    assert_eq!(connected(3, 0, 0), None);
    for (encrypted, unanswered, counted) in
        [(350, 0, "4 readable requests"), (0, 9, "4 answered requests"), (350, 9, "4 readable and answered requests")]
    {
        let text = connected(240, encrypted, unanswered).unwrap();
        assert!(text.contains(&format!("240 new connections with {counted} each on average.")), "{text}");
    }
}

/// 200 writes of `bytes` bytes of client 1 that wait for stable storage, among others that do not, and other work.
fn durable(bytes: u64, took_ns: i64, share: &str) -> Traffic {
    let mut traffic = Traffic::new();
    work(&mut traffic, 200);
    let write = Procedure::of(Protocol::Nfs3, 7);
    for i in 0..200 {
        let path = format!(r"log\journal{}", i % 3);
        traffic.changed(write, 1, share, &path, took_ns, |t| {
            (t.payload_bytes, t.asked.durable) = (Some(bytes), Some(true));
        });
        traffic.changed(write, 2, DATA, &format!(r"doc\d{}", i % 9), MS / 2, |t| t.asked.durable = Some(false));
    }
    traffic
}

#[test]
fn small_writes_that_wait_for_stable_storage_are_the_cause_not_their_directory() {
    let traffic = durable(4_096, 8 * MS, DATA);
    let text = traffic.first(Rule::DurableWrites);
    text.begins(
        "Each small write waits for stable storage: 200 write requests by client 10.0.0.1 on share \\\\server1\\data ask the server to store their data before",
    );
    text.has("write-through). On average, each of them carried 4.10 kB and took 8.00 ms");
    text.has(" (other writes: 500 µs). Together, they account for 84 % of all time waited.");
    let rules = traffic.rules();
    assert!(!rules.contains(&Rule::SlowClient) && !rules.contains(&Rule::SlowPath), "{rules:?}");
}

#[test]
fn the_round_trip_of_a_durable_write_is_not_the_time_of_the_storage() {
    let far = |took_ns: i64, to_server_ns: Option<u64>| {
        let mut traffic = durable(4_096, took_ns, DATA);
        traffic.coverage.network.to_server_ns = to_server_ns;
        said(&traffic, Rule::DurableWrites)
    };
    assert!(far(4_300_000, None).is_some_and(|text| !text.contains("round trip")));
    assert_eq!(far(4_300_000, Some(4_000_000)), None, "the storage takes 0.3 ms");
    far(8 * MS, Some(4_000_000))
        .unwrap()
        .has("(other writes: 500 µs). The network round trip to the server took 4.00 ms of this time.");
    // Another client is near, and this one is not.
    let mut traffic = durable(4_096, 4_300_000, DATA);
    traffic.coverage.network.to_server_ns = Some(100_000);
    let mut path = ClientPath::new([10, 0, 0, 1].into());
    path.round_trips[0].least_ns = Some(4_000_000);
    traffic.coverage.client_paths = vec![path];
    assert_eq!(said(&traffic, Rule::DurableWrites), None);
}

#[test]
fn durable_writes_that_are_large_or_quick_are_no_cause_nor_those_of_one_slow_share() {
    assert_eq!(said(&durable(262_144, 8 * MS, DATA), Rule::DurableWrites), None, "large");
    assert_eq!(said(&durable(4_096, MS, DATA), Rule::DurableWrites), None, "quick");
    let mut slow = durable(4_096, 20 * MS, r"\\server1\slow");
    let write = Procedure::of(Protocol::Nfs3, 7);
    (0..100).for_each(|_| {
        slow.changed(write, 3, DATA, "f", MS, |t| (t.payload_bytes, t.asked.durable) = (Some(4_096), Some(true)));
    });
    assert_eq!(said(&slow, Rule::DurableWrites), None, "elsewhere such writes take 1 ms");
}

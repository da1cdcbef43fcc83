//! Clients that cannot connect.

use plimsoll_model::{ClientPath, Endpoint, Unopened};

use super::built::{MS, START_NS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// Work of two clients; client 2 cannot connect to a port of another server so many times.
fn refused(port: u16, refused: u64, unanswered: u64) -> Traffic {
    let mut traffic = Traffic::new();
    (0..300)
        .for_each(|i| traffic.request([open(), read()][i % 2], 1 + (i % 2) as u8, DATA, &format!("f{}", i % 90), MS));
    let path = |client: u8| ClientPath { connections: 1, ..ClientPath::new([10, 0, 0, client].into()) };
    traffic.coverage.client_paths = vec![path(1), path(2)];
    traffic.coverage.unopened = vec![Unopened {
        server: Endpoint { ip: [10, 0, 1, 9].into(), port },
        client: [10, 0, 0, 2].into(),
        refused,
        unanswered,
        wait_ns: unanswered * 3_000_000_000,
        first_ns: START_NS,
        last_ns: START_NS + 9_000 * MS,
    }];
    traffic
}

#[test]
fn connections_that_cannot_be_opened_are_said_with_the_server_and_the_reason() {
    let text = refused(445, 4, 0).first(Rule::Unopened);
    assert_eq!(
        text,
        "Between 2023-11-14 22:13:20 UTC and 2023-11-14 22:13:29 UTC, client 10.0.0.2 could not open 4 connections to 10.0.1.9:445: the \
         server refused each of them (RST). Response times do not show this. Check whether the file service runs on this server, and \
         whether a firewall blocks the connections."
    );
    refused(2049, 0, 3)
        .first(Rule::Unopened)
        .has(": the server did not answer, although TCP retransmitted the SYN for 9.00 s in all.");
}

#[test]
fn a_port_that_is_only_tried_is_no_trouble() {
    assert!(!refused(139, 10, 0).rules().contains(&Rule::Unopened), "NetBIOS beside port 445");
    assert!(!refused(445, 2, 0).rules().contains(&Rule::Unopened), "twice");
    let mut scan = refused(445, 200, 0);
    scan.coverage.client_paths.pop();
    assert!(!scan.rules().contains(&Rule::Unopened), "it uses no file server");
}

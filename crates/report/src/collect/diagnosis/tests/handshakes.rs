//! Connections that were opened late.

use plimsoll_model::ClientPath;

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// Work of three clients, of which client 2 opened so many connections late, each after so many ms.
fn late(connections: u64, ms: u64) -> Traffic {
    let mut traffic = Traffic::new();
    (0..300).for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
    let path =
        |client: u8| ClientPath { connections: 10, handshakes: 10, ..ClientPath::new([10, 0, 0, client].into()) };
    let handshakes = 10 - connections;
    let late_handshake_ns = connections * ms * MS as u64;
    let of_2 = ClientPath { handshakes, late_handshakes: connections, late_handshake_ns, ..path(2) };
    traffic.coverage.client_paths = vec![path(1), of_2, path(3)];
    traffic
}

#[test]
fn connections_that_open_late_are_said_with_the_client_and_the_time() {
    let text = late(10, 1_030).first(Rule::LateHandshakes);
    assert_eq!(
        text,
        "Client 10.0.0.2 opened 10 of 10 connections late: the handshake took 1.03 s on average (10.3 s in all), because TCP \
        retransmitted the SYN or the SYN-ACK. The 2 other clients had no late connections. Response times do not include this time. \
        Packets were lost, or the server did not accept connections in time."
    );
    assert!(!late(2, 1_030).rules().contains(&Rule::LateHandshakes), "two may be chance");
    assert!(!late(10, 1).rules().contains(&Rule::LateHandshakes), "10 ms in all");
}

/// Of other clients, the capture has connections, but not the beginnings: nothing is known of these.
#[test]
fn one_of_several_other_clients_is_not_the_other_client() {
    let mut traffic = late(10, 1_030);
    traffic.coverage.client_paths[2].handshakes = 0;
    traffic.first(Rule::LateHandshakes).has(" One other client had no late connections.");
    traffic.coverage.client_paths.pop();
    traffic.first(Rule::LateHandshakes).has(" The other client had no late connections.");
}

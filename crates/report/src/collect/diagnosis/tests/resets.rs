//! Connections that are reset, and SMB versions that are refused.

use plimsoll_model::{Endpoint, Outcome, Procedure, Protocol, Resets};

use super::built::{MS, START_NS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

fn work() -> Traffic {
    let mut traffic = Traffic::new();
    (0..300).for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
    traffic
}

#[test]
fn a_client_whose_connections_are_reset_again_and_again_is_named_if_others_have_none() {
    let reset = |count: u64, others_reset: u64| {
        let mut traffic = work();
        traffic.coverage.resets = vec![Resets {
            server: Endpoint { ip: [10, 0, 1, 1].into(), port: 445 },
            client: [10, 0, 0, 2].into(),
            count,
            from_client: count,
            span_ns: (START_NS, START_NS + 42_000 * MS),
            back_after_ns: 80_000_000,
            others: 2,
            others_reset,
        }];
        traffic
    };
    assert_eq!(
        reset(7, 0).first(Rule::Reconnects),
        "7 connections of client 10.0.0.2 to server 10.0.1.1:445 ended with a TCP reset while they were in use, from 2023-11-14 22:13:20 \
         UTC to 2023-11-14 22:14:02 UTC. The client connected again each time, at most 80.0 ms later. The server has 2 other clients, \
         without such resets. The captured resets have the client's address as source. But a device between client and server, e.g. a \
         firewall, can also send resets with such an address: check the devices on the path and the programs on the client."
    );
    let is_said = |traffic: Traffic| traffic.rules().contains(&Rule::Reconnects);
    assert!(!is_said(reset(2, 0)), "twice");
    assert!(!is_said(reset(7, 1)), "another client too");
    let mut filtered = reset(7, 0);
    filtered.filters = vec!["--client 10.0.0.2".to_owned()];
    assert!(!is_said(filtered));
}

#[test]
fn a_client_is_named_whose_smb_versions_the_server_refuses() {
    let refused = |count: usize| {
        let mut traffic = work();
        for _ in 0..count {
            traffic.changed(Procedure::of(Protocol::Smb1, 0x72), 7, DATA, "", MS, |t| {
                (t.status, t.outcome) = (Some(0), Outcome::Refused);
            });
        }
        traffic
    };
    refused(10).first(Rule::ErrorStatuses).begins(
        "The server refused 10 SMB1 NEGOTIATE requests, because it accepts no SMB version that client 10.0.0.7 offers. The first: 2023-",
    );
    assert!(!refused(2).rules().contains(&Rule::ErrorStatuses));
}

//! Negotiation, logon and mount.

use plimsoll_model::{Procedure, Protocol};

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

fn of(code: u16) -> Procedure {
    Procedure::of(Protocol::Smb2, code)
}

/// Clients that connect with these times, and work; every other request takes `other_ns`.
fn connected(clients: u8, negotiate_ms: i64, logon_ms: i64, other_ns: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for client in 1..=clients {
        traffic.request(of(0), client, DATA, "", negotiate_ms * MS);
        (0..2).for_each(|_| traffic.request(of(1), client, DATA, "", logon_ms * MS));
        (0..60).for_each(|i| traffic.request([open(), read()][i % 2], client, DATA, &format!("f{}", i % 20), other_ns));
    }
    traffic
}

#[test]
fn a_name_service_that_does_not_answer_delays_what_sets_connections_up() {
    let text = connected(2, 5_000, 2_500, MS).first(Rule::SlowSetUp);
    text.begins(
        "Only connection set-up is slow for both clients: NEGOTIATE (2 requests, 5.00 s on average), SESSION_SETUP (4 requests, 2.50 s on \
             average). On average, a set-up request takes 3333 times as long as any other request (1.00 ms). Set-up requests account for 99",
    );
    text.has("a name service (DNS), a domain controller or ID mapping (SIDs to UIDs)");
    let logon = connected(3, 1, 900, MS).first(Rule::SlowSetUp);
    logon.has("Only connection set-up is slow for all 3 clients: SESSION_SETUP (6 requests");
    logon.has("a domain controller");
}

#[test]
fn a_slow_set_up_is_no_cause_where_everything_is_slow_or_one_request_was() {
    let said = |traffic: Traffic| traffic.rules().contains(&Rule::SlowSetUp);
    assert!(!said(connected(2, 5, 9, MS)), "healthy");
    assert!(!said(connected(2, 400, 300, 40 * MS)), "all is slow");
    assert!(!said(connected(1, 900, 1, MS)), "one request");
}

#[test]
fn the_client_is_named_where_others_connect_quickly() {
    let mut traffic = connected(3, 2, 2, MS);
    for _ in 0..2 {
        traffic.request(of(0), 9, DATA, "", 4_000 * MS);
        traffic.request(of(1), 9, DATA, "", 4_000 * MS);
    }
    traffic.first(Rule::SlowSetUp).begins("Only connection set-up is slow for client 10.0.0.9:");
}

/// The quick ends of sessions are the same operation as their slow beginnings.
#[test]
fn a_client_that_also_ends_sessions_is_slow_too() {
    let mut traffic = connected(2, 400, 400, MS);
    (0..20).for_each(|_| traffic.request(of(2), 2, DATA, "", MS));
    traffic
        .first(Rule::SlowSetUp)
        .begins("Only connection set-up is slow for both clients: SESSION_SETUP (4 requests, 400 ms");
}

#[test]
fn a_slow_set_up_is_no_cause_where_clients_wait_longer_for_something_that_is_slow_too() {
    let mut traffic = connected(3, 120, 1, MS);
    let flush = of(7);
    (0..100).for_each(|i| traffic.request(flush, 1 + (i % 3) as u8, DATA, &format!("f{}", i % 20), 40 * MS));
    assert!(connected(3, 120, 1, MS).rules().contains(&Rule::SlowSetUp));
    assert!(!traffic.rules().contains(&Rule::SlowSetUp), "{:#?}", traffic.diagnosis());
}

//! Hosts that wait for a DNS server.

use std::net::IpAddr;

use plimsoll_model::{NameLookup, NameServer, Procedure, Protocol, Symbol};

use super::built::{MS, START_NS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";
const DNS: u8 = 53;

fn ip(client: u8) -> IpAddr {
    [10, 0, 0, client].into()
}

/// The server of the built traffic.
fn server() -> IpAddr {
    [10, 0, 1, b'1'].into()
}

/// A question of a host at an instant, ms, and when it was answered.
fn lookup(asker: IpAddr, at_ms: i64, answered_ms: Option<i64>) -> NameLookup {
    let at = |ms: i64| START_NS + ms * MS;
    NameLookup {
        asker,
        server: ip(DNS),
        name: Symbol::NONE,
        first_ns: at(at_ms),
        last_ns: at(at_ms),
        questions: 1,
        answered_ns: answered_ms.map(at),
        is_answered_by_first: false,
        connected_ns: None,
    }
}

fn work(traffic: &mut Traffic) {
    (0..300).for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
}

/// Work, and a DNS server that got ten questions and sent `answers` answers.
fn asked(answers: u64) -> Traffic {
    let mut traffic = Traffic::new();
    work(&mut traffic);
    traffic.coverage.name_servers = vec![NameServer { server: ip(DNS), questions: 10, answers }];
    traffic
}

/// Clients 1 and 2 connect once each, `after_ms` after the answer to their question, which took 3 s.
fn connected(after_ms: i64) -> Traffic {
    let mut traffic = asked(0);
    let mut lookups: Vec<NameLookup> = (1..=2).map(|client| lookup(ip(client), 100, Some(3_100))).collect();
    lookups.iter_mut().for_each(|one| one.connected_ns = one.answered_ns.map(|ns| ns + after_ms * MS));
    // The question for the other address family, sent at the same time.
    lookups.push(NameLookup { first_ns: lookups[0].first_ns + MS, ..lookups[0] });
    traffic.coverage.name_lookups = lookups;
    traffic
}

#[test]
fn a_client_that_connects_when_it_has_learnt_the_name_waited_for_it() {
    assert_eq!(
        connected(2).first(Rule::NameService),
        "DNS server 10.0.0.53 does not answer: 10 DNS requests got no response. Client 10.0.0.2 asks this DNS server. The client waited for an answer before 1 connection to file servers: 3.00 s in all, at most 3.00 s each. Response times do not include this wait. Check the DNS servers in the configuration \
         of 10.0.0.2, and whether 10.0.0.2 can reach them."
    );
    assert!(!connected(1_500).rules().contains(&Rule::NameService), "it did something else first");
    let mut filtered = connected(2);
    filtered.filters = vec!["--client 10.0.0.1".to_owned()];
    assert!(!filtered.rules().contains(&Rule::NameService));
    let mut lossy = connected(2);
    (lossy.coverage.unseen.paired, lossy.coverage.packets.dropped_at_least) = (1_000, 1);
    assert!(!lossy.rules().contains(&Rule::NameService), "the answer may be among the lost packets");
}

/// Three NEGOTIATE requests of client 1 took 4 s each; the server asked for a name `asked_ms` after each of them came.
fn negotiated(asked_ms: i64, answered_ms: Option<i64>) -> Traffic {
    negotiated_with(DATA, asked_ms, answered_ms)
}

/// The same, with the requests sent to the server of a share.
fn negotiated_with(share: &str, asked_ms: i64, answered_ms: Option<i64>) -> Traffic {
    let mut traffic = asked(5);
    let negotiate = Procedure::of(Protocol::Smb2, 0);
    for _ in 0..3 {
        let mut begin_ms = 0;
        traffic.changed(negotiate, 1, share, "", 4_000 * MS, |t| {
            t.timeline.response_first = t.timeline.response_last;
            begin_ms = (t.timeline.request_first.unwrap() - START_NS) / MS;
        });
        let answered_ms = answered_ms.map(|ms| begin_ms + ms);
        traffic.coverage.name_lookups.push(lookup(server(), begin_ms + asked_ms, answered_ms));
    }
    traffic
}

#[test]
fn a_server_that_asks_for_a_name_while_a_client_connects_keeps_the_client_waiting() {
    negotiated(1, None).first(Rule::NameService).begins(
        "DNS server 10.0.0.53 answers late or not at all: 5 responses to 10 DNS requests. File server 10.0.1.49 asks this DNS server. 3 requests to set up connections waited for an answer: 12.0 s in all, at most 4.00 s each.",
    );
    assert!(!negotiated(1, None).rules().contains(&Rule::SlowSetUp), "it is the same wait");
    negotiated(1, Some(3_990)).first(Rule::NameService);
    for (asked_ms, answered_ms, why) in
        [(3_000, None, "most of the time had passed"), (1, Some(500), "it was answered soon")]
    {
        let traffic = negotiated(asked_ms, answered_ms);
        assert!(!traffic.rules().contains(&Rule::NameService), "{why}");
        traffic.first(Rule::SlowSetUp);
    }
    let other = negotiated_with(r"\\server2\data", 1, None);
    assert!(!other.rules().contains(&Rule::NameService), "another server had the requests: {:#?}", other.diagnosis());
    other.first(Rule::SlowSetUp);
}

//! Servers from which nothing comes back.

use plimsoll_model::{ClientPath, Coverage, Endpoint, Names, Stuck, Symbol, Unfinished, WaitEnd};
use plimsoll_stats::Waiting;

use super::built::{MS, START_NS, Says, Traffic, open, read};
use super::{Evidence, Findings, diagnose};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// Work, followed by a segment of `bytes` bytes that client 2 sent six times within `ms`; the server had acknowledged 500 bytes at most.
fn unanswered(bytes: u32, ms: u64) -> Traffic {
    let mut traffic = Traffic::new();
    (0..300).for_each(|i| traffic.request([open(), read()][i % 2], (i % 3) as u8, DATA, &format!("f{}", i % 90), MS));
    traffic.coverage.client_paths = vec![ClientPath {
        unanswered: Stuck { segments: 1, copies: 6, ns: ms * MS as u64, bytes },
        unanswered_from_ns: Some(START_NS + 1_000 * MS),
        largest_acknowledged: [500, 1_448],
        ..ClientPath::new([10, 0, 0, 2].into())
    }];
    traffic
}

#[test]
fn a_server_from_which_nothing_comes_back_is_said_with_the_client_and_the_instant() {
    let text = unanswered(300, 12_000).first(Rule::Unanswered);
    assert_eq!(
        text,
        "Client 10.0.0.2 received no packets from the server on one connection from 2023-11-14 22:13:21 UTC on: TCP sent 1 request \
         segment (300 B or larger) up to 6 times within 12.0 s without an answer. Response times do not show this. Check whether the \
         server or the network path to the server was down."
    );
    unanswered(1_448, 12_000)
        .first(Rule::Unanswered)
        .has(" Before that, the server had acknowledged only smaller segments, of up to 500 B. A path that drops");
    let reasons = unanswered(300, 12_000).findings().validity.reasons.join(" ");
    let begin =
        "Requests of 10.0.0.2 got no response, because no packets came from the server on one connection: response";
    assert!(reasons.starts_with(begin), "{reasons}");
    let mut several = unanswered(300, 12_000);
    several.coverage.client_paths[0].unanswered.segments = 2;
    several.first(Rule::Unanswered).has("from the server on at least one connection from");
    assert!(!unanswered(300, 10).rules().contains(&Rule::Unanswered), "10 ms");
    let mut one_sided = unanswered(300, 12_000);
    one_sided.coverage.one_sided = 1;
    assert!(!one_sided.rules().contains(&Rule::Unanswered), "what the server sent was not captured");
}

/// A short capture of an outage: no request in it got a response.
#[test]
fn an_outage_without_any_response_is_no_server_that_hangs() {
    let mut coverage = unanswered(300, 12_000).coverage;
    coverage.unfinished = vec![Unfinished {
        server: Endpoint { ip: [10, 0, 0, 9].into(), port: 445 },
        client: [10, 0, 0, 2].into(),
        end: WaitEnd::Capture,
        end_ns: START_NS + 13_000 * MS,
        responded_ns: None,
        requests: 1,
        first_ns: START_NS + 1_000 * MS,
        last_ns: START_NS + 1_000 * MS,
        is_acknowledged: false,
        procedure: read(),
        share: Symbol::NONE,
        path: Symbol::NONE,
    }];
    let rules = |coverage: &Coverage| -> Vec<Rule> {
        let (findings, names) = (Findings::default(), Names::default());
        let evidence = Evidence {
            findings: &findings,
            waiting: Waiting::default(),
            tallies: None,
            coverage,
            names: &names,
            status_name: |_, _| None,
        };
        diagnose(&evidence).0.statements.iter().map(|statement| statement.rule).collect()
    };
    assert_eq!(rules(&coverage), [Rule::Unanswered]);
    coverage.client_paths.clear();
    coverage.unfinished[0].is_acknowledged = true;
    assert_eq!(rules(&coverage), [Rule::NoResponse], "its system acknowledges the request");
}

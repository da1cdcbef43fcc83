//! Requests without a response.

use plimsoll_model::{Anomaly, ClientPath, Coverage, Endpoint, OneSided, Restart, Unfinished, WaitEnd};

use super::built::{MS, START_NS, Says, Traffic, open, read};
use crate::findings::{Rule, Verdict};

const DATA: &str = r"\\server1\data";
const SECOND: i64 = 1_000 * MS;

/// Work of three clients for 12 s, and requests of client 2 without a response, each for a path, from a second to another one.
fn without_response(end: WaitEnd, requests: &[(&str, i64, i64)]) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..600 {
        traffic.request([open(), read()][i % 2], 1 + (i % 3) as u8, DATA, &format!("f{}", i % 90), MS);
        traffic.pause(19 * MS);
    }
    for &(path, from_s, to_s) in requests {
        let end_ns = START_NS + to_s * SECOND;
        let one = Unfinished {
            server: Endpoint { ip: [10, 0, 1, b'1'].into(), port: 445 },
            client: [10, 0, 0, 2].into(),
            end,
            end_ns,
            // The other clients get responses all the time.
            responded_ns: Some(traffic.now_ns().min(end_ns)),
            requests: 1,
            first_ns: START_NS + from_s * SECOND,
            last_ns: START_NS + from_s * SECOND,
            is_acknowledged: true,
            procedure: read(),
            share: traffic.name(DATA),
            path: traffic.name(path),
        };
        traffic.coverage.unfinished.push(one);
    }
    let connections = 4 + requests.len() as u64;
    traffic.coverage.client_paths = vec![ClientPath { connections, ..ClientPath::new([10, 0, 0, 2].into()) }];
    traffic
}

const CRASHES: [(&str, i64, i64); 4] = [("a.dwg", 1, 1), ("a.dwg", 3, 3), ("a.dwg", 7, 7), ("a.dwg", 9, 9)];

#[test]
fn a_server_that_ends_connections_is_said_with_the_client_and_the_file() {
    without_response(WaitEnd::Server, &CRASHES).first(Rule::CutOff).begins(
        r"Between 2023-11-14 22:13:21 UTC and 2023-11-14 22:13:29 UTC, server 10.0.1.49:445 ended 4 connections of client 10.0.0.2 while requests were outstanding: 4 requests got no response. On each of these connections, the last request was READ for a.dwg on share \\server1\data.",
    );
    without_response(WaitEnd::Server, &[("a", 1, 1), ("b", 3, 3), ("c", 7, 7)])
        .first(Rule::CutOff)
        .has("On each of these connections, the last request was READ. Response times");
}

#[test]
fn a_server_that_restarts_once_or_ends_a_connection_or_two_cuts_nobody_off() {
    assert!(!without_response(WaitEnd::Server, &CRASHES[..2]).rules().contains(&Rule::CutOff), "two");
    let mut restarted = without_response(WaitEnd::Server, &CRASHES);
    restarted.coverage.restarts = vec![Restart {
        server: Endpoint { ip: [10, 0, 1, b'1'].into(), port: 445 },
        closed_ns: (START_NS + SECOND, START_NS + 10 * SECOND),
        connections: 4,
        clients: 4,
        back: 4,
        back_after_ns: (1, 2),
        away_ns: 6,
    }];
    assert!(!restarted.rules().contains(&Rule::CutOff), "one restart");
    let mut many = without_response(WaitEnd::Server, &CRASHES);
    many.coverage.client_paths[0].connections = 400;
    assert!(!many.rules().contains(&Rule::CutOff), "4 of 400 connections");
    assert!(!without_response(WaitEnd::Capture, &CRASHES).rules().contains(&Rule::CutOff), "the end of the capture");
}

/// Requests on as many connections as the list has room for.
fn full_list(end: WaitEnd, (from_s, to_s): (i64, i64)) -> Traffic {
    without_response(end, &vec![("a", from_s, to_s); Coverage::UNFINISHED])
}

#[test]
fn a_full_list_gives_lower_bounds() {
    for (traffic, rule, counts) in [
        (
            full_list(WaitEnd::Server, (1, 2)),
            Rule::CutOff,
            ["ended at least 1,024 connections", "at least 1,024 requests got no response. Response times"].as_slice(),
        ),
        (
            full_list(WaitEnd::Client, (1, 12)),
            Rule::NoResponse,
            &["At least 1,024 requests of client 10.0.0.2 on at least 1,024 connections got no response for up to"],
        ),
        (full_list(WaitEnd::Capture, (12, 30)), Rule::NoResponse, &["does not respond: at least 1,024 requests of"]),
    ] {
        let text = traffic.first(rule);
        assert!(counts.iter().all(|count| text.contains(count)), "{text}");
        assert!(!text.contains("the last request"), "nothing is known of further connections: {text}");
        let reasons = traffic.findings().validity.reasons.join(" ");
        assert!(reasons.to_lowercase().contains("at least 1,024 requests"), "{reasons}");
    }
}

#[test]
fn a_capture_that_was_blind_while_requests_waited_does_not_show_that_a_server_cut_them_off() {
    // Each waits for a second until the server ends its connection.
    let ended = [("a.dwg", 1, 2), ("a.dwg", 3, 4), ("a.dwg", 7, 8), ("a.dwg", 9, 10)];
    let down = |from_ms: i64, to_ms: i64| {
        let mut traffic = without_response(WaitEnd::Server, &ended);
        let [from_ns, to_ns] = [from_ms, to_ms].map(|ms| START_NS + ms * MS);
        traffic.coverage.downtime.begin(from_ns);
        traffic.coverage.downtime.end(from_ns, to_ns);
        traffic.rules().contains(&Rule::CutOff)
    };
    assert!(down(5_000, 6_000), "between the waits");
    assert!(down(1_200, 1_900), "three waits were seen");
    assert!(!down(1_200, 3_500), "two waits were seen");
    let mut lossy = without_response(WaitEnd::Server, &ended);
    assert!(lossy.rules().contains(&Rule::CutOff));
    drop_packets(&mut lossy);
    assert!(!lossy.rules().contains(&Rule::CutOff), "lost packets that left no gap");
}

#[test]
fn a_request_that_gets_no_response_while_others_do_is_said_with_its_path() {
    for end in [WaitEnd::Capture, WaitEnd::Client] {
        without_response(end, &[("hung.iso", 1, 12)]).first(Rule::NoResponse).begins(
            "1 request of client 10.0.0.2 got no response for 11.0 s. The request was sent at 2023-11-14 22:13:21 UTC. The server responded to other requests during this time. The last request was READ for hung.iso on share",
        );
    }
}

/// The server hung for ten seconds, until the client gave up, and works again now.
#[test]
fn responses_before_or_after_the_wait_are_none_during_the_wait() {
    let is_said = |responded_ms: Option<i64>| {
        let mut traffic = without_response(WaitEnd::Client, &[("hung.iso", 1, 11)]);
        traffic.coverage.unfinished[0].responded_ns = responded_ms.map(|ms| START_NS + ms * MS);
        traffic.rules().contains(&Rule::NoResponse)
    };
    assert!(is_said(Some(2_000)) && is_said(Some(11_000)));
    assert!(!is_said(Some(1_900)), "the last one before came 0.9 s after the request");
    assert!(!is_said(Some(11_100)) && !is_said(None));
}

#[test]
fn several_requests_without_a_response_are_said_with_their_connections() {
    let text = without_response(WaitEnd::Client, &[("a", 1, 12), ("b", 2, 14)]).first(Rule::NoResponse);
    let begin = "2 requests of client 10.0.0.2 on 2 connections got no response for up to 12.0 s. The first of these requests was sent at 2023-11-14 22:13:21 UTC.";
    assert!(text.starts_with(begin), "{text}");
    text.has("On each of these connections, the last request was READ. Response times");
}

#[test]
fn a_request_at_the_end_of_the_capture_waits_for_its_response() {
    assert!(!without_response(WaitEnd::Capture, &[("a", 11, 12)]).rules().contains(&Rule::NoResponse), "1 s");
    let mut pipe = without_response(WaitEnd::Capture, &[("srvsvc", 1, 12)]);
    pipe.coverage.unfinished[0].procedure = plimsoll_model::Procedure::of(plimsoll_model::Protocol::Smb2, 11);
    assert!(!pipe.rules().contains(&Rule::NoResponse), "a pipe");
}

#[test]
fn a_server_that_responds_to_nobody_any_more_is_said_with_its_last_response() {
    without_response(WaitEnd::Capture, &[("a", 12, 30), ("b", 13, 30)]).first(Rule::NoResponse).begins(
        "Server 10.0.1.49:445 does not respond: 2 requests of client 10.0.0.2 got no response for up to 18.0 s. The first of them was sent at 2023-11-14 22:13:32 UTC; the last response of this server came at 2023-11-14 22:13:3",
    );
    let mut other = without_response(WaitEnd::Capture, &[("a", 1, 12)]);
    (other.coverage.unfinished[0].server.port, other.coverage.unfinished[0].responded_ns) = (446, None);
    other.first(Rule::NoResponse).has("the capture has no response of this server at all.");
}

/// Its request is 1 % of all time waited.
#[test]
fn a_silent_server_beside_a_busy_one_is_said_with_its_address() {
    let silent = |is_acknowledged: bool| {
        let mut traffic = without_response(WaitEnd::Client, &[("a", 1, 12)]);
        traffic.request(read(), 3, DATA, "slow", 1_000 * SECOND);
        let one = &mut traffic.coverage.unfinished[0];
        (one.server.port, one.responded_ns, one.is_acknowledged) = (446, None, is_acknowledged);
        traffic
    };
    silent(true).first(Rule::NoResponse).begins(
        "Server 10.0.1.49:446 does not respond, although other servers do: 1 request of client 10.0.0.2 got no response for up to 11.0 s. Its system acknowledged these requests.",
    );
    let text = |traffic: &Traffic| {
        let statements = traffic.diagnosis().statements;
        statements.into_iter().find(|one| one.rule == Rule::NoResponse).map(|one| one.text).unwrap_or_default()
    };
    text(&silent(false))
        .begins("The capture has no response of server 10.0.1.49:446 at all, although it has responses of");
    let reasons = silent(false).findings().validity.reasons.join(" ");
    assert!(reasons.contains("perhaps lacks packets of this server: response times"), "{reasons}");
    let one_sided = |port: u16| {
        let mut traffic = silent(true);
        let from = Endpoint { port, ..traffic.coverage.unfinished[0].server };
        let to = Endpoint { ip: [10, 0, 0, 2].into(), port: 40_000 };
        traffic.coverage.unseen.paired = 601;
        traffic.coverage.one_sided = 1;
        traffic.coverage.one_sided_named = vec![OneSided { from, to, requests: 0, responses: 9 }];
        text(&traffic)
    };
    assert_eq!(one_sided(446), "", "the responses may have come on this connection");
    one_sided(445).begins("Server 10.0.1.49:446 does not respond");
}

/// The first request of the connection waits for 20 s, each further one for 10 s, and answered requests for 80.6 s.
#[test]
fn all_requests_of_a_connection_without_a_response_wait() {
    let text = |end: WaitEnd, (from_s, to_s): (i64, i64), requests: u64| {
        let mut traffic = without_response(end, &[("a", from_s, to_s)]);
        traffic.request(read(), 3, DATA, "slow", 80 * SECOND);
        if end == WaitEnd::Capture {
            // The server hangs: the slow response is another server's.
            traffic.coverage.last_responses = Some(Vec::new());
        }
        let one = &mut traffic.coverage.unfinished[0];
        (one.requests, one.last_ns) = (requests, one.first_ns + 10 * SECOND);
        let statements = traffic.diagnosis().statements;
        statements.into_iter().find(|statement| statement.rule == Rule::NoResponse).unwrap().text
    };
    for (end, span_s, begin) in [(WaitEnd::Capture, (12, 32), "Server 10.0.1.49"), (WaitEnd::Client, (1, 21), "")] {
        for (requests, expected) in
            [(1, "it would be 20 %"), (2, "it would be 27 %"), (60, "it would be at least 88 %")]
        {
            let text = text(end, span_s, requests);
            assert!(text.starts_with(begin) && text.contains(expected), "{requests}: {text}");
        }
    }
}

/// They waited for 33 s or longer, and others for more than a day.
#[test]
fn a_lower_bound_without_a_number_is_no_upper_bound() {
    let mut traffic = without_response(WaitEnd::Client, &[("a", 1, 12)]);
    traffic.request(read(), 3, DATA, "slow", 100_000 * SECOND);
    traffic.coverage.unfinished[0].requests = 3;
    let statements = traffic.diagnosis().statements;
    let found = statements.iter().find(|statement| statement.rule == Rule::NoResponse).unwrap();
    assert!(found.text.contains("it would be at least a small part of all time waited."), "{}", found.text);
}

/// Percentiles that lack the requests without a response hide a hang: the verdict says so, as that of a run does.
#[test]
fn requests_that_never_got_a_response_make_a_capture_partial() {
    let verdict = |traffic: &Traffic| {
        let validity = traffic.findings().validity;
        (validity.verdict, validity.reasons.join(" "))
    };
    let lacks = "response times and their percentiles do not include these requests.";
    for (traffic, said) in [
        (
            without_response(WaitEnd::Capture, &[("a", 12, 30), ("b", 13, 30)]),
            "Server 10.0.1.49:445 did not respond to 2 requests for up to 18.0 s",
        ),
        (
            without_response(WaitEnd::Client, &[("hung.iso", 1, 12)]),
            "1 request got no response for up to 11.0 s, although the server responded to others",
        ),
        (
            without_response(WaitEnd::Server, &CRASHES),
            "Server 10.0.1.49:445 ended connections and did not respond to 4 requests",
        ),
    ] {
        assert_eq!(verdict(&traffic), (Verdict::Partial, format!("{said}: {lacks}")));
    }
    let usual = without_response(WaitEnd::Capture, &[("a", 12, 13)]);
    assert_eq!(verdict(&usual), (Verdict::Valid, String::new()), "the capture ended while a request waited");
}

#[test]
fn a_capture_that_ends_while_requests_wait_does_not_show_a_server_that_hangs() {
    assert!(!without_response(WaitEnd::Capture, &[("a", 12, 13)]).rules().contains(&Rule::NoResponse), "1 s");
    let mut slow = without_response(WaitEnd::Capture, &[("a", 13, 18)]);
    slow.request(read(), 3, DATA, "slow", 6 * SECOND);
    assert!(!slow.rules().contains(&Rule::NoResponse), "others took as long");
    for (what, command) in [("a blocking lock", 10), ("a change notification", 15), ("a pipe", 11)] {
        let mut waits = without_response(WaitEnd::Capture, &[("a", 12, 30)]);
        waits.coverage.unfinished[0].procedure = plimsoll_model::Procedure::of(plimsoll_model::Protocol::Smb2, command);
        assert!(!waits.rules().contains(&Rule::NoResponse), "{what}");
    }
    let mut one_sided = without_response(WaitEnd::Capture, &[("a", 12, 30)]);
    one_sided.coverage.one_sided = 1;
    assert!(!one_sided.rules().contains(&Rule::NoResponse), "one direction");
}

/// The capturing program reports lost packets that left no gap.
fn drop_packets(traffic: &mut Traffic) {
    traffic.coverage.anomalies.add_many(Anomaly::CaptureDropsReported, 5_000);
    traffic.coverage.packets.total = 10_000;
    traffic.coverage.network.data_segments = [4_000, 4_000];
}

/// A server that hangs, as far as a capture shows that was blind for a time. Whether the report says so.
fn hangs_beside(blind: impl Fn(&mut Traffic)) -> bool {
    let mut traffic = without_response(WaitEnd::Capture, &[("a", 12, 30), ("b", 13, 30)]);
    blind(&mut traffic);
    traffic.rules().contains(&Rule::NoResponse)
}

#[test]
fn a_capture_that_was_blind_does_not_show_a_server_that_hangs() {
    let down = |from_s: i64, to_s: Option<i64>| {
        hangs_beside(|traffic| {
            let downtime = &mut traffic.coverage.downtime;
            downtime.begin(START_NS + from_s * SECOND);
            to_s.into_iter().for_each(|to_s| downtime.end(START_NS + from_s * SECOND, START_NS + to_s * SECOND));
        })
    };
    assert!(hangs_beside(|_| ()));
    assert!(!down(20, None) && !down(20, Some(25)), "while the requests waited");
    assert!(down(1, Some(2)), "before");
    let mut between = without_response(WaitEnd::Capture, &[("a", 20, 40)]);
    between.coverage.downtime.begin(START_NS + 15 * SECOND);
    between.coverage.downtime.end(START_NS + 15 * SECOND, START_NS + 16 * SECOND);
    let text = between.first(Rule::NoResponse);
    assert!(text.contains("does not respond") && !text.contains("last response of this server"), "{text}");
    assert!(down(30, None), "from the end of the wait on");
    assert!(!hangs_beside(drop_packets), "lost packets that left no gap");
    let mut single = without_response(WaitEnd::Capture, &[("hung.iso", 1, 12)]);
    single.coverage.downtime.begin(START_NS + 5 * SECOND);
    assert!(!single.rules().contains(&Rule::NoResponse), "a single request");
}

/// Encrypted responses, and those without a request, are in no other number.
#[test]
fn a_server_that_sends_any_response_does_not_hang() {
    let server = Endpoint { ip: [10, 0, 1, b'1'].into(), port: 445 };
    let responds_at = |ms: i64| hangs_beside(|traffic| traffic.responded(server, START_NS + ms * MS));
    assert!(responds_at(12_900), "0.9 s after the first request");
    assert!(!responds_at(14_100));
    assert!(hangs_beside(|traffic| traffic.responded(Endpoint { port: 446, ..server }, START_NS + 14_100 * MS)));
    assert!(
        !hangs_beside(|traffic| traffic.coverage.last_responses = None),
        "the time of its last response is unknown"
    );
}

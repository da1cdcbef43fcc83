//! Times in which a server answers no client.

use plimsoll_model::{Coverage, Procedure};

use super::built::{MS, START_NS, Says, Traffic, open, read};
use super::times::served;
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// Four clients that read and open without a pause; for `silence_ns` no client is answered, and then all are, for separate files or one.
fn stopped(silence_ns: i64, path: impl Fn(i64) -> String) -> Traffic {
    stopped_for(open(), silence_ns, path)
}

/// The same, with the procedure of the requests without an answer.
fn stopped_for(procedure: Procedure, silence_ns: i64, path: impl Fn(i64) -> String) -> Traffic {
    let mut traffic = Traffic::new();
    let some = |traffic: &mut Traffic| {
        (0..600).for_each(|i| traffic.request(read(), (i % 4) as u8, DATA, &format!("f{i}"), MS));
    };
    some(&mut traffic);
    for i in 0..4 {
        let pause = if i == 0 { silence_ns } else { 100_000 };
        traffic.changed(procedure, i as u8, DATA, &path(i), pause, |t| {
            let began = t.timeline.response_last.map(|end| end - silence_ns);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    some(&mut traffic);
    traffic
}

/// Work of four clients. For each of these distances the server sends no response for 900 ms.
fn pausing(distances_ms: &[i64]) -> Traffic {
    let mut traffic = Traffic::new();
    for (at, distance) in distances_ms.iter().enumerate() {
        (0..distance / 4).for_each(|i| traffic.request(read(), (i % 4) as u8, DATA, &format!("f{i}"), 4 * MS));
        for client in 0..4 {
            let took = if client == 0 { 900 * MS } else { MS / 10 };
            traffic.changed(read(), client, DATA, &format!("g{at}{client}"), took, |t| {
                let began = t.timeline.response_last.map(|end| end - 900 * MS);
                (t.timeline.request_first, t.timeline.request_last) = (began, began);
            });
        }
    }
    (0..300).for_each(|i| traffic.request(read(), (i % 4) as u8, DATA, &format!("f{i}"), 4 * MS));
    traffic
}

#[test]
fn several_silences_are_said_with_their_number_and_interval() {
    let text = pausing(&[3_000; 5]).first(Rule::Burst);
    text.begins("Server 10.0.1.49 sent no response in 5 periods of ");
    text.has(", about every 3.");
    text.has("During these periods, at least 20 requests of 4 clients waited");
    let text = pausing(&[3_000, 6_000, 1_500, 5_000]).first(Rule::Burst);
    text.begins("Server 10.0.1.49 sent no response in 4 periods");
    assert!(!text.contains("about every"), "{text}");
}

#[test]
fn a_server_that_gets_no_requests_is_not_silent() {
    let mut traffic = pausing(&[3_000; 5]);
    let network = &mut traffic.coverage.network;
    (network.data_segments, network.resent_segments) = ([3_000, 5_000], [60, 0]);
    network.resent_wait_ns = [10_000_000_000, 0];
    traffic.first(Rule::Retransmission).has("packets were lost after the capture point");
    assert!(!traffic.rules().contains(&Rule::Burst), "{:#?}", traffic.diagnosis());
    traffic.coverage.network.resent_wait_ns = [2_200_000_000, 0];
    assert!(traffic.rules().contains(&Rule::Burst), "{:#?}", traffic.diagnosis());
}

/// Two clients wait for different slow files, two are answered all the time, and then all pause for 400 ms.
fn overtaken() -> Traffic {
    let mut traffic = Traffic::new();
    (0..600).for_each(|i| traffic.request(read(), (i % 2) as u8, DATA, &format!("f{i}"), 2 * MS));
    for (i, pause) in [(2, 400 * MS), (3, 100_000)] {
        traffic.changed(open(), i, DATA, &format!("g{i}"), pause, |t| {
            let began = t.timeline.response_last.map(|end| end - 1_500 * MS);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    (0..600).for_each(|i| traffic.request(read(), (i % 2) as u8, DATA, &format!("f{i}"), 2 * MS));
    traffic
}

#[test]
fn a_server_that_answers_nobody_is_said_with_since_when() {
    let text = stopped(1_300 * MS, |i| format!("g{i}")).first(Rule::Burst);
    text.begins("Server 10.0.1.49 sent no response for 1.");
    text.has("s from 2023-11-14 22:13:20.");
    text.has(" UTC on. During this time, at least 4 requests of 4 clients waited: 8");
    assert!(!is_silent(&stopped(1_300 * MS, |_| "one".to_owned())), "they may wait for that file");
    assert!(!is_silent(&stopped(100 * MS, |i| format!("g{i}"))), "too short to notice");
    assert!(!is_silent(&overtaken()), "others were answered after they were sent");
    let mut down = stopped(1_300 * MS, |i| format!("g{i}"));
    down.coverage.downtime.begin(START_NS + 1_000 * MS);
    assert!(!is_silent(&down), "the interface was down");
    assert!(!is_silent(&served(|_| 1, |i| if i == 2_000 { 3_000 * MS } else { MS })), "one client alone");
}

#[test]
fn opens_that_wait_for_a_lease_are_no_silence_of_the_server() {
    let silent = |traffic: &Traffic| traffic.rules().contains(&Rule::Burst);
    for (procedure, expected) in [(open(), false), (read(), true)] {
        let mut traffic = stopped_for(procedure, 1_300 * MS, |i| format!("g{i}"));
        let breaks = &mut traffic.coverage.breaks;
        (breaks.notified, breaks.opens, breaks.wait_ns) = (4, 4, 5_200_000_000);
        traffic.first(Rule::LeaseBreaks);
        assert_eq!(silent(&traffic), expected, "{procedure:?}: {:#?}", traffic.diagnosis());
    }
}

/// Whether a sentence speaks of a silence: the other form of the rule has none.
fn is_silent(traffic: &Traffic) -> bool {
    traffic.diagnosis().statements.iter().any(|statement| statement.text.contains("sent no response"))
}

#[test]
fn a_server_that_answers_what_cannot_be_read_is_not_silent() {
    let silent = |change: &dyn Fn(&mut Coverage)| {
        let mut traffic = stopped(1_300 * MS, |i| format!("g{i}"));
        change(&mut traffic.coverage);
        is_silent(&traffic)
    };
    let encrypted = |coverage: &mut Coverage, from_ms: i64| {
        coverage.encrypted.messages = [60, 60];
        coverage.encrypted.first_ns = Some(START_NS + from_ms * MS);
        coverage.encrypted.last_ns = Some(START_NS + (from_ms + 500) * MS);
    };
    assert!(silent(&|_| ()));
    assert!(silent(&|coverage| encrypted(coverage, 2_500)), "encrypted messages at another time");
    assert!(!silent(&|coverage| encrypted(coverage, 1_000)));
    assert!(!silent(&|coverage| coverage.unseen.encrypted = 60), "at a time that is not known");
    assert!(!silent(&|coverage| coverage.unseen.compressed = 60));
    assert!(!silent(&|coverage| coverage.rpc_tls.connections = 1));
    assert!(!silent(&|coverage| coverage.one_sided = 1), "only requests, or only responses, were captured");
}

#[test]
fn steps_of_the_clock_are_no_silences() {
    let mut traffic = pausing(&[3_000; 5]);
    traffic.coverage.clock.estimate_ns = Some(200_000_000);
    assert!(is_silent(&traffic), "more than three steps: {:#?}", traffic.diagnosis());
    traffic.coverage.clock.estimate_ns = Some(1_000_000_000);
    assert!(!is_silent(&traffic), "{:#?}", traffic.diagnosis());
}

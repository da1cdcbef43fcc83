//! Requests that take long because they transfer many bytes.

use super::built::{MS, Traffic, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// 100 small reads, and five reads of 1 MB from another file by one client, `took_ms` each; most of it is receiving.
fn large(took_ms: i64) -> Traffic {
    large_after(1, took_ms)
}

/// The same, with `service_ms` of service time each.
fn large_after(service_ms: i64, took_ms: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..100 {
        traffic.request(read(), (i % 3) as u8, DATA, &format!("f{}", i % 50), MS);
        if i % 20 == 19 {
            traffic.changed(read(), 1, DATA, "film.iso", took_ms * MS, |t| {
                t.payload_bytes = Some(1_000_000);
                t.timeline.response_first = t.timeline.request_last.map(|ns| ns + service_ms * MS);
            });
        }
    }
    traffic
}

#[test]
fn large_transfers_that_take_the_time_of_their_bytes_are_no_slow_requests() {
    assert!(!large(150).rules().contains(&Rule::FewSlowRequests), "{:#?}", large(150).diagnosis());
    let slow = large(400).diagnosis().statements.into_iter().find(|one| one.rule == Rule::FewSlowRequests).unwrap();
    let end = "Sending and receiving (at about 20.1 Mbit/s) were 99.8 % of the time that these requests took: the network path or the client is slow, or the server accepts data \
               slowly.";
    assert!(slow.text.ends_with(end) && slow.text.contains("client 10.0.0.1 on 1 connection"), "{}", slow.text);
}

#[test]
fn slow_requests_that_mostly_wait_for_the_server_have_no_transfer_rate() {
    // Receiving takes 60 %, and then 1 %.
    for (service_ms, is_service) in [(160, false), (396, true)] {
        let found = large_after(service_ms, 400).diagnosis().statements;
        let slow = found.iter().find(|one| one.rule == Rule::FewSlowRequests).unwrap();
        assert!(!slow.text.contains("Mbit/s"), "{}", slow.text);
        assert_eq!(slow.text.contains("Service time was"), is_service, "{}", slow.text);
    }
}

/// Before it is sent, a request of a schedule may wait for a free client: that is no fault of the network.
#[test]
fn the_wait_for_a_free_client_is_not_called_receiving() {
    let mut traffic = Traffic::scheduled();
    for i in 0..800 {
        let client = (i % 4) as u8;
        traffic.pause(20 * MS);
        traffic.changed(read(), client, DATA, "f", MS, |t| {
            let lag = if client == 2 { 20 * MS } else { MS };
            t.timeline.intended = t.timeline.request_first.map(|first| first - lag);
        });
    }
    let found = traffic.diagnosis().statements;
    let text = |rule| found.iter().find(|one| one.rule == rule).map(|one| one.text.as_str()).unwrap_or_default();
    let end = "Sending requests took 0 %. The other time passed between the intended start and the sending of the request, or while \
               responses were received.";
    assert!(text(Rule::ServiceTime).ends_with(end), "{found:#?}");
    assert!(text(Rule::SlowClient).contains("The difference is not in the service time. All requests"), "{found:#?}");
    assert!(found.iter().all(|one| !one.text.contains("not the server")), "{found:#?}");
}

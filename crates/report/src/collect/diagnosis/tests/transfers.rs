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

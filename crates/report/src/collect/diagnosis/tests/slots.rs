//! Clients that use all slots of their sessions.

use plimsoll_model::{Procedure, Protocol, SessionSlots};

use super::built::{MS, Says, Traffic};
use crate::findings::Rule;

/// Reads of two clients, 4 ms each; client 1 waited for slots this many times, for this fraction of the time of its two sessions.
fn with_waits(waits: u64, part: f64) -> Traffic {
    let mut traffic = Traffic::new();
    let read = Procedure::of(Protocol::Nfs4, 25);
    (0..600).for_each(|i| traffic.request(read, u8::from(i % 4 > 0), "/data", &format!("f{}", i % 40), 4 * MS));
    let span_ns = 1_200_000_000;
    let wait_ns = (part * span_ns as f64) as u64;
    let session = |id| SessionSlots {
        session: id,
        id: id.into(),
        client: [10, 0, 0, 1].into(),
        server: [10, 0, 0, 9].into(),
        granted: None,
        target: Some(4),
        slots: Some(4),
        requests: 300,
        most: 4,
        full_ns: wait_ns,
        waits: waits / 2,
        wait_ns,
        span_ns,
        is_partial: false,
    };
    // One that has too few waits, of another client.
    let other = SessionSlots { client: [10, 0, 0, 2].into(), waits: 3, ..session(3) };
    traffic.coverage.slots = vec![session(1), session(2), other];
    traffic
}

#[test]
fn a_client_that_uses_all_slots_is_said_with_their_number() {
    with_waits(400, 0.9).first(Rule::SlotsExhausted).begins(
        "Client 10.0.0.1 ran out of slots: all 4 slots of each of 2 NFSv4.1 sessions were in use for 90 % of the time. 400 times, the client sent its next request as soon as a slot was free.",
    );
}

#[test]
fn sessions_with_different_numbers_of_slots_are_said_with_both() {
    let mut traffic = with_waits(400, 0.9);
    (traffic.coverage.slots[1].slots, traffic.coverage.slots[1].target) = (Some(16), Some(16));
    let text = traffic.first(Rule::SlotsExhausted);
    let sessions = "all slots of each of 2 NFSv4.1 sessions (4 to 16 slots) were in use for 90 % of the time.";
    assert!(text.contains(sessions), "{text}");
}

#[test]
fn a_client_that_uses_all_slots_now_and_then_is_not_limited_by_them() {
    assert!(!with_waits(40, 0.9).rules().contains(&Rule::SlotsExhausted), "few times");
    assert!(!with_waits(400, 0.4).rules().contains(&Rule::SlotsExhausted), "less than half of the time");
    let mut filtered = with_waits(400, 0.9);
    filtered.filters = vec!["--client 10.0.0.2".to_owned()];
    assert!(!filtered.rules().contains(&Rule::SlotsExhausted), "another client");
}

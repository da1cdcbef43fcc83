//! Slots in use, and waits for them.

use super::*;

const US: i64 = 1_000;
const ID: [u8; 16] = [7; 16];
const PLACE: (IpAddr, IpAddr) =
    (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9)));

/// A session whose client counts its requests.
#[derive(Default)]
struct Play {
    slots: Slots,
    sequences: HashMap<u32, u32>,
}

impl Play {
    fn request(&mut self, slot: u32, now: i64) {
        let sequence = self.sequences.entry(slot).or_default();
        *sequence += 1;
        self.slots.request(&OfRequest { session: &ID, sequence: *sequence, slot }, PLACE, now);
    }

    fn response(&mut self, slot: u32, target: u32, now: i64, trip: i64) {
        self.slots.response((session_number(&ID), slot), Some(target), (now, trip.unsigned_abs()));
    }

    fn finish(self) -> SessionSlots {
        let (all, left_out) = self.slots.finish();
        assert_eq!((all.len(), left_out.requests), (1, 0));
        all[0]
    }
}

/// A client that always wants `wanted` outstanding requests in a session of `slots` slots, `trip` away from the capture, and a server
/// that responds after 4 ms.
fn requests(wanted: usize, slots: u32, trip: i64) -> SessionSlots {
    let mut play = Play::default();
    let mut due: std::collections::VecDeque<(i64, u32)> = std::collections::VecDeque::new();
    let mut free: Vec<u32> = (0..slots).rev().collect();
    let mut now = 0;
    for _ in 0..1_000 {
        while due.len() < wanted
            && let Some(slot) = free.pop()
        {
            play.request(slot, now);
            due.push_back((now + 4_000 * US, slot));
            now += 10 * US;
        }
        let (at, slot) = due.pop_front().unwrap();
        now = now.max(at);
        play.response(slot, slots - 1, now, trip);
        free.push(slot);
        now += trip + 50 * US;
    }
    play.finish()
}

#[test]
fn a_client_waits_for_slots_that_uses_all_of_them() {
    let two = requests(16, 2, 0);
    assert_eq!((two.client, two.server, two.slots, two.most), (PLACE.0, PLACE.1, Some(2), 2));
    assert!(two.waits > 400 && two.wait_ns > two.span_ns / 2, "{two:?}");
    assert!(two.full_ns >= two.wait_ns && two.full_ns <= two.span_ns && !two.is_partial, "{two:?}");
    let far = requests(16, 2, 500 * US);
    assert!(far.waits > 400, "{far:?}");
}

/// The same as a capture beside the server sees it, which responds at once, a round trip of 24 ms from the client. The round trip of the
/// handshake was `handshake`.
fn far_requests(wanted: u32, slots: u32, handshake: i64) -> SessionSlots {
    const TRIP: i64 = 24_000 * US;
    let mut play = Play::default();
    for round in 0..500 {
        for slot in 0..wanted.min(slots) {
            let now = round * (TRIP + 500 * US) + i64::from(slot) * 30 * US;
            play.request(slot, now);
            play.response(slot, slots - 1, now + 20 * US, handshake);
        }
    }
    play.finish()
}

#[test]
fn slots_that_a_far_client_lacks_are_seen_at_the_server() {
    let two = far_requests(12, 2, 24_000 * US);
    assert!(two.most == 2 && two.waits > 400 && two.full_ns > two.span_ns / 2 && !two.is_partial, "{two:?}");
    let many = far_requests(12, 16, 24_000 * US);
    assert!(many.waits == 0 && many.full_ns == 0 && !many.is_partial, "{many:?}");
}

#[test]
fn a_handshake_that_took_long_makes_no_waits() {
    // One request at a time on the first slot, and a second one now and then.
    let mut play = Play::default();
    for round in 0..2_000 {
        let now = round * 5_000 * US;
        for slot in 0..if round % 20 == 0 { 2 } else { 1 } {
            play.request(slot, now);
            play.response(slot, 1, now + 100 * US, 300_000 * US);
        }
    }
    let found = play.finish();
    assert!(found.waits <= 100 && found.full_ns < found.span_ns / 10 && !found.is_partial, "{found:?}");
    assert!(far_requests(12, 2, 48_000 * US).waits > 400, "a handshake of twice the round trip");
}

#[test]
fn a_client_does_not_wait_for_slots_that_uses_some_or_has_many_or_one() {
    let of = |wanted, slots| {
        let found = requests(wanted, slots, 0);
        (found.waits, found.most, found.full_ns > 0)
    };
    assert_eq!(of(2, 64), (0, 2, false));
    assert_eq!(of(7, 8), (0, 7, false), "one is left");
    assert_eq!(of(80, 64), (0, 64, true), "it is busy");
    assert_eq!(of(4, 1), (0, 1, true), "one request at a time");
}

#[test]
fn times_with_all_slots_in_use_add_up() {
    let mut play = Play::default();
    play.request(0, 0);
    play.response(0, 1, US, 0);
    for at in 1..=10 {
        let now = at * 50_000 * US;
        play.request(0, now);
        play.request(1, now + US);
        play.response(0, 1, now + 4_001 * US, 0);
        play.response(1, 1, now + 4_002 * US, 0);
    }
    // At the end all are in use, and the server still answers another request.
    play.request(0, 600_000 * US);
    play.request(1, 600_000 * US);
    play.request(2, 600_007 * US);
    let found = play.finish();
    assert_eq!((found.requests, found.most, found.waits), (24, 3, 0));
    assert_eq!(found.full_ns, (10 * 4_000 * US + 7 * US).unsigned_abs());
    assert_eq!(found.span_ns, (600_007 * US).unsigned_abs());
}

#[test]
fn the_number_of_slots_is_what_was_granted_until_the_server_wants_another() {
    let mut play = Play::default();
    play.slots.created(&ID, 3, PLACE);
    let slots = |play: &Play| play.slots.sessions.values().next().unwrap().limit();
    assert_eq!(slots(&play), Some(3));
    play.request(0, 0);
    play.response(0, 1, US, 0);
    assert_eq!(slots(&play), Some(2), "the server wants fewer to be used");
    play.request(0, 2 * US);
    play.response(0, 63, 3 * US, 0);
    assert_eq!(slots(&play), Some(3), "a client that uses no more than were granted");
    play.request(5, 4 * US);
    assert_eq!(slots(&play), Some(6), "a client that uses more");
    let found = play.finish();
    assert_eq!((found.granted, found.target, found.slots), (Some(3), Some(64), Some(6)));
    let mut idle = Play::default();
    idle.slots.created(&ID, 3, PLACE);
    let found = idle.finish();
    assert_eq!((found.requests, found.most, found.span_ns, found.slots), (0, 0, 0, Some(3)));
}

#[test]
fn missing_messages_show_by_the_sequence_ids() {
    let of = |sequences: &[(u32, bool)]| {
        let mut play = Play::default();
        for &(sequence, is_answered) in sequences {
            play.slots.request(&OfRequest { session: &ID, sequence, slot: 0 }, PLACE, 0);
            if is_answered {
                play.response(0, 3, US, 0);
            }
        }
        play.finish().is_partial
    };
    assert!(!of(&[(5, true), (6, true), (7, false), (7, true), (8, true)]), "one was sent again");
    assert!(!of(&[(u32::MAX, true), (0, true)]));
    assert!(!of(&[(5, true), (5, true)]), "the server refused the first");
    assert!(of(&[(5, false), (6, true)]), "a response is missing");
    assert!(of(&[(5, true), (7, true)]), "a request is missing");
    let mut play = Play::default();
    play.request(0, 0);
    play.slots.lost(session_number(&ID));
    assert!(play.finish().is_partial);
}

#[test]
fn sessions_and_slots_are_bounded() {
    let mut all = Slots::default();
    for session in 0..=SESSIONS_MAX as u128 {
        let id = session.to_be_bytes();
        all.request(&OfRequest { session: &id, sequence: 1, slot: 0 }, PLACE, 0);
    }
    all.created(&u128::MAX.to_be_bytes(), 8, PLACE);
    all.request(&OfRequest { session: &[0; 16], sequence: 1, slot: u32::MAX }, PLACE, 0);
    let session = &all.sessions[&session_number(&[0; 16])];
    assert_eq!((session.requests, session.slots.len(), session.is_partial), (2, 1, true));
    let (rows, left_out) = all.finish();
    assert_eq!((rows.len(), left_out.requests), (SESSIONS_MAX, 1));
}

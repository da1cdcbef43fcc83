//! Encrypted messages as sequences of sizes and times.

use super::*;

/// The findings for requests and responses at these times with these sizes.
fn found(messages: &[(bool, i64, u32)]) -> Encrypted {
    let (mut times, mut outstanding) = (SealedTimes::default(), Outstanding::default());
    for &(is_request, at, size) in messages {
        match is_request {
            true => outstanding.request(at, size),
            false => outstanding.response(at, size, &mut times),
        }
    }
    outstanding.end(&mut times);
    times.finish()
}

#[test]
fn sums_are_those_of_the_true_pairs_in_any_order() {
    // True times: the first until 100, the write from 10 until 40, the last from 25 until 60; a CANCEL, and one without an answer.
    let [ask, answer] = [true, false];
    let found = found(&[
        (ask, 0, 113),
        (ask, 10, 4_208),
        (ask, 20, CANCEL_LEN),
        (ask, 25, 113),
        (answer, 40, 80),
        (answer, 60, 4_176),
        (answer, 100, 4_176),
        (ask, 200, 113),
    ]);
    assert_eq!((found.all.count, found.all.sum_ns, found.sum_ns), (3, 165, [165, 165]));
    assert_eq!((found.cancels, found.besides, found.unanswered), (1, 0, 1));
}

#[test]
fn after_a_gap_nothing_counts_until_the_connection_was_quiet() {
    let (mut times, mut outstanding) = (SealedTimes::default(), Outstanding::default());
    outstanding.request(0, 113);
    outstanding.leave_out();
    outstanding.settle(&mut times);
    outstanding.unsettled = Some(10);
    assert!(outstanding.is_unsettled(false, 50, 60), "the response to the first one");
    assert!(outstanding.is_unsettled(true, 70, 80));
    assert!(outstanding.is_unsettled(false, 80 + QUIET_NS, 90 + QUIET_NS), "a response that took long");
    assert!(!outstanding.is_unsettled(true, 90 + 2 * QUIET_NS, 90 + 2 * QUIET_NS));
    outstanding.request(90 + 2 * QUIET_NS, 113);
    outstanding.response(95 + 2 * QUIET_NS, 4_176, &mut times);
    outstanding.end(&mut times);
    let found = times.finish();
    assert_eq!((found.all.count, found.all.sum_ns, found.sum_ns), (1, 5, [5, 5]));
    assert_eq!((found.besides, found.unanswered), (0, 0));
}

#[test]
fn interim_answers_give_bounds() {
    let [ask, answer] = [true, false];
    // A lock that is granted at 500 after an interim answer, and a read that fails meanwhile.
    let messages = [(ask, 0, 112), (answer, 10, 73), (ask, 100, 113), (answer, 130, 73), (answer, 500, 68)];
    let both = found(&messages);
    assert_eq!((both.besides, both.unexplained), (1, 0));
    assert_eq!(both.sum_ns, [500 - 90, 500 + 30], "which of the short ones is besides?");
    // Without the failure it is known.
    let exact = found(&[messages[0], messages[1], messages[4]]);
    assert_eq!((exact.besides, exact.sum_ns), (1, [500, 500]));
    let unknown = found(&[(ask, 0, 113), (answer, 10, 4_176), (answer, 20, 4_176)]);
    assert_eq!((unknown.besides, unknown.unexplained), (1, 1));
}

#[test]
fn what_all_connections_keep_is_bounded() {
    let (mut times, mut connections) = (SealedTimes::default(), Vec::new());
    let ends = [700, 445].map(|port| plimsoll_model::Endpoint { ip: [10, 0, 0, 1].into(), port });
    let context = ConnectionContext::new(0, ends);
    let bytes = [&b"\xfdSMB"[..], &[0; 32], &113_u32.to_le_bytes(), &[0; 12]].concat();
    let request = crate::message::whole(&bytes, crate::packet::Stamp { time_ns: 1, frame: 1 });
    for _ in 0..20 {
        let mut one = Outstanding::default();
        (0..100).for_each(|_| one.message(&request, 0, Some(0), &context, &mut times));
        connections.push(one);
    }
    assert_eq!((times.kept, times.sums.interrupted), (1_000, 10), "ten connections are as if bytes were missing");
    connections.iter_mut().for_each(|one| one.end(&mut times));
    assert_eq!((times.kept, times.sums.unanswered), (0, 1_000));
}

#[test]
fn responses_that_may_be_besides_leave_room_for_requests() {
    let (mut times, mut outstanding) = (SealedTimes::default(), Outstanding::default());
    for at in 0..2_000 {
        outstanding.request(at, 113);
        outstanding.response(at + 1, 73, &mut times);
        outstanding.count(&mut times);
    }
    assert_eq!((times.kept, outstanding.has_room(&times)), (ALL_BESIDES_MAX, true));
    outstanding.request(0, 112);
    outstanding.response(10, 73, &mut times);
    outstanding.response(2_100, 68, &mut times);
    outstanding.end(&mut times);
    let found = times.finish();
    assert_eq!((found.besides, found.unexplained), (1, 0));
    assert_eq!(found.sum_ns, [2_000 + 10 + 2_100 - 2_000, 2_000 + 10 + 2_100 - 1]);
}

//! Sums of delegations, from their events.

use super::*;

const PLACE: Place = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

fn state(number: u32) -> [u8; 16] {
    let mut state = [7; 16];
    state[12..].copy_from_slice(&number.to_be_bytes());
    state
}

/// The server and the client with this number.
fn place(number: u32) -> Place {
    (std::net::Ipv4Addr::from(number).into(), PLACE.1)
}

fn only(all: Delegations) -> Sums {
    let (found, left_out, _) = all.finish();
    assert_eq!((found.len(), left_out), (1, DelegationsLeftOut::default()));
    found[0]
}

#[test]
fn what_is_granted_recalled_and_returned_is_counted() {
    let mut all = Delegations::default();
    // Read, write, and none: without a wish, with the wish for none, and with that for a read delegation.
    for (kind, access) in [(1, 0x101), (4, 1), (2, 3), (0, 1), (3, 0x401), (3, 0x101)] {
        all.opened(PLACE, Some(0), Some(kind), Some(wishes(access)));
    }
    all.opened(PLACE, Some(13), None, Some(true));
    all.recall(PLACE, &state(1), 100);
    all.recall(PLACE, &state(1), 200);
    all.recall(PLACE, &state(2), 300);
    all.returns(PLACE, &state(1));
    // The state ID of the return has another sequence number.
    let mut later = state(1);
    later[0] = 9;
    all.returned(PLACE, Some(&later), 150, Some(0));
    all.returned(PLACE, Some(&state(9)), 500, Some(0));
    let expected = Sums {
        granted_read: 2,
        granted_write: 1,
        refused: 1,
        recalled: 2,
        repeated: 1,
        returned: 2,
        after_recall: 1,
        after_recall_ns: 50,
        longest_ns: 50,
        unreturned: 1,
        ..Sums::of(PLACE.0, PLACE.1)
    };
    assert_eq!(only(all), expected);
}

#[test]
fn a_result_that_was_not_read_makes_the_pair_partial() {
    type Event = fn(&mut Delegations);
    let events: [(&str, Event, bool); 9] = [
        ("no further message", |_| {}, false),
        ("a refused OPEN", |all| all.opened(PLACE, Some(13), None, None), false),
        ("a grant, the request unread", |all| all.opened(PLACE, Some(0), Some(1), None), false),
        ("no grant, the request unread", |all| all.opened(PLACE, Some(0), Some(3), None), true),
        ("cut before the delegation", |all| all.opened(PLACE, Some(0), None, Some(true)), true),
        ("cut before the status", |all| all.opened(PLACE, None, None, Some(true)), true),
        ("a return, the request unread", |all| all.returned(PLACE, None, 0, Some(0)), true),
        ("a return, the response unread", |all| all.returned(PLACE, Some(&state(1)), 0, None), true),
        ("a pair without delegations", |all| all.partial(place(9)), false),
    ];
    for (name, event, is_partial) in events {
        let mut all = Delegations::default();
        all.recall(PLACE, &state(1), 100);
        event(&mut all);
        assert_eq!(only(all).is_partial, is_partial, "{name}");
    }
    let mut all = Delegations::default();
    all.partial_between([PLACE.1, PLACE.0]);
    all.recall(PLACE, &state(1), 100);
    assert!(only(all).is_partial);
    let mut all = Delegations::default();
    (0..=PARTIAL_MAX as u32).for_each(|number| all.partial(place(number)));
    all.recall(PLACE, &state(1), 100);
    assert_eq!((all.partial.len(), only(all).is_partial), (PARTIAL_MAX, true), "it may be one that did not fit");
}

#[test]
fn a_return_without_a_response_is_not_called_missing() {
    for (status, unreturned) in [(None, 0), (Some(10_087), 1), (Some(10_025), 1)] {
        for recall_first in [true, false] {
            let mut all = Delegations::default();
            if recall_first {
                all.recall(PLACE, &state(1), 100);
            }
            all.returns(PLACE, &state(1));
            if !recall_first {
                all.recall(PLACE, &state(1), 100);
            }
            status.into_iter().for_each(|status| all.returned(PLACE, Some(&state(1)), 150, Some(status)));
            let found = only(all);
            assert_eq!((found.recalled, found.returned, found.unreturned), (1, 0, unreturned), "{status:?}");
        }
    }
}

#[test]
fn a_return_that_was_sent_before_the_recall_has_no_time() {
    let mut all = Delegations::default();
    all.returns(PLACE, &state(1));
    all.recall(PLACE, &state(1), 100);
    all.returned(PLACE, Some(&state(1)), 90, Some(0));
    let expected = Sums { recalled: 1, returned: 1, ..Sums::of(PLACE.0, PLACE.1) };
    assert_eq!(only(all), expected);
}

#[test]
fn a_client_that_does_not_hold_the_delegation_need_not_return_it() {
    for (answers, not_held) in
        [(&[Some(10_001)][..], 1), (&[Some(10_025)], 1), (&[Some(0)], 0), (&[None], 0), (&[Some(10_001), Some(0)], 0)]
    {
        let mut all = Delegations::default();
        for &answer in answers {
            all.recall(PLACE, &state(1), 100);
            all.recall_answered(PLACE, &state(1), answer);
        }
        let found = only(all);
        assert_eq!((found.recalled, found.not_held, found.unreturned), (1, not_held, 1 - not_held), "{answers:?}");
    }
}

#[test]
fn pairs_without_a_row_are_counted() {
    let mut all = Delegations::default();
    let pairs = 2 * PLACES_MAX as u32;
    for number in 0..pairs {
        all.opened(place(number), Some(0), Some(1), None);
        all.opened(place(number), Some(0), Some(0), Some(true));
        all.recall(place(number), &state(number), 1);
        all.returned(place(number), Some(&state(number)), 2, Some(0));
    }
    assert_eq!(all.places.len(), PLACES_MAX);
    let (found, left_out, without_row) = all.finish();
    let further = u64::from(pairs) - Coverage::DELEGATIONS as u64;
    assert_eq!(found.len(), Coverage::DELEGATIONS);
    let counts = DelegationsLeftOut { granted: further, refused: further, recalled: further, ..Default::default() };
    assert_eq!((left_out, without_row), (DelegationsLeftOut { returned: further, ..counts }, PartialPairs::default()));
}

#[test]
fn sums_of_pairs_without_a_row_are_lower_bounds_if_one_of_them_may_be_partial() {
    for (pairs, partial, expected) in [
        (PLACES_MAX as u32 + 1, Some(PLACES_MAX as u32), true),
        (PLACES_MAX as u32 + 1, None, false),
        (Coverage::DELEGATIONS as u32 + 1, Some(Coverage::DELEGATIONS as u32), true),
        (Coverage::DELEGATIONS as u32 + 1, Some(0), false),
    ] {
        let mut all = Delegations::default();
        (0..pairs).for_each(|number| all.recall(place(number), &state(number), 1));
        partial.into_iter().for_each(|number| all.partial(place(number)));
        let (found, left_out, _) = all.finish();
        assert_eq!((found.len(), left_out.is_partial), (Coverage::DELEGATIONS, expected), "{pairs} {partial:?}");
    }
}

#[test]
fn partial_pairs_without_a_row_are_stated() {
    let mut all = Delegations::default();
    all.recall(PLACE, &state(1), 100);
    [place(9), PLACE, place(8)].into_iter().for_each(|place| all.partial(place));
    let (found, _, without_row) = all.finish();
    assert!(found[0].is_partial);
    assert_eq!(without_row, PartialPairs { pairs: vec![place(8), place(9)], all: false });
}

#[test]
fn recalled_delegations_that_are_followed_are_bounded_and_the_oldest_ones_go() {
    let mut all = Delegations::default();
    let recalls = 2 * RECALLED_MAX as u32;
    for number in 0..recalls {
        all.recall(PLACE, &state(number), number.into());
    }
    // One of the first half, and one of the second.
    all.returned(PLACE, Some(&state(7)), i64::from(recalls), Some(0));
    all.returned(PLACE, Some(&state(recalls - 1)), i64::from(recalls), Some(0));
    assert!(all.recalled.len() < RECALLED_MAX && all.order.len() <= RECALLED_MAX);
    let found = only(all);
    let most = RECALLED_MAX as u64;
    assert_eq!((found.recalled, found.untracked, found.unreturned), (u64::from(recalls), most, most - 1));
    assert_eq!((found.returned, found.after_recall, found.longest_ns), (2, 1, 1));
}

#[test]
fn what_was_returned_leaves_no_trace() {
    let mut all = Delegations::default();
    for number in 0..3 * RECALLED_MAX as u32 {
        all.recall(PLACE, &state(number), number.into());
        all.returns(PLACE, &state(number));
        all.returned(PLACE, Some(&state(number)), number.into(), Some(0));
    }
    assert!(all.recalled.is_empty() && all.returning.is_empty() && all.order.len() <= 2 * RECALLED_MAX);
    assert!(all.returning_order.len() <= 2 * RETURNING_MAX);
    let found = only(all);
    assert_eq!((found.untracked, found.unreturned, found.returned), (0, 0, 3 * RECALLED_MAX as u64));
}

#[test]
fn returns_without_a_response_are_bounded_and_the_oldest_one_makes_its_pair_partial() {
    let mut all = Delegations::default();
    // Answered ones take no room.
    for number in 0..2 * RETURNING_MAX as u32 {
        all.returns(PLACE, &state(number));
        all.returned(PLACE, Some(&state(number)), 1, Some(0));
    }
    all.returns(place(9), &state(0));
    all.recall(place(9), &state(0), 1);
    (1..RETURNING_MAX as u32).for_each(|number| all.returns(PLACE, &state(number)));
    assert!(all.partial.is_empty());
    all.returns(PLACE, &state(0));
    all.recall(PLACE, &state(0), 1);
    assert_eq!((all.returning.len(), all.returning_order.len() <= 2 * RETURNING_MAX), (RETURNING_MAX, true));
    let partial: Vec<_> = all.finish().0.iter().map(|pair| (pair.client, pair.is_partial)).collect();
    assert_eq!(partial, [(place(9).0, true), (PLACE.0, false)]);
}

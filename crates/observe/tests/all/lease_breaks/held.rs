//! Opens that wait until a client gives up a lease, and acknowledgements that no server waits for.

use plimsoll_testkit::{Side, nbss, smb2};

use super::super::waiting::MS;
use super::{OPLOCK_BREAK, Scene};

/// A client opens a file. The open waits until the capture ends, because the server breaks the lease of the same client. Returns the number
/// of connections that wait for the server.
fn waiting_for_the_server(demands: bool, tens_of_s: u64, meanwhile: impl Fn(&mut Scene)) -> usize {
    let mut scene = Scene::new();
    scene.opens_with_lease("held", 1, 5, 7, false);
    scene.asks(&smb2::create(90, "held"));
    scene.breaks_lease(5, (7, 3), demands);
    meanwhile(&mut scene);
    for id in 1..=tens_of_s {
        scene.waits(10_000 * MS);
        scene.traffic.exchange(&mut scene.other, &nbss(&smb2::echo(id).bytes()), &nbss(&smb2::echoed(id).bytes()));
    }
    scene.seen().0.unfinished.len()
}

#[test]
fn an_open_that_waits_for_a_client_does_not_wait_for_the_server() {
    let of_another_file = |scene: &mut Scene| {
        scene.opens_with_lease("another file", 2, 6, 7, false);
        scene.closes(2);
    };
    assert_eq!(waiting_for_the_server(true, 3, |_| ()), 0, "its own lease");
    assert_eq!(waiting_for_the_server(true, 3, of_another_file), 0);
    assert_eq!(waiting_for_the_server(true, 3, |scene| scene.acknowledges_lease(5, 3)), 1, "acknowledged");
    assert_eq!(waiting_for_the_server(false, 3, |_| ()), 1, "the server does not wait");
    assert_eq!(waiting_for_the_server(true, 9, |_| ()), 1, "the server should have gone on");
}

#[test]
fn a_break_is_not_called_unanswered_if_the_client_may_have_acknowledged_it_in_an_encrypted_message() {
    let encrypted = nbss(&[&b"\xfdSMB"[..], &[0; 100]].concat());
    let unanswered = |before: Option<Side>, after: Option<Side>| {
        let mut scene = Scene::new();
        scene.opens_with_lease("file", 1, 5, 7, false);
        // Another break, so that messages from before the break count.
        scene.breaks_lease(5, (7, 3), true);
        scene.acknowledges_lease(5, 3);
        before.into_iter().for_each(|side| scene.traffic.send(&mut scene.holder, side, &encrypted));
        scene.breaks_lease(5, (7, 3), true);
        after.into_iter().for_each(|side| scene.traffic.send(&mut scene.holder, side, &encrypted));
        scene.only().unanswered
    };
    assert_eq!(unanswered(None, None), 1);
    assert_eq!(unanswered(None, Some(Side::Client)), 0);
    assert_eq!(unanswered(None, Some(Side::Server)), 1, "the server's message");
    assert_eq!(unanswered(Some(Side::Client), None), 1, "before the break");
}

#[test]
fn an_acknowledgement_that_a_captured_break_did_not_demand_is_neither_unsolicited_nor_unmatched() {
    let mut scene = Scene::new();
    scene.opens_with_lease("file", 1, 5, 1, false);
    scene.breaks_lease(5, (1, 0), false);
    scene.acknowledges_lease(5, 0);
    // Without a body, it acknowledges nothing.
    scene.asks(&smb2::request(OPLOCK_BREAK, 90));
    let breaks = scene.seen().0.breaks;
    assert_eq!((breaks.unsolicited, breaks.unmatched, scene.only().acknowledged), (0, 0, 0));
    scene.acknowledges_lease(6, 0);
    assert_eq!(scene.seen().0.breaks.unsolicited, 1, "of another lease");
}

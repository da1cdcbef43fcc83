//! Opens that wait for other clients' leases and oplocks.

use plimsoll_model::{Breaks, Coverage};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

use super::waiting::{MS, coverage};

const OPLOCK_BREAK: u16 = 0x12;

/// A client opens a file that another client has open. The server breaks that client's lease if `breaks`, and answers `answered_ns`
/// later.
fn open_during_a_break(breaks: bool, answered_ns: i64) -> Coverage {
    let mut traffic = Traffic::new(Link::Ethernet);
    let (mut holder, mut opener) = (Tcp::between_ports(700, 445), Tcp::between_ports(701, 445));
    traffic.send(&mut holder, Side::Client, &nbss(&smb2::create(1, "file").bytes()));
    traffic.send(&mut holder, Side::Server, &nbss(&smb2::created(1, smb2::file(1)).bytes()));
    traffic.send(&mut opener, Side::Client, &nbss(&smb2::create(1, "file").bytes()));
    if breaks {
        traffic.send(&mut holder, Side::Server, &nbss(&smb2::response(OPLOCK_BREAK, u64::MAX, 0).bytes()));
    }
    traffic.time_ns += answered_ns;
    traffic.send(&mut opener, Side::Server, &nbss(&smb2::created(1, smb2::file(2)).bytes()));
    coverage(&traffic)
}

#[test]
fn an_open_waits_for_a_lease_that_is_broken_before_it_is_answered() {
    let waited = open_during_a_break(true, 30 * MS).breaks;
    assert_eq!((waited.notified, waited.opens), (1, 1));
    assert!((30 * MS as u64..31 * MS as u64).contains(&waited.wait_ns), "{waited:?}");
    assert_eq!(waited.longest_ns, waited.wait_ns);
    assert!(waited.holder.is_some() && waited.path.is_some(), "{waited:?}");
    assert_eq!(open_during_a_break(false, 30 * MS).breaks.opens, 0);
    assert_eq!(open_during_a_break(true, MS).breaks.opens, 0, "it did not wait");
}

#[test]
fn each_of_several_opens_waits_from_its_own_break_on() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut holder = Tcp::between_ports(700, 445);
    let mut openers = [701, 702, 703].map(|port| Tcp::between_ports(port, 445));
    let notification = nbss(&smb2::response(OPLOCK_BREAK, u64::MAX, 0).bytes());
    for (opener, (file, breaks)) in openers.iter_mut().zip([("first", true), ("second", true), ("second", false)]) {
        traffic.send(opener, Side::Client, &nbss(&smb2::create(1, file).bytes()));
        if breaks {
            traffic.send(&mut holder, Side::Server, &notification);
        }
        traffic.time_ns += 400 * MS;
    }
    for opener in &mut openers {
        traffic.send(opener, Side::Server, &nbss(&smb2::created(1, smb2::file(2)).bytes()));
    }
    let waited = coverage(&traffic).breaks;
    assert_eq!((waited.notified, waited.opens), (2, 3));
    let sum = (1_200 + 800 + 400) * MS as u64;
    assert!((sum..sum + 3 * MS as u64).contains(&waited.wait_ns), "{waited:?}");
    assert!((1_200 * MS as u64..1_201 * MS as u64).contains(&waited.longest_ns), "{waited:?}");
}

/// The oplock form of a break, for a file.
///
/// Spec: MS-SMB2 2.2.23.1, 2.2.24.1
fn oplock_break(message: smb2::Message, file: [u8; 16]) -> Vec<u8> {
    nbss(&message.body(&[&[24, 0, 1, 0, 0, 0, 0, 0], file.as_slice()].concat()).bytes())
}

/// An open waits for the break of file 1's oplock, and is answered 20 s later. The holder sends this meanwhile.
fn held_for_20_s(meanwhile: Option<Vec<u8>>) -> Breaks {
    let mut traffic = Traffic::new(Link::Ethernet);
    let (mut holder, mut opener) = (Tcp::between_ports(700, 445), Tcp::between_ports(701, 445));
    traffic.send(&mut holder, Side::Client, &nbss(&smb2::create(1, "file").bytes()));
    traffic.send(&mut holder, Side::Server, &nbss(&smb2::created(1, smb2::file(1)).bytes()));
    traffic.send(&mut opener, Side::Client, &nbss(&smb2::create(1, "file").bytes()));
    let notification = oplock_break(smb2::response(OPLOCK_BREAK, u64::MAX, 0), smb2::file(1));
    traffic.send(&mut holder, Side::Server, &notification);
    traffic.time_ns += 10_000 * MS;
    if let Some(meanwhile) = meanwhile {
        traffic.send(&mut holder, Side::Client, &meanwhile);
    }
    traffic.time_ns += 10_000 * MS;
    traffic.send(&mut opener, Side::Server, &nbss(&smb2::created(1, smb2::file(2)).bytes()));
    coverage(&traffic).breaks
}

#[test]
fn a_break_is_unanswered_that_its_holder_neither_acknowledges_nor_closes_the_file_for() {
    let is_unanswered = |breaks: Breaks| {
        assert_eq!((breaks.opens, breaks.unanswered), (1, u64::from(breaks.is_longest_unanswered)), "{breaks:?}");
        breaks.is_longest_unanswered
    };
    let acknowledgement = |file| oplock_break(smb2::request(OPLOCK_BREAK, 2), smb2::file(file));
    let close = |file| nbss(&smb2::close(2, smb2::file(file)).bytes());
    assert!(is_unanswered(held_for_20_s(None)));
    assert!(is_unanswered(held_for_20_s(Some(acknowledgement(9)))), "of another file");
    assert!(is_unanswered(held_for_20_s(Some(close(9)))), "another file");
    assert!(
        is_unanswered(held_for_20_s(Some(nbss(&smb2::echo(2).bytes())))),
        "the client works, but does not acknowledge"
    );
    assert!(!is_unanswered(held_for_20_s(Some(acknowledgement(1)))));
    assert!(!is_unanswered(held_for_20_s(Some(close(1)))));
    assert!(!open_during_a_break(true, 30 * MS).breaks.is_longest_unanswered, "30 ms");
}

//! Requests with an interim answer whose final one the capture lost.

use plimsoll_model::{Coverage, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb2};

const INTERIM_BODY: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];
const READ: u16 = 8;

/// A request that gets an interim answer and a final one, and a request behind it that is answered; `loses` the final one.
fn observe(command: u16, request: &[u8], loses: bool) -> Coverage {
    observe_until(command, request, loses, |_, _| {})
}

fn observe_until(command: u16, request: &[u8], loses: bool, end: impl FnOnce(&mut Traffic, &mut Tcp)) -> Coverage {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    traffic.send(&mut tcp, Side::Client, &nbss(request));
    let interim = smb2::response(command, 1, smb2::PENDING).asynchronous(905).body(&INTERIM_BODY);
    traffic.send(&mut tcp, Side::Server, &nbss(&interim.bytes()));
    if loses {
        let last = nbss(&smb2::response(command, 1, 0).asynchronous(905).body(&INTERIM_BODY).bytes());
        drop(tcp.data(Side::Server, &last));
    }
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::echo(2).bytes()));
    traffic.send(&mut tcp, Side::Server, &nbss(&smb2::echoed(2).bytes()));
    end(&mut traffic, &mut tcp);
    let mut observer = Observer::new(Vec::<Transaction>::new());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
        observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len: frame.original_len });
    }
    observer.finish().coverage
}

#[test]
fn what_was_lost_behind_an_interim_answer_counts_as_lost() {
    let read = smb2::read(1, smb2::file(1), 3_000).bytes();
    let unseen = observe(READ, &read, true).unseen;
    assert_eq!((unseen.paired, unseen.requests_waiting, unseen.requests_after_gap), (1, 0, 1), "{unseen:?}");
    assert_eq!(unseen.missing.operations, 2, "and what had the first id: {unseen:?}");
    let unseen = observe(READ, &read, false).unseen;
    assert_eq!((unseen.requests_waiting, unseen.requests_after_gap), (1, 0), "nothing lost: {unseen:?}");
}

/// It may still wait, despite the losses.
#[test]
fn a_request_that_waits_by_design_is_not_missing() {
    let notify = smb2::request(smb2::command::CHANGE_NOTIFY, 1).body(&[32; 32]).bytes();
    let unseen = observe(smb2::command::CHANGE_NOTIFY, &notify, true).unseen;
    assert_eq!((unseen.requests_waiting, unseen.requests_after_gap), (1, 0), "{unseen:?}");
}

/// Another channel of its session could have answered it.
#[test]
fn a_request_of_a_connection_that_ended_is_unanswered() {
    let read = smb2::read(1, smb2::file(1), 3_000).bytes();
    let unseen = observe_until(READ, &read, false, |traffic, tcp| {
        for from in [Side::Client, Side::Server] {
            traffic.tcp(&tcp.fin(from));
            traffic.tcp(&tcp.ack(from.other()));
        }
        // The same ends open another connection.
        let mut next = Tcp::between_ports(700, 445).starting_at(1_000_000, 2_000_000);
        traffic.all(&next.handshake());
        traffic.send(&mut next, Side::Client, &nbss(&smb2::echo(0).bytes()));
        traffic.send(&mut next, Side::Server, &nbss(&smb2::echoed(0).bytes()));
    })
    .unseen;
    assert_eq!((unseen.paired, unseen.requests_waiting), (2, 1), "{unseen:?}");
}

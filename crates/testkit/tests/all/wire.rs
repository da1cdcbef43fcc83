//! The wire's log, against what tcpdump saw at both ends.

use std::net::UdpSocket;
use std::time::Duration;

use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::wire::{Capture, Fate, Impairments, Log, Seen, Wire};
use plimsoll_testkit::{Random, Side};

const PORT: u16 = 7_777;
const DATAGRAMS: u32 = 1_500;
const ENDS: [Side; 2] = [Side::Client, Side::Server];

/// Both ends send datagrams of different lengths and content. They begin with more than the queue takes. The sockets: if they were
/// closed, the kernel would refuse what still arrives.
fn talk(wire: &Wire) -> [UdpSocket; 2] {
    let sockets = ENDS.map(|end| wire.at(end, || UdpSocket::bind((Wire::address(end), PORT)).unwrap()));
    std::thread::scope(|scope| {
        for (socket, end) in sockets.iter().zip(ENDS) {
            scope.spawn(move || {
                let mut random = Random::new(end as u64);
                for number in 0..DATAGRAMS {
                    let length = 8 + random.bits() as usize % 1_400;
                    let mut datagram = vec![number as u8; length];
                    datagram[..4].copy_from_slice(&number.to_be_bytes());
                    socket.send_to(&datagram, (Wire::address(end.other()), PORT)).unwrap();
                    if number > 100 && number % 8 == 0 {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
            });
        }
    });
    sockets
}

fn assert_same(log: &Log, end: Side, Seen { sent, received }: &Seen) {
    for ((ns, packet), logged) in sent.iter().zip(log.sent(end)) {
        assert!(*packet == logged.packet && *ns <= logged.taken_ns, "{end:?} sent another packet");
    }
    for ((ns, packet), (logged, delivery)) in received.iter().zip(log.arrived(end)) {
        assert_eq!(*packet, logged.packet, "{end:?}, arrival {}", delivery.place);
        assert!((delivery.begun_ns..=delivery.ended_ns).contains(ns), "{ns} {delivery:?}");
    }
    // tcpdump ended before the wire did.
    assert!(sent.len() <= log.sent(end).count() && received.len() <= log.arrived(end).len());
}

#[test]
fn the_log_says_of_every_packet_what_tcpdump_saw_at_both_ends() {
    let asked = Impairments {
        delay: Duration::from_millis(5),
        jitter: Duration::from_micros(300),
        loss: 0.03,
        duplication: 0.02,
        reordering: 0.03,
        held_back: Duration::from_millis(8),
        ..Impairments::default()
    };
    let limited = Impairments { rate: Some(2e6), queue_bytes: 30_000.0, seed: 2, ..asked };
    let wire = match Wire::start([limited, asked]) {
        Ok(wire) => wire,
        Err(reason) => return plimsoll_testkit::skip(reason),
    };
    let scratch = Scratch::new("wire");
    let file = |end: Side| scratch.path().join(format!("{end:?}.pcap"));
    let captures: Vec<Capture> = match ENDS.iter().map(|end| wire.capture(*end, &file(*end))).collect() {
        Ok(captures) => captures,
        Err(reason) => return plimsoll_testkit::skip(reason),
    };
    let sockets = talk(&wire);
    let seen: Vec<Seen> = captures.into_iter().map(|capture| capture.end(&wire)).collect();
    drop(sockets);
    let log = wire.end();
    ENDS.iter().zip(&seen).for_each(|(end, seen)| assert_same(&log, *end, seen));

    for end in ENDS {
        let count = |fate| log.sent(end).filter(|passage| passage.fate == fate).count();
        let counts = [Fate::Passed, Fate::Doubled, Fate::Lost, Fate::QueueFull].map(count);
        println!("{end:?} sent {} packets: passed, doubled, lost, queue full: {counts:?}", DATAGRAMS);
        assert_eq!(counts.iter().sum::<usize>(), DATAGRAMS as usize, "nothing else is on the wire");
        assert!(counts[1] > 0 && counts[2] > 0 && (counts[3] > 0) == (end == Side::Client), "{counts:?}");
        assert_order_and_delays(&log, end.other(), asked.delay);
    }
}

/// Only packets that were held back are overtaken, and none is faster than the wire.
fn assert_order_and_delays(log: &Log, at: Side, delay: Duration) {
    let arrived = log.arrived(at);
    let in_order = arrived.iter().filter(|(passage, _)| !passage.is_held_back).map(|(passage, _)| passage.taken_ns);
    assert!(in_order.is_sorted(), "{at:?}");
    assert!(!arrived.iter().map(|(passage, _)| passage.taken_ns).is_sorted(), "some are held back");
    for (passage, delivery) in arrived {
        assert!(passage.delay >= delay && delivery.took >= passage.delay, "{:?} {delivery:?}", passage.delay);
    }
}

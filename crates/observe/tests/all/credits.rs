//! Waits for SMB2 credits after a NEGOTIATE of SMB1.

use std::collections::VecDeque;

use plimsoll_model::Credits;
use plimsoll_testkit::smb2::{self, command};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb1};

use crate::conversation::observed;

const READS: u64 = 300;

/// A client negotiates SMB2 in SMB1 and gets one credit, then 8. It has `wanted` READs outstanding until it has sent all.
fn reads(wanted: usize) -> Credits {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    let negotiate = smb1::request(smb1::NEGOTIATE, 300, 0).data(b"\x02SMB 2.002\0\x02SMB 2.???\0");
    traffic.send(&mut tcp, Side::Client, &nbss(&negotiate.bytes()));
    let mut says = |from, message: smb2::Message| traffic.send(&mut tcp, from, &nbss(&message.bytes()));
    let negotiated = [&[65, 0, 1, 0, 0xff, 2, 0, 0][..], &[0; 56]].concat();
    says(Side::Server, smb2::response(command::NEGOTIATE, 0, 0).session(0).body(&negotiated).credits(1));
    says(Side::Client, smb2::request(command::NEGOTIATE, 1).session(0).body(&[&[36, 0, 1, 0][..], &[0; 32]].concat()));
    says(Side::Server, smb2::response(command::NEGOTIATE, 1, 0).session(0).body(&negotiated).credits(8));
    let mut outstanding = VecDeque::new();
    for id in 2..2 + READS {
        says(Side::Client, smb2::read(id, smb2::file(1), 100));
        outstanding.push_back(id);
        if outstanding.len() == wanted {
            let answered = outstanding.pop_front().unwrap();
            says(Side::Server, smb2::read_answer(answered, &[7; 100]).credits(1));
        }
    }
    outstanding.into_iter().for_each(|id| says(Side::Server, smb2::read_answer(id, &[7; 100])));
    observed(&traffic).coverage.credits
}

#[test]
fn the_response_to_an_smb1_negotiate_grants_credits() {
    assert_eq!(reads(7), Credits::default(), "one is always left");
    assert!(reads(8).waits > READS / 2, "none is left: {:?}", reads(8));
}

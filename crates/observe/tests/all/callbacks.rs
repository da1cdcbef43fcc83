//! Requests that a server sends to its client.

use plimsoll_model::Transaction;
use plimsoll_observe::Observed;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nfs4, rpc};

use crate::conversation::observed;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];
const NLM: u32 = 100_021;

fn getattr(traffic: &mut Traffic, tcp: &mut Tcp, xid: u32) {
    traffic.send(tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"handle")));
    traffic.send(tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
}

/// Asserts that every row names the same client and server, also the rows of requests that the server sent.
fn assert_one_client(observed: &Observed<Vec<Transaction>>, requests: usize) {
    assert_eq!(observed.sink.iter().filter(|row| row.counted).count(), requests);
    for row in &observed.sink {
        assert_eq!((row.client.ip, row.server.ip), (CLIENT.into(), SERVER.into()), "{}", row.procedure.name());
    }
    let paths: Vec<_> = observed.coverage.client_paths.iter().map(|path| path.client).collect();
    assert_eq!(paths, [std::net::IpAddr::from(CLIENT)]);
    assert_eq!(observed.coverage.unfinished, [], "the server does not have to respond");
}

#[test]
fn a_server_that_grants_a_lock_is_no_client() {
    for procedure in [5, 10, 12] {
        for is_answered in [true, false] {
            let mut traffic = Traffic::new(Link::Ethernet);
            let mut tcp = Tcp::new((CLIENT, 700).into(), (SERVER, 2049).into());
            traffic.all(&tcp.handshake());
            getattr(&mut traffic, &mut tcp, 1);
            let mut back = Tcp::new((SERVER, 800).into(), (CLIENT, 4_001).into());
            traffic.all(&back.handshake());
            let granted = rpc::call(7, NLM, 4, procedure, &rpc::words(&[0; 16]));
            traffic.send(&mut back, Side::Client, &rpc::record(&granted));
            if is_answered {
                let reply = rpc::reply(7, &rpc::words(&[0, 0]));
                traffic.send(&mut back, Side::Server, &rpc::record(&reply));
            }
            getattr(&mut traffic, &mut tcp, 2);
            assert_one_client(&observed(&traffic), 3);
        }
    }
}

#[test]
fn a_server_that_recalls_a_delegation_is_no_client() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::new((CLIENT, 700).into(), (SERVER, 2049).into());
    traffic.all(&tcp.handshake());
    getattr(&mut traffic, &mut tcp, 1);
    traffic.send(&mut tcp, Side::Server, &nfs4::recall_of(900, [6; 16]));
    assert_one_client(&observed(&traffic), 2);
}

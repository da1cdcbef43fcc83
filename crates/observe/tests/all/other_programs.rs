//! RPC programs that are not part of a file service: of a complete capture with their calls, nothing is missing.

use std::net::SocketAddr;

use plimsoll_model::{Anomaly, Coverage, Protocol, Transaction};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};

use crate::conversation::observe_traffic;

/// NFS_LOCALIO: Linux asks for it on the connection of NFS.
const LOCALIO: u32 = 400_122;
const NIS: u32 = 100_004;

/// Adds a conversation of these calls with their replies, from its first packet on, in segments of at most `most` bytes.
fn converse(traffic: &mut Traffic, port: u16, rounds: &[(Vec<u8>, Vec<u8>)], most: usize) {
    let mut tcp = Tcp::between_ports(700, port);
    traffic.all(&tcp.handshake());
    for (call, reply) in rounds {
        traffic.all(&tcp.split(Side::Client, &rpc::record(call), most));
        traffic.all(&tcp.split(Side::Server, &rpc::record(reply), most));
    }
}

fn getattr(xid: u32) -> (Vec<u8>, Vec<u8>) {
    (rpc::getattr(xid, &[7; 16]), rpc::reply(xid, &rpc::words(&[2])))
}

fn assert_complete((transactions, coverage): &(Vec<Transaction>, Coverage), protocols: &[Protocol]) {
    let unseen = coverage.unseen;
    let found: Vec<_> = transactions.iter().map(|one| one.procedure.row().protocol).collect();
    assert_eq!(found, protocols, "{unseen:?}");
    assert_eq!((unseen.paired, unseen.orphans()), (protocols.len() as u64, 0), "{unseen:?}");
    assert_eq!((unseen.missing.operations, unseen.missing.unknown, coverage.one_sided), (0, 0, 0), "{unseen:?}");
    for one in [Anomaly::BytesUnrecognised, Anomaly::Resynchronised, Anomaly::ResponseWithoutRequest] {
        assert_eq!(coverage.anomalies.count(one), 0, "{one:?}");
    }
}

#[test]
fn a_call_of_another_program_on_the_connection_of_nfs_is_an_operation() {
    let unavailable = rpc::words(&[2, 1, 0, 0, 0, 1]);
    let rounds = [getattr(1), (rpc::call(2, LOCALIO, 1, 1, &rpc::opaque(&[9; 16])), unavailable), getattr(3)];
    for most in [1_448, 7] {
        let mut traffic = Traffic::new(Link::Ethernet);
        converse(&mut traffic, 2049, &rounds, most);
        assert_complete(&observe_traffic(&traffic), &[Protocol::Nfs3, Protocol::Rpc, Protocol::Nfs3]);
    }
}

/// As `rpcinfo -t HOST nfs` asks which versions there are.
#[test]
fn a_call_of_another_version_is_an_operation_also_as_the_only_one() {
    let mismatch = rpc::words(&[7, 1, 0, 0, 0, 2, 3, 4]);
    for most in [1_448, 7] {
        let mut traffic = Traffic::new(Link::Ethernet);
        converse(&mut traffic, 2049, &[(rpc::call(7, rpc::NFS, 0, 0, &[]), mismatch.clone())], most);
        assert_complete(&observe_traffic(&traffic), &[Protocol::Rpc]);
    }
}

#[test]
fn a_connection_of_other_programs_is_no_file_server_s() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let round = |xid| (rpc::call(xid, NIS, 2, 3, &rpc::opaque(b"domain")), rpc::reply(xid, &rpc::words(&[1, 0, 0])));
    converse(&mut traffic, 834, &(1..20).map(round).collect::<Vec<_>>(), 1_448);
    assert_complete(&observe_traffic(&traffic), &[]);
}

#[test]
fn datagrams_of_other_programs_are_no_conversation() {
    let mut traffic = Traffic::new(Link::Ethernet);
    converse(&mut traffic, 2049, &[getattr(1)], 1_448);
    let (client, server): (SocketAddr, SocketAddr) = (([10, 0, 0, 1], 1_021).into(), ([10, 0, 0, 2], 834).into());
    for xid in 5..8 {
        traffic.udp(client, server, &rpc::call(xid, NIS, 2, 3, &rpc::opaque(b"domain")), None);
        traffic.udp(server, client, &rpc::reply(xid, &rpc::words(&[1, 0, 0])), None);
    }
    assert_complete(&observe_traffic(&traffic), &[Protocol::Nfs3]);
    // The same replies without their calls.
    let replies = traffic.frames.split_off(traffic.frames.len() - 6).into_iter().skip(1).step_by(2);
    traffic.frames.extend(replies);
    assert_eq!(observe_traffic(&traffic).1.one_sided, 1);
}

/// Numbers of private programs are those from which clients also take the numbers of their callbacks.
#[test]
fn a_call_of_a_private_program_is_no_callback() {
    for procedure in [1, 9] {
        let mut traffic = Traffic::new(Link::Ethernet);
        let private = (rpc::call(2, 0x4000_0001, 7, procedure, &[]), rpc::reply(2, &[]));
        converse(&mut traffic, 2049, &[getattr(1), private, getattr(3)], 1_448);
        let observed = observe_traffic(&traffic);
        assert_complete(&observed, &[Protocol::Nfs3, Protocol::Rpc, Protocol::Nfs3]);
        assert!(observed.0.iter().all(|one| one.client.port == 700), "{procedure}");
    }
}

#[test]
fn a_broadcast_and_its_replies_are_no_conversation() {
    let mut traffic = Traffic::new(Link::Ethernet);
    converse(&mut traffic, 2049, &[getattr(1)], 1_448);
    let address = |host: u8, port: u16| SocketAddr::from(([10, 0, 0, host], port));
    for (xid, to) in [(7, SocketAddr::from(([255_u8; 4], 111))), (8, address(255, 111))] {
        let asked = [rpc::words(&[NIS, 2, 1]), rpc::opaque(&[])].concat();
        traffic.udp(address(1, 800), to, &rpc::call(xid, 100_000, 2, 5, &asked), None);
        for host in [2, 3] {
            let found = [rpc::words(&[834]), rpc::opaque(&[0; 4])].concat();
            traffic.udp(address(host, 111), address(1, 800), &rpc::reply(xid, &found), None);
        }
    }
    let observed = observe_traffic(&traffic);
    assert_complete(&observed, &[Protocol::Nfs3]);
    assert_eq!(observed.1.unseen.missing.high, 0);
}

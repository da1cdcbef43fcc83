//! Which services a live capture learns from the answers of portmappers.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_model::Transaction;
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_observe::{NamedService, NamedServices, Observer};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};
use plimsoll_wire::rpc::Program;

const PORTMAP: u32 = 100_000;
const NLM: u32 = 100_021;
const STATUS: u32 = 100_024;

/// The services that an observer learns, and its transactions.
fn learned(traffic: &Traffic) -> (Vec<NamedService>, Vec<Transaction>) {
    let services = Arc::<NamedServices>::default();
    let mut observer = Observer::new(Vec::new());
    observer.report_services(Some(Arc::clone(&services)));
    let mut silent = Observer::new(Vec::<Transaction>::new());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
        let frame = Frame { number, time_ns, link, captured: &frame.bytes, original_len: frame.original_len };
        observer.frame(&frame);
        silent.frame(&frame);
    }
    let (observed, silent) = (observer.finish(), silent.finish());
    assert_eq!(format!("{:?}", observed.sink), format!("{:?}", silent.sink), "learning changes no transaction");
    (services.take(), observed.sink)
}

fn service(program: Program, server: &str, port: u16) -> NamedService {
    NamedService { program, server: server.parse().unwrap(), port }
}

/// GETPORT of version 2.
fn get_port(xid: u32, program: u32) -> Vec<u8> {
    rpc::call(xid, PORTMAP, 2, 3, &rpc::words(&[program, 3, 6, 0]))
}

/// GETADDR of version 3 or 4.
fn get_address(xid: u32, version: u32, program: u32) -> Vec<u8> {
    let names = [rpc::opaque(b"tcp"), rpc::opaque(b"10.0.0.2.0.111"), rpc::opaque(b"superuser")].concat();
    rpc::call(xid, PORTMAP, version, 3, &[rpc::words(&[program, 3]), names].concat())
}

/// A question and its answer in datagrams.
fn ask(traffic: &mut Traffic, [client, server]: [&str; 2], question: &[u8], answer: &[u8]) {
    let [client, server]: [SocketAddr; 2] = [client, server].map(|end| end.parse().unwrap());
    traffic.udp(client, server, question, None);
    traffic.udp(server, client, answer, None);
}

#[test]
fn answers_of_all_versions_name_services_over_udp_and_tcp() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let ends = ["10.0.0.1:900", "10.0.0.2:111"];
    ask(&mut traffic, ends, &get_port(1, rpc::MOUNT), &rpc::reply(1, &rpc::words(&[20_048])));
    ask(&mut traffic, ends, &get_address(2, 4, NLM), &rpc::reply(2, &rpc::opaque(b"0.0.0.0.156.65")));
    let six = ["[fd00::1]:900", "[fd00::2]:111"];
    ask(&mut traffic, six, &get_address(3, 3, STATUS), &rpc::reply(3, &rpc::opaque(b"::.156.66")));
    let mut tcp = Tcp::between_ports(901, 111);
    let handshake = tcp.handshake();
    traffic.all(&handshake);
    let server = handshake[1].source.ip().to_string();
    traffic.send(&mut tcp, Side::Client, &rpc::record(&get_address(4, 4, rpc::NFS)));
    traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(4, &rpc::opaque(b"10.0.0.2.47.17"))));
    let (services, transactions) = learned(&traffic);
    let expected = [
        service(Program::Mount, "10.0.0.2", 20_048),
        service(Program::Nlm, "10.0.0.2", 40_001),
        service(Program::Status, "fd00::2", 40_002),
        service(Program::Nfs, &server, 12_049),
    ];
    assert_eq!((services.as_slice(), transactions.len()), (&expected[..], 4));
}

#[test]
fn other_answers_name_nothing() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let ends = ["10.0.0.1:900", "10.0.0.2:111"];
    // No such program; a program that is not part of a file service; the portmapper itself.
    ask(&mut traffic, ends, &get_port(1, rpc::NFS), &rpc::reply(1, &rpc::words(&[0])));
    ask(&mut traffic, ends, &get_address(2, 4, rpc::NFS), &rpc::reply(2, &rpc::opaque(b"")));
    ask(&mut traffic, ends, &get_port(3, 100_007), &rpc::reply(3, &rpc::words(&[30_000])));
    ask(&mut traffic, ends, &get_port(4, PORTMAP), &rpc::reply(4, &rpc::words(&[111])));
    // DUMP; a denied call; an answer to another call; an answer without a call.
    ask(&mut traffic, ends, &rpc::call(5, PORTMAP, 2, 4, &[]), &rpc::reply(5, &rpc::words(&[30_000])));
    ask(&mut traffic, ends, &get_port(6, rpc::NFS), &rpc::words(&[6, 1, 1, 1, 1]));
    ask(&mut traffic, ends, &get_port(7, rpc::NFS), &rpc::reply(77, &rpc::words(&[30_000])));
    // The results of an NFS call may have any bytes.
    ask(
        &mut traffic,
        ["10.0.0.1:900", "10.0.0.2:2049"],
        &rpc::getattr(8, b"x"),
        &rpc::reply(8, &rpc::words(&[30_000])),
    );
    assert_eq!(learned(&traffic).0, []);
}

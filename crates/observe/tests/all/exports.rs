//! Shares of NFS operations, by the exports that clients mount.

use plimsoll_model::Transaction;
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};

const MNT: u32 = 1;

fn exchange(traffic: &mut Traffic, tcp: &mut Tcp, call: &[u8], reply: &[u8]) {
    traffic.send(tcp, Side::Client, &rpc::record(call));
    traffic.send(tcp, Side::Server, &rpc::record(reply));
}

fn mount(traffic: &mut Traffic, tcp: &mut Tcp, export: &str) {
    let results = [rpc::words(&[0]), rpc::opaque(b"root"), rpc::words(&[1, 1])].concat();
    let call = rpc::call(1, rpc::MOUNT, 3, MNT, &rpc::opaque(export.as_bytes()));
    exchange(traffic, tcp, &call, &rpc::reply(1, &results));
}

fn lookup(traffic: &mut Traffic, tcp: &mut Tcp, file: &[u8]) {
    let results = [rpc::words(&[0]), rpc::opaque(file), rpc::words(&[0, 0])].concat();
    exchange(traffic, tcp, &rpc::lookup(2, b"root", "name"), &rpc::reply(2, &results));
}

#[test]
fn servers_with_equal_root_handles_have_their_own_shares() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut one = Tcp::new(([10, 0, 0, 9], 701).into(), ([10, 0, 0, 1], 2049).into());
    let mut other = Tcp::new(([10, 0, 0, 9], 702).into(), ([10, 0, 0, 2], 2049).into());
    traffic.all(&one.handshake());
    traffic.all(&other.handshake());
    mount(&mut traffic, &mut one, "/projects");
    mount(&mut traffic, &mut other, "/scratch");
    lookup(&mut traffic, &mut one, b"file of one");
    lookup(&mut traffic, &mut other, b"file of other");
    exchange(&mut traffic, &mut one, &rpc::getattr(3, b"file of one"), &rpc::reply(3, &rpc::words(&[0])));
    let mut observer = Observer::new(Vec::<Transaction>::new());
    for (number, frame) in (1..).zip(&traffic.frames) {
        let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
        observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len: frame.original_len });
    }
    let observed = observer.finish();
    let shares: Vec<_> = observed.sink.iter().map(|row| observed.names.text(row.share)).collect();
    let [projects, scratch] = [Some("/projects"), Some("/scratch")];
    assert_eq!(shares, [projects, scratch, projects, scratch, projects]);
}

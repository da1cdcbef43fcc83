//! Shares of NFS operations, by the exports that clients mount.

use plimsoll_testkit::{Link, Tcp, Traffic, rpc};

use crate::conversation::observed;

const MNT: u32 = 1;

fn mount(traffic: &mut Traffic, tcp: &mut Tcp, export: &str) {
    let results = [rpc::words(&[0]), rpc::opaque(b"root"), rpc::words(&[1, 1])].concat();
    let call = rpc::call(1, rpc::MOUNT, 3, MNT, &rpc::opaque(export.as_bytes()));
    traffic.exchange(tcp, &rpc::record(&call), &rpc::record(&rpc::reply(1, &results)));
}

fn lookup(traffic: &mut Traffic, tcp: &mut Tcp, file: &[u8]) {
    let results = [rpc::words(&[0]), rpc::opaque(file), rpc::words(&[0, 0])].concat();
    let call = rpc::lookup(2, b"root", "name");
    traffic.exchange(tcp, &rpc::record(&call), &rpc::record(&rpc::reply(2, &results)));
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
    let (call, reply) = (rpc::getattr(3, b"file of one"), rpc::reply(3, &rpc::words(&[0])));
    traffic.exchange(&mut one, &rpc::record(&call), &rpc::record(&reply));
    let observed = observed(&traffic);
    let shares: Vec<_> = observed.sink.iter().map(|row| observed.names.text(row.share)).collect();
    let [projects, scratch] = [Some("/projects"), Some("/scratch")];
    assert_eq!(shares, [projects, scratch, projects, scratch, projects]);
}

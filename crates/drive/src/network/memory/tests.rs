//! The virtual clock, and connections under it.

use super::*;

const KEY: ConnectionKey = ConnectionKey(0);
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// Echoes received bytes after 100 ns, and closes 50 ns later.
fn echo(at: i64, bytes: &[u8], replies: &mut Vec<Reply>) {
    replies.push(Reply { at: at + 150, what: Delivery::Close });
    replies.push(Reply { at: at + 100, what: Delivery::Bytes(bytes.to_vec()) });
}

fn step(net: &mut Memory, until: Option<i64>) -> Vec<Ready> {
    let mut ready = Vec::new();
    net.wait(until, &mut ready).unwrap();
    ready
}

#[test]
fn the_clock_moves_to_what_comes_next_and_no_further() {
    let mut net = Memory::new(1_000, |_, _, _| Accept::Serve(Box::new(echo), 30));
    net.connect(KEY, ANYWHERE).unwrap();
    assert_eq!(net.local(KEY).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(step(&mut net, Some(1_010)), []);
    assert_eq!(net.now(), 1_010);
    assert_eq!(step(&mut net, None), [Ready { key: KEY, readable: false, writable: true }]);
    assert_eq!(net.now(), 1_030);
    assert!(net.local(KEY).is_ok());
    net.want_writable(KEY, false).unwrap();
    assert_eq!(net.send(KEY, &[IoSlice::new(b"ab"), IoSlice::new(b"c")]).unwrap(), 3);
    assert_eq!(step(&mut net, None), [Ready { key: KEY, readable: true, writable: false }]);
    assert_eq!(net.now(), 1_130);
    let mut buffer = [0; 2];
    assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap(), Received { bytes: 2, kernel_ns: Some(1_130) });
    assert_eq!(&buffer, b"ab");
    assert_eq!(step(&mut net, None).len(), 1, "a byte is left");
    assert_eq!(net.discard(KEY, 9).unwrap().bytes, 1);
    assert_eq!(net.receive(KEY, &mut buffer, Take::AtOnce).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(step(&mut net, None).len(), 1, "the end");
    assert_eq!((net.now(), net.receive(KEY, &mut buffer, Take::AtOnce).unwrap().bytes), (1_180, 0));
    net.close(KEY);
    let mut ready = Vec::new();
    assert!(net.wait(None, &mut ready).is_err(), "nothing will ever happen");
}

#[test]
fn what_was_sent_to_a_connection_before_does_not_reach_the_next() {
    let mut net = Memory::new(0, |_, attempt, _| match attempt {
        0 => Accept::Serve(Box::new(echo), 0),
        _ => Accept::Refuse(ErrorKind::ConnectionRefused, 500),
    });
    net.connect(KEY, ANYWHERE).unwrap();
    step(&mut net, None);
    net.send(KEY, &[IoSlice::new(b"x")]).unwrap();
    net.connect(KEY, ANYWHERE).unwrap();
    assert_eq!(step(&mut net, None), [], "old bytes, dropped");
    while step(&mut net, None).is_empty() {}
    assert_eq!(net.now(), 500);
    assert_eq!(net.local(KEY).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

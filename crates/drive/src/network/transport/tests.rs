use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};

use plimsoll_client::tls::Trust;
use plimsoll_testkit::servers::rpc_tls::{Manner, RpcTls};

use super::*;
use crate::network::tcp::Tcp;

const KEY: ConnectionKey = ConnectionKey(3);
/// Longer than anything takes on a busy machine, ns.
const PATIENCE_NS: i64 = 60_000_000_000;

/// A server that sends back what it gets, on one connection.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 32 << 10];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if stream.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    });
    address
}

/// A connection that is being made.
fn begun(server: &RpcTls) -> Transport<Tcp> {
    let tls = Arc::new(Tls::new("localhost", (100_003, 3), &Trust::Anyone).unwrap());
    let mut net = Transport::new(Tcp::new(true).unwrap(), &[(server.address(), tls)]);
    net.connect(KEY, server.address()).unwrap();
    net
}

/// Waits for an event.
fn event(net: &mut Transport<Tcp>) -> Ready {
    let until = net.now() + PATIENCE_NS;
    let mut ready = Vec::new();
    while ready.is_empty() {
        assert!(net.now() < until, "nothing happens");
        net.wait(Some(until), &mut ready).unwrap();
    }
    assert!(ready.iter().all(|event| event.key == KEY));
    ready[0]
}

#[test]
fn what_is_sent_comes_back_whole_however_it_is_read() {
    let server = RpcTls::start(echo(), Manner::Serves).unwrap();
    let mut net = begun(&server);
    assert_eq!(net.local(KEY).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(event(&mut net).writable);
    assert!(net.local(KEY).unwrap().ip().is_loopback());
    let data: Vec<u8> = (0..900_000u32).map(|n| (n / 251) as u8).collect();
    let (mut sent, mut came, mut reads) = (0, 0, 0u32);
    let mut buffer = [0; 3000];
    while came < data.len() {
        // In two slices, as requests with data are.
        let (front, back) = data[sent..].split_at((data.len() - sent) / 2);
        let slices = [IoSlice::new(front), IoSlice::new(back)];
        if sent < data.len() {
            net.prepare(KEY, &slices).unwrap();
            match net.send(KEY, &slices) {
                Ok(count) => sent += count,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            net.want_writable(KEY, sent < data.len()).unwrap();
        }
        if !event(&mut net).readable {
            continue;
        }
        // Only once for each event: more that was decrypted is another event. Some of it is of no interest.
        reads += 1;
        let received = match reads % 3 {
            0 => net.discard(KEY, 5000),
            _ => net.receive(KEY, &mut buffer, Take::AtOnce),
        };
        match received {
            Ok(Received { bytes, .. }) => {
                assert!(bytes > 0, "the server has not ended it");
                if !reads.is_multiple_of(3) {
                    assert!(buffer[..bytes] == data[came..came + bytes], "at {came}");
                }
                came += bytes;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    assert_eq!((sent, came), (data.len(), data.len()));
    net.close(KEY);
    assert_eq!(net.local(KEY).unwrap_err().kind(), ErrorKind::NotConnected);
}

/// A server may wait for the end of the client's side before it closes the TCP connection (RFC 8446 6.1).
#[test]
fn the_end_that_comes_with_the_last_data_is_seen() {
    for room in [5, 100] {
        let server = RpcTls::start(echo(), Manner::Notifies).unwrap();
        let mut net = begun(&server);
        assert!(event(&mut net).writable);
        let data = [7; 9];
        assert_eq!(net.send(KEY, &[IoSlice::new(&data)]).unwrap(), data.len());
        let (mut came, mut buffer) = (Vec::new(), [0; 100]);
        loop {
            if !event(&mut net).readable {
                continue;
            }
            match net.receive(KEY, &mut buffer[..room], Take::AtOnce) {
                Ok(Received { bytes: 0, .. }) => break,
                Ok(Received { bytes, .. }) => came.extend_from_slice(&buffer[..bytes]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        assert_eq!(came, data);
        net.close(KEY);
    }
}

#[test]
fn a_connection_that_fails_in_the_handshake_says_why() {
    for (manner, kinds) in [
        (Manner::Unaware, &[ErrorKind::Unsupported][..]),
        (Manner::Rejects, &[ErrorKind::Unsupported]),
        (Manner::Garbage, &[ErrorKind::InvalidData]),
        (Manner::Ends, &[ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe]),
    ] {
        let server = RpcTls::start(echo(), manner).unwrap();
        let mut net = begun(&server);
        assert!(event(&mut net).writable, "{manner:?}");
        let error = net.local(KEY).unwrap_err();
        assert!(kinds.contains(&error.kind()), "{manner:?}: {error}");
        net.close(KEY);
    }
}

/// The owner sees nothing, and ends it when its time is over.
#[test]
fn a_server_that_stops_in_the_handshake_makes_no_connection() {
    for manner in [Manner::Silent, Manner::Stalls] {
        let server = RpcTls::start(echo(), manner).unwrap();
        let mut net = begun(&server);
        let (until, mut ready) = (net.now() + 300_000_000, Vec::new());
        while net.now() < until {
            net.wait(Some(until), &mut ready).unwrap();
        }
        assert_eq!((ready, net.local(KEY).unwrap_err().kind()), (Vec::new(), ErrorKind::WouldBlock), "{manner:?}");
        net.close(KEY);
    }
}

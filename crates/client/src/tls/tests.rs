use std::io::{ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;

use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::servers::rpc_tls::{AUTHORITY, answer, server_config};
use rustls::ServerConnection;

use super::*;

/// TLS with `host`, which is believed with a certificate of the test's authority.
fn tls(host: &str) -> Arc<Tls> {
    let folder = Scratch::new("tls");
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, AUTHORITY).unwrap();
    Arc::new(Tls::new(host, (100_003, 3), &Trust::File(file)).unwrap())
}

/// The xid of the question.
fn xid(session: &TlsSession) -> u32 {
    u32::from_be_bytes(session.to_send()[4..8].try_into().unwrap())
}

/// Takes all that is to be sent, and says how many bytes of data it was.
fn send_all(session: &mut TlsSession, to: &mut Vec<u8>) -> usize {
    to.extend_from_slice(session.to_send());
    session.sent(session.to_send().len())
}

/// The server's side of a connection.
struct Server(ServerConnection);

impl Server {
    fn take(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        while !bytes.is_empty() {
            self.0.read_tls(&mut bytes).unwrap();
            let state = self.0.process_new_packets().unwrap();
            let start = data.len();
            data.resize(start + state.plaintext_bytes_to_read(), 0);
            self.0.reader().read_exact(&mut data[start..]).unwrap();
        }
        data
    }

    fn give(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.0.wants_write() {
            self.0.write_tls(&mut bytes).unwrap();
        }
        bytes
    }
}

/// A session whose server has said yes, and the server, which has answered the ClientHello.
fn begun(host: &str) -> (TlsSession, Server, Vec<u8>) {
    let mut session = TlsSession::new(&tls(host)).unwrap();
    let yes = answer(xid(&session), b"STARTTLS");
    send_all(&mut session, &mut Vec::new());
    for byte in yes {
        session.received(&[byte], &mut []).unwrap();
    }
    let mut server = Server(ServerConnection::new(server_config()).unwrap());
    let mut hello = Vec::new();
    send_all(&mut session, &mut hello);
    assert!(server.take(&hello).is_empty());
    let flight = server.give();
    (session, server, flight)
}

fn up(host: &str) -> (TlsSession, Server) {
    let (mut session, mut server, flight) = begun(host);
    // However the bytes come.
    for byte in flight {
        session.received(&[byte], &mut []).unwrap();
    }
    assert!(session.is_up());
    let mut finished = Vec::new();
    assert_eq!(send_all(&mut session, &mut finished), 0);
    server.take(&finished);
    assert_eq!(server.0.alpn_protocol(), Some(&b"sunrpc"[..]));
    (session, server)
}

#[test]
fn data_goes_both_ways() {
    let (mut session, mut server) = up("127.0.0.1");
    assert!(session.tls.agreed().unwrap().starts_with("RPC over TLS 1.3, "), "{:?}", session.tls.agreed());
    session.encrypt(&[IoSlice::new(b"a c"), IoSlice::new(b"all")]).unwrap();
    let mut bytes = Vec::new();
    assert_eq!(send_all(&mut session, &mut bytes), 6);
    assert_eq!(server.take(&bytes), b"a call");
    server.0.writer().write_all(b"a reply").unwrap();
    for byte in server.give() {
        session.received(&[byte], &mut []).unwrap();
    }
    let mut room = [0; 4];
    assert_eq!((session.read(&mut room), &room), (4, b"a re"));
    assert!(session.has_data());
    assert_eq!((session.read(&mut room), &room[..3]), (3, &b"ply"[..]));
    assert!(!session.has_data() && !session.is_closed());
    server.0.send_close_notify();
    session.received(&server.give(), &mut []).unwrap();
    assert!(session.is_closed());
}

#[test]
fn data_without_room_waits_and_is_not_overtaken() {
    let (mut session, mut server) = up("localhost");
    let data: Vec<u8> = (0..40_000u32).map(|n| n as u8).collect();
    server.0.writer().write_all(&data).unwrap();
    let bytes = server.give();
    let (front, back) = bytes.split_at(bytes.len() / 2);
    let mut room = vec![0; 10_000];
    assert_eq!(session.received(front, &mut room).unwrap(), room.len());
    let mut seen = room.clone();
    assert_eq!(session.received(back, &mut room).unwrap(), 0);
    while session.has_data() {
        let count = session.read(&mut room);
        seen.extend_from_slice(&room[..count]);
    }
    assert!(seen == data);
}

/// The kernel takes few bytes at a time: data counts when the last byte of its record went, each byte once, and none is encrypted twice.
#[test]
fn data_counts_when_its_record_has_gone() {
    let (mut session, mut server) = up("localhost");
    let data: Vec<u8> = (0..700_000u32).map(|n| n as u8).collect();
    let (mut counted, mut arrived) = (0, Vec::new());
    while counted < data.len() {
        let (front, back) = data[counted..].split_at((data.len() - counted) / 3);
        session.encrypt(&[IoSlice::new(front), IoSlice::new(back)]).unwrap();
        let piece = session.to_send().len().min(9_999);
        assert!(session.to_send().len() < 300 << 10, "a bounded number of bytes waits");
        arrived.extend(server.take(&session.to_send()[..piece]));
        counted += session.sent(piece);
        assert_eq!(counted, arrived.len(), "what the server can read");
    }
    assert!(arrived == data);
    assert!(session.to_send().is_empty());
}

#[test]
fn a_server_without_tls_is_told_apart() {
    let said = |answer: &dyn Fn(u32) -> Vec<u8>| {
        let mut session = TlsSession::new(&tls("localhost")).unwrap();
        let error = session.received(&answer(xid(&session)), &mut []).unwrap_err();
        assert!(!session.is_up());
        (error.kind(), error.to_string())
    };
    let (kind, text) = said(&|xid| answer(xid, b""));
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(text.contains("does not offer RPC over TLS") && text.contains("omit xprtsec=tls"), "{text}");
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    assert_eq!(said(&|xid| words(&[0x8000_0014, xid, 1, 1, 1, 1])).0, ErrorKind::Unsupported);
    // No answer to the question: of another call, too long, in pieces, or with data after it that TLS must not begin with.
    assert_eq!(said(&|xid| answer(xid + 1, b"STARTTLS")).0, ErrorKind::InvalidData);
    assert_eq!(said(&|_| words(&[0x8010_0000])).0, ErrorKind::InvalidData);
    assert_eq!(said(&|_| words(&[24])).0, ErrorKind::InvalidData);
    assert_eq!(said(&|xid| [answer(xid, b"STARTTLS"), vec![22]].concat()).0, ErrorKind::InvalidData);
}

#[test]
fn only_the_right_name_and_authority_are_believed() {
    let (mut session, _, flight) = begun("other.example");
    let error = session.received(&flight, &mut []).unwrap_err().to_string();
    assert!(error.contains("--tls-ca") && error.contains("other.example"), "{error}");
    assert!(!session.to_send().is_empty(), "an alert tells the server");

    let anyone = Arc::new(Tls::new("other.example", (100_003, 3), &Trust::Anyone).unwrap());
    let mut session = TlsSession::new(&anyone).unwrap();
    session.received(&answer(xid(&session), b"STARTTLS"), &mut []).unwrap();
    let mut server = Server(ServerConnection::new(server_config()).unwrap());
    // The question goes first.
    server.take(&session.to_send()[44..]);
    session.received(&server.give(), &mut []).unwrap();
    assert!(session.is_up());

    let folder = Scratch::new("tls");
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "no certificate").unwrap();
    let error = Tls::new("localhost", (100_003, 3), &Trust::File(file)).unwrap_err().to_string();
    assert!(error.contains("empty.pem") && error.contains("no certificate authority"), "{error}");
}

/// A bit turned over anywhere in the server's handshake: an error, or a handshake that never ends. Never a panic, never a connection.
#[test]
fn a_damaged_handshake_makes_no_connection() {
    let length = begun("localhost").2.len();
    for at in (0..length).step_by(7) {
        let (mut session, _, mut flight) = begun("localhost");
        let last = at.min(flight.len() - 1);
        flight[last] ^= 1 << (at % 8);
        let taken = session.received(&flight, &mut []);
        assert!(taken.is_err() || !session.is_up(), "byte {last}");
    }
}

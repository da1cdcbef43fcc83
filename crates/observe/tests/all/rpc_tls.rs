//! RPC over TLS: its records are counted as missing operations, and nothing else is taken for it.

use plimsoll_model::{Coverage, RpcTls};
use plimsoll_testkit::{Side, Tcp, nfs4, rpc};

use crate::conversation::{Sent, observe};

const NFS: u16 = 2049;
/// Another port, on which only the question can tell of TLS.
const OTHER: u16 = 20_490;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// AUTH_TLS, and the answer's verifier.
const AUTH_TLS: u32 = 7;

/// A conversation with a server on this port.
struct Talk(Tcp, Vec<Sent>);

impl Talk {
    fn with(port: u16) -> Self {
        Self(Tcp::new(([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], port).into()), Vec::new())
    }

    fn opened(mut self) -> Self {
        for (segment, from) in self.0.handshake().into_iter().zip([Side::Client, Side::Server, Side::Client]) {
            self.1.push(Sent { segment, tag: None, from });
        }
        self
    }

    fn say(&mut self, from: Side, bytes: &[u8]) {
        let segments = self.0.split(from, bytes, 1_448);
        self.1.extend(segments.into_iter().map(|segment| Sent { segment, tag: None, from }));
    }

    /// NULL with AUTH_TLS, and an accepted answer with this verifier.
    fn ask_for_tls(&mut self, verifier: &[u8]) {
        let call = rpc::words(&[9, 0, 2, 100_003, 4, 0, AUTH_TLS, 0, 0, 0]);
        self.say(Side::Client, &rpc::record(&call));
        let answer = [rpc::words(&[9, 1, 0, 0]), rpc::opaque(verifier), rpc::words(&[0])].concat();
        self.say(Side::Server, &rpc::record(&answer));
    }

    fn handshake(&mut self) {
        self.say(Side::Client, &tls(HANDSHAKE, 200));
        self.say(Side::Server, &[tls(HANDSHAKE, 120), tls(DATA, 2_000)].concat());
        self.say(Side::Client, &tls(DATA, 53));
    }

    fn exchange(&mut self, requests: usize) {
        for _ in 0..requests {
            self.say(Side::Client, &tls(DATA, 200));
            self.say(Side::Server, &tls(DATA, 4_200));
        }
    }

    /// The server recalls a delegation over another connection, in plain text; returns whether the pair is partial.
    fn partial_with_recall(mut self) -> bool {
        self.0 = Tcp::new(([10, 0, 0, 1], 701).into(), ([10, 0, 0, 2], OTHER).into());
        self = self.opened();
        self.say(Side::Server, &nfs4::recall_of(900, [6; 16]));
        let answer = [rpc::words(&[0, 0, 2, 11, 0]), vec![7; 16], rpc::words(&[1, 0, 0, 0, 4, 0])].concat();
        self.say(Side::Client, &rpc::record(&rpc::reply(900, &answer)));
        let [row] = self.observed(&[]).delegations[..] else { panic!("one row") };
        assert_eq!(row.recalled, 1);
        row.is_partial
    }

    fn observed(&self, left_out: &[usize]) -> Coverage {
        let seen = self.1.iter().enumerate().filter(|(at, _)| !left_out.contains(at)).map(|(_, sent)| sent);
        observe(seen, usize::MAX).1
    }
}

fn tls(kind: u8, len: u16) -> Vec<u8> {
    let [high, low] = len.to_be_bytes();
    // Encrypted bytes look like anything; these look like record headers without being any.
    [&[kind, 3, 3, high, low][..], &[DATA, 3, 3, 0, 100].repeat(usize::from(len) / 5 + 1)[..usize::from(len)]].concat()
}

fn sums(found: &RpcTls) -> (u64, [u64; 2], [u64; 2], u64) {
    (found.connections, found.records, found.bytes, found.requests)
}

#[test]
fn what_follows_the_question_is_counted() {
    let mut talk = Talk::with(OTHER).opened();
    talk.ask_for_tls(b"STARTTLS");
    talk.handshake();
    talk.exchange(10);
    let coverage = talk.observed(&[]);
    assert_eq!(sums(&coverage.rpc_tls), (1, [10, 10], [2_050, 42_050], 10));
    let one = coverage.rpc_tls.named[0];
    assert_eq!((one.client.port, one.server.port), (700, OTHER));
    let unseen = coverage.unseen;
    // NULL is the only operation that was read.
    assert_eq!((unseen.paired, unseen.missing.operations, unseen.missing.unknown), (1, 10, 0));
    assert!(unseen.missing.low >= 1 && unseen.missing.high >= 10, "{unseen:?}");
    assert_eq!(coverage.anomalies.iter().count(), 0, "{:?}", coverage.anomalies);
    assert_eq!(coverage.connections, 1);
}

#[test]
fn a_handshake_alone_hides_nothing() {
    let mut talk = Talk::with(NFS).opened();
    talk.ask_for_tls(b"STARTTLS");
    talk.handshake();
    let coverage = talk.observed(&[]);
    assert_eq!(coverage.rpc_tls, RpcTls::default());
    assert_eq!((coverage.unseen.paired, coverage.unseen.missing.operations), (1, 0));
}

#[test]
fn the_middle_of_a_stream_shows_itself_on_the_port_of_nfs() {
    for (port, expected) in [(NFS, (1, [10, 10], [2_050, 42_050], 10)), (OTHER, (0, [0; 2], [0; 2], 0))] {
        let mut talk = Talk::with(port);
        talk.exchange(10);
        let coverage = talk.observed(&[]);
        assert_eq!(sums(&coverage.rpc_tls), expected);
        assert_eq!(coverage.connections, expected.0);
        assert_eq!(coverage.unseen.missing.operations, expected.3);
    }
    let mut talk = Talk::with(NFS);
    talk.exchange(1);
    assert_eq!(talk.observed(&[]).rpc_tls, RpcTls::default(), "two records are no proof");
}

/// Without packets of the middle of a response, its length leads on; without its header, the next segment that begins with one.
#[test]
fn losses_lose_only_their_records() {
    let mut talk = Talk::with(OTHER).opened();
    talk.ask_for_tls(b"STARTTLS");
    talk.handshake();
    let before = talk.1.len();
    talk.exchange(10);
    // Each exchange has a segment of the client and three of the server.
    for (left_out, records) in [(vec![before + 2], [10, 10]), (vec![before + 1], [10, 9]), (vec![before + 4], [9, 10])]
    {
        let coverage = talk.observed(&left_out);
        assert_eq!(coverage.rpc_tls.records, records, "{left_out:?}");
        assert!(coverage.packets.missing_bytes > 0 && coverage.unseen.missing.high >= 10);
    }
}

/// A server without TLS, and data of WRITEs that look like TLS records, also where segments begin.
#[test]
fn file_data_that_look_like_tls_are_none() {
    for question in [true, false] {
        let mut talk = Talk::with(NFS).opened();
        if question {
            talk.ask_for_tls(b"");
        }
        for xid in 20..30 {
            let call = rpc::record(&rpc::write(xid, &[7; 16], &tls(DATA, 95).repeat(40)));
            talk.say(Side::Client, &call);
            talk.say(Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0; 30]))));
        }
        for left_out in [vec![], (0..4 + usize::from(question) * 2).collect()] {
            let coverage = talk.observed(&left_out);
            assert_eq!(coverage.rpc_tls, RpcTls::default());
            assert!(coverage.unseen.paired >= 9, "{:?}", coverage.unseen);
        }
    }
}

/// Encrypted requests may be about delegations; those after a refused question are not encrypted.
#[test]
fn tls_makes_the_delegations_of_a_pair_partial_and_a_refused_question_does_not() {
    let mut refused = Talk::with(NFS).opened();
    refused.ask_for_tls(b"");
    assert!(!refused.partial_with_recall());
    let mut accepted = Talk::with(OTHER).opened();
    accepted.ask_for_tls(b"STARTTLS");
    accepted.handshake();
    accepted.exchange(1);
    assert!(accepted.partial_with_recall());
    let mut from_the_middle = Talk::with(NFS);
    from_the_middle.exchange(10);
    assert!(from_the_middle.partial_with_recall());
}

//! RPC over TLS. As an observer sees it: the question for TLS, its answer, and records in both directions. As a client reads it: the
//! answer to the question and what follows it, in pieces.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use plimsoll_client::tls::{Tls, TlsSession, Trust};
use plimsoll_fuzz::{Conversation, MESSAGES_MAX};
use plimsoll_testkit::{Side, rpc};
use plimsoll_wire::rpc::start_tls;

const PROGRAM: (u32, u32) = (100_003, 4);
/// The client's xid of the question.
const XID: u32 = 0x506C_696D;

static TLS: LazyLock<Arc<Tls>> =
    LazyLock::new(|| Arc::new(Tls::new("localhost", PROGRAM, &Trust::Anyone).expect("it is a name")));

/// The answer yes, with its record mark.
fn yes() -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    rpc::record(&[words(&[XID, 1, 0, 0, 8]), b"STARTTLS".to_vec(), words(&[0])].concat())
}

/// A record with a head that the fuzzer chooses among those that may come.
fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    let kinds = [20, 21, 22, 23, 23, 23, 23, 24];
    let length = (payload.len() as u16).to_be_bytes();
    [&[kinds[usize::from(kind & 7)], 3, 3][..], &length, payload].concat()
}

/// Every record follows a control byte and a length byte: bit 0 of the control byte is the direction, bits 1 to 3 the type of the record,
/// bit 4 loses it, bit 5 cuts it into small segments, bit 6 sends its bytes without a head, bit 7 adds 256 bytes to its length.
fn observe(asks: bool, data: &[u8]) {
    let mut conversation = Conversation::default();
    if asks {
        conversation.send(Side::Client, &start_tls(XID, PROGRAM.0, PROGRAM.1), 65_000);
        conversation.send(Side::Server, &yes(), 65_000);
    }
    let mut rest = data;
    for _ in 0..MESSAGES_MAX {
        let [control, len, tail @ ..] = rest else { break };
        let len = (usize::from(control >> 7) << 8 | usize::from(*len)).min(tail.len());
        let (payload, after) = tail.split_at(len);
        rest = after;
        let from = if control & 1 == 0 { Side::Client } else { Side::Server };
        let bytes = if control & 64 == 0 { record(control >> 1, payload) } else { payload.to_vec() };
        match control & 48 {
            0 => conversation.send(from, &bytes, 65_000),
            32 => conversation.send(from, &bytes, 7),
            _ => conversation.lose(from, &bytes),
        }
    }
    conversation.finish();
}

/// The first byte is the length of the pieces; the answer yes stands before the bytes where bit 7 is set.
fn read(how: u8, data: &[u8]) {
    let mut session = TlsSession::new(&TLS).expect("the configuration is right");
    let prefix = if how & 128 == 0 { Vec::new() } else { yes() };
    if !prefix.is_empty() {
        session.received(&prefix, &mut []).expect("the answer is yes");
    }
    for piece in data.chunks(usize::from(how & 127) + 1) {
        if session.received(piece, &mut [0; 4096]).is_err() {
            break;
        }
        assert!(!session.is_up(), "a handshake without the server's key");
        let waiting = session.to_send().len();
        assert_eq!(session.sent(waiting), 0, "data before the handshake");
    }
    assert!(!session.has_data());
}

fuzz_target!(|data: &[u8]| {
    let [which, how, rest @ ..] = data else { return };
    match which % 4 {
        0 => read(*how, rest),
        1 => observe(false, rest),
        _ => observe(true, rest),
    }
});

//! Slots of NFS 4.1 sessions: captures from which messages are missing state no wrong number of them.

use plimsoll_model::SessionSlots;
use plimsoll_testkit::{Side, Tcp, rpc};

use crate::conversation::{Sent, observe};

const GETATTR: u32 = 9;
const PUTFH: u32 = 22;
const CREATE_SESSION: u32 = 43;
const SEQUENCE: u32 = 53;
const SESSION: [u8; 16] = [6; 16];
/// Frames of the handshake.
const HANDSHAKE: usize = 3;
/// Frames at the end that no test takes away: data after a gap show the gap.
const END: usize = 4;
/// Rounds of two requests.
const ROUNDS: u32 = 3;
/// From one frame to the next, ns.
const STEP: u64 = 100_000;

struct Talk(Tcp, Vec<Sent>);

impl Talk {
    fn say(&mut self, from: Side, message: &[u8]) {
        let segments = self.0.split(from, &rpc::record(message), 1_448);
        self.1.extend(segments.into_iter().map(|segment| Sent { segment, tag: None, from }));
    }

    fn call(&mut self, xid: u32, operations: &[(u32, Vec<u8>)]) {
        self.say(Side::Client, &rpc::compound(xid, 1, operations));
    }

    fn reply(&mut self, xid: u32, results: &[(u32, Vec<u8>)]) {
        self.say(Side::Server, &rpc::compound_reply(xid, results));
    }

    /// A session with two slots, all of which are used in each round. Then come two other requests.
    fn of_two_slots() -> Vec<Sent> {
        let tcp = Tcp::new(([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
        let mut talk = Self(tcp, Vec::new());
        for (segment, from) in talk.0.handshake().into_iter().zip([Side::Client, Side::Server, Side::Client]) {
            talk.1.push(Sent { segment, tag: None, from });
        }
        let channel = |slots| rpc::words(&[0, 4096, 4096, 0, 8, slots, 0]);
        // Client ID, sequence, flags; channels; program and security of callbacks.
        let create = [rpc::words(&[0, 5, 1, 0]), channel(8), channel(1), rpc::words(&[7, 1, 0])].concat();
        let created = [&SESSION[..], &rpc::words(&[1, 0]), &channel(2), &channel(1)].concat();
        talk.call(100, &[(CREATE_SESSION, create)]);
        talk.reply(100, &[(CREATE_SESSION, created)]);
        let attributes = rpc::words(&[1, 0x18, 16, 0, 1, 0, 100]);
        let asked = [(PUTFH, rpc::opaque(b"handle")), (GETATTR, rpc::words(&[1, 0x18]))];
        let found = [(PUTFH, Vec::new()), (GETATTR, attributes)];
        for round in 0..ROUNDS {
            for slot in 0..2 {
                let sequence = [&SESSION[..], &rpc::words(&[round + 1, slot, 1, 0])].concat();
                talk.call(200 + 2 * round + slot, &[&[(SEQUENCE, sequence)][..], &asked].concat());
            }
            for slot in 0..2 {
                let sequence = [&SESSION[..], &rpc::words(&[round + 1, slot, 1, 1, 0])].concat();
                talk.reply(200 + 2 * round + slot, &[&[(SEQUENCE, sequence)][..], &found].concat());
            }
        }
        for xid in 300..302 {
            talk.call(xid, &asked);
            talk.reply(xid, &found);
        }
        talk.1
    }
}

fn rows<'s>(sent: impl IntoIterator<Item = &'s Sent>, snaplen: usize) -> Vec<SessionSlots> {
    observe(sent, snaplen).1.slots
}

#[test]
fn a_whole_capture_has_all_numbers() {
    let [row] = rows(&Talk::of_two_slots(), usize::MAX)[..] else { panic!("one row") };
    let expected = SessionSlots {
        session: row.session,
        id: u128::from_be_bytes(SESSION),
        client: [10, 0, 0, 1].into(),
        server: [10, 0, 0, 2].into(),
        granted: Some(2),
        target: Some(2),
        slots: Some(2),
        requests: 2 * u64::from(ROUNDS),
        most: 2,
        full_ns: u64::from(ROUNDS) * STEP,
        waits: u64::from(ROUNDS) - 1,
        wait_ns: (u64::from(ROUNDS) - 1) * STEP,
        span_ns: (4 * u64::from(ROUNDS) - 1) * STEP,
        is_partial: false,
    };
    assert_eq!(row, expected);
}

#[test]
fn transactions_have_the_session() {
    let (transactions, coverage) = observe(&Talk::of_two_slots(), usize::MAX);
    let of_the_session = transactions.iter().filter(|row| row.session == Some(coverage.slots[0].session)).count();
    // The compounds, and three operations in each.
    assert_eq!(of_the_session, 2 * ROUNDS as usize * 4);
}

/// Any snap length: a row is partial, or has all requests.
#[test]
fn a_cut_capture_states_no_wrong_number() {
    let sent = Talk::of_two_slots();
    let (mut partial, mut all) = (0, 0);
    for snaplen in 54..400 {
        for row in rows(&sent, snaplen).iter().filter(|row| row.requests > 0) {
            let is_right = (row.requests, row.most) == (2 * u64::from(ROUNDS), 2);
            assert!(row.is_partial || is_right, "{snaplen}: {row:?}");
            *(if row.is_partial { &mut partial } else { &mut all }) += 1;
        }
    }
    assert!(all > 100, "{partial} {all}");
}

/// Any two lost packets.
#[test]
fn a_capture_with_losses_states_no_wrong_number() {
    let sent = Talk::of_two_slots();
    let (mut partial, last) = (0, sent.len() - END);
    for one in HANDSHAKE..last {
        for other in one..last {
            let left = sent.iter().enumerate().filter(|(at, _)| ![one, other].contains(at)).map(|(_, sent)| sent);
            for row in rows(left, usize::MAX) {
                let is_right = (row.requests, row.most) == (2 * u64::from(ROUNDS), 2);
                assert!(row.is_partial || is_right, "{one} {other}: {row:?}");
                partial += usize::from(row.is_partial);
            }
        }
    }
    assert!(partial > 10, "{partial}");
}

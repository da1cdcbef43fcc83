//! NFS 4 delegations: captures from which messages are missing state no wrong number of them.

use plimsoll_model::Delegations;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nfs4, rpc};

use crate::conversation::{Sent, observe, observe_traffic};

const DELEGRETURN: u32 = 8;
const GETATTR: u32 = 9;
const OPEN: u32 = 18;
const PUTFH: u32 = 22;
/// The delegation.
const STATE: [u8; 16] = [6; 16];
/// Frames of the handshake.
const HANDSHAKE: usize = 3;
/// Frames at the end that no test takes away: data after a gap show the gap.
const END: usize = 4;
const BADHANDLE: u32 = 10_001;
/// The frame of the answer to the recall, between the recall and the return.
const RECALL_ANSWER: usize = 6;
/// From one frame to the next, ns.
const STEP: u64 = 100_000;

/// How a client sends its requests.
#[derive(Clone, Copy, PartialEq)]
enum Security {
    Plain,
    /// Kerberos with encryption. Callbacks have none.
    Encrypted,
}

struct Talk(Tcp, Vec<Sent>, Security);

impl Talk {
    fn say(&mut self, from: Side, message: &[u8]) {
        let segments = self.0.split(from, message, 1_448);
        self.1.extend(segments.into_iter().map(|segment| Sent { segment, tag: None, from }));
    }

    /// A compound and its reply.
    fn ask(&mut self, xid: u32, operations: &[(u32, Vec<u8>)], results: &[(u32, Vec<u8>)]) {
        let (mut call, mut reply) = (rpc::compound(xid, 1, operations), rpc::compound_reply(xid, results));
        if self.2 == Security::Encrypted {
            // RPCSEC_GSS version 1, data, a sequence number, privacy, a handle; a checksum; ciphertext.
            let credential = [rpc::words(&[1, 0, xid, 3]), rpc::opaque(b"context")].concat();
            let head = rpc::words(&[xid, 0, 2, rpc::NFS, 4, 1, 6]);
            let (checksum, ciphertext) = ([rpc::words(&[6]), rpc::opaque(&[5; 28])].concat(), rpc::opaque(&[5; 200]));
            call = [head, rpc::opaque(&credential), checksum.clone(), ciphertext.clone()].concat();
            reply = [rpc::words(&[xid, 1, 0]), checksum, rpc::words(&[0]), ciphertext].concat();
        }
        self.say(Side::Client, &rpc::record(&call));
        self.say(Side::Server, &rpc::record(&reply));
    }

    fn getattr(&mut self, xid: u32) {
        let (handle, mask) = (rpc::opaque(b"handle"), rpc::words(&[1, 0x18]));
        let attributes = rpc::words(&[1, 0x18, 16, 0, 1, 0, 100]);
        self.ask(xid, &[(PUTFH, handle), (GETATTR, mask)], &[(PUTFH, Vec::new()), (GETATTR, attributes)]);
    }

    /// A file is opened with a delegation, which the server recalls and the client returns if it holds it; then come two other requests.
    fn of(security: Security, recall_status: u32) -> Vec<Sent> {
        let tcp = Tcp::new(([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
        let mut talk = Self(tcp, Vec::new(), security);
        for (segment, from) in talk.0.handshake().into_iter().zip([Side::Client, Side::Server, Side::Client]) {
            talk.1.push(Sent { segment, tag: None, from });
        }
        // Sequence ID, access with the wish for a read delegation, no denial, the client's ID; owner; existing; by name.
        let head = [rpc::words(&[0, 0x101, 0, 0, 5]), rpc::opaque(b"owner"), rpc::words(&[0, 0])].concat();
        let open = [head, rpc::opaque(b"file")].concat();
        // State ID, changes of the directory, flags, no attributes; OPEN_DELEGATE_READ, not recalled, for all.
        let opened = [&[8; 16][..], &[0; 20], &rpc::words(&[0, 0, 1]), &STATE, &[0; 20]].concat();
        let handle = || (PUTFH, rpc::opaque(b"handle"));
        talk.ask(100, &[handle(), (OPEN, open)], &[(PUTFH, Vec::new()), (OPEN, opened)]);
        talk.say(Side::Server, &nfs4::recall_of(900, STATE));
        let sequence = [rpc::words(&[recall_status]), rpc::opaque(b""), rpc::words(&[2, 11, 0])].concat();
        let recalled = [sequence, [7; 16].to_vec(), rpc::words(&[1, 0, 0, 0, 4, recall_status])].concat();
        talk.say(Side::Client, &rpc::record(&rpc::reply(900, &recalled)));
        if recall_status == 0 {
            let operations = [handle(), (DELEGRETURN, STATE.to_vec())];
            talk.ask(101, &operations, &[(PUTFH, Vec::new()), (DELEGRETURN, Vec::new())]);
        }
        (102..104).for_each(|xid| talk.getattr(xid));
        talk.1
    }
}

fn rows<'s>(sent: impl IntoIterator<Item = &'s Sent>, snaplen: usize) -> Vec<Delegations> {
    observe(sent, snaplen).1.delegations
}

/// What the whole conversation has.
fn whole() -> Delegations {
    let time = 2 * STEP;
    Delegations {
        granted_read: 1,
        recalled: 1,
        returned: 1,
        after_recall: 1,
        after_recall_ns: time,
        longest_ns: time,
        ..Delegations::of([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
    }
}

#[test]
fn a_whole_capture_has_all_numbers() {
    assert_eq!(rows(&Talk::of(Security::Plain, 0), usize::MAX), [whole()]);
}

#[test]
fn a_recall_of_a_delegation_that_the_client_does_not_hold_has_no_return() {
    let [row] = rows(&Talk::of(Security::Plain, BADHANDLE), usize::MAX)[..] else { panic!("one row") };
    assert_eq!((row.recalled, row.not_held, row.unreturned, row.is_partial), (1, 1, 0, false));
}

#[test]
fn of_encrypted_requests_only_the_recalls_are_known() {
    let [row] = rows(&Talk::of(Security::Encrypted, 0), usize::MAX)[..] else { panic!("one row") };
    assert_eq!((row.recalled, row.granted_read, row.returned, row.is_partial), (1, 0, 0, true));
}

#[test]
fn a_capture_of_one_direction_is_partial() {
    let sent = Talk::of(Security::Plain, 0);
    for side in [Side::Client, Side::Server] {
        let rows = rows(sent.iter().filter(|sent| sent.from == side), usize::MAX);
        assert!(rows.iter().all(|row| row.is_partial), "{side:?}: {rows:?}");
        assert_eq!(rows.len(), usize::from(side == Side::Server), "the server sends the recall");
    }
}

/// Requests to the port mapper, NLM and the like are never about delegations.
#[test]
fn datagrams_of_one_direction_make_no_pair_partial() {
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 111).into());
    let call = |xid| rpc::words(&[xid, 0, 2, 100_000, 2, 0, 0, 0, 0, 0]);
    for from in [Side::Client, Side::Server] {
        let mut traffic = Traffic::new(Link::Ethernet);
        traffic.step_ns = STEP as i64;
        Talk::of(Security::Plain, 0).iter().for_each(|sent| traffic.tcp(&sent.segment));
        // A conversation that begins late may have lost packets.
        traffic.time_ns += 100_000_000_000;
        for xid in 1..5 {
            match from {
                Side::Client => traffic.udp(client, server, &call(xid), None),
                Side::Server => traffic.udp(server, client, &rpc::reply(xid, &[]), None),
            }
        }
        let coverage = observe_traffic(&traffic).1;
        assert_eq!((&coverage.delegations[..], coverage.connections), (&[whole()][..], 2), "{from:?}");
    }
}

/// Any snap length: a row is partial, or has all numbers.
#[test]
fn a_cut_capture_states_no_wrong_number() {
    let sent = Talk::of(Security::Plain, 0);
    let (mut partial, mut all) = (0, 0);
    for snaplen in 54..400 {
        for row in rows(&sent, snaplen) {
            assert!(row.is_partial || row == whole(), "{snaplen}: {row:?}");
            *(if row.is_partial { &mut partial } else { &mut all }) += 1;
        }
    }
    assert!(partial > 10 && all > 100, "{partial} {all}");
}

/// Any two lost packets.
#[test]
fn a_capture_with_losses_states_no_wrong_number() {
    let sent = Talk::of(Security::Plain, 0);
    let (mut partial, last) = (0, sent.len() - END);
    for one in HANDSHAKE..last {
        for other in one..last {
            let left = sent.iter().enumerate().filter(|(at, _)| ![one, other].contains(at)).map(|(_, sent)| sent);
            // Without this frame, the return follows one step earlier.
            let time = if [one, other].contains(&RECALL_ANSWER) { STEP } else { 2 * STEP };
            let expected = Delegations { after_recall_ns: time, longest_ns: time, ..whole() };
            for row in rows(left, usize::MAX) {
                assert!(row.is_partial || row == expected, "{one} {other}: {row:?}");
                partial += usize::from(row.is_partial);
            }
        }
    }
    assert!(partial > 10, "{partial}");
}

//! Tests cut packets: if the headers needed for pairing are there, the transactions are the same as for the whole capture; otherwise
//! there are none.

use crate::conversation::{Family, Sent, config_of_many, converse, families, observe, operations};
use plimsoll_model::{Anomaly, Missing, Transaction};
use plimsoll_testkit::{Side, Tcp, rpc};
use proptest::prelude::*;

/// Bytes of the headers of Ethernet, IPv4 and TCP, and of the framing.
const BEFORE: usize = 14 + 20 + 20 + 4;
/// Bytes of a message that pairing needs: SMB1 up to the MID, SMB2 up to the message id, RPC up to a call's procedure.
const PAIRS: usize = 32;

/// Common snap lengths, and random ones.
fn snaplens() -> impl Strategy<Value = usize> {
    prop_oneof![Just(96), Just(128), Just(256), 54usize..2_000]
}

/// Facts that a cut may not change: the messages of a pair, their lengths on the wire, and their times.
fn facts(transaction: &Transaction) -> impl PartialEq + std::fmt::Debug + use<> {
    let Transaction { procedure, client, server, id, frames, timeline, .. } = transaction;
    let sizes = (transaction.request_bytes, transaction.response_bytes);
    let packets = (transaction.request_packets, transaction.response_packets);
    (*procedure, *client, *server, *id, *frames, *timeline, sizes, packets)
}

fn sorted(mut transactions: Vec<Transaction>) -> Vec<Transaction> {
    transactions.sort_by_key(|transaction| transaction.frames.request_first);
    transactions
}

proptest! {
    #![proptest_config(config_of_many(3_000))]

    #[test]
    fn a_cut_capture_shows_what_its_headers_tell(
        family in families(),
        operations in operations(30),
        snaplen in snaplens(),
        high in any::<bool>(),
    ) {
        let sent: Vec<Sent> = converse(family, &operations, high);
        let whole = sorted(observe(&sent, usize::MAX).0);
        let cut = sorted(observe(&sent, snaplen).0);
        prop_assert!(whole.iter().filter(|row| row.response_bytes.is_some()).count() == operations.len(), "{whole:?}");
        let asks = |sent: &Sent| sent.from == Side::Client && sent.tag.is_some();
        let asked = |row: &Transaction| sent.get(row.frames.request_first?.get() as usize - 1);
        prop_assert!(whole.iter().all(|row| asked(row).is_some_and(asks)));
        if snaplen >= BEFORE + PAIRS {
            prop_assert_eq!(cut.len(), whole.len());
            for (cut, whole) in cut.iter().zip(&whole) {
                prop_assert!(facts(cut) == facts(whole), "{family:?}: {:?} is not {:?}", facts(cut), facts(whole));
            }
        } else {
            let known = |cut: &Transaction| whole.iter().any(|whole| cut.frames.request_first == whole.frames.request_first
                && (cut.response_bytes.is_none() || cut.frames.response_first == whole.frames.response_first));
            prop_assert!(cut.iter().all(known), "a pair that the whole capture does not have: {cut:?}");
            prop_assert!(family != Family::Rpc || cut.len() <= whole.len());
        }
    }
}

const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 2049);

/// A conversation of NFS calls, eight in a segment, and their replies likewise.
fn eight_in_a_segment() -> Vec<Sent> {
    let mut tcp = Tcp::new(([10, 0, 0, 1], 700).into(), SERVER.into());
    let mut sent = Vec::new();
    let mut say = |from, segment| sent.push(Sent { segment, tag: None, from });
    for (segment, from) in tcp.handshake().into_iter().zip([Side::Client, Side::Server, Side::Client]) {
        say(from, segment);
    }
    for round in 0..20u32 {
        let xids = || round * 8..round * 8 + 8;
        let calls: Vec<u8> = xids().flat_map(|xid| rpc::record(&rpc::getattr(0x100 + xid, &[7; 16]))).collect();
        let replies: Vec<u8> =
            xids().flat_map(|xid| rpc::record(&rpc::reply(0x100 + xid, &rpc::words(&[0; 22])))).collect();
        tcp.split(Side::Client, &calls, 8_000).into_iter().for_each(|segment| say(Side::Client, segment));
        tcp.split(Side::Server, &replies, 8_000).into_iter().for_each(|segment| say(Side::Server, segment));
    }
    sent
}

#[test]
fn what_a_cut_hides_is_told_from_what_was_dropped() {
    let sent = eight_in_a_segment();
    let (whole, coverage) = observe(&sent, usize::MAX);
    assert_eq!((whole.len(), coverage.unseen.missing), (160, Missing::default()));
    let (_, coverage) = observe(&sent, 256);
    let unseen = coverage.unseen;
    assert!(unseen.paired < 80, "{unseen:?}");
    assert_eq!((unseen.requests_after_gap, unseen.responses_after_gap, coverage.packets.missing_bytes), (0, 0, 0));
    assert!(coverage.anomalies.count(Anomaly::HeaderCutShort) > 0, "{unseen:?}");
    let missing = 160 - unseen.paired;
    assert!(unseen.missing.operations.abs_diff(missing) <= 8, "{missing}: {unseen:?}");
    let largest = sent.iter().map(|sent| sent.segment.payload.len()).max().unwrap_or_default() as u64;
    assert_eq!(coverage.packets.largest, largest + 54, "the snap length that would have sufficed");
}

#[test]
fn one_direction_alone_is_said_to_be_one() {
    let sent = eight_in_a_segment();
    for side in [Side::Client, Side::Server] {
        let (_, coverage) = observe(sent.iter().filter(|sent| sent.from == side), usize::MAX);
        let unseen = coverage.unseen;
        assert_eq!((unseen.paired, coverage.connections, coverage.one_sided), (0, 1, 1), "{side:?} {unseen:?}");
        let named = coverage.one_sided_named[0];
        assert_eq!(named.from.port == SERVER.1, side == Side::Server);
        // The first two replies are too weak a sign to be believed.
        assert!(unseen.requests_one_sided + unseen.responses_one_sided >= 144, "{side:?} {unseen:?}");
        assert_eq!((unseen.requests_waiting, unseen.responses_before_start, unseen.requests_after_gap), (0, 0, 0));
        assert_eq!(unseen.share_missing().map(|share| share.share), Some(1.0));
    }
}

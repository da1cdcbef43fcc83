//! Why to believe captures whose packets were cut short: as far as the headers that pair are there, they show the very
//! transactions that the whole capture shows; nothing else in any case.

mod conversation;

use conversation::{Family, Sent, config, converse, families, observe, operations};
use plimsoll_model::Transaction;
use plimsoll_testkit::Side;
use proptest::prelude::*;

/// Bytes of the headers of Ethernet, IPv4 and TCP, and of the framing.
const BEFORE: usize = 14 + 20 + 20 + 4;
/// Of a message, so many bytes pair: SMB1 up to the MID, SMB2 up to the message id, RPC up to a call's procedure.
const PAIRS: usize = 32;

/// The snaplens that people use, and any other.
fn snaplens() -> impl Strategy<Value = usize> {
    prop_oneof![Just(96), Just(128), Just(256), 54usize..2_000]
}

/// What a cut may not change: which messages are a pair, how long they were on the wire, and when they came.
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
    #![proptest_config(config(3_000))]

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

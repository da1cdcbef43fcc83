//! What encrypted captures show with the key of their session, without it, and with a wrong one.
#![cfg(feature = "decrypt")]

use std::collections::BTreeSet;

use plimsoll_model::{Anomaly, Coverage, Outcome, Procedure, Protocol, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::decrypt::SessionKeys;
use plimsoll_testkit::shared_capture;

use crate::packets::{Packet, read};

const SMB_3_0: &str = "smb3-aes128ccm-with-known-key.pcapng";
const KEY_3_0: &str = "3d00009400480000:28f2847263c83dc00621f742dd3f2e7b";
const SMB_3_1_1: &str = "smb311-aes128ccm-with-known-key.pcapng";
const KEY_3_1_1: &str = "690000ac1c280000:b25a135fc3dc14269f20d7cbc8716b6b";
const MIDSTREAM: &str = "smb3-encrypted-midstream.pcap";

/// `None`, and a printed reason, where the capture is not there.
fn packets(name: &str) -> Option<Vec<Packet>> {
    Some(read(&shared_capture(name)?))
}

fn observed(packets: &[Packet], keys: &[&str]) -> (Vec<Transaction>, Coverage) {
    let mut given = SessionKeys::default();
    for key in keys {
        given.add(key).expect("a key");
    }
    let mut observer = Observer::new(Vec::new()).with_session_keys(given);
    for packet in packets {
        observer.frame(&packet.frame(usize::MAX));
    }
    let observed = observer.finish();
    (observed.sink, observed.coverage)
}

/// Answered operations, encrypted messages not seen, and those that the key did not open.
fn counts(packets: &[Packet], keys: &[&str]) -> (u64, u64, u64) {
    let (rows, coverage) = observed(packets, keys);
    let answered = rows.iter().filter(|row| row.outcome != Outcome::Unanswered).count() as u64;
    assert_eq!(answered, coverage.unseen.paired);
    let count = |anomaly| coverage.anomalies.count(anomaly);
    (answered, count(Anomaly::MessageEncrypted), count(Anomaly::MessageUndecryptable))
}

/// Each pair's frames: of the request's first byte, and of the answer's last.
fn frames(rows: &[Transaction]) -> BTreeSet<(u64, u64)> {
    let both = |row: &Transaction| Some((row.frames.request_first?.get(), row.frames.response_last?.get()));
    rows.iter().filter_map(both).collect()
}

#[test]
fn smb_3_0_opens_with_its_key() {
    let Some(packets) = packets(SMB_3_0) else { return };
    assert_eq!(counts(&packets, &[KEY_3_0]), (27, 0, 0));
    let (pairs, encrypted, refused) = counts(&packets, &[]);
    assert_eq!((pairs, refused), (5, 0));
    assert_eq!(encrypted, 2 * (27 - 5), "a request and an answer each");
}

#[test]
fn smb_3_1_1_opens_with_its_key() {
    let Some(packets) = packets(SMB_3_1_1) else { return };
    assert_eq!(counts(&packets, &[KEY_3_1_1]), (19, 0, 0));
    let (pairs, encrypted, refused) = counts(&packets, &[]);
    assert_eq!((pairs, refused), (3, 0));
    assert_eq!(encrypted, 28, "16 requests and as many answers, three of each in one message");
}

#[test]
fn a_wrong_key_opens_nothing_and_is_counted() {
    for (capture, key, pairs) in [(SMB_3_0, KEY_3_0, 5), (SMB_3_1_1, KEY_3_1_1, 3)] {
        let Some(packets) = packets(capture) else { return };
        let wrong = key.replace("dd", "de").replace("cb", "cc");
        assert_ne!(wrong, key);
        let (found, encrypted, refused) = counts(&packets, &[&wrong]);
        assert_eq!(found, pairs, "{capture}");
        assert_eq!(refused, encrypted, "{capture}");
        assert!(refused > 0);
        // A wrong key does no harm if the right key is given too.
        let (found, _, refused) = counts(&packets, &[&wrong, key]);
        assert!(found > pairs && refused == 0, "{capture}");
    }
}

#[test]
fn the_key_of_another_session_changes_nothing() {
    let Some(packets) = packets(SMB_3_0) else { return };
    assert_eq!(counts(&packets, &[KEY_3_1_1]), counts(&packets, &[]));
}

#[test]
fn encrypted_midstream_is_counted_and_not_guessed_at() {
    let Some(packets) = packets(MIDSTREAM) else { return };
    for keys in [&[][..], &[KEY_3_1_1]] {
        assert_eq!(counts(&packets, keys), (1, 44, 0), "the pair is a plain one");
    }
    // The session is in another one of the captures too, so its key is known after all; dialect 3.0 needs only the key.
    assert_eq!(counts(&packets, &[KEY_3_0]), (23, 0, 0));
}

/// Message ids and commands as tshark 4.0 shows them with the same keys.
#[test]
fn the_operations_are_tsharks() {
    let commands = |capture, key| {
        let (mut rows, _) = observed(&packets(capture)?, &[key]);
        rows.sort_by_key(|row| row.id);
        assert!(rows.iter().map(|row| row.id).eq((0..rows.len() as u64).map(Some)), "{capture}: the ids");
        Some(rows.iter().map(|row| row.procedure.command().name().to_string()).collect::<Vec<_>>())
    };
    let named = |codes: &[u16]| -> Vec<String> {
        codes.iter().map(|code| Procedure::of(Protocol::Smb2, *code).command().name().to_string()).collect()
    };
    if let Some(found) = commands(SMB_3_0, KEY_3_0) {
        let codes = [0, 1, 1, 3, 11, 5, 11, 16, 16, 16, 6, 3, 11, 5, 6, 5, 6, 5, 16, 6, 5, 16, 6, 5, 14, 14, 6];
        assert_eq!(found, named(&codes));
    }
    if let Some(found) = commands(SMB_3_1_1, KEY_3_1_1) {
        assert_eq!(found, named(&[0, 1, 1, 3, 3, 5, 11, 16, 16, 16, 16, 11, 5, 16, 6, 5, 14, 14, 6]));
    }
}

/// Times and frames are those of the packets with the encrypted messages, and the key adds pairs to those found without it.
#[test]
fn the_stamps_are_the_packets() {
    for (capture, key) in [(SMB_3_0, KEY_3_0), (SMB_3_1_1, KEY_3_1_1)] {
        let Some(packets) = packets(capture) else { return };
        let (rows, _) = observed(&packets, &[key]);
        assert!(frames(&rows).is_superset(&frames(&observed(&packets, &[]).0)), "{capture}");
        for row in &rows {
            let frame = row.frames.request_first.expect("a frame").get();
            let packet = packets.iter().find(|packet| packet.number == frame).expect("a packet");
            assert_eq!(row.timeline.request_first, packet.time_ns, "{capture}, frame {frame}");
        }
    }
}

/// Dialect 3.1.1 needs every message that leads to the session; messages that cannot be decrypted without them are counted.
#[test]
fn without_the_logon_3_1_1_stays_shut() {
    let Some(packets) = packets(SMB_3_1_1) else { return };
    let (_, encrypted, _) = counts(&packets, &[]);
    let later: Vec<Packet> = packets.into_iter().skip_while(|packet| !holds(packet, b"\xFDSMB")).collect();
    assert_eq!(counts(&later, &[KEY_3_1_1]), (0, encrypted, encrypted));
}

/// Dialect 3.0 needs only the key: joined midstream, all encrypted messages open.
#[test]
fn without_the_logon_3_0_opens() {
    let Some(packets) = packets(SMB_3_0) else { return };
    let later: Vec<Packet> = packets.into_iter().skip_while(|packet| !holds(packet, b"\xFDSMB")).collect();
    assert_eq!(counts(&later, &[KEY_3_0]), (23, 0, 0), "22, and a plain one among them");
}

/// A message cut by the snap length cannot be decrypted: it counts as encrypted, not as refused.
#[test]
fn a_short_snaplen_leaves_messages_shut() {
    let Some(mut packets) = packets(SMB_3_0) else { return };
    let (_, encrypted, _) = counts(&packets, &[]);
    for snaplen in [1000, 200, 120, 96] {
        for packet in &mut packets {
            packet.bytes.truncate(snaplen);
        }
        let (_, shut, refused) = counts(&packets, &[KEY_3_0]);
        assert!(shut <= encrypted && refused == 0, "{snaplen}");
        assert_eq!(shut == encrypted, snaplen <= 120, "{snaplen}");
    }
}

/// The modified message is refused, its answer is an orphan, and the other messages open.
#[test]
fn any_byte_changed_is_refused_and_nothing_else_is() {
    let Some(mut packets) = packets(SMB_3_0) else { return };
    let first = packets.iter_mut().find(|packet| holds(packet, b"\xFDSMB")).expect("an encrypted message");
    *first.bytes.last_mut().expect("a byte") ^= 1;
    let (pairs, encrypted, refused) = counts(&packets, &[KEY_3_0]);
    assert_eq!((pairs, encrypted, refused), (26, 1, 1));
}

fn holds(packet: &Packet, magic: &[u8]) -> bool {
    packet.bytes.windows(magic.len()).any(|window| window == magic)
}

/// The responses to requests that the capture lost, or that were outstanding then, are no interim answers.
#[test]
fn without_keys_nothing_is_said_of_responses_around_a_gap() {
    let Some(packets) = packets(SMB_3_0) else { return };
    assert_eq!(observed(&packets, &[]).1.encrypted.besides, 0);
    for lost in (0..packets.len()).filter(|&at| holds(&packets[at], b"\xFDSMB")) {
        let without = |(at, packet): (usize, &Packet)| (at != lost).then(|| packet.clone());
        let kept: Vec<Packet> = packets.iter().enumerate().filter_map(without).collect();
        let found = observed(&kept, &[]).1.encrypted;
        assert_eq!(found.besides, 0, "without packet {}", packets[lost].number);
    }
}

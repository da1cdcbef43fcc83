use proptest::prelude::*;

use super::*;
use crate::decrypt::testing::{hex, message, ms_3_0, ms_3_1_1, seal};
use crate::message::{Framer, Framing};
use crate::packet::Stamp;
use crate::stream::Chunk;

fn wire_order(session: u64) -> String {
    session.to_le_bytes().map(|byte| format!("{byte:02x}")).concat()
}

fn with(session: u64, key: &str) -> Decryption {
    let mut keys = SessionKeys::default();
    keys.add(&format!("{}:{key}", wire_order(session))).unwrap();
    Decryption::new(keys)
}

fn with_3_1_1(cipher: Cipher) -> Decryption {
    let mut decryption = with(ms_3_1_1::SESSION_ID, ms_3_1_1::SESSION_KEY);
    decryption.learn(ms_3_1_1::SESSION_ID, cipher, hex(ms_3_1_1::PREAUTH).first_chunk().unwrap());
    decryption
}

fn opened(decryption: &mut Decryption, bytes: &[u8]) -> Opened {
    decryption.open(&message(bytes), &mut None)
}

#[test]
fn the_published_messages_of_3_0() {
    let mut decryption = with(ms_3_0::SESSION_ID, ms_3_0::SESSION_KEY);
    assert_eq!(opened(&mut decryption, &hex(ms_3_0::REQUEST)), Opened::Plain(hex(ms_3_0::PLAIN_REQUEST)));
    assert_eq!(opened(&mut decryption, &hex(ms_3_0::RESPONSE)), Opened::Plain(hex(ms_3_0::PLAIN_RESPONSE)));
}

#[test]
fn the_published_messages_of_3_1_1() {
    let mut decryption = with_3_1_1(Cipher::Aes128Gcm);
    assert_eq!(opened(&mut decryption, &hex(ms_3_1_1::REQUEST)), Opened::Plain(hex(ms_3_1_1::PLAIN_REQUEST)));
    assert_eq!(opened(&mut decryption, &hex(ms_3_1_1::RESPONSE)), Opened::Plain(hex(ms_3_1_1::PLAIN_RESPONSE)));
    // Without the logon its hash is not known, and with another cipher the keys are for nothing.
    let mut unseen = with(ms_3_1_1::SESSION_ID, ms_3_1_1::SESSION_KEY);
    assert_eq!(opened(&mut unseen, &hex(ms_3_1_1::REQUEST)), Opened::Refused);
    assert_eq!(opened(&mut with_3_1_1(Cipher::Aes128Ccm), &hex(ms_3_1_1::REQUEST)), Opened::Refused);
}

#[test]
fn aes_256_needs_the_full_key_and_aes_128_its_beginning() {
    let full: String = ms_3_1_1::SESSION_KEY.repeat(2);
    let preauth = [3; 64];
    for (negotiated, short_opens) in
        [(Cipher::Aes128Ccm, true), (Cipher::Aes128Gcm, true), (Cipher::Aes256Ccm, false), (Cipher::Aes256Gcm, false)]
    {
        let [there, back] = kdf::ciphers_of_3_1_1(&hex(&full), negotiated, &preauth).unwrap();
        for cipher in [there, back] {
            let bytes = seal(&cipher, 9, b"contents");
            for (key, opens) in [(full.as_str(), true), (ms_3_1_1::SESSION_KEY, short_opens)] {
                let mut decryption = with(9, key);
                decryption.learn(9, negotiated, &preauth);
                let expected = if opens { Opened::Plain(b"contents".to_vec()) } else { Opened::Refused };
                assert_eq!(opened(&mut decryption, &bytes), expected, "{negotiated:?}, {} digits", key.len());
            }
        }
    }
}

#[test]
fn another_session_or_key_opens_nothing() {
    let mut other_session = with(ms_3_0::SESSION_ID + 1, ms_3_0::SESSION_KEY);
    assert_eq!(opened(&mut other_session, &hex(ms_3_0::REQUEST)), Opened::NoKey);
    let mut other_key = with(ms_3_0::SESSION_ID, ms_3_1_1::SESSION_KEY);
    assert_eq!(opened(&mut other_key, &hex(ms_3_0::REQUEST)), Opened::Refused);
}

#[test]
fn the_newest_logon_with_an_id_and_the_ones_before_it_open() {
    let mut decryption = with(9, ms_3_1_1::SESSION_KEY);
    let logon = |number: u8| kdf::ciphers_of_3_1_1(&hex(ms_3_1_1::SESSION_KEY), Cipher::Aes128Gcm, &[number; 64]);
    for number in 0..100 {
        decryption.learn(9, Cipher::Aes128Gcm, &[number; 64]);
    }
    for (number, opens) in [(99, true), (84, true), (83, false), (0, false)] {
        let bytes = seal(&logon(number).unwrap()[1], 9, b"x");
        assert_eq!(opened(&mut decryption, &bytes) != Opened::Refused, opens, "logon {number}");
    }
    assert_eq!(decryption.sessions[&9].learnt.len(), LEARNT_MAX);
}

#[test]
fn no_truncation_opens() {
    let mut decryption = with(ms_3_0::SESSION_ID, ms_3_0::SESSION_KEY);
    let whole = hex(ms_3_0::REQUEST);
    for cut in 0..whole.len() {
        let captured = Message { bytes: &whole[..cut], ..message(&whole) };
        let expected = if cut < transform::ENCRYPTED_LEN { Opened::NoKey } else { Opened::Incomplete };
        assert_eq!(decryption.open(&captured, &mut None), expected, "captured {cut}");
        let expected = if cut < transform::ENCRYPTED_LEN { Opened::NoKey } else { Opened::Malformed };
        assert_eq!(opened(&mut decryption, &whole[..cut]), expected, "sent {cut}");
    }
}

/// The framer passes messages longer than a head as a whole only if they are to be decrypted.
#[test]
fn long_messages_are_kept_whole_to_be_decrypted() {
    let ciphers = kdf::ciphers_of_3_0(&hex(ms_3_0::SESSION_KEY)).unwrap();
    let plain: Vec<u8> = (0..3_000_000_u32).map(|at| at as u8).collect();
    let sealed = seal(&ciphers[1], 9, &plain);
    assert_eq!(framed(&sealed, true, 40), sealed);
    let mut decryption = with(9, ms_3_0::SESSION_KEY);
    assert!(opened(&mut decryption, &framed(&sealed, true, 6)) == Opened::Plain(plain));
    assert_eq!(framed(&sealed, false, 6).len(), 4096);
    for (command, whole) in [(0, true), (1, true), (8, false)] {
        let mut bytes = vec![0; 70_000];
        bytes[..16].copy_from_slice(&[0xfe, b'S', b'M', b'B', 64, 0, 0, 0, 0, 0, 0, 0, command, 0, 0, 0]);
        assert_eq!(framed(&bytes, true, 40) == bytes, whole, "command {command}");
        assert_eq!(framed(&bytes, false, 40).len(), 4096);
    }
}

/// The framer's output for a message in segments, the first of which has `first` bytes.
fn framed(message: &[u8], decrypts: bool, first: usize) -> Vec<u8> {
    let mut bytes = u32::try_from(message.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(message);
    let (mut framer, mut found, mut offset) = (Framer::new(decrypts), Vec::new(), 0);
    framer.restart(true);
    let (first, rest) = bytes.split_at(first);
    for bytes in [first].into_iter().chain(rest.chunks(1448)) {
        let wire_len = bytes.len() as u32;
        let chunk = Chunk { offset, bytes, wire_len, stamp: Stamp { time_ns: 0, frame: offset + 1 }, acknowledges: 0 };
        framer.data(&chunk, Framing::Smb, false, |message| found.push(message.bytes.to_vec()));
        offset += u64::from(wire_len);
    }
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn nothing_shows_a_key() {
    let decryption = with_3_1_1(Cipher::Aes128Gcm);
    assert_eq!(format!("{decryption:?}"), "Decryption(..)");
    let session = &decryption.sessions[&ms_3_1_1::SESSION_ID];
    assert_eq!(format!("{:?}", session.fixed[0].1), "KeyedCipher(..)");
}

proptest! {
    #[test]
    fn no_random_bytes_open(rest in proptest::collection::vec(any::<u8>(), 0..200), said: bool, last: Option<u32>) {
        let mut bytes = transform::ENCRYPTED_MAGIC.to_vec();
        bytes.extend(rest);
        if said && bytes.len() >= transform::ENCRYPTED_LEN {
            let len = (bytes.len() - transform::ENCRYPTED_LEN) as u32;
            bytes[36..40].copy_from_slice(&len.to_le_bytes());
            bytes[44..52].copy_from_slice(&ms_3_1_1::SESSION_ID.to_le_bytes());
        }
        let opened = with_3_1_1(Cipher::Aes128Gcm).open(&message(&bytes), &mut last.clone());
        prop_assert!(!matches!(opened, Opened::Plain(_)));
        prop_assert_eq!(opened == Opened::Refused, said && bytes.len() >= transform::ENCRYPTED_LEN);
    }
}

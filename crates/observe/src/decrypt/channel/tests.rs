use proptest::prelude::*;

use super::*;
use crate::decrypt::SessionKeys;
use crate::decrypt::kdf;
use crate::decrypt::testing::{hex, message, ms_preauth, seal};

const SESSION: u64 = 0x0000_1000_0000_0019;
const KEY: &str = "270E1BA896585EEB7AF3472D3B4C75A7";

fn decryption() -> Decryption {
    let mut keys = SessionKeys::default();
    keys.add(&format!("1900000000100000:{KEY}")).unwrap();
    Decryption::new(keys)
}

fn logon() -> Vec<Vec<u8>> {
    ms_preauth::STEPS.iter().map(|(message, _)| hex(message)).collect()
}

/// The last response of the published logon, with this status; the hash does not cover it.
fn end(status: u32) -> Vec<u8> {
    let mut bytes = logon()[3].clone();
    bytes[8..12].copy_from_slice(&status.to_le_bytes());
    bytes[24] = 3;
    bytes
}

/// Whether the channel opens a message encrypted with the key that the published logon leads to.
fn opens(channel: &mut Channel, decryption: &mut Decryption) -> bool {
    let preauth = hex(ms_preauth::STEPS[4].1);
    let ciphers = kdf::ciphers_of_3_1_1(&hex(KEY), Cipher::Aes128Gcm, preauth.first_chunk().unwrap());
    let bytes = seal(&ciphers.unwrap()[0], SESSION, b"contents");
    channel.open(&message(&bytes), 0, decryption) == Opened::Plain(b"contents".to_vec())
}

fn after(messages: &[Vec<u8>]) -> bool {
    let (mut channel, mut decryption) = (Channel::default(), decryption());
    for bytes in messages {
        channel.note(&message(bytes), &mut decryption);
    }
    opens(&mut channel, &mut decryption)
}

#[test]
fn each_message_leads_to_the_published_hash() {
    let (mut channel, mut decryption) = (Channel::default(), decryption());
    for (at, (bytes, expected)) in ms_preauth::STEPS.iter().enumerate() {
        channel.note(&message(&hex(bytes)), &mut decryption);
        let found = match at {
            0 => channel.asked.map(|(_, hash)| hash),
            1 => channel.negotiated.map(|(hash, _)| hash),
            3 => channel.sessions.0.back().map(|(_, hash)| *hash),
            _ => channel.steps.0.back().map(|(_, hash)| *hash),
        };
        assert_eq!(found.unwrap()[..], hex(expected), "message {at}");
    }
    assert_eq!(channel.negotiated.unwrap().1, Cipher::Aes128Gcm);
}

#[test]
fn a_logon_that_succeeds_opens_its_session() {
    let mut messages = logon();
    assert!(!after(&messages), "not before the last response");
    messages.push(end(0));
    assert!(after(&messages));
    *messages.last_mut().unwrap() = end(status::STATUS_LOGON_FAILURE);
    assert!(!after(&messages));
}

#[test]
fn a_message_missing_or_cut_short_opens_nothing() {
    let mut whole = logon();
    whole.push(end(0));
    for missing in 0..whole.len() {
        let mut messages = whole.clone();
        messages.remove(missing);
        assert!(!after(&messages), "without message {missing}");
    }
    for cut in 0..5 {
        let (mut channel, mut decryption) = (Channel::default(), decryption());
        for (at, bytes) in whole.iter().enumerate() {
            let captured = if at == cut { &bytes[..bytes.len() - 1] } else { bytes };
            channel.note(&Message { bytes: captured, ..message(bytes) }, &mut decryption);
        }
        assert!(!opens(&mut channel, &mut decryption), "message {cut} cut short");
    }
}

#[test]
fn a_binding_logon_makes_no_keys() {
    let mut messages = logon();
    messages[4][header::LEN + 2] = session_setup::FLAG_BINDING;
    let (mut channel, mut decryption) = (Channel::default(), decryption());
    for bytes in &messages {
        channel.note(&message(bytes), &mut decryption);
    }
    assert!(channel.steps.0.is_empty());
}

#[test]
fn logons_without_end_are_bounded() {
    let (mut channel, mut decryption) = (Channel::default(), decryption());
    let messages = logon();
    for bytes in &messages[..2] {
        channel.note(&message(bytes), &mut decryption);
    }
    let (mut request, mut response) = (messages[2].clone(), messages[3].clone());
    for id in 0..1000_u64 {
        request[24..32].copy_from_slice(&(2 * id).to_le_bytes());
        channel.note(&message(&request), &mut decryption);
        request[24..32].copy_from_slice(&(2 * id + 1).to_le_bytes());
        channel.note(&message(&request), &mut decryption);
        response[24..32].copy_from_slice(&(2 * id).to_le_bytes());
        response[40..48].copy_from_slice(&id.to_le_bytes());
        channel.note(&message(&response), &mut decryption);
    }
    // The last response has taken its request.
    assert_eq!((channel.steps.0.len(), channel.sessions.0.len()), (LOGONS_MAX - 1, LOGONS_MAX));
}

#[test]
fn the_cipher_is_found_among_the_contexts() {
    let response = logon().swap_remove(1);
    assert_eq!(chosen_cipher(&response), Some(Cipher::Aes128Gcm));
    let cipher = response.len() - 2;
    for (code, expected) in [(1, Some(Cipher::Aes128Ccm)), (4, Some(Cipher::Aes256Gcm)), (0, None), (9, None)] {
        let mut response = response.clone();
        response[cipher] = code;
        assert_eq!(chosen_cipher(&response), expected, "{code}");
    }
    let mut none = response.clone();
    none[CONTEXT_COUNT] = 0;
    assert_eq!(chosen_cipher(&none), Some(Cipher::Aes128Ccm), "the default");
}

proptest! {
    #[test]
    fn any_contexts_are_read(count: u16, offset in prop_oneof![0..1000_u32, any::<u32>()], rest: Vec<u8>) {
        let mut response = logon().swap_remove(1);
        response[CONTEXT_COUNT..CONTEXT_COUNT + 2].copy_from_slice(&count.to_le_bytes());
        response[CONTEXT_OFFSET..CONTEXT_OFFSET + 4].copy_from_slice(&offset.to_le_bytes());
        response.extend(rest);
        let _ = chosen_cipher(&response);
    }

    #[test]
    fn any_bytes_are_noted(steps in proptest::collection::vec((0..6_usize, any::<prop::sample::Index>(), any::<u8>()), 0..20)) {
        let (mut channel, mut decryption) = (Channel::default(), decryption());
        let mut messages = logon();
        messages.push(end(0));
        for (which, at, byte) in steps {
            let mut bytes = messages[which].clone();
            *at.get_mut(&mut bytes) = byte;
            channel.note(&message(&bytes), &mut decryption);
            channel.note(&Message { bytes: &bytes[..at.index(bytes.len())], ..message(&bytes) }, &mut decryption);
        }
        prop_assert!(channel.steps.0.len() <= LOGONS_MAX);
    }
}

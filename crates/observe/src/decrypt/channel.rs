//! State of one connection for decryption: in dialect 3.1.1, the hash over the messages that lead to a session.
//!
//! Spec: MS-SMB2 3.2.5.2, 3.2.5.3, 3.3.5.4, 3.3.5.5 (PreauthIntegrityHashValue), 2.2.4.1 (negotiate contexts)

use std::collections::VecDeque;

use plimsoll_wire::smb2::header::{self, Header};
use plimsoll_wire::smb2::negotiate::Cipher;
use plimsoll_wire::smb2::{Command, negotiate, session_setup, status};
use sha2::{Digest, Sha512};

use super::kdf::Preauth;
use super::{Decryption, Opened};
use crate::message::Message;

/// Logons under way at once on a connection, at most; the oldest is forgotten.
const LOGONS_MAX: usize = 64;
const DIALECT_3_1_1: u16 = 0x0311;
/// NEGOTIATE response: NegotiateContextCount, u16, and NegotiateContextOffset, u32, from the header.
const CONTEXT_COUNT: usize = header::LEN + 6;
const CONTEXT_OFFSET: usize = header::LEN + 60;
/// Length of a negotiate context without its data.
const CONTEXT_LEN: usize = 8;
const ENCRYPTION_CAPABILITIES: u16 = 2;

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    /// Message id of the NEGOTIATE request, and the hash with it.
    asked: Option<(u64, Preauth)>,
    /// The hash including the response, and the chosen cipher. `None` before dialect 3.1.1 is chosen.
    negotiated: Option<(Preauth, Cipher)>,
    /// SESSION_SETUP requests, by message id, and the hash with each.
    steps: Few,
    /// Sessions not yet set up, and the hash with the last response.
    sessions: Few,
    /// Which cipher opened the last message in each direction.
    last: [Option<u32>; 2],
}

impl Channel {
    /// Decrypts a message that went in `direction`.
    pub(crate) fn open(&mut self, message: &Message<'_>, direction: usize, decryption: &mut Decryption) -> Opened {
        match self.last.get_mut(direction) {
            Some(last) => decryption.open(message, last),
            None => decryption.open(message, &mut None),
        }
    }

    /// Sees a plain message.
    #[inline]
    pub(crate) fn note(&mut self, message: &Message<'_>, decryption: &mut Decryption) {
        let Some(header) = Header::new(message.bytes) else { return };
        if matches!(header.command(), Command::Negotiate | Command::SessionSetup) {
            self.step(message, &header, decryption);
        }
    }

    fn step(&mut self, message: &Message<'_>, header: &Header<'_>, decryption: &mut Decryption) {
        let (Some(id), Some(session)) = (header.message_id(), header.session_id()) else { return };
        // The hash is over all bytes; a compound is no step of a logon that clients are known to send.
        let whole = message.bytes.len() as u64 == message.len && header.next_command() == 0;
        let bytes = Some(message.bytes).filter(|_| whole);
        match (header.command(), header.status()) {
            (Command::Negotiate, None) => {
                *self = Self::default();
                self.asked = bytes.map(|bytes| (id, extended(&[0; 64], bytes)));
            }
            (Command::Negotiate, Some(_)) => self.negotiated(id, bytes),
            (_, None) => self.asks(id, session, bytes),
            (_, Some(status)) => self.answers(id, session, status, bytes, decryption),
        }
    }

    fn negotiated(&mut self, id: u64, bytes: Option<&[u8]>) {
        let Some((_, hash)) = self.asked.take_if(|(asked, _)| *asked == id) else { return };
        let Some(bytes) = bytes else { return };
        let dialect = negotiate::Response::new(bytes).and_then(|response| response.dialect());
        if dialect == Some(DIALECT_3_1_1)
            && let Some(cipher) = chosen_cipher(bytes)
        {
            self.negotiated = Some((extended(&hash, bytes), cipher));
        }
    }

    fn asks(&mut self, id: u64, session: u64, bytes: Option<&[u8]>) {
        // A connection bound to a session uses the ciphers that its first connection made.
        let binds = |bytes| session_setup::Request::new(bytes).and_then(|request| request.is_binding()) == Some(true);
        let first = self.negotiated.filter(|_| session == 0).map(|(hash, _)| hash);
        let before = first.or_else(|| self.sessions.take(session));
        if let (Some(before), Some(bytes)) = (before, bytes.filter(|bytes| !binds(bytes))) {
            self.steps.put(id, extended(&before, bytes));
        }
    }

    fn answers(&mut self, id: u64, session: u64, status: u32, bytes: Option<&[u8]>, decryption: &mut Decryption) {
        let Some(asked) = self.steps.take(id) else { return };
        match (status, self.negotiated) {
            (status::STATUS_MORE_PROCESSING_REQUIRED, _) => {
                if let Some(bytes) = bytes {
                    self.sessions.put(session, extended(&asked, bytes));
                }
            }
            (0, Some((_, cipher))) => decryption.learn(session, cipher, &asked),
            _ => {}
        }
    }
}

/// Hashes by number, a bounded count of them.
#[derive(Debug, Default)]
struct Few(VecDeque<(u64, Preauth)>);

impl Few {
    fn put(&mut self, number: u64, hash: Preauth) {
        self.take(number);
        if self.0.len() == LOGONS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((number, hash));
    }

    fn take(&mut self, number: u64) -> Option<Preauth> {
        let at = self.0.iter().position(|(kept, _)| *kept == number)?;
        self.0.remove(at).map(|(_, hash)| hash)
    }
}

fn extended(hash: &Preauth, message: &[u8]) -> Preauth {
    Sha512::new().chain_update(hash).chain_update(message).finalize().into()
}

/// The cipher in a NEGOTIATE response; by default AES-128-CCM, which every server of dialect 3 supports. `None` if the server chose none,
/// or an unknown one.
fn chosen_cipher(response: &[u8]) -> Option<Cipher> {
    let u16_at = |at: usize| response.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes));
    let offset = response.get(CONTEXT_OFFSET..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    let mut at = usize::try_from(offset).ok()?;
    for _ in 0..u16_at(CONTEXT_COUNT)? {
        let (Some(kind), Some(len)) = (u16_at(at), at.checked_add(2).and_then(u16_at)) else { break };
        let data = at.checked_add(CONTEXT_LEN)?;
        if kind == ENCRYPTION_CAPABILITIES {
            // A count, which is 1 in a response, and the cipher.
            return Cipher::from_code(u16_at(data.checked_add(2)?)?);
        }
        at = data.checked_add(usize::from(len))?.checked_next_multiple_of(8)?;
    }
    Some(Cipher::Aes128Ccm)
}

#[cfg(test)]
mod tests;

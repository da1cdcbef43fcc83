//! Sessions whose key was given, and the ciphers made from it.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use plimsoll_wire::smb2::negotiate::Cipher;
use plimsoll_wire::smb2::transform::{self, Encrypted};

use super::Opened;
use super::cipher::KeyedCipher;
use super::kdf::{self, Preauth};
use super::keys::{Secret, SessionKeys};
use crate::message::Message;

/// Maximum number of dialect 3.1.1 ciphers per session id: the newest ones are kept. Ids repeat when a server restarts, and crafted input
/// may contain endless logons.
const LEARNT_MAX: usize = 32;

/// Decrypts the messages of all connections: a session may have several.
pub(crate) struct Decryption {
    sessions: HashMap<u64, Session, foldhash::fast::RandomState>,
    made: u32,
    /// A buffer not in use.
    spare: Vec<u8>,
}

/// A session id whose key was given.
struct Session {
    keys: Vec<Secret>,
    /// Keys of dialects 3.0 and 3.0.2, which need only the session key.
    fixed: Vec<Numbered>,
    /// Of dialect 3.1.1, from logons that were seen, newest first.
    learnt: VecDeque<Numbered>,
}

/// A cipher by whose number a connection remembers it.
struct Numbered(u32, KeyedCipher);

impl Decryption {
    pub(crate) fn new(keys: SessionKeys) -> Self {
        let mut this = Self { sessions: HashMap::default(), made: 0, spare: Vec::new() };
        for (id, keys) in keys.into_sessions() {
            let ciphers = keys.iter().filter_map(|key| kdf::ciphers_of_3_0(key)).flatten().collect();
            let fixed = this.number(ciphers);
            this.sessions.insert(id, Session { keys, fixed, learnt: VecDeque::new() });
        }
        this
    }

    /// Whether it has no session to decrypt.
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// A logon of dialect 3.1.1 has succeeded.
    pub(super) fn learn(&mut self, session: u64, cipher: Cipher, preauth: &Preauth) {
        let Some(found) = self.sessions.get(&session) else { return };
        let ciphers =
            found.keys.iter().filter_map(|key| kdf::ciphers_of_3_1_1(key, cipher, preauth)).flatten().collect();
        let ciphers = self.number(ciphers);
        let Some(session) = self.sessions.get_mut(&session) else { return };
        for cipher in ciphers.into_iter().rev() {
            session.learnt.push_front(cipher);
        }
        session.learnt.truncate(LEARNT_MAX);
    }

    /// Decrypts a message that begins with a TRANSFORM_HEADER. `last` is the cipher of the previous message, which is most likely the
    /// same.
    pub(super) fn open(&mut self, message: &Message<'_>, last: &mut Option<u32>) -> Opened {
        let header = Encrypted::new(message.bytes);
        let Some(session) = header.and_then(|header| self.sessions.get(&header.session_id()?)) else {
            return Opened::NoKey;
        };
        let Some((header, sealed)) = message.bytes.split_first_chunk::<{ transform::ENCRYPTED_LEN }>() else {
            return Opened::Incomplete;
        };
        let said = Encrypted::new(header).and_then(|header| header.original_message_size()).map(u64::from);
        if said != message.len.checked_sub(transform::ENCRYPTED_LEN as u64) {
            return Opened::Malformed;
        }
        if said != Some(sealed.len() as u64) {
            return Opened::Incomplete;
        }
        let mut plain = std::mem::take(&mut self.spare);
        let all = || session.learnt.iter().chain(&session.fixed);
        let likely = all().filter(|cipher| Some(cipher.0) == *last);
        let others = all().filter(|cipher| Some(cipher.0) != *last);
        for Numbered(number, cipher) in likely.chain(others) {
            if cipher.open(header, sealed, &mut plain) {
                *last = Some(*number);
                return Opened::Plain(plain);
            }
        }
        self.recycle(plain);
        Opened::Refused
    }

    /// Takes back the buffer of a message that is done with.
    pub(crate) fn recycle(&mut self, plain: Vec<u8>) {
        self.spare = plain;
    }

    fn number(&mut self, ciphers: Vec<KeyedCipher>) -> Vec<Numbered> {
        let number = |cipher| {
            self.made = self.made.wrapping_add(1);
            Numbered(self.made, cipher)
        };
        ciphers.into_iter().map(number).collect()
    }
}

impl fmt::Debug for Decryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decryption(..)")
    }
}

#[cfg(test)]
mod tests;

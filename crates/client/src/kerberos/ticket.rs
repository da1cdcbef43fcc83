//! A ticket for a server, and the client's fields of its authenticator.

use std::sync::atomic::{AtomicI64, Ordering};

use zeroize::Zeroizing;

use super::encryption::{Cipher, Usage};
use super::message::{self, Encrypted};
use crate::der::{self, SEQUENCE, application, field, optional, sole};

/// A ticket of one account for one server, for any number of logons during its lifetime.
pub struct ServiceTicket {
    /// Account and service, for messages.
    name: String,
    /// An AP-REQ up to its authenticator: version, type, options (mutual authentication), ticket.
    pub(crate) request: Vec<u8>,
    /// The authenticator before its time: version, realm, name, and GSS-API flags (RFC 4121 4.1.1).
    pub(crate) authenticator: Vec<u8>,
    pub(crate) cipher: Cipher,
    /// Offset of the KDC's clock from this machine's clock, µs.
    ahead: i64,
    /// The time of the last authenticator, µs: no two may have the same (RFC 4120 3.2.2).
    last: AtomicI64,
}

impl ServiceTicket {
    /// Parses the first AP-REQ of a ticket. `token` is an InitialContextToken that this machine created at `now`, ns since the Unix epoch;
    /// `None` if it is malformed.
    pub(crate) fn take(name: String, token: &[u8], key: &[u8], now: i64) -> Option<Self> {
        let fields = sole(sole(message::inner(token, message::REQUEST)?, application(14))?, SEQUENCE)?;
        let (request, rest) = der::before(fields, field(4))?;
        let sealed = Encrypted::read(sole(rest, field(4))?)?;
        let cipher = Cipher::new(key).filter(|cipher| cipher.number() == sealed.kind)?;
        let plain = cipher.decrypt(Usage::Authenticator, sealed.text)?;
        let fields = sole(sole(&plain, application(2))?, SEQUENCE)?;
        let (authenticator, mut rest) = der::before(fields, field(4))?;
        let microseconds = message::integer(optional(&mut rest, field(4))?)?;
        let seconds = message::seconds(optional(&mut rest, field(5))?)?;
        let said = seconds.checked_mul(1_000_000)?.checked_add(i64::from(microseconds))?;
        let (request, authenticator) = (request.to_vec(), authenticator.to_vec());
        Some(Self { name, request, authenticator, cipher, ahead: said - now / 1_000, last: AtomicI64::new(said) })
    }

    /// The key that client and server share.
    pub(crate) fn key(&self) -> &[u8] {
        self.cipher.key()
    }

    /// A subkey of the length that the ticket's key has, and the first sequence number of an AP-REQ.
    pub(crate) fn draw(&self, generator: &mut impl rand::CryptoRng) -> (Zeroizing<Vec<u8>>, u32) {
        let mut subkey = Zeroizing::new(vec![0; self.key().len()]);
        generator.fill_bytes(&mut subkey);
        // 30 bits, as MIT's: peers that read it as a signed number see the same one.
        (subkey, generator.next_u32() >> 2)
    }

    /// Time for an authenticator created at `now`, ns since the Unix epoch: in µs of the KDC's clock, and later than all earlier ones.
    pub(crate) fn stamp(&self, now: i64) -> i64 {
        let wanted = now / 1_000 + self.ahead;
        let later = |last: i64| wanted.max(last.saturating_add(1));
        match self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last))) {
            Ok(last) | Err(last) => later(last),
        }
    }
}

impl std::fmt::Debug for ServiceTicket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceTicket").field("name", &self.name).finish_non_exhaustive()
    }
}

//! The keys that the user gave. They are never shown: no `Debug`, error or report holds one.

use std::collections::HashMap;
use std::fmt;

use zeroize::Zeroizing;

/// The key of a session, overwritten when dropped.
pub(super) type Secret = Zeroizing<Vec<u8>>;

/// Session ids with their session keys.
#[derive(Default)]
pub struct SessionKeys(HashMap<u64, Vec<Secret>>);

/// Why a text is no session id with its key. Does not repeat the text, for that would show the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing separates the two.
    #[error("expected SESSIONID:KEY, found no colon")]
    NoColon,
    /// Not 8 bytes.
    #[error("expected a session ID of 16 hexadecimal digits (8 bytes in wire order)")]
    SessionId,
    /// Neither 16 nor 32 bytes.
    #[error("expected a key of 32 or 64 hexadecimal digits")]
    Key,
}

impl SessionKeys {
    /// Adds `SESSIONID:KEY`, both in hexadecimal, as they stand in Wireshark's `smb2_seskey_list`: the session id as
    /// its 8 bytes in wire order, the key as 16 bytes (or 32, a Kerberos session's full key, which the AES-256 ciphers
    /// are made from). A session id may have several keys: servers number their sessions on their own.
    ///
    /// # Errors
    ///
    /// If the text has another form.
    pub fn add(&mut self, text: &str) -> Result<(), KeyError> {
        let (session, key) = text.trim().split_once(':').ok_or(KeyError::NoColon)?;
        let session = bytes(session).ok_or(KeyError::SessionId)?;
        let session = session.first_chunk().filter(|_| session.len() == 8).ok_or(KeyError::SessionId)?;
        let key = bytes(key).filter(|key| matches!(key.len(), 16 | 32)).ok_or(KeyError::Key)?;
        self.0.entry(u64::from_le_bytes(*session)).or_default().push(key);
        Ok(())
    }

    /// Adds every line of a text; empty lines and those that begin with `#` are ignored.
    ///
    /// # Errors
    ///
    /// The number, from 1, of the first invalid line; the lines before it have been added.
    pub fn add_lines(&mut self, text: &str) -> Result<(), (usize, KeyError)> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            self.add(line).map_err(|error| (number, error))?;
        }
        Ok(())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_sessions(self) -> impl Iterator<Item = (u64, Vec<Secret>)> {
        self.0.into_iter()
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKeys(..)")
    }
}

/// The bytes of hexadecimal digits.
fn bytes(text: &str) -> Option<Secret> {
    let digits = text.trim().as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    // The right capacity at once: a vector that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len() / 2));
    for pair in digits.chunks(2) {
        let &[high, low] = pair else { return None };
        bytes.push(digit(high)? << 4 | digit(low)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "3d00009400480000:28f2847263c83dc00621f742dd3f2e7b";

    #[test]
    fn the_session_id_is_in_wire_order() {
        let mut keys = SessionKeys::default();
        keys.add(GOOD).unwrap();
        let (session, keys) = keys.into_sessions().next().unwrap();
        assert_eq!(session, 0x0000_4800_9400_003d);
        assert_eq!(keys[0][..3], [0x28, 0xf2, 0x84]);
    }

    #[test]
    fn errors_and_debug_do_not_show_the_key() {
        let mut keys = SessionKeys::default();
        keys.add(GOOD).unwrap();
        assert!(!format!("{keys:?}").contains("28"));
        let wrong = [
            ("28f2847263c83dc00621f742dd3f2e7b", KeyError::NoColon),
            ("3d000094004800:28f2847263c83dc00621f742dd3f2e7b", KeyError::SessionId),
            ("0x3d00009400480:28f2847263c83dc00621f742dd3f2e7b", KeyError::SessionId),
            ("3d00009400480000:28f2847263c83dc00621f742dd3f2e7", KeyError::Key),
            ("3d00009400480000:28f2847263c83dc00621f742dd3f2e7g", KeyError::Key),
            ("3d00009400480000:28f2847263c83dc00621f742dd3fé", KeyError::Key),
            ("3d00009400480000:", KeyError::Key),
        ];
        for (text, why) in wrong {
            let error = keys.add(text).unwrap_err();
            assert_eq!(error, why, "{text}");
            assert!(!format!("{error} {error:?}").contains("28f2"));
        }
    }

    #[test]
    fn lines_with_comments() {
        let mut keys = SessionKeys::default();
        keys.add_lines(&format!("# keys\n\n  {GOOD}\r\n{GOOD}{}\n", "00".repeat(16))).unwrap();
        assert_eq!(keys.into_sessions().map(|(_, keys)| keys.len()).collect::<Vec<_>>(), [2]);
        assert_eq!(SessionKeys::default().add_lines(&format!("{GOOD}\nnone")), Err((2, KeyError::NoColon)));
    }
}

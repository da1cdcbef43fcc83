//! Derives a session's signing and encryption keys from the key of its logon.
//!
//! Spec: MS-SMB2 3.1.4.2, 3.2.5.3.1 (the function is NIST SP 800-108, counter mode, HMAC-SHA256, r = 32)

use aws_lc_rs::hmac;
use plimsoll_wire::smb2::negotiate::Cipher;
use zeroize::Zeroizing;

use super::preauth::Preauth;

/// The key that a logon ends with. Overwritten when dropped, never shown.
#[derive(Clone)]
pub struct SessionKey {
    bytes: Zeroizing<[u8; MOST]>,
    length: usize,
}

/// Size of the longest key, bytes: AES-256.
const MOST: usize = 32;
/// Length of the base key for all ciphers except AES-256, bytes.
const SHORT: usize = 16;

impl SessionKey {
    /// Checks the key of the mechanism: 16 bytes from NTLM, up to 32 from Kerberos; `None` if it is empty or longer.
    #[must_use]
    pub fn new(key: &[u8]) -> Option<Self> {
        let mut bytes = Zeroizing::new([0; MOST]);
        bytes.get_mut(..key.len()).filter(|bytes| !bytes.is_empty())?.copy_from_slice(key);
        Some(Self { bytes, length: key.len() })
    }

    /// Session.FullSessionKey.
    fn full(&self) -> &[u8] {
        // A shorter key is padded with zeros to 16 bytes.
        self.bytes.get(..self.length.max(SHORT)).unwrap_or(&self.bytes[..])
    }

    /// Session.SessionKey: the first 16 bytes.
    fn short(&self) -> &[u8] {
        self.bytes.get(..SHORT).unwrap_or(&self.bytes[..])
    }
}

/// A key for one purpose. Overwritten when dropped, never printed.
#[derive(Clone)]
pub struct Key {
    bytes: Zeroizing<[u8; MOST]>,
    length: usize,
}

impl Key {
    /// The key itself, 16 or 32 bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes[..])
    }
}

/// The key derivation of a dialect.
#[derive(Clone, Copy, Debug)]
pub enum Derivation<'a> {
    /// 2.0.2 and 2.1: the session key signs; there is no encryption.
    V2,
    /// 3.0 and 3.0.2.
    V30,
    /// 3.1.1, with the session's hash over all of its logon but the last response.
    V311(&'a Preauth),
}

/// The keys of a session.
#[derive(Clone)]
pub struct SessionKeys {
    /// Session.SigningKey: both directions.
    pub signing: Key,
    /// Key for the client's messages: 16 bytes, or 32 with AES-256. `None` in dialects 2.
    pub client_to_server: Option<Key>,
    /// Key for the server's messages.
    pub server_to_client: Option<Key>,
    /// Session.ApplicationKey, for protocols above the session.
    pub application: Key,
}

impl std::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKeys(..)")
    }
}

impl SessionKeys {
    /// Derives the keys. `cipher` is the negotiated cipher, if any. It determines the length of the encryption keys; in dialects 3.0 it is
    /// always [`Cipher::Aes128Ccm`].
    #[must_use]
    pub fn derive(session_key: &SessionKey, how: Derivation<'_>, cipher: Option<Cipher>) -> Self {
        let short = session_key.short();
        match how {
            Derivation::V2 => Self {
                signing: short_key(short),
                client_to_server: None,
                server_to_client: None,
                application: short_key(short),
            },
            Derivation::V30 => Self {
                signing: derive::<SHORT>(short, b"SMB2AESCMAC\0", b"SmbSign\0"),
                client_to_server: Some(derive::<SHORT>(short, b"SMB2AESCCM\0", b"ServerIn \0")),
                server_to_client: Some(derive::<SHORT>(short, b"SMB2AESCCM\0", b"ServerOut\0")),
                application: derive::<SHORT>(short, b"SMB2APP\0", b"SmbRpc\0"),
            },
            Derivation::V311(preauth) => {
                let context = preauth.bytes();
                let sealing = |label: &[u8]| match cipher?.key_len() {
                    MOST => Some(derive::<MOST>(session_key.full(), label, context)),
                    _ => Some(derive::<SHORT>(short, label, context)),
                };
                Self {
                    signing: derive::<SHORT>(short, b"SMBSigningKey\0", context),
                    client_to_server: sealing(b"SMBC2SCipherKey\0"),
                    server_to_client: sealing(b"SMBS2CCipherKey\0"),
                    application: derive::<SHORT>(short, b"SMBAppKey\0", context),
                }
            }
        }
    }
}

fn short_key(key: &[u8]) -> Key {
    let mut bytes = Zeroizing::new([0; MOST]);
    bytes.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    Key { bytes, length: SHORT }
}

/// `LENGTH` bytes, at most the 32 bytes of one HMAC, so the counter is always 1.
fn derive<const LENGTH: usize>(key: &[u8], label: &[u8], context: &[u8]) -> Key {
    const { assert!(LENGTH <= MOST) };
    let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    for part in [&1_u32.to_be_bytes()[..], label, &[0], context, &(LENGTH as u32 * 8).to_be_bytes()] {
        mac.update(part);
    }
    let mut bytes = Zeroizing::new([0; MOST]);
    bytes.iter_mut().zip(mac.sign().as_ref().iter().take(LENGTH)).for_each(|(to, from)| *to = *from);
    Key { bytes, length: LENGTH }
}

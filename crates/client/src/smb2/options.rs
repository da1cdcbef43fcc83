//! Options of the clients, and the negotiated values.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};

use plimsoll_model::Guarantees;
use plimsoll_wire::smb2::negotiate::Cipher;

use super::auth::{Account, Credentials};
use super::connection::signing::SigningAlgorithm;
use super::directory_cache::DirectoryLeases;
use super::durable::Reconnects;
use super::logons::Logons;

/// A version of the protocol.
///
/// Spec: MS-SMB2 2.2.3 (Dialects)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// SMB 2.0.2: no multi-credit requests.
    V202,
    /// SMB 2.1: leases, multi-credit requests.
    V210,
    /// SMB 3.0: encryption.
    V300,
    /// SMB 3.0.2.
    V302,
    /// SMB 3.1.1: preauthentication integrity, negotiated ciphers and signatures.
    V311,
}

impl Dialect {
    /// Every dialect, lowest first.
    pub const ALL: [Dialect; 5] = [Self::V202, Self::V210, Self::V300, Self::V302, Self::V311];

    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::V202 => 0x0202,
            Self::V210 => 0x0210,
            Self::V300 => 0x0300,
            Self::V302 => 0x0302,
            Self::V311 => 0x0311,
        }
    }

    /// From the number on the wire.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.code() == code)
    }

    /// As people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V202 => "2.0.2",
            Self::V210 => "2.1",
            Self::V300 => "3.0",
            Self::V302 => "3.0.2",
            Self::V311 => "3.1.1",
        }
    }
}

/// Whether something is left to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Requirement {
    /// Done where the server demands it.
    #[default]
    ServerDefault,
    /// Demanded: a server that cannot is not talked to.
    Demanded,
}

/// Common options of all clients of a run.
#[derive(Debug)]
pub struct SmbOptions {
    /// The server's name as the user gave it; a part of the share's path.
    pub server: String,
    /// The share's name.
    pub share: String,
    /// Accounts for logons, at least one. Each client uses one of them ([`super::SmbClient::with_account`]).
    pub accounts: Vec<Account>,
    /// Dialects to offer; one alone is forced.
    pub dialects: RangeInclusive<Dialect>,
    /// Signatures on everything.
    pub signing: Requirement,
    /// Encryption of everything.
    pub encryption: Requirement,
    /// Ciphers to offer in 3.1.1, the best first.
    pub ciphers: Vec<Cipher>,
    /// Signatures to offer in 3.1.1, the best first.
    pub signing_algorithms: Vec<SigningAlgorithm>,
    /// Target number of credits of each connection: outstanding requests of up to 64 KiB. At least 1.
    pub credits: u16,
    /// Addresses of the server for the further connections of each session, in turn; empty: the server is asked for a list.
    pub addresses: Vec<IpAddr>,
    /// The values negotiated by the first client.
    pub negotiated: OnceLock<Negotiated>,
    /// Number of clients so far.
    pub clients: AtomicU64,
    /// By ClientGuid: the session of a client that is gone, and did not log off.
    pub unended_sessions: Mutex<HashMap<[u8; 16], u64>>,
    /// By session: the number of the client that has it.
    pub session_owners: Mutex<HashMap<u64, u64>>,
    /// The identities that the server gave the accounts.
    pub logons: Mutex<Logons>,
    /// Counts of recovered files of clients that have ended; each client adds its own at its end.
    pub reconnects: Mutex<Reconnects>,
    /// Counts of leases of directories of clients that have ended; each client adds its own at its end.
    pub directory_leases: Mutex<DirectoryLeases>,
    /// Guarantees seen by clients that have ended; each client adds its own at its end.
    pub guarantees: Mutex<Guarantees>,
}

impl SmbOptions {
    /// The options of Windows and Samba clients: all dialects, the best algorithms first, no requirements.
    #[must_use]
    pub fn new(server: &str, share: &str, credentials: Credentials) -> Self {
        Self {
            server: server.to_owned(),
            share: share.to_owned(),
            accounts: vec![Account::new(credentials)],
            dialects: Dialect::V202..=Dialect::V311,
            signing: Requirement::ServerDefault,
            encryption: Requirement::ServerDefault,
            ciphers: vec![Cipher::Aes128Gcm, Cipher::Aes128Ccm, Cipher::Aes256Gcm, Cipher::Aes256Ccm],
            signing_algorithms: vec![
                SigningAlgorithm::AesGmac,
                SigningAlgorithm::AesCmac,
                SigningAlgorithm::HmacSha256,
            ],
            credits: 512,
            addresses: Vec::new(),
            negotiated: OnceLock::new(),
            clients: AtomicU64::new(0),
            unended_sessions: Mutex::default(),
            session_owners: Mutex::default(),
            logons: Mutex::default(),
            reconnects: Mutex::default(),
            directory_leases: Mutex::default(),
            guarantees: Mutex::default(),
        }
    }

    /// The given address for a place in the order of addresses, from 1; `None` if no addresses are given.
    pub(super) fn address_of(&self, place: u32) -> Option<IpAddr> {
        let at = (place as usize).checked_sub(1)?.checked_rem(self.addresses.len())?;
        self.addresses.get(at).copied()
    }
}

/// The values negotiated between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// The dialect.
    pub dialect: Dialect,
    /// How everything is signed; `None` where it is not.
    pub signing: Option<SigningAlgorithm>,
    /// How everything is encrypted; `None` where it is not.
    pub encryption: Option<Cipher>,
    /// Maximum size of a read, bytes.
    pub max_read: u32,
    /// Maximum size of a write, bytes.
    pub max_write: u32,
}

//! An SMB server.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use plimsoll_client::smb2::auth::Authentication;
use plimsoll_client::smb2::{Negotiated, SmbClient, SmbOptions};
use plimsoll_client::{Client, Composed};
use plimsoll_model::{Guarantees, NO_PROTECTION, Symbol};
use plimsoll_workload::{Rng, seed_of};
use rand::RngCore as _;

use super::Connector;
use crate::engine::ConnectionInfo;

/// An SMB server and how its clients log on.
#[derive(Debug)]
pub struct SmbServer {
    /// Where it is.
    pub address: SocketAddr,
    /// How clients log on.
    pub options: Arc<SmbOptions>,
    /// The share's name in transactions.
    pub share: Symbol,
    /// The names of the accounts in transactions.
    pub users: Vec<Symbol>,
    /// The accounts that clients use, in rotation.
    pub in_turn: Range<usize>,
    /// Seed of client GUIDs, which must differ between concurrent runs.
    pub seed: u64,
    /// Clients ask for leases of directories.
    pub directory_leases: bool,
}

impl SmbServer {
    /// Each connection identifies itself as a separate client computer (Samba serves all connections of one GUID in one process), and
    /// keeps its GUID when it reconnects.
    fn guid(&self, info: &ConnectionInfo) -> [u8; 16] {
        let mut guid = [0; 16];
        Rng::new(seed_of(self.seed, info.client_index, info.connection_index)).fill_bytes(&mut guid);
        guid
    }

    /// The account of a client, as a place in the accounts.
    fn account(&self, client_index: u32) -> usize {
        self.in_turn.start + client_index as usize % self.in_turn.len().max(1)
    }
}

impl Connector for SmbServer {
    fn address(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn account_of(&self, client_index: u32) -> Option<String> {
        let account = self.options.accounts.get(self.account(client_index))?;
        (self.in_turn.len() > 1).then(|| account.credentials.user.clone())
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        let account = self.account(info.client_index);
        let user = self.users.get(account).copied().unwrap_or(Symbol::NONE);
        let identity = info.identity(self.share, user);
        let client = SmbClient::new(Arc::clone(&self.options), identity, self.guid(info));
        let client = client.with_channels(info.channels).with_directory_leases(self.directory_leases);
        Box::new(Composed::new(client.with_account(account as u32)))
    }

    fn for_files(&self) -> Option<Arc<dyn Connector>> {
        let Self { address, ref options, share, ref users, seed, .. } = *self;
        let (options, users) = (Arc::clone(options), users.clone());
        Some(Arc::new(Self { address, options, share, users, in_turn: 0..1, seed, directory_leases: false }))
    }

    fn facts(&self) -> Vec<String> {
        let Some(agreed) = self.options.negotiated.get() else { return Vec::new() };
        let Negotiated { dialect, signing, encryption, max_read, max_write, guest, anonymous } = agreed;
        let mut facts = vec![format!("SMB {}", dialect.name())];
        facts.push(signing.map_or_else(|| "not signed".to_owned(), |how| format!("signed with {}", how.name())));
        facts.push(
            encryption.map_or_else(|| "not encrypted".to_owned(), |how| format!("encrypted with {}", how.name())),
        );
        facts.push(format!("reads up to {} KiB, writes up to {} KiB", max_read >> 10, max_write >> 10));
        // NTLM is the usual one.
        let how = self
            .options
            .accounts
            .first()
            .map(|account| account.authentication.name())
            .filter(|&how| how != Authentication::Ntlm.name());
        facts.extend(how.map(|how| format!("logged on with {how}")));
        let accounts = self.in_turn.len();
        facts.extend((accounts > 1).then(|| format!("{accounts} accounts in turn")));
        facts.extend(guest.then(|| "logged on as a guest".to_owned()));
        facts.extend(anonymous.then(|| "anonymous logon".to_owned()));
        facts.extend(self.options.reconnects.lock().unwrap_or_else(PoisonError::into_inner).facts());
        facts.extend(self.options.directory_leases.lock().unwrap_or_else(PoisonError::into_inner).fact());
        facts
    }

    fn take_guarantees(&self) -> Guarantees {
        let seen = std::mem::take(&mut *self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(agreed) = self.options.negotiated.get() else { return seen };
        let name = |name: Option<&str>| Some(name.unwrap_or(NO_PROTECTION).to_owned());
        let cipher = agreed.encryption.map(|how| how.name());
        // Encryption authenticates messages, so they have no signature (MS-SMB2 3.1.4.3).
        let signing = agreed.signing.map(|how| how.name()).or(cipher);
        Guarantees {
            dialect: Some(format!("SMB {}", agreed.dialect.name())),
            signing: name(signing),
            encryption: name(cipher),
            ..seen
        }
    }
}

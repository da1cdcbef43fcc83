//! An SMB server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use plimsoll_client::smb2::auth::Authentication;
use plimsoll_client::smb2::{LogonIdentity, Negotiated, SmbClient, SmbOptions};
use plimsoll_client::{Client, Composed};
use plimsoll_model::{Guarantees, NO_PROTECTION, Symbol};
use plimsoll_workload::{Rng, seed_of};
use rand::RngCore as _;

use super::Connector;
use crate::engine::{ConnectionInfo, ServerAccess};

/// Maximum number of guests that a text names.
const SHOWN_GUESTS: usize = 5;

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
    /// Seed of client GUIDs. It is random, because GUIDs must differ between runs, also between those in containers, which have the same
    /// process ID.
    pub seed: u64,
    /// Clients ask for leases of directories.
    pub directory_leases: bool,
}

impl SmbServer {
    /// Each connection identifies itself as a separate client computer (Samba serves all connections of one GUID in one process), and
    /// keeps its GUID when it reconnects.
    pub(super) fn guid(&self, info: &ConnectionInfo) -> [u8; 16] {
        let mut guid = [0; 16];
        Rng::new(seed_of(self.seed, info.client_index, info.connection_index)).fill_bytes(&mut guid);
        guid
    }

    /// Whether clients use the accounts of a file, in rotation.
    fn has_accounts(&self) -> bool {
        self.in_turn.start > 0
    }

    /// The logons that were not those of the user.
    fn logon_facts(&self) -> Vec<String> {
        let logons = self.options.logons.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |account, identity| logons.all().get(&account) == Some(&identity);
        let mut facts = Vec::new();
        if self.has_accounts() {
            facts.extend(self.guests_of(logons.all()).map(|guests| format!("guest logons: {guests}")));
            let first = self.options.accounts.first().filter(|_| is(0, LogonIdentity::Guest));
            facts.extend(first.map(|first| {
                format!("guest logon of the account that creates the files ({})", first.credentials.display())
            }));
        } else {
            facts.extend(is(0, LogonIdentity::Guest).then(|| "logged on as a guest".to_owned()));
        }
        facts.extend(is(0, LogonIdentity::Anonymous).then(|| "anonymous logon".to_owned()));
        facts
    }

    /// The number and names of the accounts of a file that became guests; `None` if none did.
    fn guests_of(&self, logons: &BTreeMap<u32, LogonIdentity>) -> Option<String> {
        let of_file = || logons.iter().filter(|(account, _)| self.in_turn.contains(&(**account as usize)));
        let guests = of_file().filter(|(_, identity)| **identity == LogonIdentity::Guest);
        let accounts = guests.filter_map(|(account, _)| self.options.accounts.get(*account as usize));
        let names: Vec<String> = accounts.map(|account| account.credentials.display()).collect();
        let (shown, more) = names.split_at(names.len().min(SHOWN_GUESTS));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let (count, all) = (names.len(), of_file().count());
        let s = if all == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} of {all} account{s} ({}{more})", shown.join(", ")))
    }

    /// The account of a client, as a place in the accounts.
    fn account(&self, client_index: u32) -> usize {
        self.in_turn.start + client_index as usize % self.in_turn.len().max(1)
    }
}

impl ServerAccess for SmbServer {
    fn address(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn account_of(&self, client_index: u32) -> Option<String> {
        let account = self.options.accounts.get(self.account(client_index))?;
        (self.in_turn.len() > 1).then(|| account.credentials.display())
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        let account = self.account(info.client_index);
        let user = self.users.get(account).copied().unwrap_or(Symbol::NONE);
        let identity = info.identity(self.share, user);
        let client = SmbClient::new(Arc::clone(&self.options), identity, self.guid(info));
        let client = client.with_channels(info.channels).with_directory_leases(self.directory_leases);
        Box::new(Composed::new(client.with_account(account as u32)))
    }
}

impl Connector for SmbServer {
    fn for_files(&self) -> Option<Arc<dyn Connector>> {
        let Self { address, ref options, share, ref users, seed, .. } = *self;
        let (options, users) = (Arc::clone(options), users.clone());
        Some(Arc::new(Self { address, options, share, users, in_turn: 0..1, seed, directory_leases: false }))
    }

    fn facts(&self) -> Vec<String> {
        let Some(agreed) = self.options.negotiated.get() else { return Vec::new() };
        let Negotiated { dialect, signing, encryption, max_read, max_write } = agreed;
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
        let addresses: Vec<String> = self.options.addresses.iter().map(ToString::to_string).collect();
        if !addresses.is_empty() {
            facts.push(format!("further connections of a session to {} (given in the target)", addresses.join(", ")));
        }
        facts.extend(self.logon_facts());
        facts.extend(self.options.reconnects.lock().unwrap_or_else(PoisonError::into_inner).facts());
        facts.extend(self.options.directory_leases.lock().unwrap_or_else(PoisonError::into_inner).fact());
        facts
    }

    fn take_guest_logons(&self) -> Vec<String> {
        let recent = self.options.logons.lock().unwrap_or_else(PoisonError::into_inner).take_recent();
        // A target whose user is a guest asks for the rights of a guest.
        let user = self.options.accounts.first().filter(|_| !self.has_accounts());
        let asked_for = user.is_some_and(|user| user.credentials.is_anonymous() || user.credentials.is_guest());
        self.guests_of(&recent).filter(|_| !asked_for).into_iter().collect()
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

#[cfg(test)]
mod tests {
    use plimsoll_client::smb2::auth::{Account, Credentials, Secret};

    use super::*;

    /// A server with a guest as the account that creates the files, and these.
    fn server(accounts: &[(&str, &str)]) -> SmbServer {
        server_of(Credentials::guest(), accounts)
    }

    fn server_of(first: Credentials, accounts: &[(&str, &str)]) -> SmbServer {
        let account = |&(domain, user): &(&str, &str)| {
            let (domain, user) = (domain.to_owned(), user.to_owned());
            Account::new(Credentials { domain, user, password: Secret::new("pw".to_owned()) })
        };
        let mut options = SmbOptions::new("h", "s", first);
        options.accounts.extend(accounts.iter().map(account));
        SmbServer {
            address: ([127, 0, 0, 1], 445).into(),
            in_turn: if accounts.is_empty() { 0..1 } else { 1..options.accounts.len() },
            options: Arc::new(options),
            share: Symbol::NONE,
            users: Vec::new(),
            seed: 0,
            directory_leases: false,
        }
    }

    #[test]
    fn guests_among_the_accounts_are_named_in_any_order() {
        let guests = |logons: [(u32, LogonIdentity); 2]| {
            let server = server(&[("", "anna"), ("B", "nobodyhere")]);
            logons.iter().for_each(|&(account, identity)| server.options.logons.lock().unwrap().add(account, identity));
            (server.logon_facts(), server.take_guest_logons(), server.take_guest_logons())
        };
        let named = |who: &str| {
            let words = format!("1 of 2 accounts ({who})");
            (vec![format!("guest logons: {words}")], vec![words], Vec::new())
        };
        use LogonIdentity::{Guest, User};
        assert_eq!(guests([(1, User), (2, Guest)]), named("B\\nobodyhere"));
        assert_eq!(guests([(2, User), (1, Guest)]), named("anna"));
        assert_eq!(guests([(2, User), (1, User)]), (Vec::new(), Vec::new(), Vec::new()));
        let preparing = guests([(0, Guest), (1, User)]);
        assert_eq!(preparing.0, ["guest logon of the account that creates the files (Guest)"]);
        assert!(preparing.1.is_empty());
    }

    #[test]
    fn a_guest_is_named_unless_the_target_asks_for_one() {
        let guest = |user: &str| {
            let server = server_of(Credentials { user: user.to_owned(), ..Credentials::guest() }, &[]);
            server.options.logons.lock().unwrap().add(0, LogonIdentity::Guest);
            assert_eq!(server.logon_facts(), ["logged on as a guest"]);
            server.take_guest_logons()
        };
        assert!(guest("Guest").is_empty() && guest("guest").is_empty() && guest("").is_empty());
        assert_eq!(guest("typo"), ["1 of 1 account (typo)"]);
    }

    #[test]
    fn accounts_of_different_domains_have_different_names() {
        let server = server(&[("A", "anna"), ("B", "anna")]);
        let names = [0, 1].map(|client| server.account_of(client).unwrap());
        assert_eq!(names, ["A\\anna", "B\\anna"]);
    }
}

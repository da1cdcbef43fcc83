//! The state of a client.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use plimsoll_model::Guarantees;

use super::auth::{Account, Auth};
use super::channels::Channels;
use super::connection::{Connection, Outgoing, SentMessages};
use super::directory_cache::DirectoryCache;
use super::durable::Durable;
use super::files::Files;
use super::jobs::Jobs;
use super::lease_cache::LeaseCache;
use super::logon::Logon;
use super::negotiated_security::NegotiatedSecurity;
use super::options::SmbOptions;
use super::resumption::Resumption;
use super::waiting::Waiting;
use crate::calls::Identity;
use crate::operation::Cause;

/// A connection with one session on one share.
#[derive(Debug)]
pub struct SmbClient {
    pub(super) options: Arc<SmbOptions>,
    /// Index of the client's account in the options.
    account: u32,
    pub(super) connection: Connection,
    pub(super) guid: [u8; 16],
    pub(super) state: State,
    /// There while logging on.
    pub(super) logon: Option<Box<Logon>>,
    /// There once there was a NEGOTIATE.
    pub(super) negotiated_security: Option<Box<NegotiatedSecurity>>,
    pub(super) jobs: Jobs,
    pub(super) waiting: VecDeque<Waiting>,
    /// Messages that the server was not ready for, and when they are sent again.
    pub(super) delayed: Vec<(i64, Waiting)>,
    pub(super) files: Files,
    /// Cached facts that leases permit.
    pub(super) lease_cache: LeaseCache,
    /// There where the client caches directories.
    pub(super) directory_cache: Option<Box<DirectoryCache>>,
    /// Number of leases requested so far.
    pub(super) leases: u64,
    /// The client has already sent an ECHO to get more credits.
    pub(super) credit_probe_sent: bool,
    /// The message that is being built; its memory is used again.
    pub(super) outgoing: Outgoing,
    /// Opens that asked for an oplock or a lease, and those that got one.
    pub(super) caching: (u64, u64),
    /// There where the session has several connections.
    pub(super) channels: Option<Box<Channels>>,
    /// There once a durable handle was asked for.
    pub(super) durable: Option<Box<Durable>>,
    /// Present while the session has no connection, or takes over a lost session.
    pub(super) resumption: Option<Box<Resumption>>,
}

impl Drop for SmbClient {
    fn drop(&mut self) {
        let (asked, granted) = self.caching;
        let own = Guarantees { caching_asked: Some(asked), caching_granted: Some(granted), ..Guarantees::default() };
        self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner).merge(&own);
        if let Some(durable) = &self.durable {
            self.options.reconnects.lock().unwrap_or_else(PoisonError::into_inner).add(&durable.counts);
        }
        if let Some(cache) = &self.directory_cache {
            self.options.directory_leases.lock().unwrap_or_else(PoisonError::into_inner).add(&cache.counts);
        }
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Before the first request.
    Fresh,
    /// Logging on.
    Connecting,
    /// On the share.
    Ready,
    /// The connection is lost, and not yet replaced.
    Parted,
    /// Logging off.
    Leaving,
    /// Logged off or never logged on, with the reason; all received bytes were well-formed.
    Closed(Cause),
    /// Unusable, with the reason.
    Over(Cause),
}

impl SmbClient {
    /// A client for a new connection. `guid` is its ClientGuid: for the server, two connections with the same GUID are channels of one
    /// client (Samba serves them in one process).
    #[must_use]
    pub fn new(options: Arc<SmbOptions>, identity: Identity, guid: [u8; 16]) -> Self {
        let connection = Connection::new(identity, *options.dialects.start(), options.credits);
        Self {
            options,
            account: 0,
            connection,
            guid,
            state: State::Fresh,
            logon: None,
            negotiated_security: None,
            jobs: Jobs::default(),
            waiting: VecDeque::new(),
            delayed: Vec::new(),
            files: Files::default(),
            lease_cache: LeaseCache::default(),
            directory_cache: None,
            leases: 0,
            credit_probe_sent: false,
            outgoing: Outgoing::default(),
            caching: (0, 0),
            channels: None,
            durable: None,
            resumption: None,
        }
    }

    /// A client whose session will have this number of connections; the given one is the first.
    #[must_use]
    pub fn with_channels(mut self, count: u32) -> Self {
        if count > 1 {
            let (identity, dialect) = (self.connection.identity().clone(), *self.options.dialects.start());
            let blank = || Connection::new(identity.clone(), dialect, self.options.credits);
            self.channels = Some(Box::new(Channels::new(count, blank)));
            self.connection.sent_messages = Some(SentMessages::default());
        }
        self
    }

    /// A connection of the session; the first one if there is no other with this number.
    pub(super) fn on(&self, channel: u32) -> &Connection {
        let other = self.channels.as_ref().and_then(|channels| channels.get(channel));
        other.map_or(&self.connection, |other| &other.connection)
    }

    /// The same, to change it.
    pub(super) fn on_mut(&mut self, channel: u32) -> &mut Connection {
        match self.channels.as_mut().and_then(|channels| channels.get_mut(channel)) {
            Some(other) => &mut other.connection,
            None => &mut self.connection,
        }
    }

    /// All connections of the session, the first in front.
    pub(super) fn connections(&self) -> impl Iterator<Item = &Connection> {
        let others = self.channels.iter().flat_map(|channels| &channels.others);
        std::iter::once(&self.connection).chain(others.map(|other| &other.connection))
    }

    /// A client with another account of the options.
    #[must_use]
    pub fn with_account(mut self, account: u32) -> Self {
        self.account = account;
        self
    }

    /// Begins a logon with the client's account.
    pub(super) fn authenticate(&self, now: i64) -> Result<Box<dyn Auth>, Cause> {
        let service = format!("cifs/{}", self.options.server);
        let account = self.account().ok_or(Cause::Unsupported)?;
        account.begin(&service, now).ok_or(Cause::OutOfResources)
    }

    /// The account's place among all accounts.
    pub(super) fn account_place(&self) -> u32 {
        self.account
    }

    pub(super) fn account(&self) -> Option<&Account> {
        self.options.accounts.get(self.account as usize)
    }
}

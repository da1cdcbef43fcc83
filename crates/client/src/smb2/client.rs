//! The state of a client.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
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
    /// Number of this client among all clients of the options, from 0: no client uses the lease keys and names of opens of another one,
    /// whose session the server may still have.
    pub(super) number: u64,
    /// Number of leases requested so far.
    pub(super) leases: u64,
    /// The session that the server may still have when this client is gone: its own, and before its logon that of the last client with this
    /// GUID.
    pub(super) unended_session: Option<u64>,
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
        if let Some(session) = self.unended_session {
            self.options.unended_sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(self.guid, session);
            self.set_session(None);
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

/// A server that counts its sessions (ksmbd does) may have begun anew since then: an ID up to this one may be another client's session by
/// now, which the server would end.
const COUNTED_SESSION_MAX: u64 = 1 << 20;

impl SmbClient {
    /// A client for a new connection. `guid` is its ClientGuid: for the server, two connections with the same GUID are channels of one
    /// client (Samba serves them in one process). If an earlier client with this GUID did not log off, the logon names its session, so that
    /// the server ends it.
    #[must_use]
    pub fn new(options: Arc<SmbOptions>, identity: Identity, guid: [u8; 16]) -> Self {
        let connection = Connection::new(identity, *options.dialects.start(), options.credits);
        let number = options.clients.fetch_add(1, Relaxed);
        let unended_session = options.unended_sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&guid);
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
            number,
            leases: 0,
            unended_session,
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

    /// PreviousSessionId: the session that the server is to end, because its connection is lost. It would keep files and leases otherwise.
    ///
    /// Spec: MS-SMB2 3.2.4.2.3, 3.3.5.5.3
    pub(super) fn previous_session(&self) -> u64 {
        let session = match &self.resumption {
            // That of the last logon: an earlier attempt to reconnect may have ended `previous`, and has the files now.
            Some(resumption) => self.unended_session.or(Some(resumption.previous)),
            // The primary session goes on.
            None if self.connection.is_on_a_secondary_session() => None,
            None => self.unended_session.filter(|session| *session > COUNTED_SESSION_MAX),
        };
        // A server that has restarted may have given the ID to another client, whose session it would end.
        let owners = self.options.session_owners.lock().unwrap_or_else(PoisonError::into_inner);
        session.filter(|session| owners.get(session).is_none_or(|owner| *owner == self.number)).unwrap_or(0)
    }

    /// The client has this session from now on, and no other one.
    pub(super) fn set_session(&mut self, session: Option<u64>) {
        let mut owners = self.options.session_owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = self.unended_session
            && owners.get(&before) == Some(&self.number)
        {
            owners.remove(&before);
        }
        if let Some(session) = session {
            owners.insert(session, self.number);
        }
        drop(owners);
        self.unended_session = session;
    }

    /// The account's place among all accounts.
    pub(super) fn account_place(&self) -> u32 {
        self.account
    }

    pub(super) fn account(&self) -> Option<&Account> {
        self.options.accounts.get(self.account as usize)
    }
}

//! Logon and logoff: NEGOTIATE, SESSION_SETUP, TREE_CONNECT, TREE_DISCONNECT, LOGOFF.
//!
//! Spec: MS-SMB2 3.2.4.2, 3.2.5.2, 3.2.5.3, 3.2.5.5

use std::sync::PoisonError;

use plimsoll_model::Outcome;
use plimsoll_wire::smb2::empty_body::{Logoff, TreeDisconnect};
use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::negotiate::Cipher;
use plimsoll_wire::smb2::{Reply, negotiate, session_setup, tree_connect};

use super::answers::Found;
use super::client::{SmbClient, State};
use super::connection::signing::{Signer, SigningAlgorithm};
use super::connection::{CREDIT, Limits, MOST, Protection, RequestContext};
use super::jobs::JobId;
use super::logon::Logon;
use super::logons::LogonIdentity;
use super::negotiated_security::NegotiatedSecurity;
use super::options::{Dialect, Negotiated, Requirement};
use super::request_kind::RequestKind;
use crate::calls::Call;
use crate::client::Events;
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

impl SmbClient {
    /// Begins to log on.
    pub(super) fn negotiate(&mut self, job: JobId, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let mut salt = [0; 32];
        let random = aws_lc_rs::rand::fill(&mut salt).map_err(|_| Cause::OutOfResources);
        let auth = match self.authenticate(now).and_then(|auth| random.map(|()| auth)) {
            Ok(auth) => auth,
            Err(cause) => return self.logon_failed(job, None, None, cause, now, events),
        };
        self.logon = Some(Box::new(Logon::new(auth, self.options.signing == Requirement::Demanded)));
        if let Err(cause) = self.build_negotiate(&salt) {
            return self.logon_failed(job, Some(RequestKind::Negotiate), None, cause, now, events);
        }
        self.launch_hashed(job, now, out);
    }

    /// Builds the request that each connection begins with.
    pub(super) fn build_negotiate(&mut self, salt: &[u8; 32]) -> Result<(), Cause> {
        let dialects: Vec<u16> = self.offered().map(Dialect::code).collect();
        let ciphers: Vec<u16> = self.options.ciphers.iter().map(|cipher| cipher.code()).collect();
        let signing: Vec<u16> = self.options.signing_algorithms.iter().map(|algorithm| algorithm.code()).collect();
        let call = negotiate::Negotiate {
            dialects: &dialects,
            security_mode: self.security_mode(),
            capabilities: self.capabilities(),
            client_guid: self.guid,
            contexts: negotiate::Offer { salt, ciphers: &ciphers, signing: &signing, server: "" },
        };
        self.outgoing.clear();
        self.outgoing.add(RequestKind::Negotiate, &call).map(|_| ()).map_err(|_| Cause::Unsupported)
    }

    /// The dialects that are offered, lowest first.
    pub(super) fn offered(&self) -> impl Iterator<Item = Dialect> + use<'_> {
        Dialect::ALL.into_iter().filter(|dialect| self.options.dialects.contains(dialect))
    }

    pub(super) fn security_mode(&self) -> u8 {
        match self.options.signing {
            Requirement::ServerDefault => negotiate::SIGNING_ENABLED,
            Requirement::Demanded => negotiate::SIGNING_REQUIRED,
        }
    }

    /// Capabilities of the client. Dialects before 3.0 have none.
    pub(super) fn capabilities(&self) -> u32 {
        if *self.options.dialects.end() < Dialect::V300 {
            return 0;
        }
        let several = if self.channels.is_some() { negotiate::CAP_MULTI_CHANNEL } else { 0 };
        let directories = if self.directory_cache.is_some() { negotiate::CAP_DIRECTORY_LEASING } else { 0 };
        let always = negotiate::CAP_LEASING
            | negotiate::CAP_LARGE_MTU
            | negotiate::CAP_PERSISTENT_HANDLES
            | negotiate::CAP_ENCRYPTION;
        always | several | directories
    }

    /// Sends a message of the logon and adds it to the hash.
    fn launch_hashed(&mut self, job: JobId, now: i64, out: &mut Outbox) {
        let header = self.launch(job, Protection::None, now, out);
        if let Some(logon) = &mut self.logon {
            logon.preauth.add(&[out.patch(header)]);
        }
    }

    /// An answer of the logon.
    pub(super) fn logged(
        &mut self,
        call: &Call<RequestContext>,
        reply: &Reply<'_>,
        found: &Found<'_>,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        let (job, kind) = (call.context.job, call.context.kind);
        let next = match found {
            Found::Negotiated(negotiated) => self.negotiated(job, reply, negotiated, at, out),
            Found::SessionSetup(setup) if reply.status() == 0 => self.session_is_up(job, reply, setup, at, out),
            Found::SessionSetup(setup) => self.next_token(job, reply, setup, at, out),
            Found::TreeConnected(share) => self.share_is_there(job, reply, share, at, out, events),
            Found::Validated(said) => self.validated(job, reply, said, at, out, events),
            _ if kind == RequestKind::Validate => self.not_validated(job, reply, at, out, events),
            _ if kind == RequestKind::Interfaces => self.interfaces_told(job, found, at, out, events),
            _ => Err(match kind {
                RequestKind::Negotiate => Cause::NotOffered,
                RequestKind::TreeConnect => Cause::ShareRefused,
                _ => Cause::LogonRefused,
            }),
        };
        if let Err(cause) = next {
            self.logon_failed(job, Some(kind), Some(reply.status()), cause, at, events);
        }
    }

    /// The logon cannot go on.
    pub(super) fn logon_failed(
        &mut self,
        job: JobId,
        kind: Option<RequestKind>,
        status: Option<u32>,
        cause: Cause,
        at: i64,
        events: &mut dyn Events,
    ) {
        // A response without proof of its sender does not show that the server is not ready.
        self.refused(status.filter(|_| cause != Cause::Untrusted), cause);
        let outcome = match status {
            Some(0) => Outcome::Failed,
            Some(_) => Outcome::Refused,
            None => Outcome::NeverSent,
        };
        if let Some(found) = self.jobs.get(job) {
            found.fail(Failure { procedure: kind.map(RequestKind::procedure), status, outcome, cause });
        }
        self.finish(job, at, events);
    }

    fn negotiated(
        &mut self,
        job: JobId,
        reply: &Reply<'_>,
        chosen: &negotiate::Negotiated<'_>,
        at: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        let dialect = Dialect::from_code(chosen.dialect).filter(|dialect| self.options.dialects.contains(dialect));
        let dialect = dialect.ok_or(Cause::Malformed)?;
        let multi_credit = dialect > Dialect::V202 && chosen.capabilities & negotiate::CAP_LARGE_MTU != 0;
        let has = |capability| dialect >= Dialect::V300 && chosen.capabilities & capability != 0;
        let most = if multi_credit { MOST } else { CREDIT };
        let limit = |said: u32| said.clamp(1, most);
        self.connection.limits = Limits {
            dialect,
            multi_credit,
            directory_leases: has(negotiate::CAP_DIRECTORY_LEASING),
            persistent_handles: has(negotiate::CAP_PERSISTENT_HANDLES),
            max_transact: limit(chosen.max_transact),
            max_read: limit(chosen.max_read),
            max_write: limit(chosen.max_write),
        };
        let logon = self.logon.as_mut().ok_or(Cause::Malformed)?;
        logon.preauth.add(&[reply.header().bytes()]);
        logon.signs |= chosen.security_mode & u16::from(negotiate::SIGNING_REQUIRED) != 0;
        logon.said = fsctl::Validated {
            capabilities: chosen.capabilities,
            guid: chosen.server_guid,
            security_mode: chosen.security_mode,
            dialect: chosen.dialect,
        };
        (logon.cipher, logon.algorithm) = match dialect {
            Dialect::V202 | Dialect::V210 => (None, SigningAlgorithm::HmacSha256),
            Dialect::V300 | Dialect::V302 => {
                let can = chosen.capabilities & negotiate::CAP_ENCRYPTION != 0;
                (can.then_some(Cipher::Aes128Ccm), SigningAlgorithm::AesCmac)
            }
            Dialect::V311 => chosen_in_311(&chosen.chosen)?,
        };
        let (preauth, cipher, algorithm, signs) = (logon.preauth, logon.cipher, logon.algorithm, logon.signs);
        let offer = chosen.security_buffer.to_vec();
        let server_guid = chosen.server_guid;
        self.negotiated_security =
            Some(Box::new(NegotiatedSecurity { preauth, cipher, algorithm, signs, offer, server_guid }));
        if self.channels.is_some() && !has(negotiate::CAP_MULTI_CHANNEL) {
            return Err(Cause::NoMultichannel);
        }
        let offer = Some(chosen.security_buffer).filter(|buffer| !buffer.is_empty());
        self.send_token(job, offer, at, out)
    }

    pub(super) fn next_token(
        &mut self,
        job: JobId,
        reply: &Reply<'_>,
        setup: &session_setup::SetupReply<'_>,
        at: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        self.connection.session.id = reply.session_id();
        let logon = self.logon.as_mut().ok_or(Cause::Malformed)?;
        logon.preauth.add(&[reply.header().bytes()]);
        self.send_token(job, Some(setup.security_buffer), at, out)
    }

    pub(super) fn send_token(
        &mut self,
        job: JobId,
        from_server: Option<&[u8]>,
        at: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        let (security_mode, previous_session_id) = (self.security_mode(), self.previous_session());
        let token = self.logon.as_mut().ok_or(Cause::Malformed)?.next_token(from_server)?;
        let call = session_setup::SessionSetup {
            security_mode,
            security_buffer: &token,
            previous_session_id,
            ..session_setup::SessionSetup::default()
        };
        self.outgoing.clear();
        self.outgoing.add(RequestKind::SessionSetup, &call).map_err(|_| Cause::Unsupported)?;
        self.launch_hashed(job, at, out);
        Ok(())
    }

    fn session_is_up(
        &mut self,
        job: JobId,
        reply: &Reply<'_>,
        setup: &session_setup::SetupReply<'_>,
        at: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        self.take_session(reply, setup)?;
        self.connect_share(job, at, out)
    }

    /// Handles a successful logon: verifies the server's proof, and derives keys.
    pub(super) fn take_session(
        &mut self,
        reply: &Reply<'_>,
        setup: &session_setup::SetupReply<'_>,
    ) -> Result<(), Cause> {
        self.connection.session.id = reply.session_id();
        let dialect = self.connection.limits.dialect;
        let logon = self.logon.as_mut().ok_or(Cause::Malformed)?;
        logon.finish(setup.security_buffer)?;
        logon.flags = setup.flags;
        let keyless = session_setup::SESSION_IS_GUEST | session_setup::SESSION_IS_NULL;
        let key = logon.session_key().filter(|_| setup.flags & keyless == 0);
        let mut keys = None;
        if let Some(key) = &key {
            keys = Some(self.connection.session.take_keys(key, logon, dialect).ok_or(Cause::Untrusted)?);
            let signer = self.connection.session.signer.as_ref().ok_or(Cause::Untrusted)?;
            // In 3.1.1 its signature proves that the negotiation was not changed; in older dialects it is signed where signing is on.
            let must = dialect == Dialect::V311 || logon.signs;
            if must || reply.header().is_signed() {
                signer.verify(reply.header().bytes(), &[]).map_err(|_| Cause::Untrusted)?;
            }
        }
        self.connection.session.signs = logon.signs && key.is_some();
        // A resumption may need several logons, each with its own keys. Channels belong to the primary session.
        if !self.connection.is_on_a_secondary_session() {
            self.set_session(self.connection.session.id());
            if let Some(channels) = &mut self.channels {
                channels.keys = keys;
            }
        }
        self.note_identity(setup.flags);
        let demanded = self.options.encryption == Requirement::Demanded;
        self.connection.session.seals = demanded || setup.flags & session_setup::SESSION_ENCRYPTS != 0;
        let unsealed = self.connection.session.seals && self.connection.session.seal.is_none();
        let unsigned = self.options.signing == Requirement::Demanded && key.is_none();
        match () {
            () if !unsealed && !unsigned => Ok(()),
            // No server can do without it.
            () if key.is_none() => Err(Cause::NoSessionKey),
            () => Err(Cause::NotOffered),
        }
    }

    /// Notes whom the server made of the user. Each account may be treated differently.
    fn note_identity(&self, flags: u16) {
        // Samba omits the flag of an anonymous session.
        let is_anonymous = || self.account().is_some_and(|account| account.credentials.is_anonymous());
        let identity = if flags & session_setup::SESSION_IS_GUEST != 0 {
            LogonIdentity::Guest
        } else if flags & session_setup::SESSION_IS_NULL != 0 || is_anonymous() {
            LogonIdentity::Anonymous
        } else {
            LogonIdentity::User
        };
        self.options.logons.lock().unwrap_or_else(PoisonError::into_inner).add(self.account_place(), identity);
    }

    fn connect_share(&mut self, job: JobId, at: i64, out: &mut Outbox) -> Result<(), Cause> {
        let path = format!("\\\\{}\\{}", self.options.server, self.options.share);
        self.outgoing.clear();
        let call = tree_connect::TreeConnect { path: &path };
        self.outgoing.add(RequestKind::TreeConnect, &call).map_err(|_| Cause::Unsupported)?;
        // Dialect 3.1.1 signs this request even if it signs no others.
        let signed = self.connection.limits.dialect == Dialect::V311;
        self.launch(job, if signed { Protection::Signed } else { Protection::Usual }, at, out);
        Ok(())
    }

    fn share_is_there(
        &mut self,
        job: JobId,
        reply: &Reply<'_>,
        share: &tree_connect::Connected,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        self.connection.session.tree = reply.header().tree_id().ok_or(Cause::Malformed)?;
        self.connection.limits.persistent_handles &=
            share.capabilities & tree_connect::SHARE_CONTINUOUS_AVAILABILITY != 0;
        if share.flags & tree_connect::SHARE_ENCRYPTS != 0 {
            self.connection.session.seals = true;
            if self.connection.session.seal.is_none() {
                let has_key = self.connection.session.signer.is_some();
                return Err(if has_key { Cause::NotOffered } else { Cause::NoSessionKey });
            }
        }
        if self.must_validate() {
            return self.validate(job, at, out);
        }
        self.before_ready(job, at, out, events)
    }

    /// Everything is agreed on.
    pub(super) fn ready(&mut self, job: JobId, at: i64, events: &mut dyn Events) {
        let Some(logon) = self.logon.take() else { return };
        let session = &self.connection.session;
        let negotiated = Negotiated {
            dialect: self.connection.limits.dialect,
            signing: session.signer.as_ref().filter(|_| session.signs && !session.seals).map(Signer::algorithm),
            encryption: logon.cipher.filter(|_| session.seals),
            max_read: self.connection.limits.max_read,
            max_write: self.connection.limits.max_write,
        };
        // The values of the first client are enough, because all have the same options and server.
        let _ = self.options.negotiated.set(negotiated);
        self.state = State::Ready;
        self.finish(job, at, events);
    }

    /// Begins to log off: first the share, then the session.
    pub(super) fn disconnect(&mut self, job: JobId, now: i64, out: &mut Outbox) {
        self.outgoing.clear();
        if self.outgoing.add(RequestKind::TreeDisconnect, &TreeDisconnect).is_ok() {
            self.submit(job, now, out);
        }
    }

    /// Handles a response during the logoff.
    pub(super) fn left(&mut self, call: &Call<RequestContext>, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        let job = call.context.job;
        if call.context.kind == RequestKind::TreeDisconnect {
            self.outgoing.clear();
            if self.outgoing.add(RequestKind::Logoff, &Logoff).is_ok() {
                return self.submit(job, at, out);
            }
        }
        self.state = State::Closed(Cause::Ended);
        self.set_session(None);
        self.finish(job, at, events);
    }
}

/// Cipher and signature that the server chose in dialect 3.1.1.
pub(super) fn chosen_in_311(chosen: &negotiate::Chosen) -> Result<(Option<Cipher>, SigningAlgorithm), Cause> {
    if chosen.hash != Some(negotiate::context::HASH_SHA512) {
        return Err(Cause::Malformed);
    }
    let cipher = match chosen.cipher {
        None | Some(0) => None,
        Some(code) => Some(Cipher::from_code(code).ok_or(Cause::Malformed)?),
    };
    let algorithm = match chosen.signing {
        None => SigningAlgorithm::AesCmac,
        Some(code) => SigningAlgorithm::from_code(code).ok_or(Cause::Malformed)?,
    };
    Ok((cipher, algorithm))
}

//! Binds another connection to the session: NEGOTIATE as on the first connection, and a logon whose key signs only this connection.
//!
//! Spec: MS-SMB2 3.2.4.2.3.1, 3.2.5.2, 3.2.5.3.3

use plimsoll_model::{Outcome, Symbol};
use plimsoll_wire::smb2::ioctl::{self, fsctl};
use plimsoll_wire::smb2::{FileId, Reply, negotiate, session_setup, status};

use super::answers::Found;
use super::channels::ChannelState;
use super::client::{SmbClient, State};
use super::connection::keys::{Derivation, SessionKeys};
use super::connection::signing::Signer;
use super::connection::{Connection, Protection, RequestContext, SentMessages, Session};
use super::jobs::{Job, JobId, Kind};
use super::logon::Logon;
use super::logon_messages::chosen_in_311;
use super::options::{Dialect, Requirement};
use super::request_kind::RequestKind;
use crate::calls::{Call, Identity};
use crate::client::{Events, NewChannel};
use crate::operation::{Cause, Done, Failure, Tag, Ticket};
use crate::outbox::Outbox;

/// Maximum size of the list of a server's addresses, bytes: a few hundred addresses.
const INTERFACES_OUTPUT: u32 = 64 << 10;

impl SmbClient {
    /// Everything is agreed on; a session with several connections asks for the server's addresses first, unless they are given.
    pub(super) fn before_ready(
        &mut self,
        job: JobId,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        let Some(channels) = &self.channels else {
            self.before_operations(job, at, out, events);
            return Ok(());
        };
        // Without a session key the client cannot prove that the connection belongs to the same user.
        if channels.keys.is_none() {
            return Err(Cause::NoSessionKey);
        }
        if !self.options.addresses.is_empty() {
            self.before_operations(job, at, out, events);
            return Ok(());
        }
        let control = fsctl::Control::NetworkInterfaces;
        let call = ioctl::Ioctl { file: FileId::PREVIOUS, control, max_output: INTERFACES_OUTPUT };
        self.outgoing.clear();
        self.outgoing.add(RequestKind::Interfaces, &call).map_err(|_| Cause::Unsupported)?;
        self.launch(job, Protection::Usual, at, out);
        Ok(())
    }

    /// Handles the server's list of addresses, which may be empty.
    pub(super) fn interfaces_told(
        &mut self,
        job: JobId,
        found: &Found<'_>,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        if let (Found::Interfaces(said), Some(channels)) = (found, &mut self.channels) {
            let interfaces = fsctl::interfaces(said).map_err(|_| Cause::Malformed)?;
            channels.learn_addresses(&interfaces, self.connection.identity().server.ip);
        }
        self.before_operations(job, at, out, events);
        Ok(())
    }

    /// Begins to bind a new connection.
    pub(super) fn bind(&mut self, new: &NewChannel, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let ticket = Ticket { tag: Tag::channel(new.channel), intended: None, path: Symbol::NONE };
        let job = self.jobs.add(Job::new(&ticket, Kind::Bind));
        if let Err(cause) = self.begin_binding(new, job, now, out) {
            self.jobs.remove(job);
            Self::refuse(ticket.tag, now, cause, events);
        }
    }

    fn begin_binding(&mut self, new: &NewChannel, job: JobId, now: i64, out: &mut Outbox) -> Result<(), Cause> {
        if self.state != State::Ready {
            return Err(Cause::Ended);
        }
        let mut salt = [0; 32];
        aws_lc_rs::rand::fill(&mut salt).map_err(|_| Cause::OutOfResources)?;
        let logon = Logon::new(self.authenticate(now)?, self.options.signing == Requirement::Demanded);
        let Identity { share, user, .. } = *self.connection.identity();
        let identity = Identity { client: new.client, server: new.server, connection: new.connection, share, user };
        let mut connection = Connection::new(identity, *self.options.dialects.start(), self.options.credits);
        connection.is_binding = true;
        let absent = |found: &&mut super::channels::Channel| found.state == ChannelState::Absent;
        let channel = self.channels.as_mut().and_then(|channels| channels.get_mut(new.channel)).filter(absent);
        let channel = channel.ok_or(Cause::Unsupported)?;
        (channel.connection, channel.state, channel.logon) = (connection, ChannelState::Binding, Some(Box::new(logon)));
        out.reset(new.channel);
        self.build_negotiate(&salt)?;
        self.launch_binding(new.channel, job, Protection::None, now, out);
        Ok(())
    }

    /// Sends a message of the binding and adds it to the hash.
    fn launch_binding(&mut self, channel: u32, job: JobId, protection: Protection, now: i64, out: &mut Outbox) {
        let header = self.launch_on(channel, job, protection, now, out);
        if let Some(logon) = self.logon_of(channel) {
            logon.preauth.add(&[out.channel(channel).patch(header)]);
        }
    }

    fn logon_of(&mut self, channel: u32) -> Option<&mut Logon> {
        self.channels.as_mut()?.get_mut(channel)?.logon.as_deref_mut()
    }

    /// Handles a response during the binding.
    pub(super) fn binding_answered(
        &mut self,
        (channel, call): (u32, &Call<RequestContext>),
        reply: &Reply<'_>,
        found: &Found<'_>,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        let job = call.context.job;
        let next = match found {
            Found::Negotiated(chosen) => self.channel_negotiated((channel, job), reply, chosen, at, out),
            Found::SessionSetup(setup) if reply.status() == 0 => {
                self.channel_bound(channel, reply, setup).map(|()| self.finish(job, at, events))
            }
            Found::SessionSetup(setup) => self.next_binding_token((channel, job), reply, setup, at, out),
            _ if call.context.kind == RequestKind::Negotiate => Err(Cause::NotOffered),
            // Samba 4.17 refuses every binding if it requires encryption: an unencrypted one with ACCESS_DENIED, an encrypted one because
            // it does not accept its signature. The user is known to be valid, because the first logon succeeded.
            _ if reply.status() == status::STATUS_ACCESS_DENIED && self.connection.primary().seals => {
                Err(Cause::NoMultichannel)
            }
            _ => Err(Cause::LogonRefused),
        };
        if let Err(cause) = next {
            let outcome = if reply.status() == 0 { Outcome::Failed } else { Outcome::Refused };
            let (procedure, status) = (Some(call.procedure), Some(reply.status()));
            self.end_binding(channel, Failure { procedure, status, outcome, cause }, at, events);
        }
    }

    /// Handles a malformed response on a connection that is being bound. Returns whether the connection exists.
    pub(super) fn fail_binding(&mut self, channel: u32, cause: Cause, at: i64, events: &mut dyn Events) -> bool {
        let found = self.channels.as_ref().and_then(|channels| channels.get(channel));
        let is_binding = found.is_some_and(|found| found.state == ChannelState::Binding);
        if is_binding {
            self.end_binding(
                channel,
                Failure { outcome: Outcome::Failed, ..Failure::without_answer(cause) },
                at,
                events,
            );
        }
        is_binding
    }

    /// The connection cannot be bound: its caller closes it, and may make it again.
    fn end_binding(&mut self, channel: u32, failure: Failure, at: i64, events: &mut dyn Events) {
        if let Some(found) = self.channels.as_mut().and_then(|channels| channels.get_mut(channel)) {
            (found.state, found.logon) = (ChannelState::Absent, None);
        }
        let tag = Tag::channel(channel);
        if let Some(job) = self.jobs.first(|job| job.tag == tag) {
            self.jobs.remove(job);
        }
        events.done(Done { tag, at, result: Err(failure) });
    }

    /// The same server must have chosen the same as on the first connection.
    fn channel_negotiated(
        &mut self,
        (channel, job): (u32, JobId),
        reply: &Reply<'_>,
        chosen: &negotiate::Negotiated<'_>,
        at: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        // Channels belong to the primary session, also while another one is in use.
        let (limits, id) = (self.connection.limits, self.connection.primary().id);
        let agreed = self.negotiated_security.as_deref().ok_or(Cause::Unsupported)?;
        if chosen.server_guid != agreed.server_guid {
            return Err(Cause::OtherServer);
        }
        let (cipher, algorithm) = match limits.dialect {
            Dialect::V311 if chosen.dialect == Dialect::V311.code() => chosen_in_311(&chosen.chosen)?,
            _ => (agreed.cipher, agreed.algorithm),
        };
        if chosen.dialect != limits.dialect.code() || (cipher, algorithm) != (agreed.cipher, agreed.algorithm) {
            return Err(Cause::NotOffered);
        }
        let channels = self.channels.as_mut().ok_or(Cause::Unsupported)?;
        channels.bindings += 1;
        let nonce_range = channels.bindings;
        let keys = channels.keys.as_ref().ok_or(Cause::Unsupported)?;
        let signer = Signer::new(algorithm, &keys.signing).ok_or(Cause::Untrusted)?;
        // Until the channel has a key, the session's key signs. Samba encrypts its responses if the session is encrypted.
        let mut session = Session { id, signer: Some(signer), ..Session::default() };
        session.take_seal(keys, cipher, nonce_range).ok_or(Cause::Untrusted)?;
        let found = channels.get_mut(channel).ok_or(Cause::Unsupported)?;
        found.connection.session = session;
        found.connection.limits = limits;
        let logon = found.logon.as_mut().ok_or(Cause::Malformed)?;
        (logon.cipher, logon.algorithm) = (cipher, algorithm);
        logon.preauth.add(&[reply.header().bytes()]);
        found.preauth = logon.preauth;
        let offer = Some(chosen.security_buffer).filter(|buffer| !buffer.is_empty());
        self.send_binding_token((channel, job), offer, at, out)
    }

    fn next_binding_token(
        &mut self,
        (channel, job): (u32, JobId),
        reply: &Reply<'_>,
        setup: &session_setup::SetupReply<'_>,
        at: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        let signer = self.on(channel).session.signer.as_ref().filter(|_| reply.header().is_signed());
        if signer.is_some_and(|signer| signer.verify(reply.header().bytes(), &[]).is_err()) {
            return Err(Cause::Untrusted);
        }
        let logon = self.logon_of(channel).ok_or(Cause::Malformed)?;
        logon.preauth.add(&[reply.header().bytes()]);
        self.send_binding_token((channel, job), Some(setup.security_buffer), at, out)
    }

    fn send_binding_token(
        &mut self,
        (channel, job): (u32, JobId),
        from_server: Option<&[u8]>,
        at: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        let security_mode = self.security_mode();
        let token = self.logon_of(channel).ok_or(Cause::Malformed)?.next_token(from_server)?;
        let flags = session_setup::FLAG_BINDING;
        let call = session_setup::SessionSetup { flags, security_mode, security_buffer: &token, ..Default::default() };
        self.outgoing.clear();
        self.outgoing.add(RequestKind::Bind, &call).map_err(|_| Cause::Unsupported)?;
        self.launch_binding(channel, job, Protection::Signed, at, out);
        Ok(())
    }

    /// Handles the successful end of a binding: the response must be signed with the channel's key, or encrypted with the session's.
    fn channel_bound(
        &mut self,
        channel: u32,
        reply: &Reply<'_>,
        setup: &session_setup::SetupReply<'_>,
    ) -> Result<(), Cause> {
        let (first, dialect) = (self.connection.primary(), self.connection.limits.dialect);
        let (id, tree, signs, seals) = (first.id, first.before.unwrap_or(first.tree), first.signs, first.seals);
        let channels = self.channels.as_mut().ok_or(Cause::Unsupported)?;
        let (sequence, carried) = (channels.sequence, channels.least_carried(&self.connection));
        let found = channels.get_mut(channel).ok_or(Cause::Unsupported)?;
        let logon = found.logon.as_mut().ok_or(Cause::Malformed)?;
        logon.finish(setup.security_buffer)?;
        let key = logon.session_key().ok_or(Cause::Untrusted)?;
        let how = if dialect == Dialect::V311 { Derivation::V311(&logon.preauth) } else { Derivation::V30 };
        let own = SessionKeys::derive(&key, how, logon.cipher);
        let signer = Signer::new(logon.algorithm, &own.signing).ok_or(Cause::Untrusted)?;
        if !found.came_sealed || reply.header().is_signed() {
            signer.verify(reply.header().bytes(), &[]).map_err(|_| Cause::Untrusted)?;
        }
        let seal = found.connection.session.seal.take();
        found.connection.session =
            Session { id, tree, signer: Some(signer), signs, seal, seals, sequence, ..Session::default() };
        found.connection.is_binding = false;
        found.connection.credits.begin_at(carried);
        found.connection.sent_messages = Some(SentMessages::default());
        (found.state, found.logon) = (ChannelState::Bound, None);
        Ok(())
    }
}

//! SMB 2 and 3 by message id.
//!
//! Ids never come round on a connection, so an id and its command make a pair. An interim answer (STATUS_PENDING)
//! moves the request to a table shared by all connections, keyed by its async id: the final answer may come on
//! another channel of the session.
//!
//! Spec: MS-SMB2 3.2.5.1, 3.3.4.2.

mod asynchronous;
mod breaks;
mod channels;
mod context;
mod credits;
mod due;
mod encrypted_response;
mod request;
mod response;
mod sealed;
mod waiting;

use plimsoll_model::{Anomaly, Credits, Outcome, Sink};
use plimsoll_wire::smb2::compound::{Member, Members};
use plimsoll_wire::smb2::header::{self, Header};
use plimsoll_wire::smb2::{Kind, status};
use serde::{Deserialize, Serialize};

use self::asynchronous::{AcrossChannels, Asynchronous};
pub(crate) use self::breaks::BreakTimes;
use self::channels::Channels;
use self::waiting::Waiting;
use super::early::{Early, EarlyCount};
use super::{ConnectionContext, LastUse, Output, Pending, PendingTable, Role};
use crate::decrypt::{Channel, Decryption, Opened};
use crate::message::Message;
use crate::missing::{Ids, client_by_port};
use crate::names::Smb2Names;

/// What all SMB2 connections share.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Smb2Shared {
    /// What ids stand for.
    pub names: Smb2Names,
    /// Decrypts messages, where keys were given.
    #[serde(skip)]
    pub(crate) decryption: Option<Box<Decryption>>,
    /// Waiting for credits.
    pub(crate) credits: Credits,
    /// Encrypted messages that were not read.
    pub(crate) sealed: sealed::SealedTimes,
    /// Requests with an interim answer.
    asynchronous: Asynchronous,
    /// The connections that may bring their final answers.
    channels: Channels,
}

impl Smb2Shared {
    /// Passes the requests that have only an interim answer to `take`, with their connections as they were then.
    pub(crate) fn waiting(&self, take: impl FnMut(&ConnectionContext, &Pending)) {
        self.asynchronous.waiting(take);
    }

    /// Passes those of one connection to `take`, without those that wait by design.
    pub(crate) fn waiting_of(&self, connection: u32, take: impl FnMut(&Pending)) {
        self.asynchronous.waiting_of(connection, take);
    }

    /// The request that a final asynchronous answer on this connection is for.
    fn release(
        &mut self,
        across: AcrossChannels,
        connection: u32,
        command: u16,
    ) -> Option<(ConnectionContext, Waiting)> {
        let (server, session, ..) = across;
        let is_of_session = |other: &ConnectionContext, request: &Pending| {
            let origin_of = |connection| self.names.origin(connection, server, Some(session));
            origin_of(other.connection) == origin_of(connection)
                && self.names.begun_frame(server, session).is_none_or(|begun| request.first.frame > begun)
        };
        self.asynchronous.release(across, connection, command, is_of_session)
    }

    /// The capture has ended, and its connections end now.
    pub(crate) fn give_back(&mut self) {
        self.asynchronous.give_back();
    }

    /// The capture and its connections have ended: what still waits was not answered.
    pub fn end<S: Sink>(&mut self, output: &mut Output<S>) {
        self.asynchronous.end(output);
    }
}

/// The SMB2 requests of one connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Smb2 {
    waiting: PendingTable<Waiting>,
    early: Early,
    /// Highest message id, by which cut-off ids are completed.
    highest: Option<u64>,
    /// Only its low 16 bits are known.
    guessed: bool,
    /// Message ids of requests.
    ids: Ids,
    /// The credits that the client has.
    balance: credits::Balance,
    /// What decryption remembers of the connection.
    #[serde(skip)]
    channel: Option<Box<Channel>>,
    /// The direction of requests, once a plain one was seen.
    client: Option<usize>,
    /// What the connection was last used for.
    last: LastUse,
    /// Encrypted requests that wait.
    sealed: sealed::Outstanding,
}

impl Smb2 {
    /// Takes a message that went in `direction`.
    #[inline]
    pub fn message<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        shared: &mut Smb2Shared,
        output: &mut Output<S>,
    ) -> Role {
        match Kind::of(message.bytes) {
            Some(Kind::Plain) => {
                if let Some(decryption) = &mut shared.decryption {
                    self.channel.get_or_insert_default().note(message, decryption);
                }
                self.plain(message, direction, context, shared, output)
            }
            Some(Kind::Encrypted) => self.encrypted(message, direction, context, shared, output),
            kind => {
                self.went_on(message, direction, context);
                unreadable(kind, output)
            }
        }
    }

    /// Takes an encrypted message, as if its contents had come in plain where its key is known.
    #[cold]
    fn encrypted<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        shared: &mut Smb2Shared,
        output: &mut Output<S>,
    ) -> Role {
        let opened = match &mut shared.decryption {
            Some(decryption) => self.channel.get_or_insert_default().open(message, direction, decryption),
            None => Opened::NoKey,
        };
        // The requests of a session whose key is known do not show in `sealed`: a message that does not open may be of any of them.
        let has_no_key = matches!(opened, Opened::NoKey);
        match opened {
            Opened::Plain(plain) => {
                let inner = Message { bytes: &plain, len: plain.len() as u64, ..*message };
                let role = match Kind::of(&plain) {
                    Some(Kind::Plain) => self.plain(&inner, direction, context, shared, output),
                    kind => {
                        self.went_on(message, direction, context);
                        unreadable(kind, output)
                    }
                };
                if let Some(decryption) = &mut shared.decryption {
                    decryption.recycle(plain);
                }
                return role;
            }
            Opened::Refused => output.anomalies.add(Anomaly::MessageUndecryptable),
            Opened::Malformed => output.anomalies.add(Anomaly::MessageMalformed),
            Opened::NoKey | Opened::Incomplete => {}
        }
        self.went_on(message, direction, context);
        if has_no_key && self.answers_plain(message, direction, context, shared, output) {
            output.anomalies.add(Anomaly::MessageEncrypted);
            return Role::Response;
        }
        if self.may_be_request(direction, context) {
            let ends = (context.ends[1 - direction].ip, context.ends[direction].ip);
            output.breaks.unread(ends, message.first.time_ns);
        }
        self.sealed.message(message, direction, self.client, context, &mut shared.sealed);
        output.unread(Anomaly::MessageEncrypted);
        output.tally.others().encrypted += 1;
        Role::Response
    }

    /// Whether a message that was not read may be of the client.
    fn may_be_request(&self, direction: usize, context: &ConnectionContext) -> bool {
        self.client.or_else(|| client_by_port(&context.ends)).is_none_or(|client| client == direction)
    }

    /// The connection was used for a message that was not read.
    #[cold]
    fn went_on(&mut self, message: &Message<'_>, direction: usize, context: &ConnectionContext) {
        let at_ns = message.last.unwrap_or(message.first).time_ns;
        let may_be_request = self.may_be_request(direction, context);
        // A server that closes an idle connection ends requests that wait by design: their interim responses ended their waits here.
        let ends_wait = !may_be_request && !self.sealed.has_waiting() && sealed::may_be_error(message);
        self.last.unread(at_ns, may_be_request, sealed::may_be_echo(message) || ends_wait);
    }

    #[inline]
    fn plain<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        shared: &mut Smb2Shared,
        output: &mut Output<S>,
    ) -> Role {
        let mut members = Members::new(message.bytes, message.len as usize);
        let (mut role, mut chain) = (Role::OneWay, context::Chain::default());
        for member in members.by_ref() {
            let alone = member.position == 0 && member.header.next_command() == 0;
            let part = Part { message, member: &member, position: (!alone).then_some(member.position) };
            if !member.header.is_response() {
                role = Role::Request;
                self.client = Some(direction);
                self.request(&part, direction, context, &mut chain, shared, output);
            } else {
                role = role.max(self.response(&part, direction, context, shared, output));
            }
        }
        if members.malformed() {
            role = role.max(Role::Response);
            output.unread(Anomaly::MessageMalformed);
        }
        if members.cut_short() {
            role = role.max(Role::Response);
            output.anomalies.add(Anomaly::HeaderCutShort);
        }
        role
    }

    /// Requests begin with this message ID. The response to the SMB1 request before them granted `credits`.
    pub(crate) fn begin_at(&mut self, id: u64, credits: u16) {
        self.ids.begin_at(id);
        self.balance = credits::Balance::used(id, credits);
    }

    /// The message ids of requests.
    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// What the connection was last used for.
    pub(crate) fn last_use(&self) -> LastUse {
        self.last
    }

    /// Whether an encrypted request from this time or before waits for its answer.
    pub(crate) fn waited_unread(&self, until_ns: i64) -> bool {
        self.sealed.waited(until_ns)
    }

    /// Drops answers whose requests have not come.
    pub(crate) fn clear_early(&mut self, all: &mut EarlyCount) {
        self.early.clear(all);
    }

    /// Whether there are such answers.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Whether a request waits for its answer.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.sealed.has_waiting()
    }

    /// Passes the requests without any answer to `take`; those with an interim answer are in [`Smb2Shared`].
    pub(crate) fn waiting(&self, take: &mut impl FnMut(&Pending)) {
        self.waiting.iter().for_each(|waiting| take(&waiting.pending));
    }

    /// The connection has ended: what still waits was not answered.
    pub fn end<S: Sink>(&mut self, context: &ConnectionContext, shared: &mut Smb2Shared, output: &mut Output<S>) {
        let asynchronous = shared.left(context);
        let own = self.waiting.drain(&mut output.waiting).into_iter().map(|(_, waiting)| waiting);
        for waiting in own.chain(asynchronous) {
            output.unanswered(context, waiting.id, &waiting.pending);
        }
        // These stay in the list until the connection is settled: a missing answer does not show that it was lost.
        for request in shared.asynchronous.locked(context.connection) {
            output.unfinished.locked(context, request);
        }
    }

    /// The connection has ended: encrypted requests that still wait were not answered.
    pub(crate) fn end_sealed(&mut self, shared: &mut Smb2Shared) {
        self.sealed.end(&mut shared.sealed);
    }

    /// How often the client waited for credits.
    pub(crate) fn credits(&self) -> Credits {
        self.balance.found()
    }

    /// The key to pair by, and the message id where it is known: a short snaplen leaves its low 16 bits, which are
    /// completed to the id nearest to those seen. A client never has 32,768 ids outstanding.
    #[inline]
    fn id<S: Sink>(
        &mut self,
        header: &Header<'_>,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) -> (u64, Option<u64>) {
        if let Some(id) = header.message_id() {
            if id != header::UNSOLICITED {
                let highest = self.highest.filter(|_| !self.guessed);
                self.highest = Some(highest.map_or(id, |highest| highest.max(id)));
                self.guessed = false;
            }
            return (id, Some(id));
        }
        output.anomalies.add(Anomaly::IdReconstructed);
        let low = header.message_id_low16();
        // Joined midstream, the ids' upper bits are not known, but how often the low ones have come round since is:
        // without it a request would pair with the answer to another, 65,536 later.
        let near = *self.highest.get_or_insert_with(|| {
            self.guessed = !context.from_start;
            if self.guessed { 1 << 32 | u64::from(low) } else { 0 }
        });
        let key = near.checked_add_signed(i64::from(low.wrapping_sub(near as u16) as i16)).unwrap_or(u64::from(low));
        self.highest = Some(near.max(key));
        (key, (!self.guessed).then_some(key))
    }
}

/// Counts a message that is no plain one.
fn unreadable<S>(kind: Option<Kind>, output: &mut Output<S>) -> Role {
    if kind == Some(Kind::Compressed) {
        output.unread(Anomaly::MessageCompressed);
        output.tally.others().compressed += 1;
    } else {
        output.unread(Anomaly::MessageMalformed);
    }
    Role::Response
}

/// A member in its message.
struct Part<'p, 'b> {
    message: &'p Message<'b>,
    member: &'p Member<'b>,
    /// Place in the compound, if it is in one.
    position: Option<u16>,
}

/// Whether a status is an error. MORE_PROCESSING_REQUIRED is a step of a logon that goes on.
pub(super) fn outcome(status: Option<u32>) -> Outcome {
    match status {
        Some(status::STATUS_CANCELLED) => Outcome::Cancelled,
        None => Outcome::Unknown,
        Some(status::STATUS_MORE_PROCESSING_REQUIRED) => Outcome::Succeeded,
        Some(status) if status >> 30 == 3 => Outcome::Refused,
        Some(_) => Outcome::Succeeded,
    }
}

//! State of a waiting request, and the facts that its answer adds.

use std::net::IpAddr;

use plimsoll_model::{Asked, Outcome, Procedure, Symbol};
use serde::{Deserialize, Serialize};

use super::ConnectionContext;
use crate::message::Message;
use crate::packet::Stamp;

/// State of a request that waits for its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// The requested procedure.
    pub procedure: Procedure,
    /// Waits by design.
    pub long_lived: bool,
    /// Sums count it.
    pub counted: bool,
    /// Direction of the request.
    pub direction: u8,
    /// Place in its compound.
    pub compound_position: Option<u16>,
    /// First byte.
    pub first: Stamp,
    /// Last byte, where seen.
    pub last: Option<Stamp>,
    /// First interim answer.
    pub interim: Option<i64>,
    /// Size, bytes; `None` if only the size of the whole message is known.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: u32,
    /// File data in the request (writes).
    pub payload: Option<u64>,
    /// How long it waited for bytes that filled a gap, ns; see [`Message`].
    pub resent_wait_ns: Option<u64>,
    /// Stream offset in front of its message, without framing prefix.
    pub start_offset: u64,
    /// Stream offset behind it.
    pub end_offset: u64,
    /// Losses in each direction when it came.
    pub holes: [u32; 2],
    /// Number of these losses in the direction of the answer that the snap length caused.
    pub cuts_back: u32,
    /// Unreadable messages in this direction when it came.
    pub unread_back: u32,
    /// It reconnects an open file after a lost connection: that there is none is a refusal, and no ordinary answer about a name.
    pub reconnects: bool,
    /// Its SMB or NFS 4.1 session.
    pub session: Option<u64>,
    /// Its share.
    pub share: Symbol,
    /// Its object.
    pub path: Symbol,
    /// Its user.
    pub user: Symbol,
    /// The requested object; the file without its server.
    pub asked: Asked,
    /// The address by which the file's server is known, if the request went to another one.
    pub file_server: Option<IpAddr>,
}

impl Pending {
    /// A request that fills `message`, without further facts.
    #[inline]
    pub fn of(message: &Message<'_>, direction: usize, context: &ConnectionContext, procedure: Procedure) -> Self {
        Self {
            procedure,
            long_lived: procedure.row().long_lived,
            counted: true,
            direction: direction as u8,
            compound_position: None,
            first: message.first,
            last: message.last,
            interim: None,
            bytes: Some(message.len),
            packets: message.packets,
            payload: None,
            resent_wait_ns: message.resent_wait_ns,
            start_offset: message.end_offset.saturating_sub(message.len),
            end_offset: message.end_offset,
            holes: context.holes,
            cuts_back: context.cuts[1 - direction],
            unread_back: context.unread[1 - direction],
            reconnects: false,
            session: None,
            share: Symbol::NONE,
            path: Symbol::NONE,
            user: Symbol::NONE,
            asked: Asked::default(),
            file_server: None,
        }
    }

    /// Makes this [`Pending::of`] another message, where it stands: the whole would be put together elsewhere and then moved.
    #[inline]
    pub fn begin(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        procedure: Procedure,
    ) {
        // Names all fields, so that a new field causes a compiler error here.
        let Self {
            procedure: of,
            long_lived,
            counted,
            direction: from,
            compound_position,
            first,
            last,
            interim,
            bytes,
            packets,
            payload,
            resent_wait_ns,
            start_offset,
            end_offset,
            holes,
            cuts_back,
            unread_back,
            reconnects,
            session,
            share,
            path,
            user,
            asked,
            file_server,
        } = self;
        *of = procedure;
        *long_lived = procedure.row().long_lived;
        *counted = true;
        *from = direction as u8;
        *compound_position = None;
        *first = message.first;
        *last = message.last;
        *interim = None;
        *bytes = Some(message.len);
        *packets = message.packets;
        *payload = None;
        *resent_wait_ns = message.resent_wait_ns;
        *start_offset = message.end_offset.saturating_sub(message.len);
        *end_offset = message.end_offset;
        *holes = context.holes;
        *cuts_back = context.cuts[1 - direction];
        *unread_back = context.unread[1 - direction];
        *reconnects = false;
        *session = None;
        (*share, *path, *user) = (Symbol::NONE, Symbol::NONE, Symbol::NONE);
        *asked = Asked::default();
        *file_server = None;
    }

    /// Whether both directions have lost data since: then a repeated id may belong to another request.
    pub fn is_ambiguous(&self, context: &ConnectionContext) -> bool {
        self.holes[0] != context.holes[0] && self.holes[1] != context.holes[1]
    }
}

/// Facts that the final answer adds to a request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// First byte.
    pub first: Stamp,
    /// Last byte, where seen.
    pub last: Option<Stamp>,
    /// Size, bytes; `None` if only the size of the whole message is known.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: u32,
    /// How long it waited for bytes that filled a gap, ns; see [`Message`].
    pub resent_wait_ns: Option<u64>,
    /// Status on the wire, where seen.
    pub status: Option<u32>,
    /// File data in the answer (reads), or how much of the request's data the server wrote.
    pub payload: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Answer {
    /// An answer that fills `message`.
    #[inline]
    pub fn of(message: &Message<'_>, status: Option<u32>, outcome: Outcome) -> Self {
        Self {
            first: message.first,
            last: message.last,
            bytes: Some(message.len),
            packets: message.packets,
            resent_wait_ns: message.resent_wait_ns,
            status,
            payload: None,
            outcome,
        }
    }
}

/// Completion time of a message in several parts: the later of the parts so far and the next part. The end of the next part must have
/// been captured.
pub(super) fn later(so_far: Option<Stamp>, next: Option<Stamp>) -> Option<Stamp> {
    next.map(|next| so_far.filter(|so_far| so_far.time_ns > next.time_ns).unwrap_or(next))
}

/// How many of the bytes in a write the server wrote, by its answer. A server that says more than it got is not believed.
#[inline]
pub(super) fn written(sent: Option<u64>, count: Option<u64>) -> Option<u64> {
    let (sent, count) = sent.zip(count)?;
    (count <= sent).then_some(count)
}

/// How long two parts waited.
pub(super) fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.zip(other).map(|(one, other)| one.saturating_add(other))
}

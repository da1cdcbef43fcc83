//! Calls of the server to its clients: CB_RECALL, over a connection of the client's session.
//!
//! Spec: RFC 8881 2.10.3.1, RFC 8881 20.2, RFC 8881 20.9

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use plimsoll_wire::nfs::v4::CompoundReply;
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Emit;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::clients::Client;
use super::opens::Recall;
use super::server::Server;
use super::session::Session;

const CB_RECALL: u32 = 4;
const CB_SEQUENCE: u32 = 11;
/// Version of the program that a client names for callbacks (RFC 8881 20).
const VERSION: u32 = 1;
/// Unique in the process, because sessions share connections and change them.
static NEXT_XID: AtomicU32 = AtomicU32::new(1);
/// Recalls that wait for the slot of a session, at most: another request for the file recalls it again.
const MOST_WAITING: usize = 4_096;
/// Connections of a session over which the server can call, at most: later ones replace the first.
const MOST_LINKS: usize = 16;

/// A connection, as sessions call over it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    calls: UnboundedSender<Vec<u8>>,
    /// Calls without an answer.
    outstanding: Arc<Mutex<HashMap<u32, Weak<Session>>>>,
}

impl Link {
    /// A link, and what the connection has to send.
    pub(super) fn new() -> (Self, UnboundedReceiver<Vec<u8>>) {
        let (calls, to_send) = unbounded_channel();
        (Self { calls, outstanding: Arc::default() }, to_send)
    }

    fn is_up(&self) -> bool {
        !self.calls.is_closed()
    }

    /// The client has answered a call; false if it answers none of ours.
    pub(super) fn answered(&self, server: &Server, message: &[u8]) -> bool {
        let Ok((xid, verdict)) = Verdict::parse(message) else { return false };
        let Some(session) = self.outstanding.lock().remove(&xid) else { return false };
        if let Some(session) = session.upgrade() {
            let reply = match verdict {
                Verdict::Success(bytes) => Some(CompoundReply::callback(bytes)),
                _ => None,
            };
            // Without success of CB_SEQUENCE the client has not used its sequence ID (RFC 8881 2.10.6.1).
            let sequence = reply.and_then(|reply| reply.operations().next());
            let used = sequence.is_some_and(|first| first.code == CB_SEQUENCE && first.facts.status == Some(0));
            let recall = session.back.lock().answered(xid, used);
            if let Some(recall) = recall.filter(|_| reply.is_some_and(|reply| reply.status == Some(0))) {
                server.opens.write().confirm_recall(recall);
            }
            server.call_next(&session);
        }
        true
    }
}

/// The back channel of a session. It has one slot.
#[derive(Debug)]
pub(super) struct BackChannel {
    /// The server calls over the last one that has not ended.
    links: Vec<Link>,
    /// Program and credential of the calls; `None`: the client names no credential that we have.
    caller: Option<(u32, Box<[u8]>)>,
    minor: u32,
    /// Sequence ID of the last call that the client has accepted.
    sequence: u32,
    outstanding: Option<Outstanding>,
    waiting: VecDeque<(u64, Box<[u8]>)>,
}

#[derive(Debug)]
struct Outstanding {
    xid: u32,
    /// The delegation that it recalls.
    number: u64,
    message: Vec<u8>,
    /// The connection over which it was sent last.
    link: Option<Link>,
}

impl BackChannel {
    pub(super) fn new(link: Option<&Link>, caller: Option<(u32, Box<[u8]>)>, minor: u32) -> Self {
        let links = link.filter(|_| caller.is_some()).cloned().into_iter().collect();
        Self { links, caller, minor, sequence: 0, outstanding: None, waiting: VecDeque::new() }
    }

    /// Whether the server can call.
    pub(super) fn is_up(&self) -> bool {
        self.links.iter().any(Link::is_up)
    }

    /// The delegation that an answered call recalled. `used`: the client has accepted its sequence ID.
    fn answered(&mut self, xid: u32, used: bool) -> Option<u64> {
        let outstanding = self.outstanding.take_if(|outstanding| outstanding.xid == xid)?;
        self.sequence = self.sequence.wrapping_add(used.into());
        Some(outstanding.number)
    }

    fn send(&mut self, session: &Arc<Session>) {
        let link = self.links.iter().rfind(|link| link.is_up());
        if let (Some(link), Some(outstanding)) = (link, &mut self.outstanding) {
            link.outstanding.lock().insert(outstanding.xid, Arc::downgrade(session));
            // If the connection ends, the call is sent again over another one.
            let _ended = link.calls.send(outstanding.message.clone());
            outstanding.link = Some(link.clone());
        }
    }

    /// Whether the connection of the outstanding call has ended.
    fn is_lost(&self) -> bool {
        self.outstanding.as_ref().is_some_and(|call| call.link.as_ref().is_none_or(|link| !link.is_up()))
    }

    /// The message of a call.
    fn message(&self, xid: u32, session: &Session, recall: &[u8]) -> Option<Vec<u8>> {
        let (program, credential) = self.caller.as_ref()?;
        let mut out = Vec::new();
        // CALL, RPC version 2, CB_COMPOUND.
        [0, xid, 0, 2, *program, VERSION, 1].iter().for_each(|&word| out.put_u32(word));
        out.put_fixed(credential);
        // No verifier; no tag.
        [0, 0, 0].iter().for_each(|&word| out.put_u32(word));
        // Minor version, callback_ident, two operations.
        [self.minor, 0, 2, CB_SEQUENCE].iter().for_each(|&word| out.put_u32(word));
        out.put_fixed(&session.id);
        // Slot and highest slot; the answer need not be kept; no referring calls.
        [self.sequence.wrapping_add(1), 0, 0, 0, 0, CB_RECALL].iter().for_each(|&word| out.put_u32(word));
        out.put_fixed(recall);
        let mark = 0x8000_0000 | (out.len() - 4) as u32;
        out.get_mut(..4)?.copy_from_slice(&mark.to_be_bytes());
        Some(out)
    }
}

impl Session {
    /// Calls over this connection from now on; false if that is impossible.
    pub(super) fn bind(self: &Arc<Self>, link: &Link) -> bool {
        let mut back = self.back.lock();
        if back.caller.is_none() {
            return false;
        }
        back.links.retain(|other| other.is_up() && !other.calls.same_channel(&link.calls));
        if back.links.len() >= MOST_LINKS {
            back.links.remove(0);
        }
        back.links.push(link.clone());
        // The server may not know yet that the connection of the outstanding call has ended.
        back.send(self);
        true
    }

    /// Sends the next call, if the slot is free, and gives the number of the delegation that it recalls. An outstanding call is sent again
    /// if its connection has ended.
    fn call_next(self: &Arc<Self>) -> Option<u64> {
        let mut back = self.back.lock();
        if !back.is_up() {
            return None;
        }
        if back.outstanding.is_some() {
            if back.is_lost() {
                back.send(self);
            }
            return None;
        }
        let (number, recall) = back.waiting.pop_front()?;
        let xid = NEXT_XID.fetch_add(1, Ordering::Relaxed);
        let message = back.message(xid, self, &recall)?;
        back.outstanding = Some(Outstanding { xid, number, message, link: None });
        back.send(self);
        Some(number)
    }
}

impl Server {
    /// Sends the next call of a session, if it can be sent. The time for the return begins.
    pub(super) fn call_next(&self, session: &Arc<Session>) {
        if let Some(number) = session.call_next() {
            self.opens.write().recall_sent(number, self.now());
        }
    }

    /// The session over which a client can be called, now or when it binds a connection to it.
    fn callable(&self, client: &Client) -> Option<Arc<Session>> {
        let ids = self.clients.lock().sessions_of(client.id);
        let sessions = ids.iter().filter_map(|id| self.sessions.get(id).ok());
        let mut sessions: Vec<_> = sessions.filter(|session| session.back.lock().caller.is_some()).collect();
        let up = sessions.iter().position(|session| session.back.lock().is_up());
        (!sessions.is_empty()).then(|| sessions.swap_remove(up.unwrap_or(0)))
    }

    /// Sends recalls; those to a client without a connection for calls wait until it binds one.
    pub(super) fn send(&self, recalls: Vec<Recall>) {
        for Recall { client, node, state, number } in recalls {
            let Some(session) = self.callable(&client) else { continue };
            let mut arguments = Vec::new();
            state.emit(&mut arguments);
            // Nothing is truncated.
            arguments.put_u32(0);
            arguments.put_opaque(&self.handle(&node));
            let mut back = session.back.lock();
            let is_outstanding = back.outstanding.as_ref().is_some_and(|outstanding| outstanding.number == number);
            let is_known = is_outstanding || back.waiting.iter().any(|(waits, _)| *waits == number);
            if back.waiting.len() < MOST_WAITING && !is_known {
                back.waiting.push_back((number, arguments.into()));
            }
            drop(back);
            self.call_next(&session);
        }
    }
}

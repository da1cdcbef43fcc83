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

    /// The client has answered a call; false if it answers none of ours.
    pub(super) fn answered(&self, server: &Server, message: &[u8]) -> bool {
        let Ok((xid, verdict)) = Verdict::parse(message) else { return false };
        let Some(session) = self.outstanding.lock().remove(&xid) else { return false };
        if let Some(session) = session.upgrade() {
            let confirmed =
                matches!(verdict, Verdict::Success(bytes) if CompoundReply::callback(bytes).status == Some(0));
            let recall = session.back.lock().answered(xid);
            if let Some(recall) = recall.filter(|_| confirmed) {
                server.opens.write().confirm_recall(recall);
            }
            session.call_next();
        }
        true
    }
}

/// The back channel of a session. It has one slot.
#[derive(Debug)]
pub(super) struct BackChannel {
    link: Option<Link>,
    /// Program and credential of the calls; `None`: the client names no credential that we have.
    caller: Option<(u32, Box<[u8]>)>,
    minor: u32,
    /// Sequence ID of the last call.
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
}

impl BackChannel {
    pub(super) fn new(link: Option<&Link>, caller: Option<(u32, Box<[u8]>)>, minor: u32) -> Self {
        let link = link.filter(|_| caller.is_some()).cloned();
        Self { link, caller, minor, sequence: 0, outstanding: None, waiting: VecDeque::new() }
    }

    /// Whether the server can call.
    pub(super) fn is_up(&self) -> bool {
        self.link.as_ref().is_some_and(|link| !link.calls.is_closed())
    }

    fn answered(&mut self, xid: u32) -> Option<u64> {
        self.outstanding.take_if(|outstanding| outstanding.xid == xid).map(|outstanding| outstanding.number)
    }

    fn send(&self, session: &Arc<Session>) {
        if let (Some(link), Some(Outstanding { xid, message, .. })) = (&self.link, &self.outstanding) {
            link.outstanding.lock().insert(*xid, Arc::downgrade(session));
            // A connection that has ended is replaced by BIND_CONN_TO_SESSION, and the call sent again.
            let _ended = link.calls.send(message.clone());
        }
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
        [self.sequence, 0, 0, 0, 0, CB_RECALL].iter().for_each(|&word| out.put_u32(word));
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
        back.link = Some(link.clone());
        back.send(self);
        drop(back);
        self.call_next();
        true
    }

    /// Sends the next call, if the slot is free.
    fn call_next(self: &Arc<Self>) {
        let mut back = self.back.lock();
        if back.outstanding.is_some() || !back.is_up() {
            return;
        }
        let Some((number, recall)) = back.waiting.pop_front() else { return };
        back.sequence = back.sequence.wrapping_add(1);
        let xid = NEXT_XID.fetch_add(1, Ordering::Relaxed);
        let Some(message) = back.message(xid, self, &recall) else { return };
        back.outstanding = Some(Outstanding { xid, number, message });
        back.send(self);
    }
}

impl Server {
    /// The session over which a client can be called.
    fn callable(&self, client: &Client) -> Option<Arc<Session>> {
        let ids = self.clients.lock().sessions_of(client.id);
        let sessions = ids.iter().filter_map(|id| self.sessions.get(id).ok());
        let mut sessions = sessions.collect::<Vec<_>>().into_iter();
        sessions.find(|session| session.back.lock().is_up())
    }

    /// Sends recalls. A client that cannot be called loses its delegation when its time is over.
    pub(super) fn send(&self, recalls: Vec<Recall>) {
        for Recall { client, node, state, number } in recalls {
            let Some(session) = self.callable(&client) else { continue };
            let mut arguments = Vec::new();
            state.emit(&mut arguments);
            // Nothing is truncated.
            arguments.put_u32(0);
            arguments.put_opaque(&self.handle(&node));
            let mut back = session.back.lock();
            if back.waiting.len() < MOST_WAITING && back.waiting.iter().all(|(waits, _)| *waits != number) {
                back.waiting.push_back((number, arguments.into()));
            }
            drop(back);
            session.call_next();
        }
    }
}

//! Requests with an interim answer: the final one may come on another channel of their session.

use std::collections::HashMap;

use plimsoll_model::{Endpoint, Sink};
use serde::{Deserialize, Serialize};

use super::Waiting;
use crate::pairing::{ConnectionContext, Output, Pending};

/// Requests with an interim answer waiting at once over all connections, at most.
const ASYNC_MAX: usize = 65_536;
/// Of these, requests with the same key, at most: one for each connection to a server that uses the same ids.
const MAX_PER_KEY: usize = 256;

/// Server (where the session was set up), session, async id and message id of a request with an interim answer. Servers before SMB 3 number
/// sessions and async ids anew on every connection, so even all four may stand for several requests.
pub(super) type AcrossChannels = (Endpoint, u64, u64, u64);

/// Requests with an interim answer, of all connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Asynchronous {
    pending: HashMap<AcrossChannels, Vec<(ConnectionContext, Waiting)>, foldhash::fast::RandomState>,
    count: usize,
    /// Requests that wait at the end of the capture, by connection: no other channel answers them any more.
    left: HashMap<u32, Vec<(ConnectionContext, Waiting)>, foldhash::fast::RandomState>,
}

impl Asynchronous {
    /// Ends the capture: waiting requests go back to their connections, which know their losses since then. Requests that wait by design
    /// do not: a missing answer does not show that it was lost.
    pub(super) fn give_back(&mut self) {
        for alike in self.pending.values_mut() {
            for one in alike.extract_if(.., |(_, waiting)| !waiting.pending.long_lived) {
                self.left.entry(one.0.connection).or_default().push(one);
            }
        }
    }

    /// What waits of a connection, once the capture has ended.
    pub(super) fn left(&mut self, connection: u32) -> Vec<Waiting> {
        let mut left = self.left.remove(&connection).unwrap_or_default();
        left.sort_by_key(|(_, waiting)| waiting.pending.first.frame);
        left.into_iter().map(|(_, waiting)| waiting).collect()
    }

    /// The capture and its connections have ended: what still waits, also of connections that had ended before, was not answered.
    pub(super) fn end<S: Sink>(&mut self, output: &mut Output<S>) {
        let left = self.left.drain().flat_map(|(_, waiting)| waiting);
        let mut all: Vec<_> = self.pending.drain().flat_map(|(_, waiting)| waiting).chain(left).collect();
        all.sort_by_key(|(_, waiting)| waiting.pending.first.frame);
        for (link, waiting) in all {
            output.unanswered(&link, waiting.id, &waiting.pending);
        }
    }

    /// Passes all requests to `take`, with their connections as they were at the interim answer.
    pub(super) fn waiting(&self, mut take: impl FnMut(&ConnectionContext, &Pending)) {
        self.pending.values().flatten().for_each(|(link, waiting)| take(link, &waiting.pending));
    }

    /// Passes the requests of one connection to `take`.
    pub(super) fn waiting_of(&self, connection: u32, mut take: impl FnMut(&Pending)) {
        let held = self.pending.values().flatten().filter(|(link, _)| link.connection == connection);
        let left = self.left.get(&connection).into_iter().flatten();
        held.chain(left).for_each(|(_, waiting)| take(&waiting.pending));
    }

    /// Whether there is room for one more request with this key. The limit per key prevents crafted input from making every lookup scan a
    /// long list.
    pub(super) fn has_room(&self, across: &AcrossChannels) -> bool {
        self.count < ASYNC_MAX && self.pending.get(across).is_none_or(|alike| alike.len() < MAX_PER_KEY)
    }

    pub(super) fn hold(&mut self, across: AcrossChannels, link: ConnectionContext, waiting: Waiting) {
        self.pending.entry(across).or_default().push((link, waiting));
        self.count += 1;
    }

    /// The request that a final asynchronous answer on this connection is for: one of this connection, or the only
    /// one on another channel of the session.
    pub(super) fn release(
        &mut self,
        across: AcrossChannels,
        connection: u32,
        command: u16,
    ) -> Option<(ConnectionContext, Waiting)> {
        let held = self.pending.get_mut(&across)?;
        let own = held.iter().position(|(link, _)| link.connection == connection);
        let at = own.or((held.len() == 1).then_some(0)).filter(|&at| held[at].1.command == command)?;
        let found = held.swap_remove(at);
        if held.is_empty() {
            self.pending.remove(&across);
        }
        self.count -= 1;
        Some(found)
    }
}

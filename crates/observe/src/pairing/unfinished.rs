//! Requests that still waited for a response when their connection or the capture ended.

use plimsoll_model::{Coverage, Operation, Procedure, Protocol, Transaction, Unfinished, WaitEnd};
use serde::{Deserialize, Serialize};

use super::output::transaction;
use super::{ConnectionContext, Ended, LastResponses, Pending};

/// Procedures after which a server may end the connection instead of responding.
const LAST: [&str; 3] = ["LOGOFF", "LOGOFF_ANDX", "TREE_DISCONNECT"];

/// Requests for locks that waited when the capture ended, at most: crafted input must not use up the room of other requests.
const LOCKED_MAX: usize = 128;

/// Whether a connection may end after this procedure.
pub(super) fn may_be_last(procedure: Procedure) -> bool {
    LAST.contains(&procedure.row().name)
}

/// Whether a request waits by design for a lock of another client.
pub(super) fn waits_for_lock(request: &Pending) -> bool {
    request.long_lived && request.procedure.row().operation == Operation::Lock
}

/// The connections with such requests, by their numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct UnfinishedOnes {
    all: Vec<(u32, Unfinished)>,
    /// Those that may wait for a client until a time, ns: until then they show nothing about the server.
    held: Vec<(u32, i64, Unfinished)>,
    /// Requests for locks. They are known only when the capture has ended.
    #[serde(skip)]
    locked: Vec<Unfinished>,
}

impl UnfinishedOnes {
    /// Takes a request that was not answered. If its connection has not ended, the request was given up for another reason (its id was used
    /// again, its response came before it, or its connection is no longer followed), and it is not known that it had no response.
    ///
    /// Until `held_until_ns`, it may wait for a client that is to give up a lease or oplock.
    pub(crate) fn unanswered(&mut self, context: &ConnectionContext, request: &Pending, held_until_ns: Option<i64>) {
        self.locked(context, request);
        let Some(found) = unfinished(context, request) else { return };
        // A server that ends the connection does not wait.
        match held_until_ns.filter(|_| found.end != WaitEnd::Server) {
            Some(until_ns) if self.held.len() < Coverage::UNFINISHED => {
                self.held.push((context.connection, until_ns, found));
            }
            Some(_) => {}
            None => self.add(context.connection, &found),
        }
    }

    /// Takes a request that waits for a lock when the capture ends; others are left out. If its client ended the connection, the server may
    /// have granted the lock before.
    pub(crate) fn locked(&mut self, context: &ConnectionContext, request: &Pending) {
        let waits = waits_for_lock(request) && request.counted && !is_lost(context, request);
        if waits && matches!(context.ended, Some(Ended::WithCapture)) && self.locked.len() < LOCKED_MAX {
            self.locked.push(of(context, request, (WaitEnd::CaptureLocked, i64::MAX, None)));
        }
    }

    fn add(&mut self, connection: u32, found: &Unfinished) {
        let has_room = self.all.len() < Coverage::UNFINISHED;
        // All requests of a connection come one after the other.
        match self.all.last_mut().filter(|(of, one)| *of == connection && one.end == found.end) {
            Some((_, one)) => one.add(found),
            None if has_room => self.all.push((connection, *found)),
            None => {}
        }
    }

    /// All, in the order of their ends; `last_ns` is the end of the capture.
    pub(crate) fn finish(mut self, last_ns: i64, last_responses: &LastResponses) -> Vec<Unfinished> {
        for (connection, until_ns, one) in std::mem::take(&mut self.held) {
            if one.end_ns.min(last_ns) > until_ns {
                self.add(connection, &one);
            }
        }
        let room = Coverage::UNFINISHED.saturating_sub(self.all.len());
        let locked = self.locked.into_iter().take(room);
        let mut all: Vec<Unfinished> = self.all.into_iter().map(|(_, one)| one).chain(locked).collect();
        all.iter_mut().for_each(|one| one.end_ns = one.end_ns.min(last_ns));
        let until_the_end = all.iter_mut().filter(|one| one.end == WaitEnd::Capture);
        until_the_end.for_each(|one| one.responded_ns = last_responses.of(&one.server));
        all.sort_by_key(|one| (one.end_ns, one.client));
        all
    }
}

/// A request without an answer at the end of its connection, unless it is not counted, waits by design, or its answer may have been lost.
fn unfinished(context: &ConnectionContext, request: &Pending) -> Option<Unfinished> {
    let back = usize::from(1 - request.direction);
    let (end, end_ns, responded_ns) = match context.ended? {
        Ended::Closed { direction, at_ns, .. } if direction == back => (WaitEnd::Server, at_ns, None),
        Ended::Closed { at_ns, responded_ns, .. } => (WaitEnd::Client, at_ns, responded_ns),
        Ended::WithCapture => (WaitEnd::Capture, i64::MAX, None),
    };
    // Of an SMB2 compound the first member counts, of an NFSv4 compound the main operation.
    let row = request.procedure.row();
    let is_counted =
        request.counted && (row.protocol == Protocol::Nfs4 || request.compound_position.is_none_or(|at| at == 0));
    let sent_ns = request.first.time_ns;
    let waits =
        !request.long_lived && !is_lost(context, request) && sent_ns <= end_ns && !may_be_last(request.procedure);
    // A callback shows nothing about the server: the client does not respond.
    (is_counted && waits && !request.procedure.is_callback()).then(|| of(context, request, (end, end_ns, responded_ns)))
}

/// A request with the reason and time of the end of its wait, and the time of the server's last response.
fn of(
    context: &ConnectionContext,
    request: &Pending,
    (end, end_ns, responded_ns): (WaitEnd, i64, Option<i64>),
) -> Unfinished {
    let from = usize::from(request.direction);
    let sent_ns = request.first.time_ns;
    Unfinished {
        server: context.ends[1 - from],
        client: context.ends[from].ip,
        end,
        end_ns,
        responded_ns,
        requests: 1,
        first_ns: sent_ns,
        last_ns: sent_ns,
        is_acknowledged: context.acknowledged[from] >= request.end_offset,
        procedure: request.procedure,
        share: request.share,
        path: request.path,
    }
}

/// Whether the capture may have lost a part of the request, or the answer, or has the answer in a form that cannot be read.
fn is_lost(context: &ConnectionContext, request: &Pending) -> bool {
    let back = usize::from(1 - request.direction);
    let is_unread = context.unread[back] != request.unread_back;
    context.datagrams || is_unread || context.holes[back] != request.holes[back] || request.last.is_none()
}

/// Whether a client's request without an answer waits for one, unless it waits by design or its answer may have been lost.
pub(crate) fn waits(context: &ConnectionContext, request: &Pending) -> bool {
    let is_waited_for = !may_be_last(request.procedure) && !request.procedure.is_callback();
    request.counted && !request.long_lived && is_waited_for && !is_lost(context, request)
}

/// A request that waits now, as a transaction without an answer.
pub(crate) fn waiting(context: &ConnectionContext, request: &Pending) -> Option<Transaction> {
    waits(context, request).then(|| transaction(context, None, request, None))
}

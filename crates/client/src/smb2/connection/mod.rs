//! A connection: credits, calls that wait for answers, framing, signatures, encryption. It knows requests, and no operation.

mod credits;
pub mod keys;
mod outgoing;
pub mod preauth;
mod receiving;
pub mod sealing;
mod sending;
mod sent_messages;
mod session;
pub mod signing;

use std::collections::VecDeque;

use plimsoll_model::{FileIdentity, Symbol, Transaction};

pub(super) use credits::Credits;
pub(super) use outgoing::{Data, Outgoing};
pub(super) use sending::Protection;
pub(super) use sent_messages::{SentMessage, SentMessages};
pub(super) use session::Session;

use super::jobs::JobId;
use super::options::Dialect;
use super::request_kind::RequestKind;
use crate::calls::{Call, Calls, Ending, Identity};

/// Bytes that cost one credit.
pub(super) const CREDIT: u32 = 64 << 10;
/// Maximum size of a request's data, even if the server allows more, so that it always fits into a message, bytes.
pub(super) const MOST: u32 = 8 << 20;
/// Maximum number of abandoned calls whose late responses are still recognised.
const LATE: usize = 1024;

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    identity: Identity,
    pub(super) limits: Limits,
    pub(super) credits: Credits,
    /// The session in use.
    pub(super) session: Session,
    /// The primary session, while a secondary one is used.
    primary_session: Option<Box<Session>>,
    calls: Calls<RequestContext>,
    /// Number of long-lived calls among them.
    long_lived: usize,
    /// Calls with an interim response. They may wait long, so they are separate from the others.
    pending_async: Vec<Call<RequestContext>>,
    /// Abandoned calls; their late responses still grant credits.
    abandoned: VecDeque<AbandonedCall>,
    unmatched_responses: u64,
    /// The connection is being bound to a session; the binding verifies the signatures itself.
    pub(super) is_binding: bool,
    /// Messages to send again after the loss of this connection; `None` if no other connection would take over.
    pub(super) sent_messages: Option<SentMessages>,
}

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) dialect: Dialect,
    /// Requests of more than 64 KiB, for more than a credit.
    pub(super) multi_credit: bool,
    /// Leases of directories.
    pub(super) directory_leases: bool,
    /// Persistent handles: offered by the server and, after TREE_CONNECT, by the share.
    pub(super) persistent_handles: bool,
    pub(super) max_transact: u32,
    pub(super) max_read: u32,
    pub(super) max_write: u32,
}

/// Identity of a client in its transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) job: JobId,
    pub(super) intended: Option<i64>,
    pub(super) path: Symbol,
    pub(super) file: Option<FileIdentity>,
    /// The data of a read are wanted.
    pub(super) keep: bool,
}

/// Context of a request, in addition to the fields of its transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestContext {
    pub(super) job: JobId,
    pub(super) kind: RequestKind,
    /// Credits that it used up, until its first answer.
    charge: u16,
    /// The most bytes that its answer may bring, or that it wrote.
    pub(super) asked: u32,
    /// It may wait by design.
    pub(super) may_wait: bool,
    /// The data of a read are wanted.
    keep: bool,
    /// From the interim answer.
    pub(super) async_id: Option<u64>,
    /// When it was put into the outbox, ns.
    queued: i64,
}

/// A call that timed out, whose response may still come.
#[derive(Clone, Copy, Debug)]
struct AbandonedCall {
    id: u64,
    /// Whether its success leaves a file open that no operation owns. After the CREATE of a compound, the compound closes the file.
    opens: bool,
}

impl Connection {
    /// A new connection; `credits` is the target number of credits.
    pub(super) fn new(identity: Identity, dialect: Dialect, credits: u16) -> Self {
        let limits = Limits {
            dialect,
            multi_credit: false,
            directory_leases: false,
            persistent_handles: false,
            max_transact: CREDIT,
            max_read: CREDIT,
            max_write: CREDIT,
        };
        Self {
            identity,
            limits,
            credits: Credits::new(credits),
            session: Session::default(),
            primary_session: None,
            calls: Calls::default(),
            long_lived: 0,
            pending_async: Vec::new(),
            abandoned: VecDeque::new(),
            unmatched_responses: 0,
            is_binding: false,
            sent_messages: None,
        }
    }

    /// The identity of the client.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The kernel took every byte before `through`.
    pub(super) fn sent(&mut self, through: u64, at: i64) {
        self.calls.sent(through, at);
    }

    pub(super) fn transaction(&self, call: &Call<RequestContext>, ending: &Ending) -> Transaction {
        let mut transaction = call.transaction(&self.identity, ending);
        if call.context.kind.is_outside_of_shares() {
            transaction.share = Symbol::NONE;
        }
        if call.context.kind == RequestKind::Negotiate {
            transaction.user = Symbol::NONE;
        }
        transaction
    }

    /// Begins to set up a secondary session; the current one waits.
    pub(super) fn push_session(&mut self) {
        self.primary_session = Some(Box::new(std::mem::take(&mut self.session)));
    }

    /// The session that waits is in use again. Returns whether there was one.
    pub(super) fn pop_session(&mut self) -> bool {
        let standing = self.primary_session.take();
        standing.map(|standing| self.session = *standing).is_some()
    }

    /// The primary session, in use or waiting.
    pub(super) fn primary(&self) -> &Session {
        self.primary_session.as_deref().unwrap_or(&self.session)
    }

    /// The same, to change it.
    pub(super) fn primary_mut(&mut self) -> &mut Session {
        self.primary_session.as_deref_mut().unwrap_or(&mut self.session)
    }

    /// Whether a secondary session is in use.
    pub(super) fn is_on_a_secondary_session(&self) -> bool {
        self.primary_session.is_some()
    }

    /// Whether a secondary session, or a share connected once more, is in use.
    pub(super) fn in_secondary_context(&self) -> bool {
        self.primary_session.is_some() || self.session.before.is_some()
    }

    /// No outstanding request can bring credits.
    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.pending_async.is_empty() && self.abandoned.is_empty()
    }

    /// Calls without a response, without long-lived ones.
    pub(super) fn outstanding(&self) -> usize {
        let pending = self.pending_async.iter().filter(|call| !call.long_lived).count();
        self.calls.len().saturating_sub(self.long_lived) + pending
    }

    /// Answers that belonged to no request.
    pub(super) fn unmatched_responses(&self) -> u64 {
        self.unmatched_responses
    }

    /// Every call that waits for an answer.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Call<RequestContext>> {
        self.calls.iter().chain(&self.pending_async)
    }

    /// Removes and returns all calls in order, because the connection is over.
    pub(super) fn take_all(&mut self) -> Vec<Call<RequestContext>> {
        let mut calls = self.calls.take_where(|_| true);
        self.long_lived = 0;
        calls.append(&mut self.pending_async);
        calls.sort_by_key(|call| call.id);
        calls
    }

    /// Removes and returns calls from before `before` that are not long-lived. Their responses may still arrive.
    pub(super) fn take_overdue(&mut self, before: i64) -> Vec<Call<RequestContext>> {
        // Requests that remain in the outbox because the server does not read are late, too.
        let late = |call: &Call<RequestContext>| {
            !call.long_lived && call.sent.map_or(call.context.queued, |(first, _)| first) < before
        };
        let mut calls = self.calls.take_where(late);
        calls.extend(self.pending_async.extract_if(.., |call| late(call)));
        for call in &calls {
            self.expect_late(call);
            self.sent_messages.as_mut().and_then(|sent| sent.ended(call.id));
        }
        calls
    }

    /// Remembers that an answer may still come.
    fn expect_late(&mut self, call: &Call<RequestContext>) {
        if self.abandoned.len() == LATE {
            self.abandoned.pop_front();
        }
        self.abandoned.push_back(AbandonedCall { id: call.id, opens: call.context.kind == RequestKind::Open });
        self.credits.lost(call.context.charge);
    }
}

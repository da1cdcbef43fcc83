//! A connection of RPC calls: xids, calls that wait for answers, records. It knows no program: any version of NFS can stand on it.
//!
//! Spec: RFC 5531

mod framing;

use std::hash::{BuildHasher, RandomState};

use plimsoll_model::{Asked, Endpoint, Procedure, Symbol, Transaction};
use plimsoll_wire::rpc::CallTemplate;
use plimsoll_wire::xdr::padding;

use crate::calls::{Call, Calls, Ending, Identity};
use crate::content::Content;
use crate::outbox::Outbox;

pub(crate) use framing::{marks, unmarked};

/// A client's data about a call.
pub(crate) trait Context {
    /// Bytes of its results to keep, from their beginning; `None` for all of them.
    fn results_kept(&self) -> Option<usize>;
    /// When it was put into the outbox, ns.
    fn queued(&self) -> i64;
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection<C> {
    identity: Identity,
    calls: Calls<C>,
    /// Number of the next call; its low half is the xid.
    next_id: u64,
    unmatched_responses: u64,
}

/// Facts about a call for its transaction, besides times and outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) procedure: Procedure,
    /// When it is due, ns; `None` without a schedule.
    pub(crate) intended: Option<i64>,
    pub(crate) path: Symbol,
}

/// File data that ends a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub(crate) content: &'a Content,
    pub(crate) key: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl<C: Context> Connection<C> {
    /// One that was just made. Its xids begin anywhere: a server that remembers calls by address, port and xid must not take it for a
    /// connection that was there before, in this run or in another.
    pub(crate) fn new(identity: Identity) -> Self {
        let first = RandomState::new().hash_one(identity.connection);
        // In the lower half, so that a connection has 2 billion calls before its numbers come round.
        Self { identity, calls: Calls::default(), next_id: first & 0x7FFF_FFFF, unmatched_responses: 0 }
    }

    /// Adds a call to the outbox and stores it. `emit` writes it with its xid, and returns the requested object.
    pub(crate) fn send(
        &mut self,
        about: &About,
        data: Option<Data<'_>>,
        context: C,
        out: &mut Outbox,
        emit: impl FnOnce(u32, &mut Vec<u8>) -> Asked,
    ) {
        let id = self.next_id;
        self.next_id += 1;
        let begins = out.end();
        // The low half of the number is the xid; it comes round after 4 billion calls.
        let mut asked = Asked::default();
        let start = out.write(|bytes| asked = emit(id as u32, bytes));
        let length = data.map_or(0, |data| data.length as usize);
        // Nothing that we send comes near the 2 GiB that a fragment can hold.
        let request_bytes = CallTemplate::finish(out.patch(start), length + padding(length)).unwrap_or(u32::MAX);
        if let Some(Data { content, key, offset, .. }) = data {
            content.pieces(key, offset, length).for_each(|piece| out.share(content.block(), piece));
            out.put(&[0; 3][..padding(length)]);
        }
        let About { procedure, intended, path } = *about;
        self.calls.add(Call {
            id,
            procedure,
            compound_position: None,
            intended,
            path,
            asked,
            session: None,
            request_bytes,
            payload_bytes: data.map(|data| u64::from(data.length)),
            begins,
            ends: out.end(),
            sent: None,
            interim: None,
            long_lived: false,
            what: context,
        });
    }

    /// The kernel took every byte before `through`.
    pub(crate) fn sent(&mut self, through: u64, at: i64) {
        self.calls.sent(through, at);
    }

    /// The call that an answer with this xid ends; `None`, and counted, where there is none.
    pub(crate) fn ended_by(&mut self, xid: u32) -> Option<Call<C>> {
        let id = self.id_of(xid);
        // An answer to a call that was not sent yet is forged.
        let asked = self.calls.find(id).is_some_and(|call| call.sent.is_some());
        let call = asked.then(|| self.calls.take(id)).flatten();
        self.unmatched_responses += u64::from(call.is_none());
        call
    }

    /// Takes every call, in the order in which they were made: the connection is over.
    pub(crate) fn take_all(&mut self) -> Vec<Call<C>> {
        self.calls.take_where(|_| true)
    }

    /// The calls of before were taken out; those that follow go over another connection.
    pub(crate) fn moved(&mut self, local: Endpoint, connection: u32) {
        (self.identity.client, self.identity.connection) = (local, connection);
    }

    /// Takes the calls since before `before`.
    pub(crate) fn take_overdue(&mut self, before: i64) -> Vec<Call<C>> {
        let late = |call: &Call<C>| call.sent.map_or(call.what.queued(), |(first, _)| first) < before;
        self.calls.take_where(late)
    }

    /// The transaction of a call that ended.
    pub(crate) fn transaction(&self, call: &Call<C>, ending: &Ending) -> Transaction {
        let mut transaction = call.transaction(&self.identity, ending);
        transaction.id = transaction.id.map(|id| id & u64::from(u32::MAX));
        transaction
    }

    /// Calls without an answer.
    pub(crate) fn outstanding(&self) -> usize {
        self.calls.len()
    }

    /// Answers that belonged to no call.
    pub(crate) fn unmatched_responses(&self) -> u64 {
        self.unmatched_responses
    }

    /// The number of the call that has this xid, were it on its way.
    fn id_of(&self, xid: u32) -> u64 {
        let high = self.next_id & !u64::from(u32::MAX);
        let id = high | u64::from(xid);
        // Those sent before the numbers came round.
        if id >= self.next_id { id.wrapping_sub(1 << 32) } else { id }
    }
}

//! A connection of RPC calls: xids, calls that wait for answers, records. It knows no program: any version of NFS can stand on it.
//!
//! Spec: RFC 5531; RFC 2203 (`gss`)

mod arrival;
mod data;
mod framing;
mod gss;
mod sequential;

use std::hash::{BuildHasher, RandomState};

use plimsoll_model::{Asked, Endpoint, Procedure, Symbol, Transaction};
use plimsoll_wire::rpc::{CallTemplate, Verdict};
use plimsoll_wire::xdr::padding;

use crate::calls::{Call, Calls, Ending, Identity};
use crate::operation::Cause;
use crate::outbox::Outbox;

pub(crate) use arrival::Arrival;
pub(crate) use data::Data;
pub(crate) use gss::Opened;
use gss::{GssContext, Written};
pub(crate) use sequential::{CallError, Limit, SequentialCalls};

pub use gss::Gss;

/// A client's data about a call.
pub(crate) trait Context {
    /// Bytes of its results to keep, from their beginning; `None` for all of them.
    fn results_kept(&self) -> Option<usize>;
    /// When it was put into the outbox, ns.
    fn queued(&self) -> i64;
    /// The xid that it had on a lost connection, where it is sent again; `None`: the next one.
    fn earlier_xid(&self) -> Option<u32> {
        None
    }
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection<C> {
    identity: Identity,
    calls: Calls<C>,
    /// Number of the next call; its low half is the xid, unless the call is sent again.
    next_id: u64,
    /// Calls that are sent again with the xid that they had on a lost connection: this xid, and their number here.
    again: Vec<(u32, u64)>,
    unmatched_responses: u64,
    /// The Kerberos context of all calls, with `sec=krb5` and its like.
    gss: Option<Box<GssContext>>,
}

/// Facts about a call for its transaction, besides times and outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) procedure: Procedure,
    /// When it is due, ns; `None` without a schedule.
    pub(crate) intended: Option<i64>,
    pub(crate) path: Symbol,
    /// Number of its NFS 4.1 session.
    pub(crate) session: Option<u64>,
}

impl<C: Context> Connection<C> {
    /// One that was just made. Its xids begin anywhere: a server that remembers calls by address, port and xid must not take it for a
    /// connection that was there before, in this run or in another.
    pub(crate) fn new(identity: Identity, program: (u32, u32), gss: Option<&Gss>) -> Self {
        let gss = gss.map(|gss| Box::new(GssContext::new(gss, program)));
        let first = RandomState::new().hash_one(identity.connection);
        // In the lower half, so that a connection has 2 billion calls before its numbers come round.
        let next_id = first & 0x7FFF_FFFF;
        Self { identity, calls: Calls::default(), next_id, again: Vec::new(), unmatched_responses: 0, gss }
    }

    /// Adds a call to the outbox and stores it. `emit` writes its arguments, and returns the requested object.
    pub(crate) fn send(
        &mut self,
        (template, procedure): (&CallTemplate, u32),
        about: &About,
        data: Option<Data<'_>>,
        context: C,
        out: &mut Outbox,
        emit: impl FnOnce(&mut Vec<u8>) -> Asked,
    ) {
        let (id, begins) = (self.next_id, out.end());
        let (start, asked) = match &mut self.gss {
            Some(gss) => gss.write(Written { id, procedure, data, emit }, out),
            None => {
                let (xid, mut asked) = (xid_of(id, &context), Asked::default());
                let start = out.write(|bytes| {
                    template.begin(xid, procedure, bytes);
                    asked = emit(bytes);
                });
                if let Some(data) = &data {
                    gss::share(data, out);
                    out.put(&[0; 3][..padding(data.length as usize)]);
                }
                (start, asked)
            }
        };
        self.add((begins, start), about, data, context, out, asked);
    }

    /// Stores a call that was written, and sets its record mark.
    fn add(
        &mut self,
        (begins, start): (u64, usize),
        about: &About,
        data: Option<Data<'_>>,
        context: C,
        out: &mut Outbox,
        asked: Asked,
    ) {
        let id = self.next_id;
        self.next_id += 1;
        if context.earlier_xid().is_some() {
            self.again.push((xid_of(id, &context), id));
        }
        // Data that are shared stand between our own bytes.
        let own = out.patch(start).len();
        let shared = usize::try_from(out.end() - begins).unwrap_or(usize::MAX).saturating_sub(own);
        // Nothing that we send comes near the 2 GiB that a fragment can hold.
        let request_bytes = CallTemplate::finish(out.patch(start), shared).unwrap_or(u32::MAX);
        let About { procedure, intended, path, session } = *about;
        self.calls.add(Call {
            id,
            procedure,
            compound_position: None,
            intended,
            path,
            asked,
            session,
            request_bytes,
            payload_bytes: data.map(|data| u64::from(data.length)),
            begins,
            ends: out.end(),
            sent: None,
            interim: None,
            long_lived: false,
            context,
        });
    }

    /// Checks an answer to a call that is not waited for any more.
    pub(crate) fn open_late<'a>(&mut self, xid: u32, bytes: &'a [u8], verdict: Verdict<'a>) -> Option<Opened<'a>> {
        self.open(self.id_of(xid), bytes, verdict).ok()
    }

    /// Whether the next call must be [`Connection::begin_context`].
    pub(crate) fn needs_context(&self) -> bool {
        let Some(gss) = &self.gss else { return false };
        // A call that asked for a context, and timed out, must be repeated.
        gss.is_new() || (gss.has_expired() || gss.is_asked()) && self.calls.is_empty()
    }

    /// Whether this call asked for the context.
    pub(crate) fn context_began_by(&self, id: u64) -> bool {
        self.gss.as_ref().is_some_and(|gss| gss.began_by(id))
    }

    /// Whether [`Connection::end_context`] gives a context back.
    pub(crate) fn has_context(&self) -> bool {
        self.gss.as_ref().is_some_and(|gss| gss.is_ready())
    }

    /// Asks the server for a context, by a call of NULL at `now`, ns since the Unix epoch.
    ///
    /// # Errors
    /// It cannot be written: this machine has no random numbers.
    pub(crate) fn begin_context(&mut self, about: &About, context: C, now: i64, out: &mut Outbox) -> Result<(), Cause> {
        let (id, begins) = (self.next_id, out.end());
        let Some(gss) = &mut self.gss else { return Ok(()) };
        let mut call = Vec::new();
        gss.init(id, now, &mut call)?;
        let start = out.write(|bytes| bytes.append(&mut call));
        self.add((begins, start), about, None, context, out, Asked::default());
        Ok(())
    }

    /// Gives the context back, by a call of NULL.
    pub(crate) fn end_context(&mut self, about: &About, context: C, out: &mut Outbox) {
        let (id, begins) = (self.next_id, out.end());
        let Some(gss) = &mut self.gss else { return };
        let start = out.write(|bytes| gss.destroy(id, bytes));
        self.add((begins, start), about, None, context, out, Asked::default());
    }

    /// Checks an answer to the call `id` against the context, if there is one.
    ///
    /// # Errors
    /// The connection is of no use: the answer is not the server's, or there is no context.
    pub(crate) fn open<'a>(&mut self, id: u64, bytes: &'a [u8], verdict: Verdict<'a>) -> Result<Opened<'a>, Cause> {
        match &mut self.gss {
            Some(gss) => gss.open(id, bytes, verdict),
            None => Ok(Opened::Plain(verdict)),
        }
    }

    /// Whether results can only be read whole.
    fn hides_results(&self) -> bool {
        self.gss.as_ref().is_some_and(|gss| gss.hides_results())
    }

    /// Calls that may be sent before the oldest is answered. It is their numbers that count, not how many are outstanding: the server may
    /// look at the oldest last, and drops it if its number is then below the window.
    pub(crate) fn room(&self) -> usize {
        let Some(gss) = &self.gss else { return usize::MAX };
        if gss.has_expired() {
            // The next call asks for another context. It would invalidate the keys for outstanding answers.
            return usize::from(self.calls.is_empty());
        }
        let oldest = self.calls.oldest().unwrap_or(self.next_id);
        gss.window().saturating_sub(usize::try_from(self.next_id - oldest).unwrap_or(usize::MAX))
    }

    /// The kernel took every byte before `through`.
    pub(crate) fn sent(&mut self, through: u64, at: i64) {
        self.calls.sent(through, at);
    }

    /// The call that an answer with this xid ends; `None`, and counted, where there is none.
    pub(crate) fn ended_by(&mut self, xid: u32) -> Option<Call<C>> {
        let id = self.id_of(xid);
        // An answer to a call that was not sent yet, or has another xid, is forged.
        let call = self.calls.take_if(id, |call| call.sent.is_some() && xid_of(id, &call.context) == xid);
        self.unmatched_responses += u64::from(call.is_none());
        if call.is_some() && !self.again.is_empty() {
            self.again.retain(|(_, again)| *again != id);
        }
        call
    }

    /// Takes every call, in the order in which they were made: the connection is over.
    pub(crate) fn take_all(&mut self) -> Vec<Call<C>> {
        self.again.clear();
        self.calls.take_where(|_| true)
    }

    /// The calls of before were taken out; those that follow go over another connection.
    pub(crate) fn moved(&mut self, local: Endpoint, connection: u32) {
        (self.identity.client, self.identity.connection) = (local, connection);
        if let Some(gss) = &mut self.gss {
            gss.renew();
        }
    }

    /// Takes the calls since before `before`.
    pub(crate) fn take_overdue(&mut self, before: i64) -> Vec<Call<C>> {
        let late = |call: &Call<C>| call.sent.map_or(call.context.queued(), |(first, _)| first) < before;
        self.calls.take_where(late)
    }

    pub(crate) fn transaction(&self, call: &Call<C>, ending: &Ending) -> Transaction {
        let mut transaction = call.transaction(&self.identity, ending);
        transaction.id = Some(xid_of(call.id, &call.context).into());
        transaction
    }

    /// When the oldest call without an answer was sent, ns.
    pub(crate) fn oldest_sent(&self) -> Option<i64> {
        self.calls.iter().find_map(|call| call.sent).map(|(first, _)| first)
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
        if let Some((_, id)) = self.again.iter().find(|(again, _)| *again == xid) {
            return *id;
        }
        let high = self.next_id & !u64::from(u32::MAX);
        let id = high | u64::from(xid);
        // Those sent before the numbers came round.
        if id >= self.next_id { id.wrapping_sub(1 << 32) } else { id }
    }
}

/// The xid of the call with this number: the low half, which comes round after 4 billion calls, or that of its earlier sending.
pub(crate) fn xid_of(id: u64, context: &impl Context) -> u32 {
    context.earlier_xid().unwrap_or(id as u32)
}

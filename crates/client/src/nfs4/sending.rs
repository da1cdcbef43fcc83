//! Puts calls into the outbox.

use plimsoll_model::{self as model, Asked, FileAccess, FileIdentity, Procedure, Protocol, Symbol};
use plimsoll_wire::nfs::Facts;
use plimsoll_wire::nfs::v4::putfh::PutHandle;
use plimsoll_wire::nfs::v4::sequence::Sequence;
use plimsoll_wire::nfs::v4::{Compound, FileHandle};

use super::job::Job;
use super::request_context::RequestContext;
use super::requests::Calling;
use super::shapes::{self, Shape};
use crate::operation::Failure;
use crate::rpc::{About, Data};

impl Calling<'_> {
    /// Sends a compound for one file or directory.
    pub(super) fn about(
        &mut self,
        shape: Shape,
        handle: &FileHandle,
        job: &Job,
        add: impl FnOnce(&mut Compound<'_>),
    ) -> bool {
        let moved = Moved { files: [Some(self.identity(handle)), None], ..Moved::default() };
        self.send_about(shape, job.path, job.intended, moved, |compound| {
            compound.add(&PutHandle(handle));
            add(compound);
        })
    }

    /// The identity of a handle's file in transactions.
    pub(super) fn identity(&mut self, handle: &FileHandle) -> FileIdentity {
        self.client.paths.identity(handle)
    }

    pub(super) fn send(
        &mut self,
        shape: Shape,
        path: Symbol,
        intended: Option<i64>,
        add: impl FnOnce(&mut Compound<'_>),
    ) -> bool {
        self.send_about(shape, path, intended, Moved::default(), add)
    }

    /// Puts a call into the outbox. `add` appends its operations after SEQUENCE.
    pub(super) fn send_about(
        &mut self,
        shape: Shape,
        path: Symbol,
        intended: Option<i64>,
        moved: Moved<'_>,
        add: impl FnOnce(&mut Compound<'_>),
    ) -> bool {
        let Self { client, id, now, out, slot, resent, sequenced } = self;
        // NULL is 0, COMPOUND 1.
        let procedure = u32::from(!shape.is_empty());
        let about = About {
            procedure: Procedure::of(Protocol::Nfs4, procedure as u16),
            intended,
            path,
            session: (slot.is_some() || shape == shapes::BIND).then(|| client.session.wire_number()),
        };
        let Moved { files, offset, count, keep, data } = moved;
        let slot = slot.map(|slot| Sequence { cache: shapes::is_kept(shape), ..slot });
        let taken = slot.map(|slot| slot.slot);
        let (job, queued, session, resent) = (*id, *now, client.session.number, *resent);
        let earlier_xid = client.take_earlier_xid(job, shape, (offset, count), &files);
        let sent = if taken.is_some() { shape } else { shapes::without_session(shape) };
        let principal = shapes::principal(sent);
        let context = RequestContext {
            job,
            shape,
            // A compound has at most LONGEST operations.
            principal: principal as u8,
            offset,
            count,
            keep,
            queued,
            slot: taken,
            session,
            resent,
            earlier_xid,
            owned: sequenced.map(|sequenced| client.opens.owners.sent(sequenced)),
            files,
        };
        if slot.is_some() || sent == shapes::CONFIRM_CLIENT_ID || sent == shapes::RENEW_LEASE {
            client.client_id.renew(*now);
        }
        let (template, minor_version) = (&client.options.template, client.options.minor_version);
        client.connection.send((template, procedure), &about, data, context, out, |bytes| {
            if procedure == 0 {
                return Asked::default();
            }
            let mut compound = Compound::begin(minor_version, bytes).marking(principal as u32);
            if let Some(slot) = &slot {
                compound.add(slot);
            }
            add(&mut compound);
            compound.marked().map_or(Asked::default(), |operation| asked(&operation.facts))
        });
        true
    }

    /// Asks for a Kerberos context. False if that is impossible.
    pub(super) fn begin_context(self, job: &mut Job) -> bool {
        let (about, context) = self.null(job);
        let Self { client, now, out, .. } = self;
        match client.connection.begin_context(&about, context, now, out) {
            Ok(()) => true,
            Err(cause) => {
                job.fail(Failure { procedure: Some(about.procedure), ..Failure::never_sent(cause) });
                false
            }
        }
    }

    /// Gives the Kerberos context back.
    pub(super) fn end_context(&mut self, job: &Job) -> bool {
        let (about, context) = self.null(job);
        self.client.connection.end_context(&about, context, self.out);
        true
    }

    /// A call of NULL, which begins or ends a context.
    fn null(&self, job: &Job) -> (About, RequestContext) {
        let procedure = Procedure::of(Protocol::Nfs4, 0);
        let about = About { procedure, intended: job.intended, path: job.path, session: None };
        let (job, queued, session) = (self.id, self.now, self.client.session.number);
        let context = RequestContext {
            job,
            shape: shapes::NULL,
            principal: 0,
            offset: 0,
            count: 0,
            keep: false,
            queued,
            slot: None,
            session,
            resent: false,
            earlier_xid: None,
            owned: None,
            files: [None; 2],
        };
        (about, context)
    }
}

/// Fields of the request for the columns of the transactions table, from the main operation. The file comes from its handles.
fn asked(facts: &Facts<'_>) -> Asked {
    Asked {
        offset: facts.offset,
        bytes: facts.asked_bytes(),
        disposition: facts.disposition().and_then(model::Disposition::of_number),
        access: facts.access.map(FileAccess::of_share_access),
        durable: facts.stable.map(|stable| stable > 0),
        ..Asked::default()
    }
}

/// Subject of a call, and its part of a transfer.
#[derive(Default)]
pub(super) struct Moved<'a> {
    pub(super) files: [Option<FileIdentity>; 2],
    pub(super) offset: u64,
    pub(super) count: u32,
    /// Whether the caller needs its data.
    pub(super) keep: bool,
    pub(super) data: Option<Data<'a>>,
}

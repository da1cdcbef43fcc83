//! Recalls of delegations, and their return.

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::status::{
    NFS4ERR_BAD_STATEID, NFS4ERR_BADHANDLE, NFS4ERR_BADXDR, NFS4ERR_DELAY, NFS4ERR_STALE_STATEID,
};
use plimsoll_wire::nfs::v4::close::{FreeState, ReturnDelegation};
use plimsoll_wire::nfs::v4::open;
use plimsoll_wire::nfs::v4::{FileHandle, Operation};

use super::{Held, REVOKED, Returning};
use crate::client::Events;
use crate::nfs4::client::Nfs4Client;
use crate::nfs4::file::Open;
use crate::nfs4::job::{Goal, Job, Opening};
use crate::nfs4::requests::Calling;
use crate::nfs4::shapes;
use crate::operation::{FileKey, Reply};
use crate::outbox::Outbox;

/// The server has taken the delegation back before.
const TAKEN_BACK: [u32; 2] = [NFS4ERR_STALE_STATEID, NFS4ERR_BAD_STATEID];

impl Nfs4Client {
    /// CB_RECALL: the status of the response. The return follows at once ([`Nfs4Client::return_due`]).
    pub(in crate::nfs4) fn recalled(&mut self, call: &Operation<'_>, now: i64) -> u32 {
        let Some(delegations) = &mut self.opens.delegations else { return NFS4ERR_BADHANDLE };
        let handle = call.facts.handle.and_then(FileHandle::new);
        let (Some(handle), Some(state)) = (handle, call.facts.delegation) else { return NFS4ERR_BADXDR };
        if delegations.recall(handle, state, now) {
            return 0;
        }
        // The recall may have overtaken the response to the OPEN that gets the delegation.
        let wants = |job: &mut Job| {
            job.pending > 0
                && matches!(job.goal, Goal::Open(Opening { access, .. }) if access & open::READ_DELEGATION != 0)
        };
        if self.jobs.iter_mut().any(wants) {
            return NFS4ERR_DELAY;
        }
        delegations.counts.unknown_recalls += 1;
        if delegations.held.contains_key(&handle) { NFS4ERR_BAD_STATEID } else { NFS4ERR_BADHANDLE }
    }

    /// Returns the delegations that the server wants back, before any other request.
    pub(in crate::nfs4) fn return_due(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if self.condition.is_leaving() {
            return;
        }
        while let Some(delegations) = &mut self.opens.delegations
            && let Some(handle) = delegations.due.pop()
        {
            let Some(&Held { state, base, .. }) = delegations.held.get(&handle) else { continue };
            delegations.unwanted.push(Returning { handle, state, base, frees: false });
        }
        while let Some(delegations) = &mut self.opens.delegations
            && let Some(returning) = delegations.unwanted.pop()
        {
            let job = self.jobs.add(Job::unasked(None, Goal::Return(returning)));
            self.advance(job, now, out, events);
        }
        while let Some(base) = self.opens.delegations.as_mut().and_then(|delegations| delegations.unused.pop()) {
            let mut job = Job::unasked(None, Goal::Null);
            self.close_unused(base, &mut job);
            if job.reply.is_none() {
                let job = self.jobs.add(job);
                self.advance(job, now, out, events);
            }
        }
        while let Some((handle, open)) =
            self.opens.delegations.as_mut().and_then(|delegations| delegations.surplus.pop())
        {
            let Open { state, owner, .. } = open;
            let job = self.jobs.add(Job::unasked(None, Goal::Close { handle, state, owner, lost: false }));
            self.advance(job, now, out, events);
        }
        self.test_delegations(now, out, events);
    }

    /// A request of a return succeeded.
    pub(in crate::nfs4) fn returned(&mut self, job: &mut Job, at: i64) {
        let Goal::Return(Returning { handle, state, base, frees }) = job.goal else { return };
        if let Some(delegations) = self.opens.delegations.as_mut().filter(|_| !frees) {
            delegations.returned(&handle, &state, at);
        }
        self.close_unused(base, job);
    }

    /// The server refused a request of a return. A delegation that it has revoked it forgets only on request.
    pub(in crate::nfs4) fn return_refused(&mut self, job: &mut Job, status: u32, at: i64) {
        let Goal::Return(Returning { handle, state, base, frees }) = &mut job.goal else { return };
        let (handle, state, base) = (*handle, *state, *base);
        if let Some(delegations) = self.opens.delegations.as_mut().filter(|_| !*frees) {
            match job.again && TAKEN_BACK.contains(&status) {
                true => delegations.returned(&handle, &state, at),
                false => delegations.not_returned(&handle, &state, true),
            }
            *frees = REVOKED.contains(&status);
            if *frees {
                return;
            }
        }
        self.close_unused(base, job);
    }

    /// Closes the open that a delegation came with, if no file shares it. Otherwise the job is done. A client that leaves closes it later.
    fn close_unused(&mut self, base: FileKey, job: &mut Job) {
        let delegations = self.opens.delegations.as_mut().filter(|_| !self.condition.is_leaving());
        let shared = delegations.map(|delegations| &mut delegations.shared);
        let open = shared.and_then(|shared| {
            shared.get(&base).filter(|shared| shared.files == 0 && !shared.held)?;
            shared.remove(&base);
            let file = self.opens.files.remove(base)?;
            file.open.map(|open| (file.handle, open))
        });
        match open {
            Some((handle, Open { state, owner, .. })) => job.goal = Goal::Close { handle, state, owner, lost: false },
            None => job.reply = Some(Reply::Nothing),
        }
    }

    /// A return failed for good.
    pub(in crate::nfs4) fn return_failed(&mut self, returning: &Returning) {
        if let Some(delegations) = &mut self.opens.delegations {
            if !returning.frees {
                delegations.not_returned(&returning.handle, &returning.state, false);
            }
            delegations.unused.push(returning.base);
        }
    }

    /// The server has lost the client's state, and its delegations with it. They are not reclaimed.
    pub(in crate::nfs4) fn lose_delegations(&mut self) {
        let Some(delegations) = &mut self.opens.delegations else { return };
        for (handle, Held { state, base, .. }) in delegations.in_order() {
            delegations.release(&handle, &state);
            delegations.unused.push(base);
            delegations.counts.lost += 1;
        }
        delegations.due.clear();
        delegations.unwanted.clear();
        for job in self.jobs.iter_mut().filter(|job| matches!(job.goal, Goal::Return(_) | Goal::Test(_))) {
            job.reply = Some(Reply::Nothing);
        }
    }
}

impl Calling<'_> {
    /// Returns a delegation, or makes the server forget one that it has revoked.
    pub(in crate::nfs4) fn give_back(&mut self, returning: &Returning, job: &Job) -> bool {
        let Returning { handle, state, frees, .. } = *returning;
        if frees {
            return self.send(shapes::FREE_STATE, Symbol::NONE, None, |compound| {
                compound.add(&FreeState { state });
            });
        }
        self.about(shapes::RETURN_DELEGATION, &handle, job, |compound| {
            compound.add(&ReturnDelegation { state });
        })
    }
}

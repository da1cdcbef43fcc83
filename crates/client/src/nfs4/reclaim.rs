//! The requests of a recovery, and the effect of their responses.

use plimsoll_wire::nfs::status::{
    NFS4ERR_NO_GRACE, NFS4ERR_NOTSUPP, NFS4ERR_OP_ILLEGAL, NFS4ERR_RECLAIM_BAD, NFS4ERR_RECLAIM_CONFLICT,
};
use plimsoll_wire::nfs::v4::close::ReturnDelegation;
use plimsoll_wire::nfs::v4::getattr::GetAttributes;
use plimsoll_wire::nfs::v4::lock::Lock;
use plimsoll_wire::nfs::v4::open::{Claim, How, Open, Opened};
use plimsoll_wire::nfs::v4::{GetHandle, Mask};
use plimsoll_wire::xdr::Malformed;

use super::answers::SESSION_LOST;
use super::client::Nfs4Client;
use super::found::Found;
use super::job::{Goal, Job};
use super::ranges::Range;
use super::recovery::{Claimed, Recovery, Stage};
use super::requests::Calling;
use super::shapes;
use crate::operation::{Cause, Disposition, FileKey};

/// The server lacks BIND_CONN_TO_SESSION, and the first request binds the connection (RFC 8881 2.10.3.1).
const BINDS_ITSELF: [u32; 2] = [NFS4ERR_NOTSUPP, NFS4ERR_OP_ILLEGAL];
/// The server does not know this state, or has granted it to another client.
const NOT_CLAIMED: [u32; 2] = [NFS4ERR_RECLAIM_BAD, NFS4ERR_RECLAIM_CONFLICT];

impl Calling<'_> {
    /// The next request of a recovery; false if none is left.
    pub(super) fn recover(&mut self, recovery: &Recovery, job: &Job) -> bool {
        match recovery.stage {
            Stage::Bind => self.bind(),
            Stage::End => self.destroy_session(),
            Stage::Create => self.create_session(),
            Stage::Identify => self.exchange_id(),
            Stage::Complete => self.reclaim_complete(),
            Stage::Claim | Stage::Anew => self.claim(recovery, job),
            Stage::Join | Stage::Over => false,
        }
    }

    fn claim(&mut self, recovery: &Recovery, job: &Job) -> bool {
        let reclaim = recovery.stage == Stage::Claim;
        match recovery.next() {
            Some(Claimed::Return(handle, state)) => self.about(shapes::RETURN_DELEGATION, &handle, job, |compound| {
                compound.add(&ReturnDelegation { state });
            }),
            Some(Claimed::Confirm(key)) => {
                let file = self.client.opens.files.get(key).and_then(|file| Some((file.handle, file.open?)));
                file.is_some_and(|(handle, open)| self.confirm_open(&handle, open.state, open.owner, job))
            }
            Some(Claimed::Open(key)) => self.open_again(key, reclaim, job),
            Some(Claimed::Lock(key, range)) => self.lock_again(key, range, reclaim, job),
            None => false,
        }
    }

    fn open_again(&mut self, key: FileKey, reclaim: bool, job: &Job) -> bool {
        let Some((handle, open)) = self.client.opens.files.get(key).and_then(|file| Some((file.handle, file.open?)))
        else {
            return false;
        };
        let client = self.client.client_id.number();
        let claim = if reclaim { Claim::Previous } else { Claim::Current };
        let (access, owner) = (self.share_access(open.access), self.client.opens.owners.name(open.owner));
        let sequence = self.open_sequence(open.owner);
        // In 4.0 only reclaims open a file by its handle.
        let place = self.client.opens.files.get(key).and_then(|file| file.place.clone()).filter(|_| !reclaim);
        if let Some((directory, name)) = place.as_deref() {
            return self.about(shapes::OPEN_NAME, directory, job, |compound| {
                let claim = Claim::Name(name);
                compound.add(&Open { access, sequence, client, owner: &owner, how: How::Existing, claim });
                compound.add(&GetHandle).add(&GetAttributes(Mask::USUAL));
            });
        }
        self.about(shapes::OPEN_HANDLE, &handle, job, |compound| {
            compound.add(&Open { access, sequence, client, owner: &owner, how: How::Existing, claim });
            compound.add(&GetAttributes(Mask::USUAL));
        })
    }

    fn lock_again(&mut self, key: FileKey, range: Range, reclaim: bool, job: &Job) -> bool {
        let Some((file, open)) = self.client.opens.files.get(key).and_then(|file| Some((file, file.open?))) else {
            return false;
        };
        let (handle, lock, name) = (file.handle, file.lock, self.client.opens.owners.name(open.owner));
        let owner = self.lock_owner(open, lock, &name);
        let Range { offset, length, exclusive } = range;
        self.about(shapes::LOCK_RANGE, &handle, job, |compound| {
            compound.add(&Lock { exclusive, waits: false, reclaim, offset, length, owner });
        })
    }
}

impl Nfs4Client {
    /// Handles the success of a request of a recovery.
    pub(super) fn recovered(&mut self, recovery: &mut Recovery, found: &Found<'_>) -> Result<(), Malformed> {
        recovery.stage = match recovery.stage {
            Stage::Bind if self.options.is_sessionless() => recovery.with_client_id(),
            Stage::Create if self.options.is_sessionless() => {
                self.confirmed();
                recovery.with_client_id()
            }
            Stage::Identify if self.options.is_sessionless() => {
                recovery.identified = true;
                if self.client_id.identified(found.unconfirmed.ok_or(Malformed)?) {
                    recovery.is_new = true;
                    recovery.forget(&self.opens.files);
                    self.forget_state();
                }
                Stage::Create
            }
            Stage::Bind => {
                let bound = found.bound.filter(|bound| bound.session == self.session.id).ok_or(Malformed)?;
                self.agreed.back_channel = bound.back_channel;
                recovery.with_client_id()
            }
            Stage::End => self.membership.lose(Stage::Create),
            Stage::Create => {
                let session = found.session.ok_or(Malformed)?;
                self.created(&session);
                self.membership.share(session, self.client_id.next_session(), recovery.is_new);
                recovery.with_client_id()
            }
            Stage::Identify => {
                let client = found.client.ok_or(Malformed)?;
                recovery.identified = true;
                if self.client_id.exchanged(&client) {
                    recovery.is_new = true;
                    recovery.forget(&self.opens.files);
                    self.forget_state();
                }
                Stage::Create
            }
            Stage::Complete => {
                self.completed(recovery);
                Stage::Anew
            }
            stage @ (Stage::Claim | Stage::Anew) => {
                self.claimed(recovery, found)?;
                stage
            }
            Stage::Join | Stage::Over => return Err(Malformed),
        };
        Ok(())
    }

    /// Handles the success of an open, a lock or the return of a delegation.
    fn claimed(&mut self, recovery: &mut Recovery, found: &Found<'_>) -> Result<(), Malformed> {
        let anew = recovery.stage == Stage::Anew;
        match recovery.next().ok_or(Malformed)? {
            Claimed::Return(..) => recovery.delegation = None,
            Claimed::Confirm(key) => {
                let state = found.state.ok_or(Malformed)?;
                if let Some(open) = self.opens.files.get_mut(key).and_then(|file| file.open.as_mut()) {
                    open.state = state;
                }
                recovery.unconfirmed = None;
                self.recovering.counts.opens.count(anew);
            }
            Claimed::Lock(key, _) => {
                let state = found.state.ok_or(Malformed)?;
                if let Some(file) = self.opens.files.get_mut(key) {
                    file.lock = Some(state);
                }
                self.recovering.counts.locks.count(anew);
                recovery.locked();
            }
            Claimed::Open(key) => {
                let Opened { state, unconfirmed, delegation } = found.opened.ok_or(Malformed)?;
                let another = |file: &super::file::File| found.handle.is_some_and(|handle| handle != file.handle);
                if self.opens.files.get(key).is_some_and(another) {
                    // The name leads to another file now. The lease's end closes it.
                    self.lose_claimed(recovery);
                    return Ok(());
                }
                let file = self.opens.files.get_mut(key).map(|file| {
                    file.open = file.open.map(|open| super::file::Open { state, ..open });
                    file.lock = None;
                    &*file
                });
                let unwanted = delegation.map(|delegation| delegation.state);
                recovery.delegation = file.map(|file| file.handle).zip(unwanted);
                recovery.opened(file);
                if unconfirmed && self.options.is_sessionless() {
                    recovery.unconfirmed = Some(key);
                    return Ok(());
                }
                self.recovering.counts.opens.count(anew);
            }
        }
        Ok(())
    }

    /// Handles the failure of a request of a recovery: tries another way, or fails. `lost`: the session is lost.
    pub(super) fn not_recovered(&mut self, recovery: &mut Recovery, lost: bool, status: u32) -> Option<Cause> {
        match recovery.stage {
            Stage::Bind if BINDS_ITSELF.contains(&status) => recovery.stage = Stage::Over,
            // The session of the other connections exists, but has no slots for this one.
            Stage::Bind if self.membership.shares() && !SESSION_LOST.contains(&status) => {
                return Some(Cause::SessionLost);
            }
            Stage::Bind | Stage::End => {
                recovery.stage = self.membership.lose(Stage::Create);
                return self.recovering.lose();
            }
            Stage::Create if !recovery.identified => recovery.stage = Stage::Identify,
            Stage::Create | Stage::Identify | Stage::Join | Stage::Over => return Some(Cause::SessionLost),
            _ if lost => {
                recovery.restart(false, &self.opens.files);
                recovery.stage = self.membership.lose(recovery.stage);
                return self.recovering.lose();
            }
            Stage::Complete => self.completed(recovery),
            Stage::Claim | Stage::Anew => self.not_claimed(recovery, status),
        }
        None
    }

    fn completed(&self, recovery: &mut Recovery) {
        recovery.completed();
        self.membership.completed();
    }

    fn not_claimed(&mut self, recovery: &mut Recovery, status: u32) {
        let claims = recovery.stage == Stage::Claim;
        match recovery.next() {
            Some(Claimed::Return(..)) => recovery.delegation = None,
            Some(Claimed::Confirm(key)) => {
                recovery.unconfirmed = None;
                self.lose_file(Some(key));
            }
            Some(Claimed::Lock(key, range)) => {
                if let Some(file) = self.opens.files.get_mut(key) {
                    file.ranges.unlock(range.offset, range.length);
                }
                self.recovering.counts.locks.lost += 1;
                recovery.locked();
            }
            // The server has not restarted, or its grace period is over.
            Some(Claimed::Open(_)) if claims && status == NFS4ERR_NO_GRACE => recovery.nothing_claimed(),
            Some(Claimed::Open(_)) if claims && NOT_CLAIMED.contains(&status) => recovery.not_claimed(),
            _ => self.lose_claimed(recovery),
        }
    }

    /// The requested file is lost.
    fn lose_claimed(&mut self, recovery: &mut Recovery) {
        let key = recovery.lost();
        self.lose_file(key);
    }

    fn lose_file(&mut self, key: Option<FileKey>) {
        key.into_iter().for_each(|key| self.opens.lose(key));
        self.recovering.counts.opens.lost += 1;
    }

    /// The server has lost all state of the client, so drop the state of outstanding operations.
    pub(super) fn forget_state(&mut self) {
        for job in self.jobs.iter_mut() {
            match &mut job.goal {
                Goal::Open(opening) if opening.opened.is_some() => {
                    (opening.opened, opening.unconfirmed) = (None, false);
                    (opening.delegation, opening.granted) = (None, None);
                    // The file exists, because the first OPEN created it.
                    if opening.disposition == Disposition::Create {
                        opening.disposition = Disposition::OpenOrCreate;
                    }
                }
                // The lost state no longer needs a CLOSE.
                Goal::Close { .. } => job.again = true,
                _ => {}
            }
        }
    }
}

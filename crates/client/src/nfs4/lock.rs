//! LOCK and LOCKU: the requests, among them the OPEN that a lock needs, and the effect of the responses.

use plimsoll_wire::nfs::v4::getattr::GetAttributes;
use plimsoll_wire::nfs::v4::lock::{Lock, Unlock};
use plimsoll_wire::nfs::v4::open::{self, Claim, How, Opened};
use plimsoll_wire::nfs::v4::{Mask, StateId};
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::file::{File, Open};
use super::found::Found;
use super::job::{Goal, Job};
use super::ranges::Range;
use super::requests::Calling;
use super::shapes;
use crate::operation::{Cause, Failure};

impl Calling<'_> {
    pub(super) fn lock(&mut self, job: &mut Job) -> bool {
        let (Goal::Lock { file, range, .. } | Goal::Unlock { file, range }) = job.goal else { return false };
        if matches!(job.goal, Goal::Lock { opens: Some(_), .. }) {
            return self.open_to_lock(job);
        }
        let Some(file) = self.client.opens.files.get(file) else { return false };
        let (handle, lock, open) = (file.handle, file.lock, file.open);
        if open.is_none() && file.base.is_some() {
            return self.open_to_lock(job);
        }
        if open.is_some_and(|open| self.client.opens.owners.is_in_doubt(open.owner)) {
            job.fail(Failure::never_sent(Cause::LocksUnknown));
            return false;
        }
        let (offset, length) = range;
        match (&job.goal, open, lock) {
            (Goal::Unlock { .. }, Some(open), Some(state)) => {
                let sequence = self.lock_sequence(open.owner);
                self.about(shapes::UNLOCK_RANGE, &handle, job, |compound| {
                    compound.add(&Unlock { state, sequence, offset, length });
                })
            }
            (&Goal::Lock { exclusive, waits, .. }, Some(open), known) => {
                let name = self.client.opens.owners.name(open.owner);
                let owner = self.lock_owner(open, known, &name);
                self.about(shapes::LOCK_RANGE, &handle, job, |compound| {
                    compound.add(&Lock { exclusive, waits, reclaim: false, offset, length, owner });
                })
            }
            _ => false,
        }
    }

    /// Opens a file that was opened under a delegation, because a lock needs an open with a separate owner.
    fn open_to_lock(&mut self, job: &mut Job) -> bool {
        let Goal::Lock { file, opens, .. } = &mut job.goal else { return false };
        let (owner, handle) = match *opens {
            // The OPEN may have been sent before, so it is sent again even if the file was closed meanwhile.
            Some(opens) => opens,
            None => {
                let Some(handle) = self.client.opens.files.get(*file).map(|file| file.handle) else { return false };
                *opens.insert((self.client.opens.owners.take(), handle))
            }
        };
        let (name, client) = (self.client.opens.owners.name(owner), self.client.client_id.number());
        let access = open::READ | open::NO_DELEGATION;
        self.about(shapes::OPEN_HANDLE, &handle, job, |compound| {
            let (how, claim) = (How::Existing, Claim::Current);
            compound.add(&open::Open { access, sequence: 0, client, owner: &name, how, claim });
            compound.add(&GetAttributes(Mask::USUAL));
        })
    }
}

impl Nfs4Client {
    /// A file that shared an open has a separate one, with which it can be locked.
    pub(super) fn opened_to_lock(&mut self, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let Opened { state, delegation, .. } = found.opened.ok_or(Malformed)?;
        let Goal::Lock { file: key, opens, .. } = &mut job.goal else { return Err(Malformed) };
        let (key, (owner, handle)) = (*key, opens.take().ok_or(Malformed)?);
        let open = Open { owner, state, access: open::READ | open::NO_DELEGATION };
        match self.opens.files.get_mut(key) {
            Some(file) if file.open.is_none() => {
                file.open = Some(open);
                let base = file.base.take();
                self.opens.opened_alone(base);
            }
            // The file was closed meanwhile, or has the open of another lock.
            _ => self.opens.close_surplus(handle, open),
        }
        self.opens.opened_with(&handle, delegation, key);
        Ok(())
    }
}

impl File {
    /// Handles a granted or released lock.
    pub(super) fn locked(&mut self, state: StateId, goal: &Goal) {
        self.lock = Some(state);
        match *goal {
            Goal::Lock { exclusive, range: (offset, length), .. } => {
                self.ranges.lock(Range { offset, length, exclusive });
            }
            Goal::Unlock { range: (offset, length), .. } => self.ranges.unlock(offset, length),
            _ => {}
        }
    }
}
